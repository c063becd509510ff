// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests training steps whose transfers overlap with computation. The optimization passes change the
// step's program so that transfers begin earlier. For every pass and every transport, the results
// must be bitwise equal to those of the program without overlap. The same bytes must be moved, but
// their order may differ.

#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/transport.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/nn/branch.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/pass_trial.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace step = ashlar::step;
namespace train = ashlar::train;

/// The results of running a step's program: this rank's share of the loss, the gradients, and the
/// traffic.
struct outcome {
  double loss = 0;
  whole_parameters gradients;
  std::map<std::string, std::int64_t> bytes;  ///< received bytes, by collective and axes
  std::size_t collectives = 0;
};

template <class Model, class Data>
outcome walk(Model& model, step::program const& p, Data const& data) {
  outcome made;
  auto walker = model.make_executor(p);
  model.clear_gradients();
  walker.record_times();
  {
    ashlar::communication_log log(model.mesh());
    walker.run(0, walker.first_update(), model.input_of(data.inputs, data.targets, 0, &made.loss));
    for (auto const& r : log.records())
      made.bytes[std::string(to_string(r.kind)) + " along " +
                 to_string(r.axes, model.mesh().topology())] += r.received_bytes;
    made.collectives = log.records().size();
  }
  // Every action must have a time, also each of the moves of a bucket, which begin together. A
  // missing time would be out of order.
  auto const& times = walker.times();
  CHECK(std::is_sorted(times.begin(), times.begin() + walker.first_update(),
                       [](auto const& a, auto const& b) { return a.start < b.start; }));
  walker.hand_out_gradients();
  made.gradients = gradients_of(model);
  return made;
}

/// Returns the programs that the optimization passes make of `p`. Passes that change nothing are
/// skipped.
std::vector<step::program> variants(step::program const& p) {
  std::vector<step::program> all;
  auto const add = [&](step::pass_result const& r) {
    if (r.applied) all.push_back(r.made);
  };
  add(step::early_moves(p));
  for (std::int64_t const bytes : {0, 300, 1 << 30}) add(step::early_synchronization(p, bytes));
  step::overlap_options const options;
  for (auto const& gathers : options.gathers)
    if (gathers.often == step::gathered::each_pass) add(step::prefetch(p, gathers));
  auto const early = step::early_moves(p).made;
  add(step::early_synchronization(early, 300));
  add(step::prefetch(step::early_synchronization(early, 0).made, options.gathers[1]));
  return all;
}

template <class Input, class Net, class Batch>
void check_overlap(Net const& net, Batch const& batch, int vocabulary, int classes) {
  auto const problem = any_length(nn::describe<double>(net, batch));
  auto const data = random_batch<Input>(batch, vocabulary, classes, 1, 4);
  int compared = 0, in_buckets = 0;
  for (auto const& t : topologies(world_size())) {
    if (t.axes() > 2) continue;
    for (auto const on : {transport::messages, transport::shared_memory}) {
      auto const m = mesh_on(on, t, bandwidth_bound);
      plan_source const plans(problem, m);
      std::mt19937 random(5);
      for (int i = 0; i < 3; ++i) {
        auto const plan = plans.random(random);
        CAPTURE(describe(problem, plan));
        auto model = nn::place<double>(net, m, plan, 3);
        auto const serial = model.program();
        CHECK(!step::check(serial).found());
        auto const expected = walk(model, serial, data);
        for (auto const& p : variants(serial)) {
          CHECK(!step::check(p).found());
          auto const found = walk(model, p, data);
          CHECK(found.loss == expected.loss);
          CHECK(found.gradients == expected.gradients);
          CHECK(found.bytes == expected.bytes);
          bool const buckets = std::any_of(p.moves.begin(), p.moves.end(),
                                           [](auto const& move) { return move.bucket >= 0; });
          if (buckets) CHECK(found.collectives < expected.collectives);
          else CHECK(found.collectives == expected.collectives);
          in_buckets += buckets;
          ++compared;
        }
      }
    }
  }
  if (world_size() > 1) CHECK(compared > 0);
  if (world_size() > 1) CHECK(in_buckets > 0);
}

}  // namespace

TEST_CASE("a GPT under every pass") {
  check_overlap<std::int32_t>(nn::chain(nn::embedding(9, 6),
                                        nn::repeat(2, nn::gpt_block(6, 3, 0.2)), nn::layer_norm(6),
                                        nn::linear(6, 9)),
                              nn::token_batch{3, 4, 2}, 9, 9);
}

