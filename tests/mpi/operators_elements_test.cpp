// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests comparisons, max and min of two tensors, `where`, cast, mean, argmax and cumulative sums on
// all placements. If the meaning of the placements allows an operation, its result must equal a
// dense computation in double. Otherwise the operation must be refused with a message that names
// the operator. No operation communicates.

#include <limits>

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/number_comparisons.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/along_dim.hpp>
#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/compare.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/mean.hpp>
#include <ashlar/tensor/where.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::axis_placement;
using ashlar::reduction;
using ashlar::sbp;

template <class Action>
void check_outcome(bool legal, Action action, dense const& truth, std::string const& name,
                   double tolerance = 0) {
  if (legal) {
    CHECK_MESSAGE(wrong_with(action(), truth, tolerance) == "", name);
  } else {
    auto const message = message_of([&] { action(); });
    CHECK_MESSAGE(message.find(name + ": ") == 0, message);
    CHECK_MESSAGE(has(message, "failing axis: "), message);
  }
}

bool is(axis_placement const& a, reduction op) { return a.is_partial() && a.op == op; }
/// Returns whether two placements on one mesh axis are equal splits, or neither of them is a split.
bool split_alike(axis_placement const& a, axis_placement const& b) {
  return a.is_split() || b.is_split() ? a == b : true;
}

/// Returns whether the maximum (or minimum, as `op` says) of two operands with placements p and q
/// needs no communication.
bool extremum_is_local(placement const& p, placement const& q, reduction op) {
  auto const other = op == reduction::max ? reduction::min : reduction::max;
  bool own = false, opposite = false;
  for (int a = 0; a < p.axes(); ++a) {
    if (!split_alike(p[a], q[a]) || is(p[a], reduction::sum) || is(q[a], reduction::sum))
      return false;
    bool const i = is(p[a], other), j = is(q[a], other);
    if ((i && q[a].is_partial()) || (j && p[a].is_partial())) return false;
    own = own || is(p[a], op) || is(q[a], op);
    opposite = opposite || i || j;
  }
  return !(own && opposite);  // a tensor cannot be both P(max) and P(min)
}

std::vector<placement> every_placement(int rank, int axes) {
  std::vector<placement> all;
  for (auto const op : {reduction::sum, reduction::max, reduction::min})
    for (auto const& p : all_placements(rank, axes, {op}))
      if (op == reduction::sum || p.has_partial()) all.push_back(p);
  return all;
}

std::vector<dense> signed_operands(index const& extents) {
  auto y = seeded_integers(extents, 2);
  auto const x = seeded_integers(extents, 1);
  for (std::size_t i = 0; i < y.values.size(); i += 3) y.values[i] = x.values[i];
  return {x, y};
}

void pairs(ashlar::mesh const& m, index const& extents) {
  auto const operands = signed_operands(extents);
  dense const &a = operands[0], &b = operands[1];
  for (auto const& p : every_placement(2, m.axes()))
    for (auto const& q : every_placement(2, m.axes())) {
      auto const x = placed<float, 2>(m, a, p, 3);
      auto const y = placed<float, 2>(m, b, q, 4);
      bool const compares = p == q && !p.has_partial();
      check_outcome(
          compares, [&] { return x < y; }, mapped(a, b, std::less<>()), "less");
      check_outcome(
          compares, [&] { return x <= y; }, mapped(a, b, std::less_equal<>()), "less_equal");
      check_outcome(
          compares, [&] { return x > y; }, mapped(a, b, std::greater<>()), "greater");
      check_outcome(
          compares, [&] { return x >= y; }, mapped(a, b, std::greater_equal<>()), "greater_equal");
      check_outcome(
          compares, [&] { return equal(x, y); }, mapped(a, b, std::equal_to<>()), "equal");
      check_outcome(
          extremum_is_local(p, q, reduction::max), [&] { return max(x, y); },
          mapped(a, b, [](double v, double w) { return std::max(v, w); }), "max");
      check_outcome(
          extremum_is_local(p, q, reduction::min), [&] { return min(x, y); },
          mapped(a, b, [](double v, double w) { return std::min(v, w); }), "min");
    }
}

void numbers(ashlar::mesh const& m, dense const& a) {
  for (auto const& p : every_placement(2, m.axes())) {
    auto const x = placed<float, 2>(m, a, p, 3);
    bool const values = !p.has_partial();
    bool const no_sums = values || p.op() != reduction::sum;
    check_outcome(
        values, [&] { return x < 2; }, mapped(a, [](double v) { return v < 2; }), "less");
    check_outcome(
        values, [&] { return 2 < x; }, mapped(a, [](double v) { return 2 < v; }), "less");
    check_outcome(
        values, [&] { return x >= 2; }, mapped(a, [](double v) { return v >= 2; }),
        "greater_equal");
    check_outcome(
        values, [&] { return 2 > x; }, mapped(a, [](double v) { return 2 > v; }), "greater");
    check_outcome(
        values, [&] { return equal(3, x); }, mapped(a, [](double v) { return v == 3; }), "equal");
    check_outcome(
        no_sums, [&] { return max(x, -1.5); },
        mapped(a, [](double v) { return std::max(v, -1.5); }), "max");
    check_outcome(
        no_sums, [&] { return min(2, x); }, mapped(a, [](double v) { return std::min(v, 2.0); }),
        "min");
  }
}

