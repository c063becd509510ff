// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests training on fake GPU ranks in float. The losses must agree with the host's losses to 1e-5
// (train_gpt_losses.hpp), and a profiler must see the expected NVTX ranges.

#include "train_gpt_losses.hpp"

namespace ashlar_test {

TEST_CASE("losses of the host fall, and dropout changes them") {
  CHECK(host_losses().plain.back() < 0.8 * host_losses().plain.front());
  CHECK(largest_difference(host_losses().with_dropout, host_losses().plain) > 1e-3);
}

TEST_CASE("float, on one rank, on two by two, and with tensors split") {
  compare<float>({{"gpu", 1}}, false, 0, 1e-5);
  compare<float>({{"node", 2}, {"gpu", 2}}, false, 0.1, 1e-5);
  compare<float>({{"gpu", 2}}, true, 0.1, 1e-5, 20);
}

TEST_CASE("float, in two pipeline stages of one and of two ranks") {
  compare_in_stages<float>({{"gpu", 2}}, 0.1, 1e-5, 20);
  compare_in_stages<float>({{"node", 2}, {"gpu", 2}}, 0, 1e-5, 20);
}

TEST_CASE("the profile has a range for each step, each phase and each layer's pass") {
  if (!ASHLAR_HAS_NVTX) return;
  fake::all_ranks(1, [](ashlar::nccl::world const& w) {
    ashlar::nccl::mesh const mesh(w, {{"gpu", 1}});
    fake::recorded_ranges ranges;
    losses<float>(mesh, false, 0, 2);
    CHECK(ranges.open() == 0);
    CHECK(ranges.domain() == "ashlar");
    auto const& text = ranges.text();
    auto const times = [&](std::string const& part) {
      int n = 0;
      for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
      return n;
    };
    CHECK(text.find("step 0{forward{0.embedding forward{}2.layer_norm forward{}") == 0);
    CHECK(times("}}step 1{forward{") == 1);
    CHECK(times("norm{}totals{}update{}}") == 2);
    CHECK(times("}backward{31.cross_entropy backward{}30.linear weight gradient{}"
                "30.linear input gradient{}29.layer_norm backward{}") == 2 * micro_batches);
    // In each micro-batch, each layer marks one range in the forward pass, and one range named
    // "backward" or "weight gradient" in the backward pass. The loss marks two additional ranges in
    // the forward pass. The two steps have 2 * micro_batches micro-batches.
    CHECK(times(" forward{}") ==
          times(" backward{}") + times(" weight gradient{}") + 2 * 2 * micro_batches);
    CHECK(times("linear forward{}") == 2 * micro_batches * (4 * layers + 1));
  });
}

}  // namespace ashlar_test
