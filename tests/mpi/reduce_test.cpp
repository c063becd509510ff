// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6

// Tests reductions over one, several and all dims, and transposition, on every placement. Each
// operation must be correct without communication. The library must reject a reduction if the
// operand is partial with another reduction, for example a maximum of partial sums, and only then.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/in_place.hpp>
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

dense reduced(dense const& x, index const& dims, reduction op) {
  auto const without_dims = [&](index const& all) {
    index left;
    for (int d = 0; d < x.rank(); ++d)
      if (std::find(dims.begin(), dims.end(), d) == dims.end())
        left.push_back(all[static_cast<std::size_t>(d)]);
    return left;
  };
  dense y(without_dims(x.extents), start_of(op));
  for_each_index(x.extents, [&](index const& i) {
    double& v = y(without_dims(i));
    v = combine(op, v, x(i));
  });
  return y;
}

/// Reduces over the dims Dims, or over all dims of x if Dims is empty.
template <int... Dims, class X>
auto reduce(X const& x, reduction op) {
  if constexpr (sizeof...(Dims) == 0)
    return op == reduction::sum ? sum(x) : op == reduction::max ? max(x) : min(x);
  else
    return op == reduction::sum   ? ashlar::sum<Dims...>(x)
           : op == reduction::max ? ashlar::max<Dims...>(x)
                                  : ashlar::min<Dims...>(x);
}

template <int Rank, int... Dims>
void over_dims(ashlar::mesh const& m, dense const& a) {
  ashlar::no_communication const forbidden(m);
  index dims{Dims...};
  for (int d = 0; sizeof...(Dims) == 0 && d < Rank; ++d) dims.push_back(d);
  for (auto const op : {reduction::sum, reduction::max, reduction::min})
    for (auto const held_as : {reduction::sum, reduction::max, reduction::min})
      for (auto const& p : all_placements(Rank, m.axes(), {held_as})) {
        if (!p.has_partial() && held_as != reduction::sum) continue;
        auto const x = placed<double, Rank>(m, a, p);
        if (!p.has_partial() || held_as == op) {
          CHECK(wrong_with(reduce<Dims...>(x, op), reduced(a, dims, op)) == "");
          continue;
        }
        auto const message = message_of([&] { reduce<Dims...>(x, op); });
        CHECK_MESSAGE(has(message, ": the operand is partial with another"), message);
        CHECK_MESSAGE(has(message, describe(x)), message);
      }
}

}  // namespace

TEST_CASE("sums, maxima and minima over each dim, on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    over_dims<1, 0>(m, seeded_integers({n + 1}));
    if (m.axes() == 3) continue;
    over_dims<2, 0>(m, seeded_integers({n + 1, 3}));
    over_dims<2, 1>(m, seeded_integers({2, n + 1}));
    over_dims<2, 1>(m, seeded_integers({n - 1, 2}));
    if (m.axes() == 1) over_dims<3, 1>(m, seeded_integers({2, n + 1, 3}));
  }
}

TEST_CASE("sums, maxima and minima over several and over all dims, on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    if (m.axes() == 3) continue;
    auto const a = seeded_integers({n + 1, 3});
    over_dims<2>(m, a);
    over_dims<2, 1, 0>(m, a);
    over_dims<2>(m, seeded_integers({n - 1, 2}));
    if (m.axes() > 1 && n > 4) continue;
    auto const b = seeded_integers({2, n + 1, 3});
    over_dims<3, 0, 2>(m, b);
    over_dims<3, 2, 1>(m, b);
    over_dims<3>(m, b);
  }
}

TEST_CASE("a sum over several dims of bfloat16 is rounded once") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  // The sum of all 21 elements, 21.1640625, is rounded to 21.125. The three elements of a row add
  // up to 3.0234375, which is between two numbers of bfloat16. If the sum of each row were rounded,
  // too, the result would be 21.25.
  auto const x = placed<ashlar::bfloat16, 2>(m, dense({7, 3}, 1.0078125), {ashlar::broadcast()});
  CHECK(static_cast<double>(sum(x).data()[0]) == 21.125);
  CHECK(static_cast<double>(ashlar::sum<0, 1>(x).data()[0]) == 21.125);
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

TEST_CASE("the reductions of a tensor without dims have a shard of their own") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<double, 0>(m, dense(index{}, 3), {ashlar::broadcast()});
  for (auto s : {sum(x), max(x), min(x)}) {
    s *= 2;
    CHECK(to_full(s) == std::vector<double>{6});
  }
  CHECK(to_full(x) == std::vector<double>{3});
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
  static_assert(std::same_as<decltype(max(x)), ashlar::tensor<float, 0, sbp<Pmax, Pmax>>>);
  static_assert(
      std::same_as<decltype(ashlar::sum<0, 2>(x)), ashlar::tensor<float, 1, sbp<S<0>, P>>>);
  static_assert(std::same_as<decltype(ashlar::min<2, 1>(x))::placement_type, sbp<Pmin, S<0>>>);
  CHECK(wrong_with(ashlar::sum<0, 2>(x), reduced(a, {0, 2}, reduction::sum)) == "");
  CHECK(wrong_with(min(x), reduced(a, {0, 1, 2}, reduction::min)) == "");
  CHECK(wrong_with(ashlar::max<1>(x), reduced(a, {1}, reduction::max)) == "");
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
