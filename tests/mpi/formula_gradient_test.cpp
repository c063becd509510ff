// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4
// thorough: ASHLAR_GRADIENT_PROGRAMS=1000 1 2 3 4 5 6

// Tests ashlar::gradient. Random programs run on tensors at random placements. Their values and
// gradients are compared with those that one process computes, and the gradients of one process are
// compared with finite differences.

#include <cstdlib>
#include <numeric>
#include <random>

#include <doctest/doctest.h>
#include <support/apart.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/slope_along.hpp>

#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/gradient.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::placement, ashlar::sbp;

constexpr std::int64_t extent = 3;  // every operand is 3x3, so any two have a product

/// One operator of a random program. Its operands have the numbers `u` and `v`: 0 to 2 for the
/// operands of the program, 3 and above for the results of earlier operators.
struct random_step {
  int what, u, v, dim;
};

/// A function of three matrices that applies a list of operators. It returns the last result.
struct random_program {
  std::vector<random_step> steps;

  template <class X>
  X operator()(X x, X a, X b) const {
    std::vector<X> all{x, a, b};
    for (auto const& s : steps) {
      X const u = all[static_cast<std::size_t>(s.u)], v = all[static_cast<std::size_t>(s.v)];
      switch (s.what) {
        case 0: all.push_back(u + v); break;
        case 1: all.push_back(u - v); break;
        case 2: all.push_back(u * v); break;
        case 3: all.push_back(u / (v * v + 1)); break;
        case 4: all.push_back(matmul(u, v)); break;
        case 5: all.push_back(tanh(u)); break;
        case 6: all.push_back(0.5 * u); break;
        case 7: all.push_back(sum(u, s.dim)); break;
        case 8: all.push_back(sigmoid(u) * v); break;
        case 9: all.push_back(softmax(u, s.dim)); break;
        case 10: all.push_back(transpose(u) + v); break;
        case 11: all.push_back(u * max(v, s.dim)); break;
        case 12: all.push_back(einsum<"ab,cb->ca">(u, v)); break;
        case 13: all.push_back(u / (1 + sum(v * v, 0, 1))); break;
        case 14: all.push_back(mean(matmul(u, v), s.dim)); break;
        case 15: all.push_back(where(relu(u), v, tanh(v))); break;
        case 16:
          all.push_back((s.dim == 0 ? cumulative_sum<0>(u) : cumulative_sum<1>(u)) * v);
          break;
        case 17: all.push_back(matmul(concat<1>(u, v), concat<0>(v, u))); break;
        case 18: {  // joins index 0 of one operand and the indices above 0 of the other
          auto const cut = s.dim == 0 ? concat<0>(slice<0>(u, 1, extent - 1), slice<0>(v, 0, 1))
                                      : concat<1>(slice<1>(v, 0, 1), slice<1>(u, 1, extent - 1));
          all.push_back(cut * v);
          break;
        }
        default: {
          auto const ids = where(relu(v), 1, 0.0 * v);
          all.push_back(einsum<"abc,ab->ac">(take_rows(concat<0>(u, tanh(u)), ids), v));
          break;
        }
      }
    }
    return all.back();
  }
};

/// Returns the operators of a program and their operands, for messages.
std::string text_of(random_program const& program) {
  std::string text;
  for (auto const& s : program.steps)
    text += std::to_string(s.what) + "(" + std::to_string(s.u) + ", " + std::to_string(s.v) + ", " +
            std::to_string(s.dim) + ") ";
  return text;
}

