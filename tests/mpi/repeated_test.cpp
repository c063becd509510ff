// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests operators of two tensors where one tensor is repeated along dims of the other one (as in
// numpy's broadcasting), on every pair of placements. If the meaning of the placements allows an
// operation, its result must equal a dense computation in double. Otherwise the error message must
// name the operator that the user wrote. No operator communicates.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/compare.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/slice.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

int extent_at(index const& extents, int d) {
  return d < 0 ? 1 : extents[static_cast<std::size_t>(d)];
}

/// Two operands, of which one or both are repeated, and the dense results of operations on them.
struct repetition {
  dense x, y;
  index out;

  repetition(index const& ex, index const& ey)
      : x(seeded_integers(ex, 1)), y(seeded_integers(ey, 2)) {
    for (auto& v : y.values) v = 2 * v + 1;  // odd numbers, so y can be a divisor
    int const rank = std::max(x.rank(), y.rank());
    for (int d = 0; d < rank; ++d) {
      int const a = extent_at(ex, d - rank + x.rank()), b = extent_at(ey, d - rank + y.rank());
      out.push_back(a == 1 ? b : a);
    }
  }
  int rank() const { return static_cast<int>(out.size()); }

  template <class F>
  dense result(F f) const {
    dense z(out);
    auto const of = [&](dense const& t, index const& i) {
      index j(i.end() - t.rank(), i.end());
      for (int d = 0; d < t.rank(); ++d)
        if (t.extent(d) == 1) j[static_cast<std::size_t>(d)] = 0;
      return t(j);
    };
    for_each_index(out, [&](index const& i) { z(i) = f(of(x, i), of(y, i)); });
    return z;
  }

  /// Returns the dim of the result that a split of t's dim d would split. Returns -1 if t is
  /// repeated along this dim.
  int split_of(dense const& t, int d) const {
    int const at = d + rank() - t.rank();
    return t.extent(d) == 1 && extent_at(out, at) != 1 ? -1 : at;
  }
  /// Returns whether t has dim `at` of the result and is not repeated along it.
  bool has(dense const& t, int at) const {
    int const d = at - rank() + t.rank();
    return d >= 0 && split_of(t, d) == at;
  }
  bool splits_fit(placement const& p, placement const& q) const {
    for (int a = 0; a < p.axes(); ++a) {
      int const i = p[a].is_split() ? split_of(x, p[a].dim) : -2;
      int const j = q[a].is_split() ? split_of(y, q[a].dim) : -2;
      if (i == -1 || j == -1) return false;
      if (i >= 0 && j >= 0 && i != j) return false;
      if (i >= 0 && j < 0 && (q[a].is_partial() || has(y, i))) return false;
      if (j >= 0 && i < 0 && (p[a].is_partial() || has(x, j))) return false;
      for (int b = 0; b < a; ++b)  // axes that split one dim need the same order in x and y
        if (i >= 0 && j >= 0 && p[b].is_split_of(p[a].dim) && q[b].is_split_of(q[a].dim) &&
            (p[b].depth < p[a].depth) != (q[b].depth < q[a].depth))
          return false;
    }
    return true;
  }
};

template <class F>
bool each_axis(placement const& p, placement const& q, F f) {
  for (int a = 0; a < p.axes(); ++a)
    if (!f(p[a], q[a])) return false;
  return true;
}

template <class Action>
void outcome(bool legal, Action action, dense const& truth, std::string const& sentence) {
  if (legal) {
    CHECK(wrong_with(action(), truth, 1e-6) == "");
  } else {
    auto const message = message_of([&] { action(); });
    CHECK_MESSAGE(message.find(sentence + ": ") == 0, message);
    CHECK_MESSAGE(has(message, "failing axis: "), message);
  }
}

