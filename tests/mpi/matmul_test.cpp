// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8
// thorough: ASHLAR_BOTH_MACHINES=on 6 8

// Tests matrix products. Local products are tested for every signature row. Planned products are
// tested between sampled placements of the operands and the result, also transposed and batched.
// Values are integers, so sums are exact.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/dense_product.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/matmul.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

template <class X, class Y>
std::string try_planned(X const& a, Y const& b, placement const& p, dense const& expected) {
  auto const plan = plan_matmul(a, b, p);
  auto const& m = ashlar::detail::matmul_operand<X>::get(a).mesh();
  traffic_check const traffic(m);
  auto const c = matmul(a, b, p);
  std::string wrong = traffic.difference(predicted(m, plan));
  if (!(c.placement() == p)) wrong += " placement;";
  wrong += wrong_with(c, expected);
  return wrong.empty() ? ""
                       : to_string(plan.a.from) + " x " + to_string(plan.b.from) + " -> " +
                             to_string(p, m.topology()) + ":" + wrong;
}

template <class T, int Rank>
void sample_planned(ashlar::mesh const& m, index const& a_extents, index const& b_extents, bool ta,
                    bool tb, int samples, std::vector<ashlar::reduction> const& ops) {
  std::mt19937 random(5);
  dense const a = seeded_integers(a_extents, 1), b = seeded_integers(b_extents, 2);
  dense const c = product(a, b, ta, tb);
  auto const states = all_placements(Rank, m.axes(), ops);
  auto const any = [&] {
    return states[static_cast<std::size_t>(
        uniform(random, 0, static_cast<int>(states.size()) - 1))];
  };
  for (int i = 0; i < samples; ++i) {
    auto const x = placed<T, Rank>(m, a, any());
    auto const y = placed<T, Rank>(m, b, any());
    auto const p = any();
    if (ta && tb) CHECK(try_planned(transposed(x), transposed(y), p, c) == "");
    else if (ta) CHECK(try_planned(transposed(x), y, p, c) == "");
    else if (tb) CHECK(try_planned(x, transposed(y), p, c) == "");
    else CHECK(try_planned(x, y, p, c) == "");
  }
}

/// Checks a product that needs no communication, of tensors with static placements on a mesh with
/// one axis.
template <class A, class X, class Result>
void typed_row(ashlar::mesh const& m) {
  int const n = world_size();
  dense const a = seeded_integers({n + 1, n + 2}, 1), b = seeded_integers({n + 2, n - 1}, 2);
  auto const x = placed<float, 2>(m, a, ashlar::value_of<A>).template as_static<A>();
  auto const w = placed<float, 2>(m, b, ashlar::value_of<X>).template as_static<X>();
  ashlar::no_communication const forbidden(m);
  auto const y = matmul(x, w);
  static_assert(std::same_as<decltype(y), tensor<float, 2, Result> const>);
  CHECK(wrong_with(y, product(a, b, false, false)) == "");
}

}  // namespace

TEST_CASE("the six rows, typed, on each axis, are local") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  typed_row<sbp<B>, sbp<B>, sbp<B>>(m);
  typed_row<sbp<S<0>>, sbp<B>, sbp<S<0>>>(m);
  typed_row<sbp<B>, sbp<S<1>>, sbp<S<1>>>(m);
  typed_row<sbp<S<1>>, sbp<S<0>>, sbp<P>>(m);
  typed_row<sbp<P>, sbp<B>, sbp<P>>(m);
  typed_row<sbp<B>, sbp<P>, sbp<P>>(m);
  if (n % 2 != 0) return;
  ashlar::mesh const two(MPI_COMM_WORLD, {{"node", 2}, {"gpu", n / 2}});
  typed_row<sbp<S<0>, B>, sbp<B, S<1>>, sbp<S<0>, S<1>>>(two);
  typed_row<sbp<S<1>, B>, sbp<S<0>, S<1>>, sbp<P, S<1>>>(two);
  typed_row<sbp<S<1>, S<1>>, sbp<S<0>, S<0>>, sbp<P, P>>(two);
  typed_row<sbp<S<1, 1>, S<1, 0>>, sbp<S<0, 1>, S<0, 0>>, sbp<P, P>>(two);
  typed_row<sbp<S<0, 1>, S<0, 0>>, sbp<B, B>, sbp<S<0, 1>, S<0, 0>>>(two);
  typed_row<sbp<P, S<1>>, sbp<B, S<0>>, sbp<P, P>>(two);
  typed_row<sbp<B, P>, sbp<P, B>, sbp<P, P>>(two);
}

