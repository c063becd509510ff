// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 3 4

// Tests the wire power_sgd (plan/wire.hpp):
//
// - the result is an orthogonal projection of the sum, and so a contraction; a sum whose rank is
//   not above that of the factors arrives unchanged, except for rounding,
// - with error feedback, what was sent is the sum of the gradients minus the last errors; if the
//   gradient is constant, the mean of what was sent comes closer and closer to it,
// - predicted bytes, recorded bytes and the bytes of MPI calls are equal; a matrix is sent exactly
//   if its factors have at least half as many elements,
// - a step needs the planned memory; a sum that is too large for a float does not arrive as zero,
// - if all steps have the same batch, the loss falls at least half as far as without the wire, with
//   the predicted bytes and memory, and with the same bits on both transports, with overlap and in
//   buckets,
// - factors of a higher rank than the matrix, and a NaN, give an error of one sentence on every
//   MPI rank.

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/spoiled.hpp>
#include <support/traffic_check.hpp>
#include <support/training_trial.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/tensor/from_local.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute_encoded.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace train = ashlar::train;
namespace wires = ashlar::wires;
using namespace ashlar::placements;
using ashlar::sbp;

constexpr std::int64_t matrix_rows = 48, matrix_columns = 40;
using factored_matrix = std::vector<float>;

double squared_norm(factored_matrix const& x) {
  double sum = 0;
  for (auto const v : x) sum += double(v) * double(v);
  return sum;
}
factored_matrix minus(factored_matrix const& a, factored_matrix const& b) {
  factored_matrix d(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) d[i] = a[i] - b[i];
  return d;
}

/// Returns a matrix of random numbers with a normal distribution. They are different on each MPI
/// rank and for each `seed`.
factored_matrix random_matrix(int seed) {
  factored_matrix x(static_cast<std::size_t>(matrix_rows * matrix_columns));
  ashlar::device::host::fill_normal<float>(static_cast<std::uint64_t>(1000 * seed + world_rank()),
                                           1, 0, matrix_rows * matrix_columns, 0, 1, x.data());
  return x;
}
/// Returns a matrix of rank 1.
factored_matrix outer_product(int seed) {
  auto const factors = random_matrix(seed);
  factored_matrix x(factors.size());
  for (std::int64_t i = 0; i < matrix_rows; ++i)
    for (std::int64_t j = 0; j < matrix_columns; ++j)
      x[static_cast<std::size_t>(i * matrix_columns + j)] =
          factors[static_cast<std::size_t>(i)] * factors[static_cast<std::size_t>(matrix_rows + j)];
  return x;
}

auto addend_on(ashlar::mesh const& m, factored_matrix const& x) {
  return ashlar::from_local<2>(m, {matrix_rows, matrix_columns}, sbp<P>{}, x);
}

auto const factored_gpt = nn::tied(nn::embedding(13, 16), nn::repeat(1, nn::gpt_block(16, 2)),
                                   nn::layer_norm(16), nn::output_embedding(16, 13));
nn::token_batch const factored_tokens{12, 4, 2};

auto factored_data(unsigned step) {
  return data_for<std::int32_t>(factored_gpt, factored_tokens, 13, 13, step, 5);
}

/// Returns the losses of steps that all have the same batch.
template <class Plan>
std::vector<double> factored_losses(ashlar::mesh const& m, Plan const& plan, train::overlap how) {
  auto model = nn::place<float>(factored_gpt, m, plan, 7);
  train::trainer trainer(model, train::adam_w{.lr = 0.02}, {.clip = 1, .overlap = how});
  std::vector<double> all;
  for (int step = 0; step < 10; ++step) all.push_back(trainer.step(factored_data(0)).loss);
  return all;
}

}  // namespace

TEST_CASE("the sum is projected on few columns, and sums of low rank arrive as they are") {
  int const p = world_size();
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"gpu", p}});
    for (int seed = 1; seed < 4; ++seed) {
      auto const x = addend_on(m, random_matrix(seed));
      auto const exact = to_full(x);
      auto const y = to_full(redistribute(x, sbp<B>{}, sync::wire<sync::power_sgd<4>>{}));
      if (p == 1) {
        CHECK(y == exact);  // nothing is sent
        continue;
      }
      // x - y is orthogonal to y, so that |x - y|² = |x|² - |y|².
      double const all = squared_norm(exact), sent = squared_norm(y),
                   lost = squared_norm(minus(exact, y));
      CHECK(lost == doctest::Approx(all - sent).epsilon(1e-4));
      CHECK(sent >= all * 4.0 / matrix_columns);  // on average, 4 columns have this share
      CHECK(sent < 0.9 * all);
    }
    auto const x = addend_on(m, outer_product(1));
    auto const exact = to_full(x);
    auto const y = to_full(redistribute(x, sbp<B>{}, sync::wire<sync::power_sgd<4>>{}));
    CHECK(squared_norm(minus(exact, y)) <= 1e-7 * squared_norm(exact));
    auto const zero = addend_on(
        m, factored_matrix(static_cast<std::size_t>(matrix_rows * matrix_columns)));
    CHECK(squared_norm(to_full(redistribute(zero, sbp<B>{}, sync::wire<sync::power_sgd<4>>{}))) ==
          0);
  }
}

