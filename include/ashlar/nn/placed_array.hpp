// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The mesh, the extents and the placement of an array that a checkpoint keeps, without its
// elements. Some arrays of a training run are not placed like a parameter:
//
//   rows_of_ranks   a matrix of which every rank has one row
//   addends_of      the addends of a partial tensor. A new dim 0 counts the addends, and each axis
//                   with P splits dim 0. All other axes place the other dims as before. So the
//                   shard of a rank has the elements of the rank's addend, in the same order.

#include <ashlar/comm/mesh.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::nn {

template <class Processor>
class placed_array {
 public:
  placed_array(basic_mesh<Processor> const& m, shape const& extents, ashlar::placement const& p)
      : mesh_(m), extents_(extents), placement_(p) {}

  basic_mesh<Processor> const& mesh() const { return mesh_; }
  shape const& extents() const { return extents_; }
  ashlar::placement const& placement() const { return placement_; }

 private:
  basic_mesh<Processor> mesh_;
  shape extents_;
  ashlar::placement placement_;
};

template <class Processor>
placed_array<Processor> rows_of_ranks(basic_mesh<Processor> const& m, std::int64_t columns) {
  auto rows = ashlar::placement::all_broadcast(m.axes());
  for (int a = 0; a < m.axes(); ++a) rows = rows.with_split(a, 0);
  return {m, shape{std::int64_t(m.topology().ranks()), columns}, rows};
}

/// Returns the array of the addends of `x`, which must have fewer than max_rank dims.
template <class Processor>
placed_array<Processor> addends_of(any_tensor<Processor> const& x) {
  auto const& m = x.mesh();
  std::int64_t addends = 1;
  auto at = x.placement();
  for (int a = 0; a < m.axes(); ++a)
    if (at[a].is_split()) ++at.axis[a].dim;
  for (int a = 0; a < m.axes(); ++a) {
    if (!x.placement()[a].is_partial()) continue;
    addends *= m.topology().extent(a);
    at = at.with_split(a, 0);
  }
  shape extents{addends};
  for (auto const n : x.extents().extent) extents.extent.push_back(n);
  return {m, extents, at};
}

}  // namespace ashlar::nn
