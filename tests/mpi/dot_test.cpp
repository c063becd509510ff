// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests inner products, norms, item, products of a matrix and a vector on every pair of placements,
// and the factories from_local, arange, eye, full_like and zeros_like. Values are integers, so all
// results except norms must be exact.

#include <cmath>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/dot.hpp>
#include <ashlar/tensor/from_local.hpp>
#include <ashlar/tensor/matvec.hpp>
#include <ashlar/tensor/pattern.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

std::vector<placement> states(int rank, int axes) {
  auto all = all_placements(rank, axes, {reduction::sum});
  for (auto const& p : all_placements(rank, axes, {reduction::max}))
    if (p.has_partial()) all.push_back(p);
  return all;
}

bool is_extremum(placement const& p) { return p.has_partial() && p.op() != reduction::sum; }

/// Returns whether dim d of p and dim e of q are split by the same axes in the same order.
bool split_alike(placement const& p, int d, placement const& q, int e) {
  return p.axes_of(d) == q.axes_of(e);
}

bool both_partial(placement const& p, placement const& q) {
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial() && q[a].is_partial()) return true;
  return false;
}

bool dottable(placement const& p, placement const& q) {
  return !is_extremum(p) && !is_extremum(q) && !both_partial(p, q) && split_alike(p, 0, q, 0) &&
         split_alike(p, 1, q, 1);
}

/// Returns the placement of the shards' sums. It is P along each axis that splits p or q or on
/// which one of them is partial.
placement dotted(placement const& p, placement const& q) {
  placement sums = placement::all_broadcast(p.axes());
  for (int a = 0; a < p.axes(); ++a)
    if (!p[a].is_broadcast() || !q[a].is_broadcast()) sums.axis[a] = ashlar::partial();
  return sums;
}

/// Returns how many transfers the communication log records while `action` runs.
template <class Action>
int transfers(ashlar::mesh const& m, Action action) {
  ashlar::communication_log const log(m);
  action();
  return static_cast<int>(log.records().size());
}

template <class T>
void products(ashlar::mesh const& m, index const& extents) {
  auto const a = seeded_integers(extents, 1), b = seeded_integers(extents, 2);
  double truth = 0, squares = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    truth += a.values[i] * b.values[i];
    squares += a.values[i] * a.values[i];
  }
  auto const all = states(2, m.axes());
  for (auto const& p : all) {
    auto const x = placed<T, 2>(m, a, p, 1);
    if constexpr (!std::is_integral_v<T>) {
      if (!p.has_partial()) {
        static_assert(std::same_as<decltype(norm(x)), ashlar::accumulation_t<T>>);
        CHECK(close(static_cast<double>(norm(x)), std::sqrt(squares), 1e-6));
      } else {
        auto const message = message_of([&] { norm(x); });
        CHECK_MESSAGE(message.find("norm: the norm of a partial tensor") == 0, message);
      }
    }
    for (auto const& q : all) {
      auto const y = placed<T, 2>(m, b, q, 2);
      if (dottable(p, q)) {
        double value = 0;
        int const moved = transfers(m, [&] { value = static_cast<double>(dot(x, y)); });
        CHECK(value == truth);
        int summed = 0;
        for (int i = 0; i < m.axes(); ++i)
          if (m.topology().axis[i].extent > 1 && dotted(p, q)[i].is_partial()) ++summed;
        // The sums are reduced by one all-reduce, or by one for each axis if that is cheaper. If
        // only axes of one rank are partial, the plan may contain a transfer that moves nothing.
        CHECK_MESSAGE((moved >= std::min(summed, 1) && moved <= std::max(summed, 1)), describe(x),
                      " . ", describe(y));
        if (!dotted(p, q).has_partial()) CHECK(moved == 0);
      } else {
        auto const message = message_of([&] { dot(x, y); });
        CHECK_MESSAGE(message.find("dot: on one mesh axis the operands") == 0, message);
      }
    }
  }
}

/// If `legal` is true, compares matmul(left, right) with `truth`. Otherwise checks the error
/// message of the product.
template <class Left, class Right>
void product_of(bool legal, Left const& left, Right const& right, dense const& truth) {
  if (legal) {
    CHECK(wrong_with(matmul(left, right), truth) == "");
    return;
  }
  auto const message = message_of([&] { matmul(left, right); });
  CHECK_MESSAGE(message.find("matmul: ") == 0, message);
  CHECK_MESSAGE((has(message, "as in matmul(") && has(message, "failing axis: ")), message);
}

void matrix_and_vector(ashlar::mesh const& m, int rows, int columns) {
  auto const a = seeded_integers({rows, columns}, 1);
  auto const right = seeded_integers({columns}, 2), left = seeded_integers({rows}, 3);
  dense ax({rows}), xa({columns});
  for_each_index({rows, columns}, [&](index const& i) {
    ax({i[0]}) += a(i) * right({i[1]});
    xa({i[1]}) += a(i) * left({i[0]});
  });
  ashlar::no_communication const forbidden(m);
  for (auto const& p : states(2, m.axes()))
    for (auto const& q : states(1, m.axes())) {
      auto const on = placed<float, 2>(m, a, p, 1);
      auto const x = placed<float, 1>(m, right, q, 2), y = placed<float, 1>(m, left, q, 3);
      auto const legal = [&](int contracted) {
        if (is_extremum(p) || is_extremum(q) || both_partial(p, q)) return false;
        for (int i = 0; i < m.axes(); ++i)  // an axis that splits the kept dim needs a whole vector
          if (p[i].is_split_of(1 - contracted) && !q[i].is_broadcast()) return false;
        return split_alike(p, contracted, q, 0);
      };
      product_of(legal(1), on, x, ax);
      product_of(legal(0), y, on, xa);
      product_of(legal(0), ashlar::transposed(on), y, xa);
      product_of(legal(1), x, ashlar::transposed(on), ax);
    }
}

}  // namespace

