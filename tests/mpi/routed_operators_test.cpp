// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests the operators on typed routed tensors against loops over whole arrays. In some cases, rows
// move from ranks that split the tokens to ranks that split the experts, and back. In others,
// replicated rows are sliced, so that each rank has the rows of its own experts. Sums over the
// experts are then partial. In others, ranks split the features. Values are small integers, so all
// sums are exact.

#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/routed_cases.hpp>

#include <ashlar/tensor/along_dim.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/einsum.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/mean.hpp>
#include <ashlar/tensor/permute.hpp>
#include <ashlar/tensor/reshape.hpp>
#include <ashlar/tensor/routed_operators.hpp>
#include <ashlar/tensor/slice.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

double square(double v) { return v * v; }

/// Integer operands x [tokens, in] and w [experts, in, out], routes, and the expected result y of
/// combine(map(matmul(dispatch(x, routes), w), square)).
struct routed_trial {
  explicit routed_trial(routed_case const& c)
      : routes(c.routes), tokens(c.routes->tokens), experts(c.routes->experts) {
    std::mt19937 random(3);
    for (std::int64_t i = 0; i < tokens * in; ++i) x.push_back(int(random() % 7) - 3);
    for (std::int64_t i = 0; i < experts * in * out; ++i) w.push_back(int(random() % 5) - 2);
    y.resize(static_cast<std::size_t>(tokens * out));
    for (std::int64_t t = 0; t < tokens; ++t)
      for (int k = 0; k < routes->chosen; ++k)
        for (std::int64_t o = 0; o < out; ++o) {
          auto const e = routes->experts_of(t)[k];
          if (e < 0) continue;
          double sum = 0;
          for (std::int64_t i = 0; i < in; ++i)
            sum += x[static_cast<std::size_t>(t * in + i)] *
                   w[static_cast<std::size_t>((e * in + i) * out + o)];
          y[static_cast<std::size_t>(t * out + o)] += square(sum);
        }
  }
  template <class Placement>
  auto tokens_at(ashlar::mesh const& m, Placement const& p) const {
    return ashlar::from_full<2>(m, {tokens, in}, p, std::span<double const>(x));
  }
  template <class Placement>
  auto matrices_at(ashlar::mesh const& m, Placement const& p) const {
    return ashlar::from_full<3>(m, {experts, in, out}, p, std::span<double const>(w));
  }
  static constexpr std::int64_t in = 4, out = 3;
  std::shared_ptr<ashlar::routing const> routes;
  std::int64_t tokens, experts;
  std::vector<double> x, w, y;
};

template <class F>
void for_each_trial(F f) {
  for (auto const& c : uneven_routes()) {
    CAPTURE(c.name);
    f(routed_trial(c));
  }
}

}  // namespace

TEST_CASE("tokens to experts and back along one axis") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  for_each_trial([&](routed_trial const& c) {
    auto const x = c.tokens_at(m, sbp<S<0>>{});
    auto const r = ashlar::dispatch(x, c.routes);
    static_assert(std::is_same_v<decltype(r), ashlar::routed<double, sbp<S<0>>> const>);
    auto const e = r | ashlar::to<S<1>>;
    auto const h = map(matmul(e, c.matrices_at(m, sbp<S<0>>{})), square);
    static_assert(std::is_same_v<decltype(h), ashlar::routed<double, sbp<S<1>>> const>);
    auto const back = combine(h | ashlar::to<S<0>>);
    static_assert(std::is_same_v<decltype(back)::placement_type, sbp<S<0>>>);
    CHECK(ashlar::to_full(back) == c.y);
    auto const sum = combine(h);  // rows do not move back, so the sum is partial
    static_assert(std::is_same_v<decltype(sum)::placement_type, sbp<P>>);
    CHECK(ashlar::to_full(sum) == c.y);
    // Going from replicated rows to split experts is a slice, which does not communicate.
    auto const whole = ashlar::dispatch(c.tokens_at(m, sbp<B>{}), c.routes);
    for (auto const& s : ashlar::plan_redistribution(whole, sbp<S<1>>{}).plan.steps)
      CHECK(!communicates(s.kind));
    auto const sliced = matmul(whole | ashlar::to<S<1>>, c.matrices_at(m, sbp<S<0>>{}));
    CHECK(ashlar::to_full(combine(map(sliced, square))) == c.y);
    // First, the features of the result are split. Then the contracted features are split, and the
    // partial product must be summed before it is squared.
    auto const columns = matmul(whole, c.matrices_at(m, sbp<S<2>>{}));
    auto const split = combine(map(columns, square));
    static_assert(std::is_same_v<decltype(split)::placement_type, sbp<S<1>>>);
    CHECK(ashlar::to_full(split) == c.y);
    auto const parts = matmul(ashlar::dispatch(c.tokens_at(m, sbp<S<1>>{}), c.routes),
                              c.matrices_at(m, sbp<S<1>>{}));
    static_assert(std::is_same_v<decltype(parts), ashlar::routed<double, sbp<P>> const>);
    CHECK(ashlar::to_full(combine(map(parts | ashlar::to<B>, square))) == c.y);
  });
}