void selections(ashlar::mesh const& m, index const& extents) {
  auto const operands = signed_operands(extents);
  dense const &a = operands[0], &b = operands[1];
  dense const chosen = mapped(seeded_integers(extents, 5), [](double v) { return v > 0; });
  auto const truth = [&](dense const& x, dense const& y) {
    dense z = y;
    for (std::size_t i = 0; i < z.values.size(); ++i)
      if (chosen.values[i] != 0) z.values[i] = x.values[i];
    return z;
  };
  for (auto const& p : all_placements(2, m.axes(), {reduction::sum}))
    for (auto const& q : every_placement(2, m.axes())) {
      auto const mask = placed<std::int32_t, 2>(m, chosen, p, 6);
      auto const x = placed<float, 2>(m, a, q, 3);
      for (bool const whole : {false, true}) {
        auto r = q;
        for (int i = 0; whole && i < r.axes(); ++i)
          if (r[i].is_partial()) r.axis[i] = ashlar::broadcast();
        auto const y = placed<float, 2>(m, b, r, 4);
        bool legal = true;
        for (int i = 0; i < p.axes(); ++i)
          legal = legal && !p[i].is_partial() && split_alike(p[i], q[i]) &&
                  split_alike(q[i], r[i]) && !(is(q[i], reduction::sum) && !r[i].is_partial());
        check_outcome(
            legal, [&] { return where(mask, x, y); }, truth(a, b), "where");
        check_outcome(
            legal, [&] { return where(mask, y, x); }, truth(b, a), "where");
      }
      bool legal = true;
      for (int i = 0; i < p.axes(); ++i)
        legal = legal && !p[i].is_partial() && split_alike(p[i], q[i]) && !is(q[i], reduction::sum);
      check_outcome(
          legal, [&] { return where(mask, x, 7); }, truth(a, mapped(a, [](double) { return 7; })),
          "where");
      check_outcome(
          legal, [&] { return where(mask, 7, x); }, truth(mapped(a, [](double) { return 7; }), a),
          "where");
    }
}

template <class From, class To>
void conversions(ashlar::mesh const& m, dense const& a, bool sums, bool maxima) {
  for (auto const& p : every_placement(2, m.axes())) {
    auto const x = placed<From, 2>(m, a, p, 3);
    bool const legal = !p.has_partial() || (p.op() == reduction::sum ? sums : maxima);
    check_outcome(
        legal, [&] { return ashlar::cast<To>(x); }, a, "cast");
  }
}

void along_dims(ashlar::mesh const& m, index const& extents) {
  dense const a = mapped(seeded_integers(extents, 1), [](double v) { return std::trunc(v / 3); });
  auto const without = [](index e, int d) {
    e.erase(e.begin() + d);
    return e;
  };
  dense largest(without(extents, 1)), smallest(without(extents, 1)),
      sums = a, means(without(without(extents, 2), 0)), lines(without(extents, 1));
  double total = 0;
  for_each_index(a.extents, [&](index const& i) {
    index const line = without(i, 1);
    auto const at = [&](dense const& best) {
      return a({i[0], static_cast<int>(best(line)), i[2]});
    };
    if (a(i) > at(largest)) largest(line) = i[1];
    if (a(i) < at(smallest)) smallest(line) = i[1];
    if (i[1] > 0) sums(i) += sums({i[0], i[1] - 1, i[2]});
    means({i[1]}) += a(i) / (extents[0] * extents[2]);
    lines(line) += a(i) / extents[1];
    total += a(i);
  });
  dense mean({}, total / static_cast<double>(a.values.size()));
  auto const place_of = [&](auto const& element) {
    return dense({}, static_cast<double>(element - a.values.begin()));
  };
  dense const first_largest = place_of(std::max_element(a.values.begin(), a.values.end()));
  dense const first_smallest = place_of(std::min_element(a.values.begin(), a.values.end()));
  for (auto const& p : every_placement(3, m.axes())) {
    auto const x = placed<float, 3>(m, a, p, 3);
    bool const splits = p.axes_of(1).size() > 0;
    bool const extrema = p.has_partial() && p.op() != reduction::sum;
    check_outcome(
        !splits && !p.has_partial(), [&] { return ashlar::argmax<1>(x); }, largest, "argmax");
    check_outcome(
        !splits && !p.has_partial(), [&] { return ashlar::argmin<1>(x); }, smallest, "argmin");
    bool const whole = p == placement::all_broadcast(p.axes());
    check_outcome(
        whole, [&] { return argmax(x); }, first_largest, "argmax");
    check_outcome(
        whole, [&] { return argmin(x); }, first_smallest, "argmin");
    check_outcome(
        !splits && !extrema, [&] { return ashlar::cumulative_sum<1>(x); }, sums, "cumulative_sum");
    check_outcome(
        !extrema, [&] { return ashlar::mean<2, 0>(x); }, means, "mean", 1e-5);
    check_outcome(
        !extrema, [&] { return ashlar::mean<1>(x); }, lines, "mean", 1e-5);
    check_outcome(
        !extrema, [&] { return ashlar::mean(x); }, mean, "mean", 1e-5);
  }
}

}  // namespace

