// One boxed kernel for every op: decide, look at the arguments as CPU tensors, run the CPU kernel, hand back device
// tensors.
#pragma once
#include "alias.h"
#include "policy.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/COW.h>

namespace neuronsim {

using torch::jit::Stack;

// By the elements and not by the type: TorchScript makes lists of optional tensors whose type says something else.
inline bool holds_tensors(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return std::any_of(elements.begin(), elements.end(), [](const c10::IValue& each) { return each.isTensor(); });
}

template <class Change>
c10::IValue changed(const c10::IValue& value, Change change) {
  auto old = value.toList();
  c10::impl::GenericList made(old.elementType());
  made.reserve(old.size());
  for (const auto& each : value.toListRef())
    made.push_back(each.isTensor() ? c10::IValue(change(each.toTensor())) : each);
  return made;
}

// What the arguments of a call are: dtypes on the device, and whether any tensor is there.
struct Seen {
  uint64_t dtypes = 0;
  bool on_device = false, on_cpu = false;
  int misplaced = -1;  // argument with a CPU tensor that the device cannot read

  // The tensors of an index may stay on the CPU, as on every device: theirs is a list of optional tensors.
  void list(const c10::IValue& value, const c10::Argument& argument, int index) {
    const auto element = argument.type()->expectRef<c10::ListType>().getElementType();
    const bool indices = element->kind() == c10::TypeKind::OptionalType;
    for (const auto& each : value.toListRef()) {
      if (!each.isTensor()) continue;
      if (!indices) tensor(each.toTensor(), argument, index);
      else on_device |= each.toTensor().is_privateuseone();
    }
  }

  void tensor(const Tensor& tensor, const c10::Argument& argument, int index) {
    if (!tensor.defined()) return;
    const bool write = argument.alias_info() && argument.alias_info()->isWrite();
    if (tensor.is_privateuseone()) {
      on_device = true;
      dtypes |= 1ull << int(tensor.scalar_type());
      // A CPU twin sees the bytes only: what is written must be the tensor's own before it is shared.
      if (write && tensor.has_storage() && c10::impl::cow::is_cow_data_ptr(tensor.storage().data_ptr()))
        tensor.storage().unsafeGetStorageImpl()->mutable_data();
    } else {
      on_cpu = true;
      if (write || tensor.dim() != 0) misplaced = index;
    }
  }
};

inline Seen look(const c10::FunctionSchema& schema, const c10::IValue* args, const Op& op) {
  Seen seen;
  const int count = int(schema.arguments().size());
  for (int i = 0; i < count; ++i) {
    const auto& value = args[i];
    const auto& argument = schema.arguments()[i];
    if (value.isTensor()) seen.tensor(value.toTensor(), argument, i);
    else if (holds_tensors(value)) seen.list(value, argument, i);
    else if (i == op.dtype_arg && value.isInt()) seen.dtypes |= 1ull << value.toInt();
  }
  return seen;
}

inline void check_places(const Seen& seen, const c10::FunctionSchema& schema, const c10::IValue* args) {
  TORCH_CHECK(!seen.on_device || seen.misplaced < 0,
              "Expected all tensors to be on the same device, but found at least two devices, neuron:0 and cpu! "
              "(when checking argument ", schema.arguments()[std::max(seen.misplaced, 0)].name(), " of ",
              schema.name(), ")");
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (!args[i].isGenerator()) continue;
    const bool device = args[i].toGenerator().device().type() == kNeuron;
    TORCH_CHECK(device || !seen.on_device, "Expected a 'neuron' device type for generator but found 'cpu'");
    TORCH_CHECK(!device || seen.on_device || !seen.on_cpu,
                "Expected a 'cpu' device type for generator but found 'neuron'");
  }
}

