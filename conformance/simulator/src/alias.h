// The same bytes seen as a device tensor and as a CPU tensor, for the time of one call.
#pragma once
#include "device.h"

namespace neuronsim {

constexpr c10::DispatchKeySet kCpuKeys(c10::DispatchKey::CPU), kNeuronKeys(c10::DispatchKey::PrivateUse1);

inline void drop(void* storage) {
  c10::intrusive_ptr<StorageImpl>::reclaim(static_cast<StorageImpl*>(storage));
}

// A second storage over the bytes of `storage`, which it keeps alive.
inline c10::DataPtr share(const Storage& storage, Device device) {
  auto* impl = storage.unsafeGetStorageImpl();
  auto owner = storage.getWeakStorageImpl().lock();
  return {const_cast<void*>(impl->data()), owner.release(), &drop, device};
}

inline Storage retag(const Storage& storage, Device device, c10::Allocator* allocator) {
  const size_t bytes = storage.unsafeGetStorageImpl()->nbytes();
  return Storage(c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t{}, bytes, share(storage, device),
                                                  allocator, /*resizable=*/true));
}

inline Tensor like(Storage&& storage, c10::DispatchKeySet keys, const Tensor& of) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, of.dtype());
  auto* impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(of.sizes(), of.strides(), of.storage_offset());
  if (of.is_conj()) impl->_set_conj(true);
  if (of.is_neg()) impl->_set_neg(true);
  if (of.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  return made;
}

// Pairs of (device, CPU) tensors and storages of one call. Identity is kept in both directions: an argument that
// comes back, or a view of it, is the same tensor or storage on the device.
class Aliases {
 public:
  Tensor to_cpu(const Tensor& device) {
    if (!device.defined() || !device.is_privateuseone()) return device;
    for (auto& pair : tensors_)
      if (pair.first.is_same(device)) return pair.second;
    TORCH_CHECK_NOT_IMPLEMENTED(device.has_storage(), "neuron: a tensor without storage is not supported");
    tensors_.emplace_back(device, like(cpu_storage(device.storage()), kCpuKeys, device));
    return tensors_.back().second;
  }

  Storage cpu_storage(const Storage& device) {
    for (auto& pair : storages_)
      if (same(pair.first, device)) return pair.second;
    storages_.emplace_back(device, retag(device, Device(c10::kCPU), c10::GetCPUAllocator()));
    return storages_.back().second;
  }

  Tensor to_device(const Tensor& cpu) {
    if (!cpu.defined() || !cpu.is_cpu()) return cpu;
    for (auto& pair : tensors_)
      if (pair.second.is_same(cpu)) return pair.first;
    TORCH_CHECK_NOT_IMPLEMENTED(cpu.layout() == c10::kStrided, "neuron: tensors of layout ", cpu.layout(),
                                " are not supported, strided ones are");
    TORCH_CHECK_NOT_IMPLEMENTED(!cpu.is_quantized(), "neuron: quantized tensors are not supported");
    TORCH_CHECK_NOT_IMPLEMENTED(!cpu.is_nested() && cpu.has_storage(), "neuron: nested tensors are not supported");
    tensors_.emplace_back(like(device_storage(cpu.storage()), kNeuronKeys, cpu), cpu);
    return tensors_.back().first;
  }

  // Give the device tensors what the call did to their CPU twins: new storage, size, strides, offset, lazy
  // conjugation (linalg_lu_solve leaves it on its out=) and negation.
  void settle() {
    for (auto& pair : storages_) settle_storage(pair.first, pair.second);
    for (size_t i = 0; i < tensors_.size(); ++i) settle_tensor(tensors_[i].first, tensors_[i].second);
  }

 private:
  static bool same(const Storage& a, const Storage& b) {
    return a.unsafeGetStorageImpl() == b.unsafeGetStorageImpl();
  }

  Storage device_storage(const Storage& cpu) {
    for (auto& pair : storages_)
      if (same(pair.second, cpu)) return pair.first;
    storages_.emplace_back(retag(cpu, kDevice, &memory()), cpu);
    return storages_.back().first;
  }

  static void settle_storage(const Storage& device, const Storage& cpu) {
    auto *to = device.unsafeGetStorageImpl(), *from = cpu.unsafeGetStorageImpl();
    if (to->data() != from->data()) to->set_data_ptr_noswap(share(cpu, kDevice));
    if (to->nbytes() != from->nbytes()) to->set_nbytes(from->nbytes());
  }

  void settle_tensor(const Tensor& device, const Tensor& cpu) {
    if (cpu.layout() != c10::kStrided) return;
    auto* impl = device.unsafeGetTensorImpl();
    auto storage = device_storage(cpu.storage());
    if (!same(storage, device.storage())) impl->set_storage_keep_dtype(storage);
    if (device.sizes() != cpu.sizes() || device.strides() != cpu.strides() ||
        device.storage_offset() != cpu.storage_offset())
      impl->set_sizes_and_strides(cpu.sizes(), cpu.strides(), cpu.storage_offset());
    if (device.is_conj() != cpu.is_conj()) impl->_set_conj(cpu.is_conj());
    if (device.is_neg() != cpu.is_neg()) impl->_set_neg(cpu.is_neg());
  }

  c10::SmallVector<std::pair<Tensor, Tensor>, 6> tensors_;
  c10::SmallVector<std::pair<Storage, Storage>, 6> storages_;
};

}  // namespace neuronsim
