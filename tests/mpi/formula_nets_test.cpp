// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests layers that are written as formulas, as parts of nets. The gradients of one process are
// compared with finite differences. The results under random plans are compared with those of one
// process, and training under searched plans with the predictions of these plans. Extents are not
// divisible by the extents of the mesh axes, so shards are uneven, and some are empty.

#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <support/formula_layers.hpp>
#include <support/gradients.hpp>
#include <support/message_of.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/rms_norm.hpp>
#include <ashlar/nn/swiglu.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

constexpr auto zero = nn::all_equal(0);

/// An MLP of two products with biases, as one layer.
constexpr auto mlp(std::int64_t features, std::int64_t hidden) {
  return nn::formula(
      "mlp",
      [](auto x, auto in, auto in_bias, auto out, auto out_bias) {
        return matmul(gelu(matmul(x, in) + in_bias), out) + out_bias;
      },
      nn::weight("in", {features, hidden}), nn::weight("in_bias", {hidden}, zero),
      nn::weight("out", {hidden, features}), nn::weight("out_bias", {features}, zero));
}

/// A product whose columns are scaled. If the features of x are split, the product is partial.
constexpr auto gated(std::int64_t features, std::int64_t out) {
  return nn::formula(
      "gated", [](auto x, auto w, auto gain) { return matmul(x, w) * gain; },
      nn::weight("w", {features, out}), nn::weight("gain", {out}, nn::all_equal(1)));
}

/// Returns the most bytes that a step takes on a rank under `plan`. Communicates.
template <class Net, class Data>
std::int64_t peak_of_step(Net const& net, ashlar::mesh const& m, search::plan const& plan,
                          Data const& data) {
  auto model = nn::place<double>(net, m, plan);
  accumulate_step(model, data);
  m.memory().reset_peak();
  accumulate_step(model, data);
  auto peak = static_cast<std::int64_t>(m.memory().peak_bytes());
  MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return peak;
}

auto const rows_net = nn::chain(nn::linear(4, 5), nn::rms_norm(5), mlp(5, 7), nn::swiglu(5, 3),
                                nn::linear(5, 6));
auto const tokens_net = nn::chain(
    nn::embedding(11, 6), nn::residual(nn::chain(nn::rms_norm(6), nn::self_attention(6, 3))),
    nn::residual(nn::chain(nn::rms_norm(6), nn::swiglu(6, 5))), nn::rms_norm(6),
    nn::linear(6, 11, false));

}  // namespace

TEST_CASE("formulas on rows: gradients, and random plans against one process") {
  gradient_check(rows_net, nn::feature_batch{5, 4, 2}, 0, 6).run(6);
}

TEST_CASE("what is kept and the temporaries of passes need the memory that a plan predicts") {
  auto const net = nn::chain(nn::linear(24, 32), nn::rms_norm(32), nn::swiglu(32, 80), mlp(32, 96),
                             nn::linear(32, 20));
  nn::feature_batch const batch{400, 24, 2};
  auto const problem = any_length(nn::describe<double>(net, batch, 0));  // no optimizer states
  auto const data = random_batch<double>(batch, 0, 20, 1);
  auto const& machine = ashlar::machines::workstation;
  for (auto const& t : world_topologies()) {
    if (t.axes() > 2) continue;
    for (bool const rows : {true, false}) {
      auto const plan = rows ? search::data_parallel(problem, t, machine)
                             : search::tensor_parallel(problem, t, machine);
      ashlar::mesh const m(MPI_COMM_WORLD, t);
      auto const peak = peak_of_step(net, m, plan, data);
      CAPTURE(describe(problem, plan));
      CAPTURE(plan.memory);
      CAPTURE(peak);
      CHECK(double(peak) <= 1.1 * double(plan.memory));
      // A tensor-parallel plan predicts too much memory: it counts split hidden features as whole,
      // since x is whole.
      CHECK(double(peak) >= (rows ? 0.6 : 0.4) * double(plan.memory));
    }
  }
}

TEST_CASE("what is whole where x is split counts as whole") {
  // Each gated layer keeps a product, which is whole on every rank if the features of x are split.
  // The extents are chosen so that tensors nearly fill the memory pool's blocks, and so that the
  // kept products take most of the memory.
  auto const net = nn::chain(nn::linear(24, 64), gated(64, 64), gated(64, 64), gated(64, 64),
                             gated(64, 64), as_formula::low_rank(64, 2), nn::linear(64, 20));
  nn::feature_batch const batch{384, 24};
  auto const problem = any_length(nn::describe<double>(net, batch, 0));
  auto const data = random_batch<double>(batch, 0, 20, 1);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  plan_source const plans(problem, m);
  for (int const dim : {0, 1}) {
    if (dim == 1 && world_size() == 1) continue;  // one rank would also move its partial sums
    auto const plan = plans.filled([&](int i) {
      for (auto const& choice : plans.choices(i))
        if (choice.x[0].is_split_of(dim) && !choice.dy[0].is_partial()) return choice;
      return plans.whole()[i];
    });
    auto const peak = peak_of_step(net, m, plan, data);
    CAPTURE(describe(problem, plan));
    CAPTURE(plan.memory);
    CAPTURE(peak);
    CHECK(plan[1].x[0].is_split_of(dim));
    CHECK(double(peak) <= 1.02 * double(plan.memory));
    CHECK(double(peak) >= 0.85 * double(plan.memory));
  }
}

