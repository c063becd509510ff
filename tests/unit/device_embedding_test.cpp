// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/host/embedding.hpp>

#include "device_reference.hpp"

namespace host = ashlar::device::host;
using namespace ashlar::test;

TEST_CASE("embedding_shards_of_a_split_vocabulary_sum_to_the_complete_result") {
  std::int64_t const cols = 5;
  auto const table = normals<float>(7 * cols, 1);
  std::vector<std::int32_t> const ids{6, 0, 3, 3, -1, 7};
  std::vector<float> sum(ids.size() * 5);
  std::vector<float> expected(ids.size() * 5);
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t c = 0; c < 5; ++c) expected[t * 5 + c] = table[size_of(ids[t]) * 5 + c];
  }
  for (auto [first, rows] : {std::pair<int, int>{0, 4}, {4, 0}, {4, 3}}) {
    std::vector<float> y(sum.size(), 9.0f);
    host::embedding_forward(table.data() + first * cols, first, rows, cols, ids.data(), 6,
                            y.data());
    for (std::size_t i = 0; i < y.size(); ++i) sum[i] += y[i];
  }
  CHECK(sum == expected);
}

TEST_CASE("embedding_gradient_adds_repeated_ids_and_skips_foreign_ones") {
  std::vector<std::int32_t> const ids{4, 5, 4, 1};
  std::vector<double> const dy{1, 2, 10, 20, 100, 200, 1000, 2000};
  std::vector<double> dtable{1, 1, 1, 1};  // the gradients of rows 4 and 5
  host::embedding_backward(dy.data(), ids.data(), 4, 4, 2, 2, dtable.data());
  CHECK(dtable == std::vector<double>{102, 203, 11, 21});
}

TEST_CASE("positions_repeat_with_the_sequence_and_start_anywhere") {
  std::vector<double> const positions{1, 2, 3};
  std::vector<double> y(5, 10.0);
  host::add_positions(positions.data(), 3, 1, 2, 5, y.data());
  CHECK(y == std::vector<double>{13, 11, 12, 13, 11});
  std::vector<double> dpositions(3);
  std::vector<double> const dy{1, 10, 100, 1000, 10000};
  host::add_positions_backward(dy.data(), 3, 1, 2, 5, dpositions.data());
  CHECK(dpositions == std::vector<double>{10010, 100, 1001});
}