TEST_CASE("comparisons, maxima and minima of two tensors on every pair of placements") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    ashlar::no_communication const forbidden(m);
    pairs(m, {n + 1, 3});
    if (m.axes() == 1) pairs(m, {0, 3});
    numbers(m, seeded_integers({n + 1, 3}));
  }
}

TEST_CASE("bfloat16 is compared with numbers that it does not have") {
  dense const a = values_next_to_numbers();
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    ashlar::no_communication const forbidden(m);
    for (auto const& p : every_placement(2, m.axes())) {
      auto const x = placed<ashlar::bfloat16, 2>(m, a, p, 3);
      for (double const number : compared_numbers)
        for_each_number_comparison([&](char const*, char const* name, auto const& compare) {
          check_outcome(
              !p.has_partial(), [&] { return compare(x, number); },
              mapped(a, [&](double v) { return compare(v, number); }), name);
        });
    }
  }
}

TEST_CASE("where on masks and values of every placement") {
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    ashlar::no_communication const forbidden(m);
    selections(m, {world_size() + 1, 2});
  }
}

TEST_CASE("where repeats its operands along dims of the result") {
  index const extents{world_size() + 1, 2};
  dense const a = seeded_integers(extents), row({2}, 5), column({extents[0], 1}, 8);
  dense chosen({2});
  chosen.values = {0, 3};
  for (auto const& m : all_meshes()) {
    ashlar::no_communication const forbidden(m);
    for (auto const& p : every_placement(2, m.axes())) {
      // A mesh axis that splits dim 0 of `a` has B in the row, and one that splits dim 1 of `a` has
      // B in the column.
      auto in_row = p, in_column = p;
      bool legal = true;
      for (int i = 0; i < p.axes(); ++i) {
        legal = legal && !is(p[i], reduction::sum);
        if (p[i].is_split() && p[i].dim == 1) in_row.axis[i] = ashlar::split(0, p[i].depth);
        else in_row.axis[i] = ashlar::broadcast();
        if (!p[i].is_split_of(0)) in_column.axis[i] = ashlar::broadcast();
      }
      auto const x = placed<float, 2>(m, a, p, 3);
      auto const mask = placed<std::int64_t, 1>(m, chosen, in_row);
      auto const in_rows = placed<float, 1>(m, row, in_row);
      auto const in_columns = placed<float, 2>(m, column, in_column);
      dense second_or = a, second_row = a, mixed = a;
      for (std::size_t i = 0; i < a.values.size(); ++i) {
        bool const second = i % 2 == 1;
        second_or.values[i] = second ? a.values[i] : -1;
        second_row.values[i] = second ? 5 : a.values[i];
        mixed.values[i] = second ? 5 : 8;
      }
      check_outcome(
          legal, [&] { return where(mask, x, -1); }, second_or, "where");
      check_outcome(
          legal, [&] { return where(mask, in_rows, x); }, second_row, "where");
      if (p.has_partial()) continue;
      check_outcome(
          true, [&] { return where(mask, in_rows, in_columns); }, mixed, "where");
    }
  }
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 2>(m, a, {ashlar::broadcast()});
  auto const three = placed<float, 1>(m, dense({3}, 1), {ashlar::broadcast()});
  CHECK(has(message_of([&] { (void)where(three, x, x); }), "where: the extents differ: "));
}

TEST_CASE("conversions pass what they keep") {
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    ashlar::no_communication const forbidden(m);
    dense const a = seeded_integers({world_size() + 1, 3});
    conversions<float, double>(m, a, true, true);
    conversions<ashlar::bfloat16, float>(m, a, true, true);
    conversions<float, float>(m, a, true, true);
    conversions<double, float>(m, a, false, true);
    conversions<float, ashlar::bfloat16>(m, a, false, true);
    conversions<std::int32_t, double>(m, a, false, true);
    conversions<std::int32_t, std::int64_t>(m, a, false, true);
    conversions<std::int64_t, std::int32_t>(m, a, false, false);
    conversions<float, std::int32_t>(m, a, false, false);
  }
}

