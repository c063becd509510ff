// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6

// Tests training steps with local parts: every rank passes only its part of the batch. Losses,
// gradient norms and parameters must be bitwise equal to those of steps with the whole batch. A
// part that does not fit must be refused on every rank, and must change nothing.

#include <doctest/doctest.h>
#include <support/local_part.hpp>
#include <support/message_of.hpp>
#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/u_transformer.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace train = ashlar::train;
namespace pipelines = ashlar::pipelines;

auto const local_gpt = nn::chain(nn::embedding(7, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.2)),
                                 nn::layer_norm(6), nn::linear(6, 7));
auto const local_perceptron = nn::chain(nn::linear(5, 8), nn::gelu(), nn::linear(8, 5));
auto const local_contexts = nn::chain(
    nn::convolution(2, 4, 1),
    nn::residual(nn::chain(nn::group_norm(4, 2), nn::cross_attention(4, 2, {3, 5}))),
    nn::convolution(4, 2, 1), nn::mean_squared_error());

/// Trains model `a` with whole batches and model `b` with local parts, and compares their bits.
/// Returns the number of inputs of a micro-batch in this rank's part.
template <class Whole, class Part, class Batches>
std::int64_t same_bits(Whole& a, Part& b, Batches const& batch_of) {
  train::adam_w const adam{.lr = 0.01};
  train::trainer whole(a, adam, {.clip = 0.5}), parts(b, adam, {.clip = 0.5});
  for (unsigned step = 0; step < 2; ++step) {
    auto const data = batch_of(step);
    auto const expected = whole.step(data), made = parts.step(local_part(parts, data));
    CHECK(made.loss == expected.loss);
    CHECK(made.gradient_norm == expected.gradient_norm);
  }
  CHECK(values_of(a) == values_of(b));
  // The trainer `parts` also takes whole batches.
  CHECK(whole.step(batch_of(2)).loss == parts.step(batch_of(2)).loss);
  return parts.part().input.elements();
}

template <class Input, class Net, class Batch>
void check_parts(Net const& net, Batch const& batch, int classes) {
  auto problem = any_length(nn::describe<double>(net, batch));
  int smaller = 0;
  for (auto const& m : all_meshes()) {
    plan_source const plans(problem, m);
    std::mt19937 random(3);
    std::vector<search::plan> all{search::data_parallel(problem, m.topology(), m.machine())};
    for (int turn = 0; turn < 3; ++turn) all.push_back(plans.random(random));
    for (auto plan : all) {
      CAPTURE(describe(problem, plan));
      auto a = nn::place<double>(net, m, plan, 1), b = nn::place<double>(net, m, plan, 1);
      smaller += same_bits(a, b, [&](unsigned step) {
                   return data_for<Input>(net, batch, classes, classes, step, 4);
                 }) < batch.extents().elements();
    }
  }
  if (world_size() > 1) CHECK(smaller > 0);
}

}  // namespace

TEST_CASE("a step with this rank's part of the batch has the bits of one with the whole batch") {
  check_parts<std::int32_t>(local_gpt, nn::token_batch{3, 4, 2}, 7);
  check_parts<double>(local_perceptron, nn::feature_batch{7, 5, 2}, 5);
}

TEST_CASE("the part of a batch has its context, and targets that are numbers") {
  check_parts<double>(local_contexts, nn::image_batch{3, 2, 4, 4, 2}, 1);
}

TEST_CASE("parts of micro-batches that take turns") {
  nn::token_batch const batch{3, 4, 4};
  auto problem = any_length(nn::describe<double>(local_gpt, batch));
  problem.interleaved = 2;
  for (auto const& m : all_meshes()) {
    auto plan = search::zero_3(problem, m.topology(), m.machine());
    predict(plan, problem, m.machine());
    auto a = nn::place<double>(local_gpt, m, plan, 1), b = nn::place<double>(local_gpt, m, plan, 1);
    same_bits(a, b, [&](unsigned s) { return random_batch<std::int32_t>(batch, 7, 7, s, 4); });
  }
}