/// Draws a random program in which all operands are used and all extents fit. Returns the program
/// and its formula.
std::pair<random_program, ashlar::formulas::differentiated_formula>
draw_program(std::mt19937& random) {
  auto const below = [&](std::size_t n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  ashlar::shape const extents[] = {{extent, extent}, {extent, extent}, {extent, extent}};
  for (;;) {
    random_program program;
    std::size_t const count = 2 + static_cast<std::size_t>(below(7));
    for (std::size_t i = 0; i < count; ++i)
      program.steps.push_back({below(20), below(3 + i), below(3 + i), below(2)});
    try {
      return {program, ashlar::detail::formula_of<2, 2, 2>(program, extents)};
    } catch (ashlar::error const&) {
      // This program does not use one of its operands, or multiplies a sum by a matrix of other
      // extents, so another program is drawn.
    }
  }
}

using matrix = ashlar::tensor<double, 2>;
using matrices = std::array<std::vector<double>, 4>;  // y, dx, da, db

matrices results_of(random_program const& program, std::array<matrix, 3> const& x) {
  auto const [y, dx, da, db] = ashlar::gradient(program)(x[0], x[1], x[2]);
  return {ashlar::to_full(y), ashlar::to_full(dx), ashlar::to_full(da), ashlar::to_full(db)};
}

std::array<matrix, 3> operands(ashlar::mesh const& m, std::array<placement, 3> const& p,
                               std::uint64_t seed) {
  std::array<matrix, 3> x;
  for (std::size_t i = 0; i < 3; ++i)
    x[i] = ashlar::normal<double>(m, {extent, extent}, p[i], {.seed = seed + i});
  return x;
}

/// Returns the gradients of the sum of all elements of y by finite differences, from the values at
/// the distances h and 2 h on both sides. Entry 0 of the result, which stands for y, stays empty.
matrices differences(random_program const& program, std::array<matrix, 3> const& x, double h) {
  matrices slopes;
  for (std::size_t k = 0; k < 3; ++k)
    for (double& value : x[k].local())
      slopes[k + 1].push_back(slope_along(value, h, [&] {
        auto const y = results_of(program, x)[0];
        return std::accumulate(y.begin(), y.end(), 0.0);
      }));
  return slopes;
}

}  // namespace

TEST_CASE("random programs: finite differences on one process, and every mesh as one process") {
  char const* const asked = std::getenv("ASHLAR_GRADIENT_PROGRAMS");
  int const programs = asked != nullptr ? std::atoi(asked) : 40;
  ashlar::mesh const alone(MPI_COMM_SELF, {{"gpu", 1}});
  std::vector<ashlar::mesh> meshes;
  for (auto const& t : world_topologies()) meshes.emplace_back(MPI_COMM_WORLD, t);
  std::mt19937 random(11);
  int splits = 0, draws = 0;
  for (int i = 0; i < programs; ++i) {
    auto const drawn = draw_program(random);
    auto const& program = drawn.first;
    auto const& formula = drawn.second;
    auto const seed = static_cast<std::uint64_t>(1 + 3 * i);
    auto const whole = placement::all_broadcast(1);
    auto const x = operands(alone, {whole, whole, whole}, seed);
    auto const known = results_of(program, x);
    INFO("program ", i, ": ", text_of(program));
    // If two elements of a row are nearly equal, the maximum of the row may change from one element
    // to the other between two points. The finite differences are then wrong, so smaller distances
    // h are tried, too.
    bool equal = false;
    for (double const h : {1e-3, 1e-4, 1e-5}) {
      if (equal) break;
      auto const numeric = differences(program, x, h);
      equal = true;
      for (std::size_t k = 1; k < 4; ++k) equal = equal && apart(known[k], numeric[k]) < 1e-7;
    }
    CHECK(equal);

    std::vector<ashlar::training_row> all;  // signature rows whose dy is not partial
    ashlar::formulas::detail::row_search search(formula);
    for (auto const& it : search.run())
      if (!it.row.dy.is_partial()) all.push_back(it.row);
    for (auto const& m : meshes) {
      auto const& t = m.topology();
      std::array<placement, 3> p;
      for (auto& each : p) each = placement::all_broadcast(t.axes());
      for (int a = 0; a < t.axes(); ++a) {
        auto const& row = all[random() % all.size()];
        axis_placement const roles[] = {row.x, row.use[0], row.use[1]};
        for (std::size_t k = 0; k < 3; ++k) {
          p[k].axis[a] = roles[k];
          for (int b = 0; b < a; ++b)
            if (roles[k].is_split() && p[k][b].is_split_of(roles[k].dim)) ++p[k].axis[a].depth;
        }
        splits += row.x.is_split() || row.use[0].is_split() || row.use[1].is_split();
        ++draws;
      }
      auto const here = results_of(program, operands(m, p, seed));
      INFO("on ", ashlar::to_string(t), ": x ", ashlar::to_string(p[0]), ", a ",
           ashlar::to_string(p[1]), ", b ", ashlar::to_string(p[2]));
      for (std::size_t k = 0; k < 4; ++k) CHECK(apart(known[k], here[k]) < 1e-12);
    }
  }
  CHECK(8 * splits > draws);
}