TEST_CASE("a reduction over dims that are no neighbours counts the results between them") {
  // A sum or a maximum over dims 0 and 2 reduces one dim after the other. After the first dim, it
  // holds an intermediate result with half as many elements as x.
  nn::feature_batch const batch{256, 64};
  auto const check = [&](auto const& reduced) {
    auto const net = nn::chain(reduced, nn::linear(64, 4));
    auto const problem = any_length(nn::describe<double>(net, batch, 0));
    auto const data = random_batch<double>(batch, 0, 4, 1);
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
    auto const plan = plan_source(problem, m).whole();
    auto const peak = peak_of_step(net, m, plan, data);
    CAPTURE(plan.memory);
    CHECK(double(peak) <= 1.02 * double(plan.memory));
    CHECK(double(peak) >= 0.85 * double(plan.memory));
  };
  check(nn::formula("sum", [](auto x) {
    auto const parts = split_dim(x, 1, {32, 2});
    return flatten<1, 2>(parts - sum(parts, 0, 2));
  }));
  check(nn::formula("max", [](auto x) {
    auto const parts = split_dim(x, 1, {32, 2});
    return flatten<1, 2>(parts - max(parts, 0, 2));
  }));
}

TEST_CASE("a formula is the first layer, and its weights' gradients are computed without dx") {
  // The gradients of the weights of mlp read other weights, so the backward pass of mlp is one
  // computation. In the backward pass of rms_norm, the two gradients share intermediate results.
  // The backward pass of the product has two halves.
  auto const checked = [](auto const& formula, search::backward_form form) {
    auto const net = nn::chain(formula, nn::linear(4, 5));
    CHECK(formula.spec({3, 4}).backward == form);
    gradient_check(net, nn::feature_batch{3, 4}, 0, 5).run(6);
  };
  checked(mlp(4, 3), search::backward_form::whole);
  checked(nn::rms_norm(4), search::backward_form::separable);
  checked(nn::formula(
              "product", [](auto x, auto w) { return matmul(x, w); }, nn::weight("w", {4, 4})),
          search::backward_form::halves);
}

TEST_CASE("a formula that couples the samples of a batch predicts whole batches only") {
  auto const centered = nn::formula("centered", [](auto x) { return x - mean(x, 0); });
  auto const net = nn::chain(centered, nn::linear(4, 5));
  nn::feature_batch const batch{3, 4};
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const problem = any_length(nn::describe<double>(net, batch));
  auto model = nn::place<double>(net, m, plan_source(problem, m).whole(), 1);
  std::vector<double> inputs(16, 1.0);
  CHECK(model.predict(std::span(std::as_const(inputs)).first(12)).size() == 15);
  CHECK(
      message_of([&] { model.predict(inputs); }) ==
      "model: 4 samples are no multiple of the planned batch of 3, but in this net samples depend "
      "on each other. Fill the batch up, or place the net for another one.");
}

TEST_CASE("a net with more or fewer rows than samples predicts and evaluates whole parts") {
  // From parts of 3 samples, the first net makes 1 row, and the second net makes 5 rows.
  nn::feature_batch const batch{3, 4};
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const check = [&](auto const& resized, std::size_t rows) {
    auto const net = nn::chain(nn::linear(4, 5), resized, nn::linear(5, 5));
    auto const problem = any_length(nn::describe<double>(net, batch));
    auto model = nn::place<double>(net, m, plan_source(problem, m).whole(), 1);
    std::vector<double> inputs, outputs;
    std::vector<std::int32_t> targets;
    double loss = 0;
    for (unsigned part = 0; part < 2; ++part) {
      auto const drawn = random_batch<double>(batch, 0, 5, part).inputs;
      std::vector<std::int32_t> classes(rows);
      for (std::size_t r = 0; r < rows; ++r) classes[r] = static_cast<std::int32_t>((part + r) % 5);
      auto const made = model.predict(drawn);
      CHECK(made.size() == 5 * rows);
      loss += model.evaluate(drawn, classes) / 2;
      inputs.insert(inputs.end(), drawn.begin(), drawn.end());
      outputs.insert(outputs.end(), made.begin(), made.end());
      targets.insert(targets.end(), classes.begin(), classes.end());
    }
    CHECK(model.predict(inputs) == outputs);
    CHECK(near(model.evaluate(inputs, targets), loss, 1e-12));
    auto const wrong = message_of([&] { model.evaluate(inputs, std::span(targets).first(1)); });
    CHECK_MESSAGE(has(wrong, "The loss has " + std::to_string(rows) + " for 3 samples, so pass " +
                                 std::to_string(2 * rows) + "."),
                  wrong);
    auto const less = message_of(
        [&] { model.predict(std::span(std::as_const(inputs)).first(16)); });
    CHECK_MESSAGE(has(less, "in this net samples depend on each other"), less);
  };
  check(nn::formula("pool", [](auto x) { return sum(x, 0); }), 1);
  check(nn::formula("more", [](auto x) { return concat<0>(x, slice<0>(x, 0, 2)); }), 5);
}

TEST_CASE(
    "a block as in Llama trains alike under searched and given plans, with the planned bytes") {
  nn::token_batch const batch{5, 4, 2};
  for (auto const& m : all_meshes(bandwidth_bound)) {
    if (m.axes() > 2) continue;  // on three axes, a search takes seconds
    training_trial it(tokens_net, batch, m, 11, 11);
    check_usual_plans(it, m, 2);
  }
}

}  // namespace ashlar_test
