// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests branches whose two outputs a formula joins. The gradients under random plans must equal
// those of one process, which must equal finite differences. If a single formula computes the whole
// branch, training under a corresponding plan must have the same bits. Training must move the
// planned bytes.

#include <random>
#include <vector>

#include <doctest/doctest.h>
#include <support/gradients.hpp>
#include <support/message_of.hpp>
#include <support/usual_plans.hpp>

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/formula_join.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/residual.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {
namespace {
namespace nn = ashlar::nn;
using ashlar::axis_placement;

constexpr auto gate_of_two = nn::formula("gate", [](auto u, auto v) { return silu(u) * v; });

/// A product with a matrix, without a bias.
constexpr auto joined_product(std::int64_t in, std::int64_t out) {
  return nn::formula(
      "product", [](auto x, auto w) { return matmul(x, w); }, nn::weight("w", {in, out}));
}

/// Two forms of a net with a gated layer, which is a branch of two products or one formula.
constexpr auto gated_branch = nn::chain(
    nn::linear(4, 6), nn::branch(joined_product(6, 8), joined_product(6, 8), gate_of_two),
    nn::linear(8, 5));
constexpr auto gated_formula = nn::chain(
    nn::linear(4, 6),
    nn::formula(
        "gated", [](auto x, auto gate, auto up) { return silu(matmul(x, gate)) * matmul(x, up); },
        nn::weight("gate", {6, 8}), nn::weight("up", {6, 8})),
    nn::linear(8, 5));

/// Where the tensors of an element lie along the only axis of a mesh.
struct placed_tensors {
  axis_placement x, y, dy, dx;
};

/// Returns the losses and gradient norms of three steps. The plan places each element that `at`
/// names in the way that `at` states, and replicates all others.
template <class Net>
std::vector<double> steps_of_gated(Net const& net, ashlar::mesh const& m,
                                   std::vector<std::pair<int, placed_tensors>> const& at) {
  nn::feature_batch const batch{7, 4, 2};
  auto const problem = any_length(nn::describe<float>(net, batch));
  plan_source const plans(problem, m);
  auto const plan = plans.filled([&](int i) {
    for (auto const& [element, wanted] : at)
      if (element == i)
        for (auto const& c : plans.choices(i))
          if (c.x[0] == wanted.x && c.y[0] == wanted.y && c.dy[0] == wanted.dy &&
              c.dx[0] == wanted.dx)
            return c;
    for (auto const& c : plans.choices(i))
      if (is_whole(c)) return c;
    FAIL("no such choice");
    return plans.choices(i)[0];
  });
  for (auto const& [element, wanted] : at) CHECK(plan[element].x[0] == wanted.x);
  return steps_with(net, batch, m, plan);
}

}  // namespace

TEST_CASE("formulas that join: gates, sums, results of other extents, one branch in another") {
  auto const inner = nn::branch(nn::linear(4, 3), nn::chain(nn::linear(4, 3), nn::gelu()),
                                gate_of_two);
  auto const wide = nn::formula(
      "wide", [](auto u, auto v) { return concat<1>(u / (1 + u * u), exp(-(u * v)) - v); });
  // `mix` has no product of u and v, so both may be partial sums.
  auto const mix = nn::formula("mix", [](auto u, auto v) { return 2 * u - v / 3; });
  gradient_check(nn::chain(nn::branch(nn::chain(inner, nn::linear(3, 3)), nn::linear(4, 3), wide),
                           nn::branch(nn::linear(6, 5), nn::linear(6, 5), mix)),
                 nn::feature_batch{5, 4, 2}, 0, 5)
      .run(8);
}

TEST_CASE("formulas that join: products of the two outputs, and recomputed branches") {
  auto const scores = nn::formula(
      "scores", [](auto u, auto v) { return tanh(einsum<"bsd,btd->bst">(u, v)) + sum(u * u, -1); });
  gradient_check(
      nn::chain(nn::embedding(6, 3, nn::no_positions),
                nn::segment(nn::branch(nn::linear(3, 3), nn::linear(3, 3), scores)),
                nn::segment(nn::residual(nn::branch(nn::gelu(), nn::linear(4, 4), gate_of_two)))),
      nn::token_batch{3, 4, 2}, 6, 4)
      .run(5);
}

TEST_CASE("a branch that a formula joins has the bits of one formula for the whole branch") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const whole = ashlar::broadcast(), sum = ashlar::partial();
  auto const rows = ashlar::split(0, 0), features = ashlar::split(1, 0);
  // Element 0 of the net is a linear layer. Elements 1 to 5 are the branch: its begin, a product,
  // the turn to its second net, a product and its end.
  auto const same = [&](placed_tensors const& begin, placed_tensors const& product,
                        placed_tensors const& end) {
    auto const apart = steps_of_gated(gated_branch, m,
                                      {{1, begin}, {2, product}, {4, product}, {5, end}});
    CHECK(steps_of_gated(gated_formula, m, {{1, product}}) == apart);
    CHECK(apart[0] != apart[2]);
  };
  same({whole, whole, whole, whole}, {whole, whole, whole, whole}, {whole, whole, whole, whole});
  same({rows, rows, rows, rows}, {rows, rows, rows, rows}, {rows, rows, rows, rows});
  same({whole, whole, sum, sum}, {whole, features, features, sum},
       {features, features, features, features});
}

TEST_CASE("a formula that joins trains alike under all usual plans, with the planned bytes") {
  nn::feature_batch const batch{5, 4, 2};
  auto const wider = nn::chain(nn::linear(4, 4), gated_branch);
  for (auto const& m : all_meshes(bandwidth_bound)) {
    if (m.axes() > 2) continue;  // on three axes, a search takes seconds
    training_trial it(wider, batch, m, 0, 5);
    check_usual_plans(it, m, 2);
  }
}

TEST_CASE("outputs of other extents cannot be joined by a formula") {
  auto const net = nn::chain(nn::branch(nn::linear(4, 6), nn::linear(4, 5), gate_of_two));
  CHECK(message_of([&] {
          nn::describe(net, nn::feature_batch{5, 4});
        }) == "nn::branch: the first net makes 5x6 and the second 5x5, which cannot be joined. A "
              "formula needs equal extents.");
  auto const one = nn::formula("one", [](auto u, auto) { return silu(u); });
  CHECK(
      message_of([&] {
        nn::describe(nn::branch(nn::linear(4, 5), nn::linear(4, 5), one), nn::feature_batch{5, 4});
      }) == "one: the formula does not use the output of the second net of extents 5x5. Remove "
            "it from the function's parameters.");
}

}  // namespace ashlar_test