TEST_CASE("with error feedback, what was sent is the sum of the gradients minus the last errors") {
  if (world_size() == 1) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  ashlar::wire_errors errors;
  factored_matrix sent(static_cast<std::size_t>(matrix_rows * matrix_columns)), made(sent);
  for (int step = 0; step < 8; ++step) {
    auto const x = addend_on(m, random_matrix(step));
    auto const y = to_full(redistribute(x, sbp<B>{}, sync::wire<sync::power_sgd<2>>{}, errors));
    auto const exact = to_full(x);
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] += y[i], made[i] += exact[i];
  }
  auto const left = to_full(addend_on(m, errors.step(1)));
  CHECK(squared_norm(minus(minus(made, left), sent)) <= 1e-8 * squared_norm(made));
  CHECK(squared_norm(left) > 0.1 * squared_norm(made));  // the errors are not negligible
  CHECK(errors.step(0).size() == static_cast<std::size_t>(2 * matrix_columns));

  // The factors of the last run are a better start than random ones: the share of a constant
  // gradient that has not been sent falls.
  ashlar::wire_errors kept;
  auto x = outer_product(1);
  auto const constant = random_matrix(2);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 10 * x[i] + constant[i];
  auto const g = addend_on(m, x);
  auto const exact = to_full(g);
  factored_matrix sum(x.size());
  double before = 1;
  for (int step = 1; step <= 24; ++step) {
    auto const y = to_full(redistribute(g, sbp<B>{}, sync::wire<sync::power_sgd<2>>{}, kept));
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += y[i] - exact[i];
    if (step % 8 != 0) continue;
    double const share = std::sqrt(squared_norm(sum) / squared_norm(exact)) / step;
    CHECK(share < before);
    before = share;
  }
}

TEST_CASE("the factors have the planned bytes, and what gains nothing is sent exactly") {
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    auto const x = addend_on(m, random_matrix(1)).as_dynamic();
    for (auto const* to : {"B", "S(0)", "S(1)", "O(0)"})
      for (int const rank : {1, 4, 7, 40}) {
        auto const target = ashlar::parse_placement(to);
        auto const wire = wires::power_sgd(rank);
        auto const plan = plan_redistribution(x, target, wire).plan;
        CAPTURE(std::string(to) + " " + to_string(wire));
        traffic_check check(m, on);
        auto const y = redistribute(x, target, wire);
        CHECK(check.difference(predicted(m, plan)) == "");
        bool const pays = world_size() > 1 &&
                          2 * rank * (matrix_rows + matrix_columns) < matrix_rows * matrix_columns;
        CHECK((plan.steps.size() > 0 && plan.steps[0].wire.is_factored()) == pays);
        auto const exact = to_full(redistribute(x, target));  // this plan may have other steps
        if (!pays) CHECK(squared_norm(minus(to_full(y), exact)) <= 1e-10 * squared_norm(exact));
        if (pays && rank == 4 && world_size() == 4)  // both factors are cut evenly
          CHECK(plan.received_bytes(m.topology(), m.coordinate()) ==
                2 * (world_size() - 1) * 4 * rank * (matrix_rows + matrix_columns) / world_size());
      }
    auto const vector = ashlar::full<float>(m, {100}, sbp<P>{}, 1);
    CHECK(to_full(redistribute(vector, sbp<B>{}, sync::wire<sync::power_sgd<4>>{})) ==
          to_full(redistribute(vector, sbp<B>{})));
    CHECK(has(message_of([&] { redistribute(x, x.placement(), wires::power_sgd(41)); }),
              "the rank of power-sgd is above the number of rows or columns"));
  }
}