TEST_CASE("a perceptron with a residual under every pass") {
  check_overlap<double>(nn::chain(nn::linear(5, 8), nn::gelu(),
                                  nn::residual(nn::chain(nn::linear(8, 8), nn::gelu())),
                                  nn::linear(8, 6)),
                        nn::feature_batch{7, 5, 3}, 0, 6);
}

TEST_CASE("a net with branches under every pass") {
  auto const gated = nn::branch(nn::linear(5, 8), nn::chain(nn::linear(5, 8), nn::gelu()),
                                nn::join::multiply);
  check_overlap<double>(
      nn::chain(gated, nn::branch(nn::linear(8, 3), nn::linear(8, 4), nn::join::concat<1>),
                nn::branch(nn::linear(7, 6), nn::linear(7, 6), nn::join::add)),
      nn::feature_batch{7, 5, 3}, 0, 6);
}

TEST_CASE("a program runs as it was built, whatever machine the mesh has by then") {
  if (world_size() != 4) return;
  // Sums over both axes are fastest if most of their bytes move along the fast axis. So the plans
  // for these two machines differ.
  constexpr ashlar::machine fast_nodes{{1e-12, 1e-9}, {1e-12, 1e-6}, 1e11, 1e10, 0},
      fast_network{{1e-12, 1e-6}, {1e-12, 1e-9}, 1e11, 1e10, 0};
  auto const net = nn::chain(nn::linear(5, 8), nn::gelu(), nn::linear(8, 6));
  nn::feature_batch const batch{8, 5, 1};
  auto const problem = any_length(nn::describe<double>(net, batch));
  auto const data = random_batch<double>(batch, 0, 6, 1);
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"node", 2}, {"gpu", 2}}, fast_nodes);
    auto const plan = search::data_parallel(problem, m.topology(), m.machine());
    auto first = nn::place<double>(net, m, plan, 3), second = nn::place<double>(net, m, plan, 3);
    auto const serial = first.program();
    auto const buckets = step::early_synchronization(serial, 1 << 30).made;
    for (auto const& p : {serial, buckets}) {
      m.set_machine(fast_nodes);
      auto const expected = walk(first, p, data);
      m.set_machine(fast_network);
      int others = 0;
      for (auto const& path : p.paths)
        others += !(m.plan(path.extents, path.element_size, path.from, path.to).steps ==
                    path.steps);
      REQUIRE(others > 0);
      auto const found = walk(second, p, data);
      CHECK(found.loss == expected.loss);
      CHECK(found.gradients == expected.gradients);
      CHECK(found.bytes == expected.bytes);
      CHECK(found.collectives == expected.collectives);
    }
  }
}

TEST_CASE("a trainer that overlaps and one that does not") {
  auto const net = nn::chain(nn::linear(5, 8), nn::gelu(), nn::linear(8, 8), nn::linear(8, 6));
  nn::feature_batch const batch{7, 5, 2};
  // Computation and transfers take similar times on this machine, so overlap is worthwhile.
  constexpr ashlar::machine even{{1e-6, 1e-7}, {1e-6, 1e-7}, 1e7, 1e9, 0};
  auto const problem = any_length(nn::describe<double>(net, batch));
  int overlapped = 0;
  for (auto const& m : all_meshes(even)) {
    plan_source const plans(problem, m);
    std::mt19937 random(3);
    for (int i = 0; i < 3; ++i) {
      auto const plan = plans.random(random);
      CAPTURE(describe(problem, plan));
      auto first = nn::place<double>(net, m, plan, 3), second = nn::place<double>(net, m, plan, 3);
      train::trainer planned(first, train::adam_w{.lr = 0.01}, {.clip = 0.5});
      train::trainer serial(second, train::adam_w{.lr = 0.01},
                            {.clip = 0.5, .overlap = train::overlap::none});
      CHECK(serial.program() == second.program());
      overlapped += !(planned.program() == serial.program());
      for (unsigned s = 0; s < 3; ++s) {
        auto const data = random_batch<double>(batch, 0, 6, s);
        auto const a = planned.step(data), b = serial.step(data);
        CHECK(a.loss == b.loss);
        CHECK(a.gradient_norm == b.gradient_norm);
      }
      CHECK(values_of(first) == values_of(second));
    }
  }
  if (world_size() > 1) CHECK(overlapped > 0);
}

}  // namespace ashlar_test
