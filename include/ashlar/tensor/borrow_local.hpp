// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// borrow_local: a tensor whose shard is memory that someone else owns. Nothing is copied: the
// tensor reads and writes the owner's values. from_local has the same arguments and copies the
// values.
//
//                                 borrow_local               from_local
//   the owner changes a value     the tensor changes too     the tensor keeps the old value
//   the owner's memory            must outlive the tensor    may be freed at once
//   moves in a node               by messages, or by         by copies in shared memory
//                                 copies of small shards
//
// The result of an operator or a move has memory of its own. Only these share the borrowed memory:
// copies of the tensor, reshapes, slices of dim 0 (tensor/README.md), and a move to the placement
// that the tensor has already.

#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <ashlar/tensor/borrowed_shard.hpp>
#include <ashlar/tensor/given_shard.hpp>
#include <ashlar/tensor/strided_view.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {
namespace detail {

/// Returns whether tensors can borrow memory of type T. If they cannot, a static_assert says why.
template <class T, class Processor>
consteval bool may_borrow() {
  static_assert(!std::is_const_v<T>,
                "borrow_local: the memory is read-only, but a tensor gives write access to its "
                "shard. Copy the values with from_local.");
  static_assert(
      Processor::is_host,
      "borrow_local: the mesh has device memory, and a span does not say where its values "
      "are. Copy the values with from_local.");
  return !std::is_const_v<T> && Processor::is_host;
}

/// Makes the tensor. The callers have already checked the arguments.
template <int Rank, class T, class Placement, class Processor>
auto borrowed_tensor(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
                     T* data, std::shared_ptr<void> owner) {
  return tensor_for<T, Rank, Placement, Processor>(
      m, extents, as_value(p), borrowed_shard(m.shared_memory(), data, std::move(owner)));
}

}  // namespace detail

/// Makes a tensor whose shard is `values`: each rank passes the memory of its own shard, row-major.
/// `extents` are those of the whole tensor. Ranks that hold the same part must have the same
/// values. If the placement is partial, a rank's values are its addends. The memory must stay valid
/// as long as this tensor, a copy or a view of it exists. The tensor keeps `owner`, if one is
/// given, alive for that time. If an exception interrupts a transfer of the tensor, MPI may still
/// read the memory, so it must stay valid until MPI is finalized, and the owner is never destroyed.
/// Communicates nothing. Throws ashlar::error if the number of values is not that of the rank's
/// shard, or if the shard has elements and the address is null or not aligned.
template <int Rank, class T, placement_argument Placement, class Processor>
auto borrow_local(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
                  std::span<T> values, std::shared_ptr<void> owner = nullptr) {
  if constexpr (detail::may_borrow<T, Processor>()) {
    detail::given_shard const shard("borrow_local", m, extents, as_value(p), Rank);
    shard.require_count(values.size());
    shard.require_address(values.data());
    return detail::borrowed_tensor<Rank>(m, extents, p, values.data(), std::move(owner));
  }
}

/// Makes a tensor whose shard is the array `v`, as the overload for a span does. Also throws
/// ashlar::error if the array has other extents than the rank's shard, or has gaps, or is not
/// row-major.
template <int Rank, class T, placement_argument Placement, class Processor>
auto borrow_local(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
                  strided_view<T, Rank> const& v, std::shared_ptr<void> owner = nullptr) {
  if constexpr (detail::may_borrow<T, Processor>()) {
    detail::given_shard const shard("borrow_local", m, extents, as_value(p), Rank);
    shard.require_row_major(v);
    shard.require_address(v.data);
    return detail::borrowed_tensor<Rank>(m, extents, p, v.data, std::move(owner));
  }
}

}  // namespace ashlar
