// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares two operations of recommendation models with their definitions: the pairwise interaction
// of vectors, and the look-up in several embedding tables. The interactions of parts of the
// columns, and the look-ups in parts of the rows, must sum to the full results.

#include <doctest/doctest.h>

#include <ashlar/device/host/interaction.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

namespace {

using values = std::vector<double>;

values integers(std::int64_t n, std::uint64_t stream) {
  auto x = normals<double>(n, stream);
  for (auto& v : x) v = std::round(3 * v);
  return x;
}

values forward(values const& x, host::interaction_extents const& e) {
  values y(size_of(e.batch * e.outputs()), 9), workspace(size_of(host::interaction_workspace(e)));
  host::interaction_forward(x.data(), e, workspace.data(), y.data());
  return y;
}

values by_definition(values const& x, host::interaction_extents const& e) {
  auto const at = [&](std::int64_t b, std::int64_t i, std::int64_t c) {
    return x[size_of((b * e.vectors + i) * e.columns + c)];
  };
  values y;
  for (std::int64_t b = 0; b < e.batch; ++b) {
    for (std::int64_t c = 0; c < e.kept; ++c) y.push_back(at(b, 0, c));
    for (std::int64_t i = 0; i < e.vectors; ++i)
      for (std::int64_t j = 0; j < i; ++j) {
        y.push_back(0);
        for (std::int64_t c = 0; c < e.columns; ++c) y.back() += at(b, i, c) * at(b, j, c);
      }
  }
  return y;
}

}  // namespace

TEST_CASE("interaction_equals_its_definition_and_its_gradient_finite_differences") {
  for (auto const& e : {host::interaction_extents{3, 4, 5, 0, 0},
                        {3, 4, 5, 5, 0},
                        {1, 2, 1, 1, 0},
                        {0, 4, 5, 5, 0},
                        {2, 1, 3, 3, 0}}) {
    CAPTURE(e.kept);
    auto x = integers(e.batch * e.vectors * e.columns, 1);
    CHECK(forward(x, e) == by_definition(x, e));
    auto const dy = normals<double>(e.batch * e.outputs(), 2);
    values dx(x.size(), 7), workspace(size_of(host::interaction_workspace(e)));
    host::interaction_backward(dy.data(), x.data(), e, workspace.data(), dx.data());
    CHECK(distance(dx, numeric_gradient(x, [&] { return dot(by_definition(x, e), dy); })) < 1e-7);
  }
}

TEST_CASE("interactions_of_parts_of_the_columns_sum_to_the_whole") {
  host::interaction_extents const whole{2, 3, 5, 5, 0};
  auto const x = integers(2 * 3 * 5, 1);
  values sum(size_of(2 * whole.outputs()));
  for (auto const& [first, columns] :
       {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 2}, {5, 0}}) {
    values part;
    for (std::int64_t row = 0; row < 6; ++row)
      for (std::int64_t c = first; c < first + columns; ++c)
        part.push_back(x[size_of(row * 5 + c)]);
    auto const y = forward(part, {2, 3, columns, 5, first});
    for (std::size_t i = 0; i < y.size(); ++i) sum[i] += y[i];
  }
  CHECK(sum == by_definition(x, whole));
}

TEST_CASE("look_ups_of_parts_of_the_rows_sum_to_the_whole") {
  // There are three samples and two tables. A table has four rows of three columns.
  std::vector<std::int32_t> const ids{2, 0, 1, 3, 2, 2};
  auto const table = integers(2 * 4 * 3, 1);
  values sum(18), expected;
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      expected.push_back(table[(i % 2 * 4 + size_of(ids[i])) * 3 + c]);
  for (auto const& [first, rows] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 3}, {4, 0}}) {
    values part, y(18, 9);
    for (std::int64_t t = 0; t < 2; ++t)
      for (std::int64_t i = first * 3; i < (first + rows) * 3; ++i)
        part.push_back(table[size_of(t * 12 + i)]);
    host::embedding_tables_forward(part.data(), ids.data(), {3, 2, rows, first, 3}, y.data());
    for (std::size_t i = 0; i < y.size(); ++i) sum[i] += y[i];
  }
  CHECK(sum == expected);
}

TEST_CASE("the_gradient_of_a_table_adds_repeated_ids_and_skips_foreign_ones") {
  // There are two samples and two tables. The shard holds rows 1 and 2 of each table.
  std::vector<std::int32_t> const ids{1, 2, 1, 0};
  values const dy{1, 10, 100, 1000};
  values gradient{5, 5, 5, 5};
  host::embedding_tables_backward(dy.data(), ids.data(), {2, 2, 2, 1, 1}, gradient.data());
  CHECK(gradient == values{5 + 1 + 100, 5, 5, 5 + 10});
}