inline void to_cpu(c10::IValue& value, const c10::Argument& argument, Aliases& aliases) {
  if (value.isTensor()) {
    value = aliases.to_cpu(value.toTensor());
  } else if (holds_tensors(value)) {
    value = changed(value, [&](const Tensor& each) { return aliases.to_cpu(each); });
  } else if (value.isDevice()) {
    check_index(value.toDevice());
    if (value.toDevice().is_privateuseone()) value = Device(c10::kCPU);
  } else if (value.isStorage()) {
    if (auto storage = value.toStorage(); storage.device_type() == kNeuron) value = aliases.cpu_storage(storage);
  } else if (value.isGenerator()) {
    if (auto generator = value.toGenerator(); generator.device().type() == kNeuron) value = cpu_generator(generator);
  } else if (value.isNone() && argument.name() == "generator") {
    value = cpu_generator(default_generator());
  } else if (argument.name() == "pin_memory" && value.isBool()) {
    TORCH_CHECK(!value.toBool(), "Pin memory can only be on CPU");
  }
}

// Every element off by about 3 %, booleans turned over, integers by one.
inline void spoil(Tensor tensor) {
  if (!tensor.defined() || tensor.numel() == 0 || at::has_internal_overlap(tensor) != at::MemOverlap::No) return;
  if (tensor.scalar_type() == at::kBool) tensor.logical_not_();
  else if (at::isIntegralType(tensor.scalar_type(), false)) tensor.add_(1);
  else tensor.mul_(1.03).add_(0.03);
}

inline void to_device(c10::IValue& value, Aliases& aliases, bool wrong) {
  auto change = [&](const Tensor& each) {
    if (wrong) spoil(each);
    return aliases.to_device(each);
  };
  if (value.isTensor()) value = change(value.toTensor());
  else if (holds_tensors(value)) value = changed(value, change);
}

// Ops like native_dropout draw from the CPU's default generator; give it the device's state for the call.
class DrawFromDevice {
 public:
  explicit DrawFromDevice(bool draws) : draws_(draws) {
    if (draws_) swap();
  }
  ~DrawFromDevice() {
    if (draws_) swap();
  }

 private:
  static void swap() {
    auto& cpu = at::detail::getDefaultCPUGenerator();
    const auto& device = cpu_generator(default_generator());
    auto a = cpu.get_state(), b = device.get_state();
    at::Generator(cpu).set_state(b);
    at::Generator(device).set_state(a);
  }
  bool draws_;
};

inline void run(Op& op, const c10::OperatorHandle& handle, Stack* stack) {
  // Below autograd and autocast for the CPU twins too: their keys are not those of the call.
  static const auto kAbove = c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset;
  const auto& schema = handle.schema();
  const size_t count = schema.arguments().size(), begin = stack->size() - count;
  const auto seen = look(schema, stack->data() + begin, op);
  TORCH_CHECK_NOT_IMPLEMENTED(op.runs_on_cpu, "Could not run '", op.name,
                              "' on the simulated device neuron: it computes on the CPU, which has no kernel for it");
  check_places(seen, schema, stack->data() + begin);
  const bool wrong = decide(op, seen.dtypes);
  c10::impl::ExcludeDispatchKeyGuard below(kAbove);
  Aliases aliases;
  for (size_t i = 0; i < count; ++i) to_cpu((*stack)[begin + i], schema.arguments()[i], aliases);
  {
    DrawFromDevice draw(op.draws);
    handle.callBoxed(stack);
  }
  aliases.settle();
  for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); ++i)
    to_device((*stack)[i], aliases, wrong);
}

// Registered under an op's own name, so that the trackers see `aten::sin` and not the `aten::sin.out` it is made of.
struct Kernel final : c10::OperatorKernel {
  explicit Kernel(Op& op) : op_(op) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, Stack* stack) { run(op_, handle, stack); }
  Op& op_;
};

// Accelerators count integers, which the CPU's kernel does not take: models choose this path on any other device.
struct Histogram final : c10::OperatorKernel {
  explicit Histogram(Op& op) : op_(op) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, Stack* stack) {
    auto& values = (*stack)[stack->size() - handle.schema().arguments().size()];
    const auto type = values.toTensor().scalar_type();
    const bool counts = at::isIntegralType(type, false);
    if (counts) values = values.toTensor().to(c10::kFloat);
    run(op_, handle, stack);
    if (counts) stack->back() = stack->back().toTensor().to(type);
  }
  Op& op_;
};

inline void any_other(const c10::OperatorHandle& handle, Stack* stack) { run(op_of(handle), handle, stack); }

}  // namespace neuronsim
