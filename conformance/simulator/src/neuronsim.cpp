// Simulated Neuron device: registration with PyTorch, and the C functions that conformance/simulator/library.py calls.
// No Python symbols, so one build serves every Python; control by plain C functions, which no dispatch mode sees.
#include "autocast.h"
#include "kernels.h"

namespace neuronsim {

REGISTER_ALLOCATOR(kNeuron, &memory());
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

const bool hooked = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  return true;
}();

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&any_other>());
}

// Without these, materialising a lazy conjugate copies through _copy_from, which materialises it, and so on.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) { library.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, library) { library.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, CPU, library) {
  library.impl("_thnn_fused_lstm_cell", lstm_cell);
  library.impl("_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
  library.impl("_thnn_fused_gru_cell", gru_cell);
  library.impl("_thnn_fused_gru_cell_backward", gru_cell_backward);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_efficientzerotensor", zero_tensor);
  library.impl("as_strided", as_strided);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("set_.source_Storage_storage_offset", set_storage);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("convolution_overrideable", convolution);
  library.impl("convolution_backward_overrideable", convolution_backward);
}

// Ops that are composite, but that a device has kernels for and its users know by name, or whose composite looks for
// a kernel by device.
bool has_own_kernel(const std::string& name) {
  static const std::vector<std::string> kNames{"aten::convolution", "aten::convolution_backward", "aten::_convolution",
                                               "aten::conj_physical_", "aten::mode.values"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  copy_op();  // known to the support table before the first copy
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.compare(0, 6, "aten::") != 0) continue;
    auto handle = dispatcher.findOp(name);
    if (!handle || !handle->hasSchema() || handle->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) continue;
    if (!handle->hasKernelForDispatchKey(c10::DispatchKey::CPU) && !has_own_kernel(c10::toString(name))) continue;
    auto kernel = c10::toString(name) == "aten::histc"
                      ? torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Histogram>(op_of(*handle)))
                      : torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op_of(*handle)));
    library.impl(c10::toString(name).substr(6).c_str(), std::move(kernel));
  }
}

// Newline-joined into `buffer` as far as it goes; the bytes needed are returned.
template <class Wanted>
size_t names(char* buffer, size_t capacity, std::string Op::*name, Wanted wanted) {
  auto& p = policy();
  std::lock_guard<std::mutex> held(p.lock);
  std::string all;
  for (const auto& op : p.ops)
    if (wanted(op)) all += op.*name + "\n";
  std::memcpy(buffer, all.data(), std::min(capacity, all.size()));
  return all.size();
}

}  // namespace neuronsim

using neuronsim::policy;

extern "C" {

void neuronsim_clear() { ++policy().clearing; }

size_t neuronsim_executed(char* buffer, size_t capacity) {
  return neuronsim::names(buffer, capacity, &neuronsim::Op::full,
                          [](const auto& op) { return op.executed == policy().clearing; });
}

size_t neuronsim_fell_back(char* buffer, size_t capacity) {
  return neuronsim::names(buffer, capacity, &neuronsim::Op::full,
                          [](const auto& op) { return op.fell_back == policy().clearing; });
}

size_t neuronsim_known(char* buffer, size_t capacity) {
  return neuronsim::names(buffer, capacity, &neuronsim::Op::name, [](const auto&) { return true; });
}

void neuronsim_forget_rules() { policy().table.clear(); }

void neuronsim_rule(const char* base, uint64_t dtypes, int mode, const char* text) {
  policy().table[base].push_back({dtypes, neuronsim::Mode(mode), text});
}

void neuronsim_apply_rules() {
  std::lock_guard<std::mutex> held(policy().lock);
  for (auto& op : policy().ops) neuronsim::resolve(op);
}

void neuronsim_fallback(int only_unimplemented, int refuse_eager, int refuse_compiled) {
  policy().only_unimplemented = only_unimplemented;
  policy().refuse_eager = refuse_eager;
  policy().refuse_compiled = refuse_compiled;
}

void neuronsim_compiled_region(int step) { policy().compiled_region += step; }

void neuronsim_hook(neuronsim::Hook hook) { policy().hook = hook; }

void neuronsim_seed(uint64_t seed) { at::Generator(neuronsim::default_generator()).set_current_seed(seed); }

uint64_t neuronsim_initial_seed() { return neuronsim::default_generator().current_seed(); }

size_t neuronsim_get_rng_state(uint8_t* buffer, size_t capacity) {
  auto state = neuronsim::default_generator().get_state();
  const size_t bytes = state.nbytes();
  if (bytes <= capacity) std::memcpy(buffer, state.const_data_ptr(), bytes);
  return bytes;
}

void neuronsim_set_rng_state(const uint8_t* buffer, size_t bytes) {
  auto state = at::detail::getDefaultCPUGenerator().get_state();
  TORCH_INTERNAL_ASSERT(size_t(state.nbytes()) == bytes);
  std::memcpy(state.mutable_data_ptr(), buffer, bytes);
  at::Generator(neuronsim::default_generator()).set_state(state);
}

}  // extern "C"
