// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The net of the tests on tuning by trials, and a clock that measures on another machine than the
// assumed one.

#include <cstdint>
#include <utility>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/tuning/tune.hpp>

namespace ashlar_test {

/// A small net, by default on two nodes of two ranks. Its links are so slow that a step waits for
/// them.
struct tuned_net {
  ashlar::search::problem net;
  ashlar::topology mesh;
  ashlar::machine machine = ashlar::machines::gigabit_cluster;
  ashlar::search::plan plain;

  explicit tuned_net(std::int64_t batch = 8, ashlar::topology on = two_nodes())
      : net(ashlar::search::any_length(ashlar::nn::describe<float>(
            ashlar::nn::chain(ashlar::nn::embedding(64, 32),
                              ashlar::nn::repeat(2, ashlar::nn::gpt_block(32, 2)),
                              ashlar::nn::linear(32, 64)),
            ashlar::nn::token_batch{batch, 16}))),
        mesh(std::move(on)) {
    net.overlap = true;
    plain = ashlar::search::data_parallel(net, mesh, machine);
  }
  static ashlar::topology two_nodes() {
    return {{"node", 2, ashlar::link_tier::inter_node}, {"gpu", 2}};
  }
  ashlar::sync::strategy_space space() const { return {net, plain, machine}; }
  /// Returns a function that gives the seconds of a plan on a machine whose figures differ from the
  /// assumed ones.
  auto clock() const {
    auto truth = machine;
    truth = scaled(truth, ashlar::sync::influence::all_reduce, 2);
    truth = scaled(truth, ashlar::sync::influence::inter_alpha, 0.5);
    return [own = space(), truth](ashlar::search::plan const& p,
                                  ashlar::search::bucket_rule const& division) {
      return ashlar::search::timeline_of(program_of(own, p, division), truth).seconds;
    };
  }
};

}  // namespace ashlar_test
