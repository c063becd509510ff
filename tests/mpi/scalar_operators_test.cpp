// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests operators of a tensor and a number, the unary minus, and operators in place, on every
// placement and every pair of placements. If the meaning of the placements allows an operation, its
// result must equal a dense computation in double. Otherwise the error message must name the
// operator that the user wrote. No operator communicates. Operators in place do not reallocate the
// shard.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/slice.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

/// If `legal` is true, checks the result of `action`. Otherwise checks that the error begins with
/// `sentence`.
template <class Action>
void expect(bool legal, Action action, dense const& truth, std::string const& sentence,
            double tolerance = 0) {
  if (legal) {
    CHECK(wrong_with(action(), truth, tolerance) == "");
  } else {
    auto const message = message_of([&] { action(); });
    CHECK_MESSAGE(message.find(sentence) == 0, message);
    CHECK_MESSAGE(has(message, "failing axis: "), message);
  }
}

/// Runs an operator in place on a copy of x, and returns the copy. The memory of the copy must stay
/// the same.
template <class X, class Action>
X in_place(X const& x, Action action) {
  auto y = x.clone();
  auto const* const shard = y.data();
  action(y);
  CHECK(y.data() == shard);
  return y;
}

std::vector<placement> states(int axes) {
  auto all = all_placements(2, axes, {reduction::sum});
  for (auto const op : {reduction::max, reduction::min})
    for (auto const& p : all_placements(2, axes, {op}))
      if (p.has_partial()) all.push_back(p);
  return all;
}

std::string const scale = "a partial maximum or minimum cannot be scaled";
std::string const shift = "a number is not added to the addends of a partial tensor";

template <class T>
void numbers(ashlar::mesh const& m, index const& extents) {
  auto const a = seeded_integers(extents, 3);
  ashlar::no_communication const forbidden(m);
  for (auto const& p : states(m.axes())) {
    auto const x = placed<T, 2>(m, a, p, 5);
    bool const linear = !p.has_partial() || p.op() == reduction::sum, whole = !p.has_partial();
    auto const check = [&](bool legal, auto value, std::string const& sentence, auto action,
                           double tolerance = 0) {
      expect(legal, action, mapped(a, value), sentence, tolerance);
    };
    auto const triple = [](double v) { return 3 * v; };
    auto const raised = [](double v) { return v + 2; };
    auto const lowered = [](double v) { return v - 2; };
    check(linear, triple, "multiply: " + scale, [&] { return 3 * x; });
    check(linear, triple, "multiply: " + scale, [&] { return x * 3; });
    check(linear, triple, "multiply in place: " + scale,
          [&] { return in_place(x, [](auto& y) { y *= 3; }); });
    check(
        linear, [](double v) { return -v; }, "negate: " + scale, [&] { return -x; });
    check(whole, raised, "add: " + shift, [&] { return x + 2; });
    check(whole, raised, "add: " + shift, [&] { return 2 + x; });
    check(whole, raised, "add in place: " + shift,
          [&] { return in_place(x, [](auto& y) { y += 2; }); });
    check(whole, lowered, "subtract: " + shift, [&] { return x - 2; });
    check(whole, lowered, "subtract in place: " + shift,
          [&] { return in_place(x, [](auto& y) { y -= 2; }); });
    check(
        whole, [](double v) { return 2 - v; }, "subtract: " + shift, [&] { return 2 - x; });
    if constexpr (!std::is_integral_v<T>) {
      auto const third = [](double v) { return v / 3; };
      double const near = std::is_same_v<T, float> ? 1e-6 : 1e-15;
      check(
          linear, third, "divide: " + scale, [&] { return x / 3; }, near);
      check(
          linear, third, "divide in place: " + scale,
          [&] { return in_place(x, [](auto& y) { y /= 3; }); }, near);
      dense const odd = mapped(a, [](double v) { return 2 * v + 1; });
      auto const z = placed<T, 2>(m, odd, p, 5);
      expect(
          whole, [&] { return 2 / z; }, mapped(odd, [](double v) { return 2 / v; }),
          "divide: a non-linear map", near);
    }
  }
}

template <class T>
void pairs_in_place(ashlar::mesh const& m, index const& extents) {
  auto const a = seeded_integers(extents, 1), b = seeded_integers(extents, 2);
  auto const odd = mapped(b, [](double v) { return 2 * v + 1; });
  ashlar::no_communication const forbidden(m);
  auto const all = states(m.axes());
  for (auto const& p : all)
    for (auto const& q : all) {
      bool const sums = (!p.has_partial() || p.op() == reduction::sum) &&
                        (!q.has_partial() || q.op() == reduction::sum);
      bool const addable = p == q && sums;
      bool const scalable = same_splits(p, q) && sums && !q.has_partial();
      auto const x = placed<T, 2>(m, a, p, 1), y = placed<T, 2>(m, b, q, 2);
      auto const says = [](char const* name) {
        return std::string(name) + " in place: on one mesh axis the result would not lie as x does";
      };
      expect(
          addable, [&] { return in_place(x, [&](auto& z) { z += y; }); }, mapped(a, b, std::plus{}),
          says("add"));
      expect(
          addable, [&] { return in_place(x, [&](auto& z) { z -= y; }); },
          mapped(a, b, std::minus{}), says("subtract"));
      expect(
          scalable, [&] { return in_place(x, [&](auto& z) { z *= y; }); },
          mapped(a, b, std::multiplies{}), says("multiply"));
      if constexpr (!std::is_integral_v<T>) {
        auto const d = placed<T, 2>(m, odd, q, 2);
        expect(
            scalable, [&] { return in_place(x, [&](auto& z) { z /= d; }); },
            mapped(a, odd, std::divides{}), says("divide"), 1e-5);
      }
    }
}

}  // namespace

