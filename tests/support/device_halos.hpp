// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Test cases for exchanges of halos between ranks with one device each. They run on a real device
// (tests/cuda) and on the fake device (tests/cuda/fake). All ranks must call each function.

#include <vector>

#include <doctest/doctest.h>
#include <support/numbers.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/step/halo.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/halo.hpp>

namespace ashlar_test {

/// Checks one exchange: each rank must get all rows that its windows cover, and the gradients of
/// these rows must be summed on the ranks that own them. `at` is the placement of the tensor, which
/// splits dim 1.
inline void exchange_halo(ashlar::nccl::mesh const& m, ashlar::placement const& at,
                          ashlar::sliding_window const& w) {
  using tensor = ashlar::tensor<float, 3, ashlar::dynamic, ashlar::nccl::mesh::processor_type>;
  auto const& t = m.topology();
  ashlar::shape const extents{2, 7, 3};
  ashlar::step::layer_spec spec;
  spec.x = extents;
  spec.y = {2, w.places(7), 3};
  spec.halo = {1, w};
  auto const layout = ashlar::step::halo_layout_of(spec, at, t);
  CHECK(layout.has_halo());
  auto const values = numbers<float>(extents);
  // In the sum of all gradients, each element is multiplied by the number of ranks that read it.
  auto sums = values;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    int readers = 0;
    for (int k = 0; k < t.group_size(layout.axes); ++k) {
      auto const read = layout.read_range(t, k);
      auto const row = static_cast<std::int64_t>(i) / 3 % 7;
      readers += row >= read.begin && row < read.end();
    }
    sums[i] *= static_cast<float>(readers);
  }
  auto const halo = prepared_for(layout, t, m.coordinate());
  auto const x = ashlar::from_full<3>(m, extents, at, std::span<float const>(values));
  auto const read = ashlar::detail::with_halo(ashlar::any_tensor(x), halo);
  auto const found = ashlar::local_values(read.as<tensor>());
  std::vector<float> expected;
  auto const b = layout.read_box(t, m.coordinate());
  for (auto i = b[0].begin; i < b[0].end(); ++i)
    for (auto j = b[1].begin; j < b[1].end(); ++j)
      for (auto k = b[2].begin; k < b[2].end(); ++k)
        expected.push_back(values[static_cast<std::size_t>((i * 7 + j) * 3 + k)]);
  CHECK(found == expected);
  auto const sum = ashlar::detail::sum_of_halos(read, halo);
  CHECK(ashlar::to_full(sum.as<tensor>()) == sums);
}

/// Checks exchanges for four windows and for several placements. The mesh has one or two axes.
inline void exchange_halos(ashlar::nccl::mesh const& m) {
  std::vector<ashlar::placement> rows{{ashlar::split(1)}};
  if (m.axes() == 2)
    rows = {{ashlar::split(1), ashlar::split(1, 1)}, {ashlar::split(0), ashlar::split(1)}};
  for (auto const& at : rows)
    for (ashlar::sliding_window const& w :
         {ashlar::sliding_window{3, 1, 1}, {5, 2, 3}, {2, 1, 0}, {1, 3, 0}})
      exchange_halo(m, at, w);
}

}  // namespace ashlar_test