TEST_CASE("the types of results say where a reduction is due") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const loss = [](auto x, auto w, auto bias) { return mean(pow(matmul(x, w) + bias, 2), -1); };
  auto const x = ashlar::normal<double>(m, {5, 4}, sbp<S<0>>{}, {.seed = 1});
  auto const w = ashlar::normal<double>(m, {4, 3}, sbp<B>{}, {.seed = 2});
  auto const bias = ashlar::normal<double>(m, {3}, sbp<B>{}, {.seed = 3});
  auto const [y, dx, dw, dbias] = ashlar::gradient(loss)(x, w, bias);
  static_assert(std::is_same_v<decltype(y), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dx), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dw), ashlar::tensor<double, 2, sbp<P>> const>);
  static_assert(std::is_same_v<decltype(dbias), ashlar::tensor<double, 1, sbp<P>> const>);
  // dbias is the sum of dz over the rows, and dw = xᵀ dz with dz = 2 (x w + bias) / 3.
  auto const all_x = ashlar::to_full(x), all_w = ashlar::to_full(w), b = ashlar::to_full(bias);
  std::vector<double> expected(12), expected_bias(3);
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t n = 0; n < 3; ++n) {
      double z = b[n];
      for (std::size_t k = 0; k < 4; ++k) z += all_x[4 * r + k] * all_w[3 * k + n];
      expected_bias[n] += 2 * z / 3;
      for (std::size_t k = 0; k < 4; ++k) expected[3 * k + n] += all_x[4 * r + k] * 2 * z / 3;
    }
  CHECK(apart(expected, ashlar::to_full(dw | ashlar::to<B>)) < 1e-13);
  CHECK(apart(expected_bias, ashlar::to_full(dbias)) < 1e-13);
}

// The gradient of b is the sum of the rows of x. It is computed in one group with y and dx, some
// rows at a time. If the rows are split, every rank has more rows than combine_rows.hpp sums at
// once. If the columns are split, a rank has up to three whole columns. A reduction adds the
// elements of a single column in another order (reduce.hpp), and the group must do the same.
TEST_CASE("a sum of many rows in a group has the bits of a reduction") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const product = [](auto x, auto b) { return x * b; };
  placement const whole{ashlar::broadcast()}, first{ashlar::split(0)}, second{ashlar::split(1)};
  for (bool const by_rows : {true, false}) {
    auto const x = ashlar::normal<float>(m, {1800, 3}, by_rows ? first : second, {.seed = 1});
    auto const b = ashlar::normal<float>(m, {3}, by_rows ? whole : first, {.seed = 2});
    auto const results = ashlar::gradient(product)(x, b);
    auto const sums = ashlar::sum<0>(x);
    auto const in_group = std::get<2>(results).local_addends(), alone = sums.local_addends();
    CHECK(std::vector<float>(in_group.begin(), in_group.end()) ==
          std::vector<float>(alone.begin(), alone.end()));
  }
}

TEST_CASE("a matrix of one row multiplies means, of which the compiler knows the extent 1") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::normal<double>(m, {5, 4}, sbp<S<0>>{}, {.seed = 1});
  auto const w = ashlar::normal<double>(m, {1, 3}, sbp<B>{}, {.seed = 2});
  auto const f = [](auto u, auto v) { return matmul(mean(u, -1), v); };
  auto const [y, dx, dw] = ashlar::gradient(f)(x, w);
  static_assert(std::is_same_v<decltype(y), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dx), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dw), ashlar::tensor<double, 2, sbp<P>> const>);
  // Each element of dx is a quarter of the sum of w, and each element of dw is a quarter of the sum
  // of x.
  auto const all_x = ashlar::to_full(x), all_w = ashlar::to_full(w);
  double const sum_w = std::accumulate(all_w.begin(), all_w.end(), 0.0);
  double const sum_x = std::accumulate(all_x.begin(), all_x.end(), 0.0);
  CHECK(apart(std::vector<double>(20, sum_w / 4), ashlar::to_full(dx)) < 1e-13);
  CHECK(apart(std::vector<double>(3, sum_x / 4), ashlar::to_full(dw | ashlar::to<B>)) < 1e-13);
}