TEST_CASE("numbers on both sides on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    numbers<double>(m, {n + 1, 5});
    numbers<float>(m, {2, n});
    numbers<std::int64_t>(m, {n + 2, 3});
    numbers<ashlar::bfloat16>(m, {0, 3});
  }
}

TEST_CASE("operators in place on every pair of placements") {
  int const n = world_size();
  ashlar::mesh const one(MPI_COMM_WORLD, {{"gpu", n}});
  pairs_in_place<float>(one, {n + 1, 3});
  pairs_in_place<std::int32_t>(one, {2, n});
  if (n % 2 != 0) return;
  ashlar::mesh const two(MPI_COMM_WORLD, {{"node", 2}, {"gpu", n / 2}});
  pairs_in_place<double>(two, {n + 1, 3});
}

TEST_CASE("typed operators have the placements of dynamic ones") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  auto const a = seeded_integers({n + 1, 4}, 1);
  auto split =
      placed<float, 2>(m, a, {ashlar::split(1), ashlar::split(0)}).as_static<sbp<S<1>, S<0>>>();
  auto sums =
      placed<float, 2>(m, a, {ashlar::broadcast(), ashlar::partial()}).as_static<sbp<B, P>>();
  auto const whole =
      placed<float, 2>(m, a, {ashlar::broadcast(), ashlar::broadcast()}).as_static<sbp<B, B>>();
  static_assert(std::same_as<decltype(split + 1)::placement_type, sbp<S<1>, S<0>>>);
  static_assert(std::same_as<decltype(1 / split)::placement_type, sbp<S<1>, S<0>>>);
  static_assert(std::same_as<decltype(-sums)::placement_type, sbp<B, P>>);
  static_assert(std::same_as<decltype(sums / 2)::placement_type, sbp<B, P>>);
  static_assert(std::same_as<decltype(sums / whole)::placement_type, sbp<B, P>>);
  static_assert(std::same_as<decltype(sums += sums), decltype(sums)&>);
  CHECK(wrong_with(0.5 * sums + sums / 2, a) == "");
  CHECK(wrong_with(1 - split, mapped(a, [](double v) { return 1 - v; })) == "");
  sums *= whole;
  CHECK(wrong_with(sums, mapped(a, a, std::multiplies{})) == "");
  (split += split.as_dynamic()) -= 1;
  CHECK(wrong_with(split, mapped(a, [](double v) { return 2 * v - 1; })) == "");
}

TEST_CASE("bfloat16 is computed in float and rounded once") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const a = seeded_integers({5, 3}, 1);
  auto x = placed<ashlar::bfloat16, 2>(m, a, {ashlar::split(0)});
  CHECK(wrong_with(x / 3, mapped(a, [](double v) {
                     return static_cast<double>(
                         static_cast<float>(ashlar::bfloat16(static_cast<float>(v) / 3.0f)));
                   })) == "");
  x *= 0.5f;
  CHECK(wrong_with(x, mapped(a, [](double v) { return v / 2; })) == "");
}

TEST_CASE("a tensor in place with itself and with an overlapping slice of it") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const a = seeded_integers({6, 3}, 1);
  auto x = placed<float, 2>(m, a, {ashlar::broadcast()});
  x += x;
  CHECK(wrong_with(x, mapped(a, [](double v) { return 2 * v; })) == "");
  auto low = ashlar::slice<0>(x, 0, 5), high = ashlar::slice<0>(x, 1, 5);
  REQUIRE(high.data() == x.data() + 3);
  high += low;  // the two shards overlap: each element must be read before it is overwritten
  dense expected = mapped(a, [](double v) { return 2 * v; });
  for (int i = 5; i > 0; --i)
    for (int j = 0; j < 3; ++j) expected({i, j}) += expected({i - 1, j});
  CHECK(wrong_with(x, expected) == "");
}

TEST_CASE("operands in place of different extents are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto x = placed<float, 2>(m, seeded_integers({3, 4}, 1), {ashlar::broadcast()});
  auto const y = placed<float, 2>(m, seeded_integers({4, 3}, 1), {ashlar::broadcast()});
  CHECK(has(message_of([&] { x += y; }), "add in place: the extents differ: tensor 3x4"));
}

}  // namespace ashlar_test
