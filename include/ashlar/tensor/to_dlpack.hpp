// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// to_dlpack: this rank's shard for another program, by DLPack. Nothing is copied. DLPack knows one
// array, not how it is distributed: the other program sees an array with the extents of the shard.
//
//   auto array = to_dlpack(x);                             keeps the shard alive, and so the mesh
//   PyCapsule_New(array.release(), "dltensor", ...);       hands the array to the other program
//
// The other program may keep the array longer than x exists. It must call the deleter before the
// MPI environment ends (ashlar::mpi::environment), and on the thread that uses the mesh, because
// the mesh's allocator is not thread-safe.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <ashlar/tensor/dlpack_structures.hpp>
#include <ashlar/tensor/local_view.hpp>

namespace ashlar {
namespace detail {

/// A shard that another program holds.
template <class Managed, class T, int Rank>
struct exported_shard {
  std::shared_ptr<T> shard;
  strided_view<T, Rank> view;
  Managed managed{};

  exported_shard(std::shared_ptr<T> const& kept, strided_view<T, Rank> const& v)
      : shard(kept), view(v) {
    auto& array = managed.dl_tensor;
    auto const type = dlpack::type_of(element_type_of<T>);
    using device_type = decltype(array.device.device_type);
    array.data = v.elements() == 0 ? nullptr : v.data;
    array.device.device_type = static_cast<device_type>(dlpack::host);
    array.device.device_id = 0;
    array.ndim = Rank;
    array.dtype.code = type.code;
    array.dtype.bits = type.bits;
    array.dtype.lanes = type.lanes;
    array.shape = view.extents.data();
    array.strides = view.strides.data();
    array.byte_offset = 0;
    managed.manager_ctx = this;
    managed.deleter = [](auto* self) { delete static_cast<exported_shard*>(self->manager_ctx); };
    if constexpr (dlpack::versioned_structure<Managed>) {
      managed.version.major = 1;
      managed.version.minor = 0;
      managed.flags = 0;
    }
  }
  exported_shard(exported_shard const&) = delete;
  exported_shard& operator=(exported_shard const&) = delete;
};

template <class Managed, distributed Tensor>
dlpack::owned<Managed> export_shard(Tensor const& x) {
  using exported = exported_shard<Managed, typename Tensor::value_type, Tensor::rank>;
  return dlpack::owned<Managed>(&(new exported(x.shard(), local_addends_view(x)))->managed);
}

}  // namespace detail

/// Returns this rank's shard as an array of DLPack. The other program and x share the elements, and
/// both may write them. `Managed` is the structure of the specification that the other program
/// reads, such as DLManagedTensorVersioned of its header. Communicates nothing. Works for host
/// memory only. Refuses a partial tensor, as local() does: for a typed tensor the call does not
/// compile, for a dynamic one it throws ashlar::error.
template <dlpack::managed_structure Managed = dlpack::managed, distributed Tensor>
[[nodiscard]] dlpack::owned<Managed> to_dlpack(Tensor const& x) {
  x.require_values();
  return detail::export_shard<Managed>(x);
}

/// Returns this rank's shard as to_dlpack does, but accepts a partial tensor. The array of a
/// partial tensor has this rank's addends of the values.
template <dlpack::managed_structure Managed = dlpack::managed, distributed Tensor>
[[nodiscard]] dlpack::owned<Managed> addends_to_dlpack(Tensor const& x) {
  return detail::export_shard<Managed>(x);
}

}  // namespace ashlar