TEST_CASE("slices and divided dims of typed tensors meet extents that the compiler does not know") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::normal<double>(m, {5, 6}, sbp<S<0>>{}, {.seed = 1});
  auto const all_x = ashlar::to_full(x);
  auto const b = ashlar::normal<double>(m, {5, 4}, sbp<S<0>>{}, {.seed = 2});
  auto const [y, dx, db] = ashlar::gradient([](auto u, auto v) {
    expect_extent(u, 1, 6);
    return slice<1>(u, 1, 4) * v;
  })(x, b);
  static_assert(std::is_same_v<decltype(y), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dx), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(db), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  auto const all_b = ashlar::to_full(b);
  std::vector<double> expected_x(30), expected_b(20);
  for (std::size_t r = 0; r < 5; ++r)
    for (std::size_t c = 0; c < 4; ++c) {
      expected_x[6 * r + c + 1] = all_b[4 * r + c];
      expected_b[4 * r + c] = all_x[6 * r + c + 1];
    }
  CHECK(ashlar::to_full(dx) == expected_x);
  CHECK(ashlar::to_full(db) == expected_b);

  auto const gain = ashlar::normal<double>(m, {2, 3}, sbp<B>{}, {.seed = 3});
  auto const [z, dz_x, dgain] = ashlar::gradient([](auto u, auto g) {
    return g * split_dim(u, -1, {2, 3});
  })(x, gain);
  static_assert(std::is_same_v<decltype(z), ashlar::tensor<double, 3, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dz_x), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  static_assert(std::is_same_v<decltype(dgain), ashlar::tensor<double, 2, sbp<P>> const>);
  auto const all_gains = ashlar::to_full(gain);
  std::vector<double> sums(6);
  for (std::size_t i = 0; i < 30; ++i) {
    expected_x[i] = all_gains[i % 6];
    sums[i % 6] += all_x[i];
  }
  CHECK(ashlar::to_full(dz_x) == expected_x);
  CHECK(apart(sums, ashlar::to_full(dgain)) < 1e-13);
}

TEST_CASE("the gradient of pow(x, 0) is 0, at 0 too") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::full<double>(m, {4}, sbp<S<0>>{}, 0.0);
  auto const [y, dx] = ashlar::gradient([](auto u) { return pow(u, 0); })(x);
  CHECK(ashlar::to_full(y) == std::vector<double>(4, 1.0));
  CHECK(ashlar::to_full(dx) == std::vector<double>(4, 0.0));
}

TEST_CASE("columns and inner dims: gradients lie as their tensors, or are partial") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const two_products = [](auto x, auto in, auto out) {
    return matmul(relu(matmul(x, in)), out);
  };
  auto const x = ashlar::normal<float>(m, {5, 4}, sbp<B>{}, {.seed = 1});
  auto const in = ashlar::normal<float>(m, {4, 6}, sbp<S<1>>{}, {.seed = 2});
  auto const out = ashlar::normal<float>(m, {6, 3}, sbp<S<0>>{}, {.seed = 3});
  auto const [y, dx, din, dout] = ashlar::gradient(two_products)(x, in, out);
  static_assert(std::is_same_v<decltype(y), ashlar::tensor<float, 2, sbp<P>> const>);
  static_assert(std::is_same_v<decltype(dx), ashlar::tensor<float, 2, sbp<P>> const>);
  static_assert(std::is_same_v<decltype(din), ashlar::tensor<float, 2, sbp<S<1>>> const>);
  static_assert(std::is_same_v<decltype(dout), ashlar::tensor<float, 2, sbp<S<0>>> const>);
  CHECK(dx.extents() == x.extents());
}

TEST_CASE("what is not local is refused by the operator, its operands and the axis") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const make = [&](placement const& p) { return ashlar::full<double>(m, {4, 4}, p, 1.0); };
  placement const rows{ashlar::split(0)}, columns{ashlar::split(1)}, whole{ashlar::broadcast()};
  auto const product = [](auto x, auto w) { return exp(matmul(x, w)); };
  CHECK(message_of([&] { ashlar::gradient(product)(make(columns), make(rows)); }) ==
        "gradient: exp of 4x4 [P] needs communication along axis gpu. Redistribute the operands of "
        "the "
        "function so that each operator is local.");
  CHECK(message_of([&] { ashlar::gradient(product)(make(columns), make(whole)); }) ==
        "gradient: matmul of 4x4 [S(1)] and 4x4 [B] needs communication along axis gpu. "
        "Redistribute the "
        "operands of the function so that each operator is local.");
  auto const first = [](auto x, auto) { return x; };
  CHECK(
      message_of([&] { ashlar::gradient(first)(make(rows), make(rows)); }) ==
      "gradient: the formula does not use operand 2 of extents 4x4. Remove it from the function's "
      "parameters.");
}

}  // namespace ashlar_test
