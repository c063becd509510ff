// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests guarded blocks, which the mesh's memory allocator uses to find wrong accesses. Guarded
// blocks and the margins before and behind them are filled with NaN (-1 as an integer). Reading a
// block before it is written, or beyond its ends, gives NaN. Writing beyond the ends of a block is
// detected, both while the block is allocated and after its release.

#include <cmath>

#include <doctest/doctest.h>

#include <ashlar/comm/arena.hpp>

namespace ashlar_test {

TEST_CASE("guarded blocks and their margins are filled with NaN") {
  ashlar::arena memory;
  memory.guard(100);
  auto* const block = static_cast<double*>(memory.allocate(3 * sizeof(double)));
  for (int i = -12; i < 3 + 12; ++i) CHECK(std::isnan(block[i]));
  auto* const ids = static_cast<int*>(memory.allocate(0));
  CHECK(ids[0] == -1);
  memory.release(ids, 0);
  for (int i = 0; i < 3; ++i) block[i] = 1;
  CHECK(memory.guarded()->are_intact());
  memory.release(block, 3 * sizeof(double));
  CHECK(memory.guarded()->are_intact());
}

TEST_CASE("a write beside a guarded block is noticed, even if the block is already freed") {
  for (int const place : {-1, 5}) {
    ashlar::arena memory;
    memory.guard(64);
    auto* const block = static_cast<float*>(memory.allocate(5 * sizeof(float)));
    block[place] = 0;
    CHECK_FALSE(memory.guarded()->are_intact());
    memory.release(block, 5 * sizeof(float));
    CHECK_FALSE(memory.guarded()->are_intact());
  }
}

}  // namespace ashlar_test