TEST_CASE("a step with factors needs the memory that its plan says") {
  if (world_size() == 1) return;
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    auto const x = addend_on(m, random_matrix(1)).as_dynamic();
    auto const to = ashlar::value_of<sbp<B>>;
    for (bool const feedback : {false, true}) {
      auto const wire = feedback ? wires::with_feedback(wires::power_sgd(4)) : wires::power_sgd(4);
      ashlar::wire_errors errors;
      redistribute(x, to, wire, &errors);
      m.memory().reset_peak();
      auto const before = m.memory().bytes_in_use();
      auto const y = redistribute(x, to, wire, &errors);
      auto const taken = static_cast<std::int64_t>(m.memory().peak_bytes() - before);
      // The second step of the plan needs most memory. Its prediction includes the copies of the
      // second factor and of its sum in a bucket, which a tensor that moves alone does not need.
      std::int64_t const bucket = 2 * 4 * matrix_columns * 4, rounding = 768;
      auto const most = encoded_moving_bytes(plan_redistribution(x, to, wire).plan, m.topology());
      CAPTURE(std::string(to_string(on)) + " " + to_string(wire));
      CHECK(taken <= most - bucket + rounding);
      if (on == transport::messages) CHECK(taken >= most - bucket - rounding);
    }
  }
}

TEST_CASE("what a float cannot hold is not sent as zeros") {
  if (world_size() == 1) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (int const rank : {1, 3})
    for (float const bad : {infinity, -infinity, 2e38f}) {
      auto values = random_matrix(1);
      if (std::isinf(bad)) values[static_cast<std::size_t>(world_rank())] = bad;
      else std::fill(values.begin(), values.end(), bad);  // the sum of all ranks is infinite
      ashlar::wire_errors errors;
      auto const y = to_full(redistribute(addend_on(m, values).as_dynamic(),
                                          ashlar::value_of<sbp<B>>,
                                          wires::with_feedback(wires::power_sgd(rank)), &errors));
      CAPTURE(bad);
      CHECK(!std::all_of(y.begin(), y.end(), [](float v) { return std::isfinite(v); }));
      for (std::size_t const step : {0u, 1u})
        for (auto const v : errors.step(step)) CHECK(v == 0);  // no run has succeeded
    }
}

TEST_CASE("training with factors learns almost as without them, with the planned bytes") {
  auto const net = any_length(nn::describe<float>(factored_gpt, factored_tokens));
  auto const wire = wires::with_feedback(wires::power_sgd(2));
  for (auto const* const name : {"all-reduce", "zero1", "owners"}) {
    std::vector<std::vector<double>> found;
    for (auto const on : {transport::messages, transport::shared_memory}) {
      auto const m = mesh_on(on, {{"node", 1}, {"gpu", world_size()}}, slow_messages);
      auto const exact = sync::named(
          name, net, search::data_parallel(net, m.topology(), m.machine()), m.machine());
      auto const plan = sync::encoded{wire}(net, exact, m.machine());
      CAPTURE(name);
      CHECK(has_wires(plan) == (world_size() > 1));
      found.push_back(factored_losses(m, plan, train::overlap::none));
      found.push_back(factored_losses(m, plan, train::overlap::as_planned));
      auto const expected = factored_losses(m, exact, train::overlap::none);
      // If the gradients of matrices were lost, only vectors would learn, and the loss would fall
      // only a fourteenth as far as without the wire.
      CHECK(found[0].front() - found[0].back() > 0.5 * (expected.front() - expected.back()));
      if (world_size() > 1) CHECK(found[0] != expected);

      auto model = nn::place<float>(factored_gpt, m, plan, 7);
      train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = train::overlap::none});
      CHECK(search::high_water(trainer.program()).peak == plan.memory);
      traffic_check const check(m, on);
      trainer.step(factored_data(0));
      CHECK(check.difference(expected_records(net, plan, m)) == "");
    }
    for (auto const& it : found) CHECK(it == found[0]);
  }
}

TEST_CASE("a rank above a matrix of the net is one sentence, and so is a NaN") {
  if (world_size() == 1) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const net = any_length(nn::describe<float>(factored_gpt, factored_tokens));
  auto const plain = search::data_parallel(net, m.topology(), m.machine());
  CHECK(has(message_of([&] { sync::encoded{wires::power_sgd(65)}(net, plain, m.machine()); }),
            "parameter table: the rank of power-sgd is above"));
  CHECK(has(message_of([&] { sync::encoded{wires::power_sgd(0)}(net, plain, m.machine()); }),
            "power-sgd/0: the wire power_sgd has factors of rank 1 or more"));
  for (auto const& wire : {wires::power_sgd(2), wires::with_feedback(wires::power_sgd(2))}) {
    auto const plan = sync::encoded{wire}(net, plain, m.machine());
    auto model = nn::place<float>(factored_gpt, m, plan, 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.01});
    trainer.step(factored_data(0));
    spoil(model);
    auto const text = message_of([&] { trainer.step(factored_data(1)); });
    CHECK(has(text, "the gradient norm"));
    CHECK(has(text, "Gradients are sent as " + to_string(wire)));
  }
}

}  // namespace ashlar_test