TEST_CASE("two axes, and placements of the run time") {
  if (world_size() % 2 != 0) return;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"node", 2}, {"gpu", world_size() / 2}});
  for_each_trial([&](routed_trial const& c) {
    auto const r = ashlar::dispatch(c.tokens_at(m, sbp<S<0>, B>{}), c.routes);
    auto const h = map(matmul(r | ashlar::to<S<1>, S<0>>, c.matrices_at(m, sbp<S<0>, B>{})),
                       square);
    static_assert(std::is_same_v<decltype(h), ashlar::routed<double, sbp<S<1>, S<0>>> const>);
    CHECK(ashlar::to_full(combine(h)) == c.y);
    auto const x = c.tokens_at(m, ashlar::parse_placement("S(0),S(0)"));
    auto const e = redistribute(ashlar::dispatch(x, c.routes), ashlar::parse_placement("S(1),B"));
    auto const y = matmul(e, c.matrices_at(m, ashlar::parse_placement("S(0),S(2)")));
    CHECK(ashlar::to_string(y.placement()) == "[S(1),S(2)]");
    CHECK(ashlar::to_full(combine(map(y, square))) == c.y);
    CHECK(has(message_of([&] {
                (void)matmul(ashlar::dispatch(x, c.routes),
                             c.matrices_at(m, ashlar::parse_placement("S(0),B")));
              }),
              "move the rows first, as in matmul(r | to<S<1>, ...>, w)."));
  });
}

TEST_CASE("rows that fit neither tokens nor matrices") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {3, 2}, sbp<B>{}, 1);
  auto const routes = [](std::int64_t tokens, std::vector<std::int32_t> expert) {
    return std::make_shared<ashlar::routing const>(
        ashlar::routing{tokens, 4, 1, std::move(expert)});
  };
  CHECK(has(message_of([&] {
              (void)ashlar::dispatch(x, routes(2, {0, 1}));
            }),
            "make_routed: the routes are of 2 tokens to 1 of 4 experts"));
  CHECK(has(message_of([&] {
              (void)ashlar::dispatch(x, routes(3, {0, 1, 4}));
            }),
            "routes: token 2 goes to expert 4, but there are 4 experts."));
  for (auto const& none : {ashlar::routing{3, 0, 1, {-1, -1, -1}}, ashlar::routing{3, 4, 0, {}},
                           ashlar::routing{-3, 4, 0, {}}})
    CHECK(message_of([&] {
            (void)ashlar::dispatch(x, std::make_shared<ashlar::routing const>(none));
          }) == "routes: " + std::to_string(none.tokens) + " tokens cannot go to " +
                    std::to_string(none.chosen) + " of " + std::to_string(none.experts) +
                    " experts each. Give at least one expert, and at least one route for each "
                    "token; a route of -1 means that the token is dropped.");
  auto const r = ashlar::dispatch(x, routes(3, {0, 1, -1}));
  CHECK(message_of([&] {
          (void)matmul(r, ashlar::full<float>(m, {4, 3, 2}, sbp<B>{}, 1));
        }) == "matmul: the extents do not fit: rows 3x1/4x2 times 4x3x2. Give one matrix for each "
              "expert.");
}

TEST_CASE("operators on tensors refuse routed rows, of which a shard has more than tokens") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = ashlar::full<float>(m, {3, 2}, sbp<B>{}, 1);
  auto const r = ashlar::dispatch(
      x, std::make_shared<ashlar::routing const>(ashlar::routing{3, 4, 2, {0, 1, 0, 3, 1, 2}}));
  auto const rows = r.as_tensor();
  auto const dynamic_rows = rows.as_dynamic();
  auto const refused = [&](std::string const& name, auto const& operation) {
    CHECK(message_of(operation) ==
          name +
              ": the operand 3x2/4x2 is routed: it has rows only for the experts to which tokens "
              "go. Combine the rows first, as in combine(r).");
  };
  refused("sum", [&] { (void)ashlar::sum<1>(rows); });
  refused("sum", [&] { (void)ashlar::sum<1>(dynamic_rows); });
  refused("mean", [&] { (void)ashlar::mean<1>(rows); });
  refused("argmax", [&] { (void)ashlar::argmax<1>(rows); });
  refused("einsum", [&] { (void)ashlar::einsum<"ted->td">(rows); });
  refused("permute", [&] { (void)ashlar::permute<1, 0, 2>(rows); });
  refused("slice", [&] { (void)ashlar::slice<0>(rows, 0, 2); });
  refused("concat", [&] { (void)ashlar::concat<0>(rows, rows); });
  refused("reshape", [&] { (void)ashlar::reshape(rows, {12}); });
}

}  // namespace ashlar_test