TEST_CASE("in a pipeline only the stages that read inputs or targets need parts of them") {
  auto const net = nn::chain(nn::embedding(7, 6), nn::repeat(8, nn::gpt_block(6, 3, 0.2)),
                             nn::layer_norm(6), nn::linear(6, 7));
  for (int positions = 2; positions <= world_size() && positions <= 4; positions *= 2) {
    if (world_size() % positions != 0) continue;
    int const q = world_size() / positions;
    ashlar::mesh const whole(MPI_COMM_WORLD, {{"stage", positions}, {"gpu", q}});
    nn::token_batch const batch{4, 4, positions};
    auto const problem = any_length(nn::describe<double>(net, batch));
    ashlar::topology const one{{"stage", 1}, {"gpu", q}};
    auto const chosen = search::data_parallel(problem, one, whole.machine());
    for (auto const& order :
         {pipelines::one_f_one_b(positions, positions),
          pipelines::interleaved(positions, positions, 2), pipelines::zb_v(positions, positions)}) {
      auto const limits = search::stage_limits(problem, search::find_blocks(problem),
                                               order.stages());
      auto plan = search::price_pipeline(problem, chosen, limits,
                                         std::vector<int>(limits.size() - 1, 0), 0,
                                         batch.micro_batches, whole.machine());
      plan.order = order;
      auto a = nn::place<double>(net, whole, plan, 5), b = nn::place<double>(net, whole, plan, 5);
      same_bits(a, b, [&](unsigned s) { return random_batch<std::int32_t>(batch, 7, 7, s, 4); });
      train::trainer const t(b, train::adam_w{});
      auto const* const here = b.pipeline();
      CHECK((t.part().input.elements() > 0) == (here->position_of_element(0) == here->position));
      CHECK((t.part().target.elements() > 0) ==
            (here->position_of_element(problem.size() - 1) == here->position));
    }
  }
}

TEST_CASE("a part that does not fit is refused on every rank, and nothing changes") {
  nn::feature_batch const batch{7, 5, 2};
  auto const problem = any_length(nn::describe<double>(local_perceptron, batch));
  auto const data = random_batch<double>(batch, 0, 5, 1);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = search::data_parallel(problem, m.topology(), m.machine());
  for (bool const checked : {false, true}) {
    auto model = nn::place<double>(local_perceptron, m, plan, 1);
    m.set_checked(checked);
    train::trainer trainer(model, train::adam_w{});
    auto const good = local_part(trainer, data);
    trainer.step(good);
    auto const before = values_of(model);
    int const last = m.ranks() - 1;
    std::string const on_last = m.ranks() == 1 ? "trainer: "
                                               : "trainer: on rank " + std::to_string(last) + ": ";
    auto shorter = good, other_class = good;
    auto const own = ashlar::balanced_part({0, 7}, m.ranks(), last);
    if (m.rank() == last) {
      shorter.inputs.pop_back();
      other_class.targets[0] = 5;
    }
    auto const text = std::to_string(own.begin) + ", " + std::to_string(own.end()) + ")";
    CHECK(message_of([&] { trainer.step(shorter); }) ==
          on_last + "this rank's part of a step is " + std::to_string(10 * own.size) +
              " inputs and " + std::to_string(2 * own.size) + " targets, but it was given " +
              std::to_string(10 * own.size - 1) + " and " + std::to_string(2 * own.size) +
              ". Pass of each of 2 micro-batches the inputs in [" + text +
              " x [0, 5) and the targets in [" + text + ", as trainer.part() says.");
    CHECK(message_of([&] { trainer.step(other_class); }) ==
          on_last + "target 5 is not one of the 5 classes.");
    CHECK(trainer.steps_done() == 1);
    CHECK(values_of(model) == before);
    trainer.step(good);
    m.set_checked(false);
  }
}

TEST_CASE("a rank that passes the whole batch where others pass parts is told so") {
  if (world_size() == 1) return;
  nn::feature_batch const batch{7, 5, 2};
  auto const problem = any_length(nn::describe<double>(local_perceptron, batch));
  auto const data = random_batch<double>(batch, 0, 5, 1);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const plan = search::data_parallel(problem, m.topology(), m.machine());
  auto model = nn::place<double>(local_perceptron, m, plan, 1);
  train::trainer trainer(model, train::adam_w{});
  if (!m.is_checked())
    CHECK(message_of([&] {
            if (m.rank() == 1) trainer.step(data);
            else trainer.step(local_part(trainer, data));
          }) == "trainer: at step 0 rank 1 has another batch than rank 0. Pass the whole batch, "
                "with the same inputs and targets, on every rank, or on every rank its part.");

  // Under a plan without splits, every rank passes the whole batch.
  auto whole = nn::place<double>(local_perceptron, m, plan_source(problem, m).whole(), 1);
  train::trainer replicated(whole, train::adam_w{});
  auto mine = local_part(replicated, data);
  if (m.rank() == m.ranks() - 1) mine.inputs[3] += 1;
  m.set_checked(true);
  CHECK(message_of([&] { replicated.step(mine); }) ==
        "trainer: at step 0 ranks 0 and " + std::to_string(m.ranks() - 1) +
            " passed different inputs, although both read the same part of the batch.");
}

TEST_CASE("other boxes are other parts of the batch, also where input and context are alike") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const box = m.local_box({m.ranks(), 3},
                               ashlar::placement::all_broadcast(1).with_split(0, 0));
  nn::batch_part const part{.input = box, .context = box, .target = box};
  train::local_batch<double, int> const local{.inputs = {1.0 + m.rank()}, .targets = {m.rank()}};
  CHECK_NOTHROW(train::detail::compare_parts(m, part, local, "", 0));
}

}  // namespace ashlar_test
