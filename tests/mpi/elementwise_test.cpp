// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6

// Tests elementwise operators and softmax. Operations with one operand are tested on every
// placement, and operations with two operands on every pair of placements without P(min). If the
// signature table allows an operation, its result must be correct. Otherwise the error must name
// the operands and contain the sentence for the violated rule. The test derives what is allowed
// from the meaning of placements, not from the tables.

#include <cmath>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/elementwise.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

bool partial_on(placement const& p, int axis, reduction op) {
  return p[axis].is_partial() && p[axis].op == op;
}

bool has_extremum(placement const& p) { return p.has_partial() && p.op() != reduction::sum; }

bool addable(placement const& p, placement const& q) {
  if (!same_splits(p, q)) return false;
  for (int a = 0; a < p.axes(); ++a) {
    if (p[a].is_split()) continue;
    if (!(p[a].is_broadcast() && q[a].is_broadcast()) &&
        !(partial_on(p, a, reduction::sum) && partial_on(q, a, reduction::sum)))
      return false;
  }
  return true;
}

bool multipliable_by_element(placement const& p, placement const& q) {
  if (!same_splits(p, q) || has_extremum(p) || has_extremum(q)) return false;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial() && q[a].is_partial()) return false;
  return true;
}

ashlar::topology small_mesh() {
  int const n = world_size();
  if (n % 2 != 0) return {{"gpu", n}};
  return {{"node", 2}, {"gpu", n / 2}};
}

/// If `legal` is true, checks the result of `action`. Otherwise checks that the error message
/// contains `sentence` and the operands.
template <class Action, class... Operands>
void expect(bool legal, Action action, dense const& truth, std::string const& sentence,
            double tolerance, Operands const&... operands) {
  if (legal) {
    CHECK(wrong_with(action(), truth, tolerance) == "");
    return;
  }
  auto const message = message_of([&] { action(); });
  CHECK_MESSAGE(has(message, sentence), message);
  CHECK_MESSAGE((has(message, describe(operands)) && ...), message);
  CHECK_MESSAGE(has(message, "failing axis: "), message);
}

template <class T>
void operators_on_pairs(ashlar::mesh const& m, index const& extents) {
  auto const a = seeded_integers(extents, 1), b = seeded_integers(extents, 2);
  auto const sum = mapped(a, b, std::plus{}), difference = mapped(a, b, std::minus{}),
             elements = mapped(a, b, std::multiplies{});
  auto const odd = mapped(b, [](double v) { return 2 * v + 1; });  // never zero
  auto const quotient = mapped(a, odd, std::divides{});
  auto states = all_placements(2, m.axes(), {reduction::sum});
  for (auto const& p : all_placements(2, m.axes(), {reduction::max})) states.push_back(p);
  ashlar::no_communication const forbidden(m);
  for (auto const& p : states)
    for (auto const& q : states) {
      auto const x = placed<T, 2>(m, a, p, 1), y = placed<T, 2>(m, b, q, 2);
      // A sum of a P(max) tensor and a replicated one would be P(max), because adding a constant is
      // monotone. The library refuses it nevertheless: in a partial maximum of integers the least
      // integer means "no value", but the least integer plus a constant is a value.
      expect(
          addable(p, q), [&] { return x + y; }, sum, "the operands have different placements", 0, x,
          y);
      expect(
          addable(p, q), [&] { return x - y; }, difference,
          "the operands have different placements", 0, x, y);
      expect(
          multipliable_by_element(p, q), [&] { return x * y; }, elements,
          "make one of two partial operands broadcast", 0, x, y);
      if constexpr (!std::is_integral_v<T>) {
        auto const z = placed<T, 2>(m, odd, q, 2);
        expect(
            multipliable_by_element(p, q) && !q.has_partial(), [&] { return x / z; }, quotient,
            "a partial x may be divided by a broadcast y", 1e-5, x, z);
      }
    }
}

}  // namespace

TEST_CASE("sums, differences and products on every pair of placements") {
  ashlar::mesh const m(MPI_COMM_WORLD, small_mesh());
  operators_on_pairs<float>(m, {world_size() + 1, 3});
  operators_on_pairs<std::int64_t>(m, {2, world_size()});
}

