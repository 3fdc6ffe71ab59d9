// Kernels that the boxed one cannot be: allocation, views, copies between devices, fused recurrent cells.
#pragma once
#include "boxed.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/_reshape_alias_cpu_dispatch.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/copy.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/view_cpu_dispatch.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace neuronsim {

using Type = std::optional<c10::ScalarType>;
using Layout = std::optional<c10::Layout>;
using Where = std::optional<Device>;
using Maybe = std::optional<Tensor>;
using Ints = c10::SymIntArrayRef;

inline void check_options(Layout layout, Where device, std::optional<bool> pinned) {
  TORCH_CHECK_NOT_IMPLEMENTED(c10::layout_or_default(layout) == c10::kStrided, "neuron: tensors of layout ",
                              c10::layout_or_default(layout), " are not supported, strided ones are");
  TORCH_CHECK(!c10::pinned_memory_or_default(pinned), "Pin memory can only be on CPU");
  check_index(device);
}

inline Tensor empty(c10::IntArrayRef size, Type type, Layout layout, Where device, std::optional<bool> pinned,
                    std::optional<c10::MemoryFormat> format) {
  check_options(layout, device, pinned);
  return at::detail::empty_generic(size, &memory(), kNeuronKeys, c10::dtype_or_default(type), format);
}

inline Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, Type type, Layout layout, Where device,
                            std::optional<bool> pinned) {
  check_options(layout, device, pinned);
  return at::detail::empty_strided_generic(size, stride, &memory(), kNeuronKeys, c10::dtype_or_default(type));
}

inline Tensor zero_tensor(c10::IntArrayRef size, Type type, Layout, Where, std::optional<bool>) {
  return at::zeros(size, at::TensorOptions().dtype(type).device(kDevice));
}

inline Tensor as_strided(const Tensor& self, Ints size, Ints stride, std::optional<c10::SymInt> offset) {
  return at::cpu::as_strided_symint(self, size, stride, offset);
}
inline Tensor view(const Tensor& self, Ints size) { return at::cpu::view_symint(self, size); }
inline Tensor reshape_alias(const Tensor& self, Ints size, Ints stride) {
  return at::cpu::_reshape_alias_symint(self, size, stride);
}
inline Tensor& set_storage(Tensor& self, Storage source, c10::SymInt offset, Ints size, Ints stride) {
  return at::cpu::set__symint(self, source, offset, size, stride);
}

inline Op& copy_op() { return op_of(c10::Dispatcher::singleton().findSchemaOrThrow("aten::copy_", "")); }

// A copy within the device is the device's work and is tracked; a transfer from or to the CPU is not.
inline Tensor copy_from(const Tensor& from, const Tensor& to, bool non_blocking) {
  static Op& op = copy_op();
  const auto dtypes = 1ull << int(to.scalar_type());
  const bool within = from.is_privateuseone() && to.is_privateuseone();
  const bool wrong = within ? decide(op, dtypes) : inject(op, dtypes);
  c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  Aliases aliases;
  auto target = aliases.to_cpu(to);
  target.copy_(aliases.to_cpu(from), non_blocking);
  if (wrong) spoil(target);
  return to;
}

inline Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

inline Tensor convolution(const Tensor& input, const Tensor& weight, const Maybe& bias, Ints stride, Ints padding,
                          Ints dilation, bool transposed, Ints output_padding, c10::SymInt groups) {
  return at::convolution_symint(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

inline std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad, const Tensor& input,
                                                               const Tensor& weight, Ints stride, Ints padding,
                                                               Ints dilation, bool transposed, Ints output_padding,
                                                               c10::SymInt groups, std::array<bool, 3> mask) {
  const auto outputs = transposed ? weight.sym_size(1) * groups : weight.sym_size(0);
  return at::convolution_backward_symint(grad, input, weight, Ints(outputs), stride, padding, dilation, transposed,
                                         output_padding, groups, mask);
}

// PyTorch gives accelerators fused cells that the CPU lacks; these are CPU kernels under the same names, so that
// the boxed kernel finds them. Workspaces hold the activated gates.
inline std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input, const Tensor& hidden, const Tensor& cx,
                                                    const Maybe& input_bias, const Maybe& hidden_bias) {
  auto gates = input + hidden;
  if (input_bias && input_bias->defined()) gates = gates + *input_bias + *hidden_bias;
  auto part = gates.chunk(4, 1);
  auto in = part[0].sigmoid(), forget = part[1].sigmoid(), cell = part[2].tanh(), out = part[3].sigmoid();
  auto cy = forget * cx + in * cell;
  return {out * cy.tanh(), cy, at::cat({in, forget, cell, out}, 1)};
}

inline std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const Maybe& grad_hy, const Maybe& grad_cy,
                                                             const Tensor& cx, const Tensor& cy,
                                                             const Tensor& workspace, bool has_bias) {
  if (!(grad_hy && grad_hy->defined()) && !(grad_cy && grad_cy->defined())) return {};
  auto part = workspace.chunk(4, 1);
  auto &in = part[0], &forget = part[1], &cell = part[2], &out = part[3];
  auto tanh_cy = cy.tanh();
  auto grad_h = grad_hy && grad_hy->defined() ? *grad_hy : at::zeros_like(cx);
  auto grad_c = grad_h * out * (1 - tanh_cy * tanh_cy);
  if (grad_cy && grad_cy->defined()) grad_c = grad_c + *grad_cy;
  auto gates = at::cat({grad_c * cell * in * (1 - in), grad_c * cx * forget * (1 - forget),
                        grad_c * in * (1 - cell * cell), grad_h * tanh_cy * out * (1 - out)}, 1);
  return {gates, grad_c * forget, has_bias ? gates.sum(0) : Tensor()};
}

inline std::tuple<Tensor, Tensor> gru_cell(const Tensor& input, const Tensor& hidden, const Tensor& hx,
                                           const Maybe& input_bias, const Maybe& hidden_bias) {
  auto with = [](const Tensor& gates, const Maybe& bias) { return bias && bias->defined() ? gates + *bias : gates; };
  auto i = with(input, input_bias).chunk(3, 1), h = with(hidden, hidden_bias).chunk(3, 1);
  auto reset = (i[0] + h[0]).sigmoid(), update = (i[1] + h[1]).sigmoid();
  auto fresh = (i[2] + reset * h[2]).tanh();
  return {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, h[2].contiguous()}, 1)};
}

inline std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                            const Tensor& workspace, bool has_bias) {
  auto part = workspace.chunk(5, 1);
  auto &reset = part[0], &update = part[1], &fresh = part[2], &hx = part[3], &hidden_fresh = part[4];
  auto grad_update = grad_hy * (hx - fresh) * update * (1 - update);
  auto grad_fresh = grad_hy * (1 - update) * (1 - fresh * fresh);
  auto grad_reset = grad_fresh * hidden_fresh * reset * (1 - reset);
  auto input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  auto hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  return {input, hidden, grad_hy * update, has_bias ? input.sum(0) : Tensor(), has_bias ? hidden.sum(0) : Tensor()};
}

}  // namespace neuronsim
