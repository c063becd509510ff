// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// from_dlpack: a tensor whose shard is an array of another program, handed over by DLPack. Nothing
// is copied. The tensor owns the array and releases it as borrow_local.hpp describes for an owner.
//
//   refused                                   since
//   other extents than the rank's shard       extents are never inferred from shards
//   other elements than T                     nothing is converted
//   a device's memory                         the host's loops cannot read it
//   strides of a transposed or padded array   shards are row-major without gaps
//   the flag of read-only arrays              tensors give write access to their shards
//   a version other than 1.x                  its structure may differ

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <ashlar/tensor/borrowed_shard.hpp>
#include <ashlar/tensor/dlpack_structures.hpp>
#include <ashlar/tensor/given_shard.hpp>
#include <ashlar/tensor/strided_view.hpp>

namespace ashlar {
namespace detail {

/// Returns a name such as "float32", or the code of a type that has no short name.
inline std::string dlpack_type_name(int code, int bits, int lanes) {
  static constexpr char const* names[] = {"int",    "uint",    "float", "handle",
                                          "bfloat", "complex", "bool"};
  std::string const size = std::to_string(bits);
  return (code < 7 ? names[code] + size
                   : "of code " + std::to_string(code) + " with " + size + " bits") +
         (lanes == 1 ? "" : "x" + std::to_string(lanes));
}

/// Returns the given array as a view. Throws ashlar::error if tensors of T on host memory cannot
/// have it as a shard.
template <class T, int Rank, class Managed>
strided_view<T, Rank> view_of_dlpack(given_shard const& shard, Managed const& given) {
  if constexpr (dlpack::versioned_structure<Managed>) {
    if (given.version.major != 1)
      shard.refuse("the array has version " + std::to_string(given.version.major) + "." +
                   std::to_string(given.version.minor) +
                   " of DLPack, and only 1.x is known. Ask the other program for version 1.");
    if ((given.flags & dlpack::read_only) != 0)
      shard.refuse("the array is read-only, but a tensor gives write access to its shard. Copy the "
                   "values with from_local.");
  }
  auto const& array = given.dl_tensor;
  int const on = static_cast<int>(array.device.device_type);
  if (on != dlpack::host && on != dlpack::pinned_host)
    shard.refuse("the array is in the memory of a device (DLPack's device type " +
                 std::to_string(on) +
                 "), but the mesh has host memory. Copy it to the host first.");
  constexpr auto own = dlpack::type_of(element_type_of<T>);
  if (array.dtype.code != own.code || array.dtype.bits != own.bits || array.dtype.lanes != 1)
    shard.refuse("the elements are " +
                 dlpack_type_name(array.dtype.code, array.dtype.bits, array.dtype.lanes) +
                 ", but those of the tensor " + dlpack_type_name(own.code, own.bits, 1) +
                 ". Convert them in the program that has them, or make a tensor of their type.");
  if (array.ndim != Rank)
    shard.refuse("the array has " + std::to_string(array.ndim) + " dims, but " + shard.name() +
                 " has " + std::to_string(Rank) + ". Reshape it in the program that has it.");
  strided_view<T, Rank> v;
  for (std::size_t d = 0; d < v.extents.size(); ++d) v.extents[d] = array.shape[d];
  auto* const first = static_cast<std::byte*>(array.data);
  v = row_major_view<T, Rank>(
      first == nullptr ? nullptr : reinterpret_cast<T*>(first + array.byte_offset), v.extents);
  if (array.strides != nullptr)
    for (std::size_t d = 0; d < v.strides.size(); ++d) v.strides[d] = array.strides[d];
  shard.require_row_major(v);
  shard.require_address(v.data);
  return v;
}

/// Owns an array of another program. Tensors with this array as their shard share the owner. The
/// last of them that is destroyed calls the deleter of the array.
template <class Managed>
struct adopted_array {
  dlpack::owned<Managed> managed;
};

}  // namespace detail

/// Makes a tensor whose shard is the array `given` of another program: each rank passes its own.
/// `extents` are those of the whole tensor. Ranks that hold the same part must have the same
/// values. If the placement is partial, the array has the rank's addends. The tensor owns `given`
/// from now on. The deleter of `given` is called once, when the last tensor with this shard is
/// destroyed, by the thread that destroys this tensor. If an exception has interrupted a transfer
/// on the mesh, the deleter is never called, because messages may still read the array.
/// Communicates nothing. Throws ashlar::error if the array cannot be the shard (the table at the
/// top of this file says when). The caller then still owns `given`.
template <class T, int Rank, class Processor, placement_argument Placement,
          dlpack::managed_structure Managed>
tensor_for<T, Rank, Placement, Processor> from_dlpack(basic_mesh<Processor> const& m,
                                                      shape const& extents, Placement const& p,
                                                      Managed* given) {
  static_assert(Processor::is_host,
                "from_dlpack: the mesh has device memory. Copy the values with from_local.");
  detail::given_shard const shard("from_dlpack", m, extents, as_value(p), Rank);
  if (given == nullptr)
    shard.refuse("the address of the managed array is null. A capsule can be used only once.");
  auto const view = detail::view_of_dlpack<T, Rank>(shard, *given);
  auto const owner = std::make_shared<detail::adopted_array<Managed>>();
  tensor_for<T, Rank, Placement, Processor> made(
      m, extents, as_value(p), detail::borrowed_shard(m.shared_memory(), view.data, owner));
  owner->managed.reset(given);  // only now, because the lines above may throw
  return made;
}

/// Makes a tensor as the overload above does, and leaves `given` empty if it succeeds.
template <class T, int Rank, class Processor, placement_argument Placement, class Managed>
auto from_dlpack(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
                 dlpack::owned<Managed>&& given) {
  auto made = from_dlpack<T, Rank>(m, extents, p, given.get());
  static_cast<void>(given.release());  // the tensor owns it
  return made;
}

}  // namespace ashlar