TEST_CASE("the local product with run-time placements, transposed in all ways: legal or refused") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, n % 2 == 0 ? ashlar::topology{{"node", 2}, {"gpu", n / 2}}
                                                  : ashlar::topology{{"gpu", n}});
  auto const states = all_placements(2, m.axes());
  int legal = 0;
  for (bool const ta : {false, true})
    for (bool const tb : {false, true}) {
      index const a_extents = ta ? index{n + 2, 3} : index{3, n + 2};
      index const b_extents = tb ? index{n + 1, n + 2} : index{n + 2, n + 1};
      dense const a = seeded_integers(a_extents, 1), b = seeded_integers(b_extents, 2);
      dense const c = product(a, b, ta, tb);
      auto const table = ashlar::matmul_signatures(ta, tb);
      ashlar::no_communication const forbidden(m);
      for (auto const& [p, q] : all_combinations(states, states)) {
        auto const x = placed<double, 2>(m, a, p), y = placed<double, 2>(m, b, q);
        auto const multiply = [&] {
          return ta   ? tb ? matmul(transposed(x), transposed(y)) : matmul(transposed(x), y)
                   : tb ? matmul(x, transposed(y))
                      : matmul(x, y);
        };
        if (resolve(table, nullptr, p, q)) {
          ++legal;
          CHECK(wrong_with(multiply(), c) == "");
        } else {
          auto const message = message_of(multiply);
          bool both = false;
          for (int i = 0; i < m.axes(); ++i) both |= p[i].is_partial() && q[i].is_partial();
          CHECK_MESSAGE(
              has(message, both ? "Reduce one of them first" : "Split it in the same way") !=
                  has(message, "on one mesh axis these placements need communication"),
              message);
          CHECK_MESSAGE(has(message, describe(x) + ", " + describe(y)), message);
        }
      }
    }
  CHECK(legal > 0);
}

TEST_CASE("planned products between any placements") {
  int const n = world_size();
  for (auto const& m : all_meshes_of_two_machines()) {
    int const samples = m.axes() == 3 ? 6 : 25;
    sample_planned<float, 2>(m, {n + 1, 5}, {5, n - 1}, false, false, samples,
                             {ashlar::reduction::sum});
    sample_planned<double, 2>(m, {n + 2, 3}, {n + 2, n}, true, false, samples,
                              {ashlar::reduction::sum});
    sample_planned<float, 2>(m, {2, n + 2}, {n, n + 2}, false, true, samples,
                             {ashlar::reduction::sum});
    sample_planned<double, 2>(m, {n, 4}, {5, n}, true, true, samples, {ashlar::reduction::sum});
    sample_planned<float, 2>(m, {n, 0}, {0, 3}, false, false, 3, {ashlar::reduction::sum});
  }
}

TEST_CASE("operands and results that are partial maxima are reduced during the product") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    if (m.axes() == 3) continue;
    sample_planned<double, 2>(m, {n + 1, 3}, {3, 4}, false, false, 20, {ashlar::reduction::max});
  }
}

