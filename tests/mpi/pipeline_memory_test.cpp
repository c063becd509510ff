// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 2 4

// Tests the memory of pipeline stages. On every rank, the tensors of a step must take at most the
// memory that is predicted for the program of the rank's stage, and at least 0.85 of it. They must
// also take at most the memory in the plan, by which the search decides which plans fit. After the
// second step, tensors must take no additional memory. Transfers between stages must allocate
// nothing at all after the first transfers.

#include <doctest/doctest.h>
#include <support/allocations.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/cut_skips.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/text.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

// The size of each tensor in bytes is one of the allocator's block sizes
// (ashlar/support/size_class.hpp), so no tensor is padded.
auto const full_gpt = nn::chain(nn::embedding(64, 64), nn::repeat(4, nn::gpt_block(64, 4)),
                                nn::layer_norm(64), nn::linear(64, 64));
auto const full_tied_gpt = nn::tied(nn::embedding(64, 64), nn::repeat(4, nn::gpt_block(64, 4)),
                                    nn::layer_norm(64), nn::output_embedding(64, 64));
constexpr int full_batches = 8;
nn::token_batch const full_batch{8, 64, full_batches};

// Three nested skips, and then another skip.
auto const full_skips = nn::chain(
    nn::embedding(64, 64),
    nn::skip<2>(nn::chain(
        nn::linear(64, 64), nn::gelu(),
        nn::skip<2>(nn::chain(nn::linear(64, 64), nn::skip<2>(nn::gelu()), nn::linear(128, 64))),
        nn::linear(128, 64))),
    nn::linear(128, 64), nn::skip<2>(nn::linear(64, 64)), nn::linear(128, 64));

/// Compares the measured memory of stages with the prediction. Each stage has `segments` segments,
/// all of which are recomputed in some runs. The prediction does not count `uncounted` bytes of
/// small tensors.
template <class Net>
void check_memory_of_stages(Net const& net, search::problem const& problem,
                            std::vector<int> const& limits, int segments,
                            std::int64_t uncounted = 0) {
  int const positions = world_size();
  ashlar::topology const one{{"stage", 1}};
  auto const chosen = search::data_parallel(problem, one, ashlar::machines::workstation);
  auto const data = random_batch<std::int32_t>(full_batch, 64, 64, 1);
  for (bool const recomputes : {false, true}) {
    if (recomputes && segments == 0) continue;
    for (auto const& order :
         {pipelines::one_f_one_b(positions, full_batches),
          pipelines::eager(positions, full_batches), pipelines::zb_h1(positions, full_batches)}) {
      ashlar::mesh const mesh(MPI_COMM_WORLD, {{"stage", positions}});
      auto const before = static_cast<std::int64_t>(mesh.memory().bytes_in_use());
      int const blocks = recomputes ? segments : 0;
      auto const plan = search::price_pipeline(problem, chosen, limits,
                                               std::vector<int>(limits.size() - 1, blocks), 0,
                                               full_batches, mesh.machine(), order);
      auto model = nn::place<double>(net, mesh, plan, 5);
      train::trainer trainer(model, train::adam_w{.lr = 0.01});
      auto const predicted = ashlar::search::high_water(trainer.program()).peak;
      std::size_t peak = 0, in_use = 0;
      for (int step = 0; step < 4; ++step) {
        mesh.memory().reset_peak();
        trainer.step(data);
        if (step == 1) peak = mesh.memory().peak_bytes(), in_use = mesh.memory().bytes_in_use();
        if (step < 2) continue;
        CHECK(mesh.memory().peak_bytes() == peak);
        CHECK(mesh.memory().bytes_in_use() == in_use);
      }
      auto const measured = static_cast<std::int64_t>(peak) - before;
      CAPTURE(to_string(order));
      CAPTURE(recomputes);
      CAPTURE(predicted);
      CAPTURE(measured);
      CHECK(measured <= predicted + uncounted);
      CHECK(measured <= plan.stages[static_cast<std::size_t>(world_rank())].memory + uncounted);
      CHECK(double(measured) >= 0.85 * double(predicted));
    }
  }
}

/// Calls check_memory_of_stages for stages that have equally many of the net's four blocks.
template <class Net>
void check_memory_of_blocks(Net const& net) {
  auto const problem = any_length(nn::describe<double>(net, full_batch));
  check_memory_of_stages(net, problem,
                         search::stage_limits(problem, search::find_blocks(problem), world_size()),
                         4 / world_size());
}

}  // namespace

TEST_CASE("the memory of each stage is as predicted, and stays so after two steps") {
  check_memory_of_blocks(full_gpt);
}

TEST_CASE("the memory of stages with a tied parameter is as predicted") {
  check_memory_of_blocks(full_tied_gpt);
}

TEST_CASE("the memory of stages between which skips pass") {
  auto const problem = any_length(nn::describe<double>(full_skips, full_batch));
  std::vector<int> limits;
  for (int s = 0; s <= world_size(); ++s) limits.push_back(problem.size() * s / world_size());
  REQUIRE(!ashlar::search::cut_skips(problem, limits).empty());
  check_memory_of_stages(full_skips, problem, limits, 0, 4096);  // bytes of the loss's statistics
}

TEST_CASE("a crossing in the background allocates nothing after the first ones") {
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", world_size()}});
  auto const parts = whole.split("stage");
  auto const everywhere = ashlar::placement::all_broadcast(1);
  ashlar::shape const extents{64, 48};
  auto const plan = parts[0].cross_plan(extents, 8, everywhere, parts[1], everywhere);
  auto const& own = parts[world_rank() == 0 ? 0 : 1];
  ashlar::tensor<double, 2> const x(own, extents, everywhere);
  int const here = own.is_here() ? world_rank() : -1;
  if (here == 0) std::fill_n(x.data(), x.local_elements(), 7.0);
  int before = 0;
  for (int turn = 0; turn < 20; ++turn) {
    if (turn == 10) before = allocations;
    int const number = parts[0].next_crossing(parts[1]);
    if (here < 0) continue;
    own.wait(*own.start_crossing(*plan, own.local_box(extents, everywhere), x.data(), 8, number));
  }
  CHECK(allocations == before);
  if (here == 1) CHECK(x.data()[64 * 48 - 1] == 7.0);
}

}  // namespace ashlar_test