template <class T, int XRank, int YRank>
void all_pairs(ashlar::mesh const& m, index const& ex, index const& ey) {
  repetition const r(ex, ey);
  ashlar::no_communication const forbidden(m);
  auto const sums = r.result([](double v, double w) { return v + w; });
  auto const differences = r.result([](double v, double w) { return v - w; });
  auto const products = r.result([](double v, double w) { return v * w; });
  auto const quotients = r.result([](double v, double w) { return v / w; });
  for (auto const& p : all_placements(XRank, m.axes(), {reduction::sum}))
    for (auto const& q : all_placements(YRank, m.axes(), {reduction::sum})) {
      auto const x = placed<T, XRank>(m, r.x, p, 3);
      auto const y = placed<T, YRank>(m, r.y, q, 4);
      bool const fit = r.splits_fit(p, q);
      bool const adds = fit && each_axis(p, q, [](auto const& a, auto const& b) {
                          return a.is_partial() == b.is_partial();
                        });
      bool const multiplies = fit && each_axis(p, q, [](auto const& a, auto const& b) {
                                return !(a.is_partial() && b.is_partial());
                              });
      outcome(
          adds, [&] { return x + y; }, sums, "add");
      outcome(
          adds, [&] { return x - y; }, differences, "subtract");
      outcome(
          multiplies, [&] { return x * y; }, products, "multiply");
      outcome(
          multiplies && !q.has_partial(), [&] { return x / y; }, quotients, "divide");
      if constexpr (XRank >= YRank) {
        if (r.out != ex) continue;
        bool const stays = each_axis(
            p, q, [](auto const& a, auto const& b) { return a.is_split() || !b.is_split(); });
        outcome(
            adds && stays,
            [&] {
              auto z = x.clone();
              return z += y;
            },
            sums, "add in place");
        outcome(
            multiplies && stays && !q.has_partial(),
            [&] {
              auto z = x.clone();
              return z *= y;
            },
            products, "multiply in place");
      }
    }
}

/// Checks comparisons, maxima and minima on every pair of placements.
template <int XRank, int YRank>
void compared_pairs(ashlar::mesh const& m, index const& ex, index const& ey) {
  repetition const r(ex, ey);
  ashlar::no_communication const forbidden(m);
  for (auto const& p : all_placements(XRank, m.axes(), {reduction::sum}))
    for (auto const& q : all_placements(YRank, m.axes(), {reduction::sum})) {
      auto const x = placed<float, XRank>(m, r.x, p, 3);
      auto const y = placed<float, YRank>(m, r.y, q, 4);
      bool const fit = r.splits_fit(p, q) && !p.has_partial() && !q.has_partial();
      outcome(
          fit, [&] { return x < y; }, r.result(std::less<>()), "less");
      outcome(
          fit, [&] { return x <= y; }, r.result(std::less_equal<>()), "less_equal");
      outcome(
          fit, [&] { return x > y; }, r.result(std::greater<>()), "greater");
      outcome(
          fit, [&] { return x >= y; }, r.result(std::greater_equal<>()), "greater_equal");
      outcome(
          fit, [&] { return equal(x, y); }, r.result(std::equal_to<>()), "equal");
      outcome(
          fit, [&] { return max(x, y); },
          r.result([](double v, double w) { return std::max(v, w); }), "max");
      outcome(
          fit, [&] { return min(x, y); },
          r.result([](double v, double w) { return std::min(v, w); }), "min");
    }
}

}  // namespace

TEST_CASE("comparisons, maxima and minima with a repeated operand on every pair of placements") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    compared_pairs<2, 1>(m, {n + 1, 3}, {3});
    compared_pairs<1, 2>(m, {n + 1}, {3, n + 1});
    compared_pairs<2, 2>(m, {n + 1, 1}, {1, 5});
  }
}

TEST_CASE("a repeated operand on every pair of placements") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    all_pairs<float, 2, 1>(m, {n + 1, 3}, {3});
    all_pairs<double, 1, 2>(m, {n + 1}, {3, n + 1});
    all_pairs<float, 2, 2>(m, {n + 1, 3}, {1, 3});
    all_pairs<float, 2, 2>(m, {n + 1, 3}, {n + 1, 1});
    all_pairs<double, 2, 2>(m, {n + 1, 1}, {1, 5});
    all_pairs<float, 2, 2>(m, {1, 3}, {n, 3});
    all_pairs<float, 2, 1>(m, {0, 3}, {3});
    all_pairs<float, 2, 2>(m, {0, 3}, {1, 1});
    if (m.axes() <= 2) all_pairs<float, 3, 2>(m, {2, n + 1, 2}, {n + 1, 1});
  }
}