TEST_CASE("batched products, local and planned") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  dense const a = seeded_integers({n + 1, 2, 5}, 1), b = seeded_integers({n + 1, 5, 3}, 2);
  {
    auto const x = placed<float, 3>(m, a, {ashlar::split(0)}).as_static<sbp<S<0>>>();
    auto const w = placed<float, 3>(m, b, {ashlar::split(0)}).as_static<sbp<S<0>>>();
    ashlar::no_communication const forbidden(m);
    auto const y = matmul(x, w);
    static_assert(std::same_as<decltype(y)::placement_type, sbp<S<0>>>);
    CHECK(wrong_with(y, product(a, b, false, false)) == "");
  }
  for (auto const& mesh : all_meshes(bandwidth_bound)) {
    int const samples = mesh.axes() == 3 ? 2 : 10;
    sample_planned<float, 3>(mesh, {n + 1, 2, 5}, {n + 1, 5, 3}, false, false, samples,
                             {ashlar::reduction::sum});
    sample_planned<float, 3>(mesh, {2, 5, n}, {2, 5, 3}, true, false, samples,
                             {ashlar::reduction::sum});
    sample_planned<float, 3>(mesh, {2, n, 4}, {2, 5, 4}, false, true, samples,
                             {ashlar::reduction::sum});
  }
}

TEST_CASE("matmul<Result> has a typed result") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  dense const a = seeded_integers({n + 1, 4}, 1), b = seeded_integers({4, 6}, 2);
  auto const x = placed<float, 2>(m, a, {ashlar::split(1)}).as_static<sbp<S<1>>>();
  auto const w = placed<float, 2>(m, b, {ashlar::split(1)});
  traffic_check const traffic(m);
  auto const y = ashlar::matmul<sbp<S<0>>>(x, w);
  CHECK(traffic.difference(predicted(m, plan_matmul(x, w, sbp<S<0>>{}))) == "");
  static_assert(std::same_as<decltype(y)::placement_type, sbp<S<0>>>);
  CHECK(wrong_with(y, product(a, b, false, false)) == "");
}

TEST_CASE("operands that do not fit are refused") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  ashlar::mesh const other(MPI_COMM_WORLD, {{"gpu", n}});
  auto const whole = placement::all_broadcast(1);
  auto const x = placed<float, 2>(m, seeded_integers({3, 4}, 1), whole);
  auto const w = placed<float, 2>(m, seeded_integers({5, 4}, 1), whole);
  auto const elsewhere = placed<float, 2>(other, seeded_integers({4, 5}, 1), whole);
  CHECK(has(message_of([&] { matmul(x, w); }), "the extents do not fit: tensor 3x4 [B]@gpu="));
  CHECK(has(message_of([&] { matmul(x, w, whole); }), "tensor 5x4"));
  CHECK(has(message_of([&] { matmul(transposed(x), transposed(w), whole); }), "4 [B]@gpu="));
  CHECK(wrong_with(matmul(x, transposed(w)),
                   product(seeded_integers({3, 4}, 1), seeded_integers({5, 4}, 1), false, true)) ==
        "");
  CHECK(has(message_of([&] { matmul(x, elsewhere); }), "different meshes"));
  CHECK(has(message_of([&] { matmul(x, elsewhere, whole); }), "different meshes"));
  CHECK(has(message_of([&] { matmul(x, transposed(w), ashlar::parse_placement("S(2)")); }),
            "result [S(2)]: split of a dimension"));
  placement const home{ashlar::owned(n - 1)};
  auto const owned_x = redistribute(x, home), owned_w = redistribute(w, home);
  char const* const refused = "matmul: an owned operand has its values on one rank of an axis";
  CHECK(has(message_of([&] { matmul(owned_x, transposed(w), whole); }), refused));
  CHECK(has(message_of([&] { matmul(x, transposed(owned_w), whole); }), refused));
  CHECK(has(message_of([&] { matmul(x, transposed(w), home); }),
            "matmul: the result cannot be at " + to_string(home)));
}

}  // namespace ashlar_test
