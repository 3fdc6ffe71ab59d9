// The device itself: memory, guard, hooks and generator of a PrivateUse1 device whose memory is the CPU's.
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <cstring>

namespace neuronsim {

using at::Tensor;
using c10::Device;
using c10::Storage;
using c10::StorageImpl;

constexpr auto kNeuron = c10::DeviceType::PrivateUse1;
const Device kDevice(kNeuron, 0);

inline void check_index(const std::optional<Device>& device) {
  TORCH_CHECK(!device || !device->has_index() || device->index() == 0, "invalid device ordinal ",
              device ? int(device->index()) : 0, ": this machine has one simulated NeuronCore, neuron:0");
}

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, kDevice};
    void* data = c10::alloc_cpu(bytes);
    return {data, data, &c10::free_cpu, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &c10::free_cpu; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

inline Memory& memory() {
  static Memory only;
  return only;
}

struct Guard final : c10::impl::NoOpDeviceGuardImpl<kNeuron> {
  Guard() = default;
  explicit Guard(c10::DeviceType) {}
  Device exchangeDevice(Device device) const override { return check_index(device), kDevice; }
  Device getDevice() const override { return kDevice; }
  void setDevice(Device device) const override { check_index(device); }
  c10::Stream getStream(Device) const noexcept override { return stream(); }
  c10::Stream getDefaultStream(Device) const override { return stream(); }
  c10::Stream getNewStream(Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, kDevice); }
};

// Wraps a CPU generator, so that CPU kernels draw from it without copying state. The seed is salted: a real
// device does not give the CPU's numbers, and a test that relies on equal numbers must be seen to fail.
struct Generator final : c10::GeneratorImpl {
  static constexpr uint64_t kSalt = 0x6e6575726f6eULL;
  Generator() : Generator(at::detail::createCPUGenerator(c10::default_rng_seed_val ^ kSalt)) {}
  explicit Generator(at::Generator cpu)
      : c10::GeneratorImpl(kDevice, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), cpu_(std::move(cpu)) {}
  void set_current_seed(uint64_t seed) override { cpu_.set_current_seed(seed ^ kSalt); }
  uint64_t current_seed() const override { return cpu_.current_seed() ^ kSalt; }
  uint64_t seed() override { return cpu_.seed() ^ kSalt; }
  void set_offset(uint64_t offset) override { cpu_.set_offset(offset); }
  uint64_t get_offset() const override { return cpu_.get_offset(); }
  void set_state(const c10::TensorImpl& state) override { cpu_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return cpu_.unsafeGetGeneratorImpl()->get_state();
  }
  Generator* clone_impl() const override { return new Generator(cpu_.clone()); }
  const at::Generator& cpu() const { return cpu_; }

 private:
  at::Generator cpu_;
};

inline const at::Generator& default_generator() {
  static at::Generator only = at::make_generator<Generator>();
  return only;
}

inline const at::Generator& cpu_generator(const at::Generator& device) {
  return static_cast<Generator*>(device.unsafeGetGeneratorImpl())->cpu();
}

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex index) const override { check_index(Device(kNeuron, index)); }
  bool isPinnedPtr(const void*) const override { return false; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
  Device getDeviceFromPtr(void*) const override { return kDevice; }
  at::Generator getNewGenerator(c10::DeviceIndex index) const override {
    check_index(Device(kNeuron, index));
    return at::make_generator<Generator>();
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override { return default_generator(); }
  void resizePrivateUse1Bytes(const Storage& storage, size_t bytes) const override {
    auto* impl = storage.unsafeGetStorageImpl();
    auto data = memory().allocate(bytes);
    if (impl->nbytes() && bytes) std::memcpy(data.get(), impl->data(), std::min<size_t>(bytes, impl->nbytes()));
    impl->set_data_ptr_noswap(std::move(data));
    impl->set_nbytes(bytes);
  }
};

}  // namespace neuronsim