TEST_CASE("numbers that no integer has become the nearest integer, and NaN becomes 0") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  double const infinity = std::numeric_limits<double>::infinity();
  dense a({6});
  a.values = {2.9, -2.9, 1e10, -infinity, 2147483647.0, std::nan("")};
  auto const x = placed<double, 1>(m, a, {ashlar::broadcast()});
  x.data()[5] = std::nan("");
  auto const y = ashlar::cast<std::int32_t>(x);
  std::int32_t const expected[] = {2, -2, 2147483647, -2147483647 - 1, 2147483647, 0};
  for (int i = 0; i < 6; ++i) CHECK(y.data()[i] == expected[i]);
  CHECK(ashlar::cast<std::int64_t>(ashlar::cast<float>(x)).data()[2] == 10000000000);
  CHECK(ashlar::cast<std::int32_t>(ashlar::cast<float>(x)).data()[4] == 2147483647);
}

TEST_CASE("means, indices of extrema and cumulative sums on every placement") {
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    ashlar::no_communication const forbidden(m);
    along_dims(m, {world_size() + 1, 4, 2});
  }
}

TEST_CASE("a NaN is an extremum, and a line without elements has none") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 1>(m, dense({4}, 1), {ashlar::broadcast()});
  auto const y = placed<float, 1>(m, dense({4}, 2), {ashlar::broadcast()});
  x.data()[2] = x.data()[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(ashlar::argmax<0>(x).data()[0] == 2);
  CHECK(ashlar::argmin<0>(x).data()[0] == 2);
  CHECK(std::isnan(max(x, y).data()[2]));
  CHECK(std::isnan(min(y, x).data()[3]));
  CHECK(std::isnan(max(x, 5).data()[3]));
  CHECK((x < y).data()[2] == 0);
  auto const none = placed<float, 2>(m, dense({2, 0}), {ashlar::broadcast()});
  auto const message = message_of([&] { (void)ashlar::argmax<1>(none); });
  CHECK_MESSAGE(has(message, "argmax: tensor 2x0 [B]"), message);
  CHECK_MESSAGE(has(message, "has no elements along dim 1"), message);
  CHECK(std::isnan(ashlar::mean<1>(none).data()[0]));
  CHECK(argmax(x).data()[0] == 2);
  CHECK(has(message_of([&] { (void)argmin(none); }),
            "argmin: tensor 2x0 [B]@gpu=" + std::to_string(world_size()) + " has no elements, so"));
}

TEST_CASE("typed operators have the right types") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  dense const a = seeded_integers({n + 1, 3});
  auto const x =
      placed<float, 2>(m, a, {ashlar::split(1), ashlar::split(0)}).as_static<sbp<S<1>, S<0>>>();
  auto const bias = placed<float, 1>(m, dense({3}, 1), {ashlar::split(0), ashlar::broadcast()})
                        .as_static<sbp<S<0>, B>>();
  auto const mask = x < bias;
  static_assert(std::same_as<decltype(mask), ashlar::tensor<float, 2, sbp<S<1>, S<0>>> const>);
  CHECK(wrong_with(where(mask, x, 0), mapped(a, [](double v) { return v < 1 ? v : 0; })) == "");
  CHECK(wrong_with(max(bias, x), mapped(a, [](double v) { return std::max(v, 1.0); })) == "");
  static_assert(std::same_as<decltype(ashlar::mean<0>(x))::placement_type, sbp<S<0>, P>>);
  static_assert(std::same_as<decltype(ashlar::cast<double>(ashlar::mean<0>(x)))::placement_type,
                             sbp<S<0>, P>>);
  auto const rows =
      placed<float, 2>(m, a, {ashlar::broadcast(), ashlar::split(0)}).as_static<sbp<B, S<0>>>();
  static_assert(std::same_as<decltype(ashlar::argmax<1>(rows)),
                             ashlar::tensor<std::int32_t, 1, sbp<B, S<0>>>>);
  static_assert(std::same_as<decltype(argmin(ashlar::tensor<float, 2, sbp<B, B>>())),
                             ashlar::tensor<std::int32_t, 0, sbp<B, B>>>);
  CHECK(wrong_with(ashlar::cumulative_sum<1>(rows), [&] {
          dense sums = a;
          for (int i = 0; i <= n; ++i) sums({i, 1}) += a({i, 0}), sums({i, 2}) += sums({i, 1});
          return sums;
        }()) == "");
}

}  // namespace ashlar_test