TEST_CASE("typed repeated operands have the right placements") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  repetition const r({n + 1, 3}, {3});
  auto const x =
      placed<float, 2>(m, r.x, {ashlar::split(1), ashlar::split(0)}).as_static<sbp<S<1>, S<0>>>();
  auto const y =
      placed<float, 1>(m, r.y, {ashlar::split(0), ashlar::broadcast()}).as_static<sbp<S<0>, B>>();
  static_assert(std::same_as<decltype(x + y)::placement_type, sbp<S<1>, S<0>>>);
  static_assert(std::same_as<decltype(y * x)::placement_type, sbp<S<1>, S<0>>>);
  static_assert(std::same_as<decltype(min(x, y))::placement_type, sbp<S<1>, S<0>>>);
  CHECK(wrong_with(x > y, r.result(std::greater<>())) == "");
  CHECK(wrong_with(y >= x, r.result([](double v, double w) { return w >= v; })) == "");
  CHECK(wrong_with(equal(x, y), r.result(std::equal_to<>())) == "");
  CHECK(wrong_with(x + y, r.result([](double v, double w) { return v + w; })) == "");
  auto z = x.clone();
  z -= y;
  CHECK(wrong_with(z, r.result([](double v, double w) { return v - w; })) == "");

  // The type of a tensor does not tell which extents are 1. So the compiler lets two operands with
  // equal numbers of dims split the same dim. If this dim of one operand has extent 1 and is
  // repeated, as in `x + split_row`, there must be an error at run time.
  repetition const s({n + 1, 3}, {1, 3});
  auto const whole =
      placed<float, 2>(m, s.x, {ashlar::broadcast(), ashlar::split(1)}).as_static<sbp<B, S<1>>>();
  auto const row =
      placed<float, 2>(m, s.y, {ashlar::broadcast(), ashlar::split(1)}).as_static<sbp<B, S<1>>>();
  static_assert(std::same_as<decltype(whole + row)::placement_type, sbp<B, S<1>>>);
  CHECK(wrong_with(whole + row, s.result([](double v, double w) { return v + w; })) == "");
  auto const split_row =
      placed<float, 2>(m, s.y, {ashlar::split(1), ashlar::split(0)}).as_static<sbp<S<1>, S<0>>>();
  auto const message = message_of([&] { (void)(x + split_row); });
  CHECK_MESSAGE(has(message, "failing axis: gpu"), message);
}

TEST_CASE("a repeated operand may be a part of the tensor that is written") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const a = seeded_integers({3, 4});
  auto x = placed<float, 2>(m, a, {ashlar::broadcast()});
  x += ashlar::slice<0>(x, 0, 1);
  dense b = a;
  for_each_index(a.extents, [&](index const& i) { b(i) += a({0, i[1]}); });
  CHECK(wrong_with(x, b) == "");
}

TEST_CASE("extents that differ and are not 1 are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 2>(m, seeded_integers({4, 3}), {ashlar::broadcast()});
  auto const y = placed<float, 1>(m, seeded_integers({4}), {ashlar::broadcast()});
  auto const z = placed<float, 2>(m, seeded_integers({1, 3}), {ashlar::broadcast()});
  auto const message = message_of([&] { (void)(x + y); });
  CHECK_MESSAGE(has(message, "add: the extents differ: tensor 4x3 [B]"), message);
  auto const grows = message_of([&] {
    auto w = z.clone();
    w += x;
  });
  CHECK_MESSAGE(has(grows, "add in place: the extents differ: tensor 1x3 [B]"), grows);
}

}  // namespace ashlar_test