TEST_CASE("maps, scaling and softmax on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    ashlar::no_communication const forbidden(m);
    for (auto const op : all_reductions)
      for (auto const& p : all_placements(2, m.axes(), {op})) {
        auto const a = seeded_integers({n + 1, 5}, 3);
        auto const x = placed<double, 2>(m, a, p);
        auto const square = [](double v) { return v * v; };
        expect(
            !p.has_partial(), [&] { return map(x, square); }, mapped(a, square),
            "f(a + b) is not f(a) + f(b)", 0, x);
        expect(
            !p.has_partial(), [&] { return relu(x); },
            mapped(a, [](double v) { return v > 0 ? v : 0; }), "f(a + b) is not f(a) + f(b)", 0, x);
        // This is the tanh approximation of gelu, v (1 + tanh(u)) / 2. The library computes the
        // equal number v · sigmoid(2u), so the results agree up to a few roundings.
        auto const gelu_of = [](double v) {
          return 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
        };
        expect(
            !p.has_partial(), [&] { return gelu(x); }, mapped(a, gelu_of),
            "f(a + b) is not f(a) + f(b)", 1e-12, x);
        expect(
            !has_extremum(p), [&] { return -3.0 * x; }, mapped(a, [](double v) { return -3 * v; }),
            "a negative factor swaps the two", 0, x);

        dense rows = a;
        for (int i = 0; i < a.extent(0); ++i) {
          double sum = 0, largest = -1e300;
          for (int j = 0; j < 5; ++j) largest = std::max(largest, a({i, j}));
          for (int j = 0; j < 5; ++j) sum += rows({i, j}) = std::exp(a({i, j}) - largest);
          for (int j = 0; j < 5; ++j) rows({i, j}) /= sum;
        }
        bool const whole_rows = !p.has_partial() && p.split_count(1) == 0;
        expect(
            whole_rows, [&] { return softmax(x); }, rows, "the sum of a row needs the complete row",
            1e-12, x);
      }
  }
}

TEST_CASE("empty shards and empty tensors") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  for (index const& extents : {index{0, 3}, index{3, 0}, index{1, 2}}) {
    auto const a = seeded_integers(extents, 1);
    auto const x = placed<float, 2>(m, a, {ashlar::split(0)}).as_static<sbp<S<0>>>();
    CHECK(wrong_with(x + x, mapped(a, a, std::plus{})) == "");
    CHECK(wrong_with(2 * x, mapped(a, [](double v) { return 2 * v; })) == "");
    CHECK(softmax(x).local_elements() == x.local_elements());
  }
}

TEST_CASE("typed results have the right placements") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  auto const a = seeded_integers({n, 4}, 1);
  auto const split =
      placed<float, 2>(m, a, {ashlar::split(1), ashlar::split(0)}).as_static<sbp<S<1>, S<0>>>();
  auto const sums =
      placed<float, 2>(m, a, {ashlar::broadcast(), ashlar::partial()}).as_static<sbp<B, P>>();
  auto const whole =
      placed<float, 2>(m, a, {ashlar::broadcast(), ashlar::broadcast()}).as_static<sbp<B, B>>();
  static_assert(std::same_as<decltype(split + split)::placement_type, sbp<S<1>, S<0>>>);
  static_assert(std::same_as<decltype(relu(split))::placement_type, sbp<S<1>, S<0>>>);
  static_assert(std::same_as<decltype(sums - sums)::placement_type, sbp<B, P>>);
  static_assert(std::same_as<decltype(sums * whole)::placement_type, sbp<B, P>>);
  static_assert(std::same_as<decltype(2 * sums)::placement_type, sbp<B, P>>);
  static_assert(std::same_as<decltype(softmax(whole))::placement_type, sbp<B, B>>);
  CHECK(wrong_with(sums * whole, mapped(a, a, std::multiplies{})) == "");
  // If only one operand has a static placement, the placement of the result is determined at run
  // time.
  auto const mixed = split + split.as_dynamic();
  static_assert(std::same_as<decltype(mixed)::placement_type, ashlar::dynamic>);
  CHECK(wrong_with(mixed, mapped(a, a, std::plus{})) == "");
}

TEST_CASE("operands of different extents or of another mesh are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  ashlar::mesh const other(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 2>(m, seeded_integers({3, 4}, 1), {ashlar::broadcast()});
  auto const y = placed<float, 2>(m, seeded_integers({4, 3}, 1), {ashlar::broadcast()});
  auto const z = placed<float, 2>(other, seeded_integers({3, 4}, 1), {ashlar::broadcast()});
  CHECK(has(message_of([&] { x + y; }), "add: the extents differ: tensor 3x4 [B]@gpu="));
  CHECK(has(message_of([&] { x* y; }), "multiply: the extents differ"));
  CHECK(has(message_of([&] { x - z; }), "subtract: the operands are on different meshes"));
  CHECK(has(message_of([&] { x / y; }), "divide: the extents differ"));
}

}  // namespace ashlar_test
