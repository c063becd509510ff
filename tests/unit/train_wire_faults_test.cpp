// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the error of a step that is not finite names the wire of gradients only if the step
// has sent any with it.

#include <span>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/train/step_faults.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

/// A model on one rank that has a plan, but no parameters.
struct model_of_faults {
  struct one_rank {
    int ranks() const { return 1; }
    int rank() const { return 0; }
    void all_reduce(std::span<std::int64_t>, ashlar::reduction) const {}
  };
  ashlar::search::plan chosen;
  ashlar::search::plan const& plan() const { return chosen; }
  one_rank mesh() const { return {}; }
  template <class F>
  void for_each_parameter(F const&) {}
};

}  // namespace

TEST_CASE("a step without wires does not blame them for numbers that are not finite") {
  auto const net = block_net(2, {4, 6}, 8);
  auto const& machine = ashlar::machines::gpu_cluster;
  auto const plain = ashlar::search::data_parallel(net, ashlar::parse_topology("gpu=2"), machine);
  ashlar::sync::encoded const by{.wire = ashlar::wires::half, .plain_steps = 3};
  model_of_faults model{by(net, plain, machine)};
  auto const text_at = [&](std::int64_t step) {
    return message_of([&] { ashlar::train::detail::refuse_not_finite(model, step, 1.0, 2.0); });
  };
  CHECK(has(text_at(2), "at step 2 the loss is 1.0"));
  CHECK(!has(text_at(2), "Gradients are sent as"));
  CHECK(has(text_at(3), "Gradients are sent as half, whose largest number is 65504."));
}

}  // namespace ashlar_test
