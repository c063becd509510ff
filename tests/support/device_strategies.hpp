// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Trains a GPT with tied embeddings under each strategy of gradient synchronization
// (sync/named.hpp) on ranks with one device each. The cases run on a real device (tests/cuda) and
// on the fake device (tests/cuda/fake). All ranks must call each function.

#include <string_view>

#include <support/device_trainings.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/named.hpp>

namespace ashlar_test {

/// The batch of each step: two micro-batches.
constexpr nn::token_batch divided_batch{4, 4, 2};

/// Returns the results of this GPT's training on one rank of the host, with which check_strategies
/// compares. MPI must be initialized.
inline trained_net strategies_on_host() { return trained_on_host(tied_gpt(1), divided_batch, {}); }

/// Checks that data-parallel training under each strategy gives the host's results. If the mesh
/// sums by rank, or has two ranks, all strategies must have the bits of all-reduces without
/// overlap. Gradients are not clipped, because the addends of their norm depend on the strategy.
inline void check_strategies(ashlar::nccl::mesh const& m, trained_net const& host) {
  CAPTURE(to_string(m.topology()));
  auto const net = tied_gpt(1);
  auto const problem = any_length(nn::describe<float>(net, divided_batch));
  auto const plain = search::data_parallel(problem, m.topology(), m.machine());
  auto const trained_by = [&](std::string_view name, ashlar::train::overlap how) {
    auto const plan = ashlar::sync::named(name, problem, plain, m.machine());
    auto model = nn::place<float>(net, m, plan, 5);
    auto made = trained(model, divided_batch, plain_descent, {.overlap = how}, [](auto const&) {});
    check_as_on_host(made, host, 1e-5);
    made.norms.clear();
    return made;
  };
  auto const expected = trained_by("all-reduce", ashlar::train::overlap::none);
  bool const same_bits = m.sum_order() == ashlar::sum_order::by_rank || m.ranks() == 2;
  CAPTURE(same_bits);
  for (auto const name : ashlar::sync::names()) {
    CAPTURE(name);
    auto const made = trained_by(name, ashlar::train::overlap::as_planned);
    if (same_bits) check_same_bits(made, expected);
  }
}

/// Checks the strategies on a mesh of all ranks with one axis, without and with sums by rank. If
/// there are four ranks, also checks them on a mesh with two axes.
inline void check_strategies_on_meshes(ashlar::nccl::world const& w, trained_net const& host) {
  if (w.size() == 4) check_strategies({w, {{"node", 2}, {"gpu", 2}}}, host);
  ashlar::nccl::mesh const m(w, {{"gpu", w.size()}});
  check_strategies(m, host);
  m.set_sum_order(ashlar::sum_order::by_rank);
  check_strategies(m, host);
}

}  // namespace ashlar_test
