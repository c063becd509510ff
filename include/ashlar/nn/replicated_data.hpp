// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Brings data of a batch, which every rank has in host memory, into replicated tensors in the
// memory of the mesh. Communicates nothing. Elements that a rank never reads may differ between
// ranks (train/local_batch.hpp).

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <ashlar/tensor/tensor.hpp>

namespace ashlar::nn::detail {

/// Returns a replicated tensor. Its elements are not initialized.
template <class Tensor>
Tensor new_replicated(typename Tensor::mesh_type const& m, shape const& extents) {
  return {m, extents, placement::all_broadcast(m.axes())};
}

/// Copies the values to the shard of `to`, converted to its element type.
template <class Value, class Tensor>
void write_replicated(std::span<Value const> values, Tensor const& to) {
  using T = typename Tensor::value_type;
  auto const& on = to.mesh().processor();
  auto const count = static_cast<std::int64_t>(values.size());
  if constexpr (std::is_same_v<Value, T>) {
    upload(on, values.data(), count, to.data());
  } else {
    std::vector<T> const rounded(values.begin(), values.end());
    upload(on, rounded.data(), count, to.data());
  }
}

/// Returns a replicated tensor with these values, converted to its element type.
template <class Tensor, class Value>
Tensor replicated(typename Tensor::mesh_type const& m, std::span<Value const> values,
                  shape const& extents) {
  auto made = new_replicated<Tensor>(m, extents);
  write_replicated(values, made);
  return made;
}

}  // namespace ashlar::nn::detail