TEST_CASE(
    "inner products and norms on every pair of placements, with an all-reduce of one element") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    products<float>(m, {n + 1, 3});
    products<std::int64_t>(m, {2, n});
  }
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  products<ashlar::bfloat16>(m, {n, 3});
  products<double>(m, {0, 3});
}

TEST_CASE("an inner product of bfloat16 is not rounded to bfloat16") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<ashlar::bfloat16, 1>(m, dense({1000}, 1), {ashlar::split(0)});
  CHECK(dot(x, x) == 1000.0f);
  auto const y = x.as_static<sbp<S<0>>>();
  CHECK(norm(y) == std::sqrt(1000.0f));
  CHECK(dot(y, y) == 1000.0f);
}

TEST_CASE("products of a matrix and a vector on every pair of placements") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    matrix_and_vector(m, n + 1, 5);
    matrix_and_vector(m, 2, 0);
  }
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const a =
      placed<double, 2>(m, seeded_integers({4, 3}, 1), {ashlar::split(1)}).as_static<sbp<S<1>>>();
  auto const x =
      placed<double, 1>(m, seeded_integers({3}, 2), {ashlar::split(0)}).as_static<sbp<S<0>>>();
  static_assert(std::same_as<decltype(matmul(a, x))::placement_type, sbp<P>>);
  static_assert(std::same_as<decltype(matmul(x, transposed(a)))::placement_type, sbp<P>>);
  CHECK(matmul(a, x).extents() == ashlar::shape{4});
  auto const y = ashlar::zeros<double>(m, {4}, sbp<S<0>>{});
  CHECK(has(message_of([&] { matmul(a.as_dynamic(), y); }),
            "matmul: the extents do not fit: tensor 4x3 [S(1)]"));
  auto const z = ashlar::zeros<double>(m, {3}, sbp<B>{});
  CHECK(has(message_of([&] { matmul(z, a.as_dynamic()); }),
            "matmul: the extents do not fit: tensor 3 [B]"));
}

TEST_CASE("item returns one whole value and refuses the rest") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const one = ashlar::full<float>(m, {1, 1}, sbp<B>{}, 7.0f);
  CHECK(item(one) == 7.0f);
  CHECK(item(one.as_dynamic()) == 7.0f);
  auto const sum = ashlar::full<float>(m, {1}, ashlar::placement{ashlar::partial()}, 7.0f);
  CHECK(has(message_of([&] { item(sum); }), "item: the tensor is not whole on every rank"));
  auto const split = ashlar::full<float>(m, {1}, ashlar::placement{ashlar::split(0)}, 7.0f);
  CHECK(has(message_of([&] { item(split); }), "item: the tensor is not whole on every rank"));
  auto const two = ashlar::zeros<float>(m, {2}, sbp<B>{});
  CHECK(
      has(message_of([&] { item(two); }), "has 2 elements, not one. Read its values with to_full"));
}

TEST_CASE("factories of patterns and of local shards on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    ashlar::no_communication const forbidden(m);
    dense count({n + 1}), identity({n + 1, n + 1});
    for (int i = 0; i <= n; ++i) count({i}) = identity({i, i}) = 1;
    for (int i = 0; i <= n; ++i) count({i}) = i;
    for (auto const& p : all_placements(1, m.axes(), {reduction::sum})) {
      CHECK(wrong_with(ashlar::arange<float>(m, n + 1, p), count) == "");
      CHECK(wrong_with(ashlar::arange<std::int64_t>(m, n + 1, p), count) == "");
    }
    auto const values = seeded_integers({n + 1, n + 1}, 4);
    for (auto const op : all_reductions)
      for (auto const& p : all_placements(2, m.axes(), {op})) {
        auto const x = ashlar::eye<ashlar::bfloat16>(m, n + 1, p);
        CHECK(wrong_with(x, identity) == "");
        CHECK(wrong_with(full_like(x, 3), dense({n + 1, n + 1}, 3)) == "");
        CHECK(wrong_with(zeros_like(x), dense({n + 1, n + 1}, 0)) == "");
        auto const y = placed<double, 2>(m, values, p, 6);
        auto const shard = y.local_addends();
        auto const same = ashlar::from_local<2>(
            m, y.extents(), p, std::span<double const>(shard.begin(), shard.end()));
        CHECK(same.data() != y.data());
        CHECK(wrong_with(same, values) == "");
        std::vector<double> const more(shard.size() + 1);
        CHECK(has(message_of([&] {
                    ashlar::from_local<2>(m, y.extents(), p, std::span<double const>(more));
                  }),
                  "from_local: " + std::to_string(more.size()) + " values do not fill rank "));
      }
  }
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const typed = ashlar::eye<float>(m, 3, sbp<S<0>>{});
  static_assert(std::same_as<decltype(zeros_like(typed)), ashlar::tensor<float, 2, sbp<S<0>>>>);
}

}  // namespace ashlar_test
