// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6

// Tests reductions over each dimension, and transposition, on every placement. Each operation must
// be correct without communication. The library may reject a reduction only if the operand is
// partial with another reduction, for example a maximum of partial sums.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

double start_of(reduction op) {
  double const infinity = std::numeric_limits<double>::infinity();
  return op == reduction::sum ? 0 : op == reduction::max ? -infinity : infinity;
}

dense reduced(dense const& x, int dim, reduction op) {
  index extents = x.extents;
  extents.erase(extents.begin() + dim);
  dense y(extents, start_of(op));
  for_each_index(x.extents, [&](index const& i) {
    index j = i;
    j.erase(j.begin() + dim);
    y(j) = combine(op, y(j), x(i));
  });
  return y;
}

template <int Dim, class X>
auto reduce(X const& x, reduction op) {
  return op == reduction::sum   ? ashlar::sum<Dim>(x)
         : op == reduction::max ? ashlar::max<Dim>(x)
                                : ashlar::min<Dim>(x);
}

template <int Dim, int Rank>
void over_dim(ashlar::mesh const& m, dense const& a) {
  ashlar::no_communication const forbidden(m);
  for (auto const op : {reduction::sum, reduction::max, reduction::min})
    for (auto const held_as : {reduction::sum, reduction::max, reduction::min})
      for (auto const& p : all_placements(Rank, m.axes(), {held_as})) {
        if (!p.has_partial() && held_as != reduction::sum) continue;
        auto const x = placed<double, Rank>(m, a, p);
        if (!p.has_partial() || held_as == op) {
          CHECK(wrong_with(reduce<Dim>(x, op), reduced(a, Dim, op)) == "");
          continue;
        }
        auto const message = message_of([&] { reduce<Dim>(x, op); });
        CHECK_MESSAGE(has(message, ": the operand is partial with another"), message);
        CHECK_MESSAGE(has(message, describe(x)), message);
      }
}

}  // namespace

TEST_CASE("sums, maxima and minima over each dim, on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    over_dim<0, 1>(m, seeded_integers({n + 1}));
    if (m.axes() == 3) continue;
    over_dim<0, 2>(m, seeded_integers({n + 1, 3}));
    over_dim<1, 2>(m, seeded_integers({2, n + 1}));
    over_dim<1, 2>(m, seeded_integers({n - 1, 2}));
    if (m.axes() == 1) over_dim<1, 3>(m, seeded_integers({2, n + 1, 3}));
  }
}

TEST_CASE("the sum over all dims is a scalar, partial on the axes that split the tensor") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    for (auto const& p : all_placements(2, m.axes())) {
      auto const a = seeded_integers({n + 1, 3});
      auto const s = sum(placed<float, 2>(m, a, p));
      dense truth{index{}};
      for (double v : a.values) truth.values[0] += v;
      for (int i = 0; i < m.axes(); ++i)
        CHECK(s.placement()[i].is_broadcast() == p[i].is_broadcast());
      CHECK(wrong_with(s, truth) == "");
      CHECK(to_full(s) == std::vector<float>{static_cast<float>(truth.values[0])});
    }
  }
}

TEST_CASE("a reduction over nothing gives its identity") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<double, 2>(m, seeded_integers({0, 2}), {ashlar::split(0)});
  CHECK(to_full(ashlar::sum<0>(x)) == std::vector<double>{0, 0});
  CHECK(to_full(ashlar::max<0>(x)) == std::vector<double>(2, start_of(reduction::max)));
  auto const i = placed<std::int32_t, 2>(m, seeded_integers({0, 1}), {ashlar::split(0)});
  CHECK(to_full(ashlar::min<0>(i))[0] == std::numeric_limits<std::int32_t>::max());
}

TEST_CASE("typed reductions have the right placements") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  auto const a = seeded_integers({n + 1, 3, 2});
  auto const x =
      placed<float, 3>(m, a, {ashlar::split(1), ashlar::split(0)}).as_static<sbp<S<1>, S<0>>>();
  static_assert(std::same_as<decltype(ashlar::sum<0>(x))::placement_type, sbp<S<0>, P>>);
  static_assert(std::same_as<decltype(ashlar::max<1>(x))::placement_type, sbp<Pmax, S<0>>>);
  static_assert(std::same_as<decltype(ashlar::min<2>(x))::placement_type, sbp<S<1>, S<0>>>);
  static_assert(std::same_as<decltype(sum(x))::placement_type, sbp<P, P>>);
  CHECK(wrong_with(ashlar::max<1>(x), reduced(a, 1, reduction::max)) == "");
}

TEST_CASE("transposition on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    auto const a = seeded_integers({n + 1, 3});
    dense b({3, n + 1});
    for_each_index(a.extents, [&](index const& i) { b({i[1], i[0]}) = a(i); });
    ashlar::no_communication const forbidden(m);
    for (auto const op : {reduction::sum, reduction::max, reduction::min})
      for (auto const& p : all_placements(2, m.axes(), {op})) {
        auto const y = transpose(placed<float, 2>(m, a, p));
        CHECK(wrong_with(y, b) == "");
        CHECK(wrong_with(transpose(y), a) == "");
      }
  }
}

}  // namespace ashlar_test
