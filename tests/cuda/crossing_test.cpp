// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests crossings of tensors between parts of a mesh of GPU ranks on real devices. If there are
// fewer devices than ranks, all ranks share one device (support/gpu_ranks.hpp). tests/cuda/fake
// runs the same checks (support/device_crossings.hpp) on fake devices.

#include <doctest/doctest.h>
#include <support/device_crossings.hpp>
#include <support/gpu_ranks.hpp>

namespace ashlar_test {
namespace {

using ashlar::shape;

/// Checks the values of crossings. The messages that NCCL gets are checked on fake devices only.
template <class T>
void cross(two_parts const& m, std::vector<shape> const& all, std::size_t one_in) {
  for (shape const& extents : all)
    CHECK(wrong_crossings<T>(m, extents, one_in, [](auto const&) { return 0; }) == 0);
}

}  // namespace

TEST_CASE("placements cross to placements of another part of as many ranks, and back") {
  int const half = gpu_ranks().size() / 2;
  two_parts const m(gpu_ranks(), {{"node", 2}, {"gpu", half}}, {{"gpu", half}}, {{"gpu", half}});
  cross<float>(m, {{5, 7}, {1, 3}, {0, 2}}, 1);
  cross<ashlar::bfloat16>(m, {{4, 7}}, 1);
  cross_in_background(m);
}

TEST_CASE("placements cross to placements of a part of another number of ranks, and back") {
  if (gpu_ranks().size() != 4) return;
  {
    two_parts const m(gpu_ranks(), {{"rank", 4}}, {{"gpu", 1}}, {{"gpu", 3}});
    cross<ashlar::bfloat16>(m, {{4, 7}}, 1);
    cross<double>(m, {{6, 5}}, 3);
  }
  two_parts const m(gpu_ranks(), {{"rank", 4}}, {{"node", 1}, {"gpu", 2}}, {{"gpu", 2}});
  cross<float>(m, {{6, 5}}, 3);
}

TEST_CASE("many chunks, which the ranks of the target pass on, and parts of parts") {
  if (gpu_ranks().size() != 4) return;
  cross_in_chunks(gpu_ranks(), 2);
  use_parts_of_parts(gpu_ranks(), 2);
}

}  // namespace ashlar_test
