// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Named cases of routing for mixtures of experts. A case says to which experts each token goes.
// Also makes routed tensors of integers that every rank can compute, so that results can be
// compared exactly.

#include <random>
#include <string>
#include <vector>

#include <ashlar/nn/routes.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {

struct routed_case {
  std::string name;
  ashlar::shape extents;  ///< [tokens.., experts, features]
  std::shared_ptr<ashlar::routing const> routes;
};

/// Returns a case in which the k-th choice of token t is the expert choose(t, k). The choices of a
/// token are sorted. A negative expert means that this choice of the token was dropped.
template <class Choose>
routed_case make_case(std::string name, ashlar::shape extents, int chosen, Choose const& choose) {
  extents.chosen = chosen;
  auto const experts = extents.experts();
  std::int64_t tokens = 1;
  for (int d = 0; d + 2 < extents.rank(); ++d) tokens *= extents[d];
  auto routes = std::make_shared<ashlar::routing>(
      ashlar::routing{tokens, static_cast<int>(experts), chosen, {}});
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<std::int32_t> own;
    for (int k = 0; k < chosen; ++k) own.push_back(static_cast<std::int32_t>(choose(t, k)));
    std::sort(own.begin(), own.end());
    routes->expert.insert(routes->expert.end(), own.begin(), own.end());
  }
  ashlar::nn::check_routes(*routes);
  return {std::move(name), extents, std::move(routes)};
}

/// Returns routes that send equally many tokens to the experts of each rank, on all meshes of up to
/// 4 ranks.
inline routed_case even_routes() {
  return make_case("even", {36, 12, 12}, 4, [](auto t, int k) { return (t + 3 * k) % 12; });
}

/// Returns cases in which the ranks have very different loads.
inline std::vector<routed_case> uneven_routes() {
  std::mt19937 random(5);
  auto const any = [&](auto, int k) { return 2 * k + static_cast<int>(random() % 2); };
  return {
      make_case("random", {3, 3, 5, 3}, 2, any),
      make_case("one hot expert", {7, 5, 2}, 1, [](auto, int) { return 2; }),
      make_case("no tokens for the later experts", {6, 8, 2}, 2, [](auto, int k) { return k; }),
      make_case("all experts", {5, 3, 2}, 3, [](auto, int k) { return k; }),
      make_case("few tokens", {1, 2, 3, 1}, 1, [](auto t, int) { return t; }),
      make_case("no tokens", {0, 4, 2}, 2, [](auto, int k) { return k; }),
      make_case("dropped tokens", {9, 4, 3}, 2,
                [](auto t, int k) { return t % 3 == 0   ? k - 1
                                           : t % 3 == 1 ? -1
                                                        : k + 2; }),
  };
}

namespace detail {

template <int Rank>
ashlar::any_tensor<ashlar::device::host::processor>
routed_tensor(ashlar::mesh const& m, routed_case const& c, ashlar::placement const& p) {
  auto x = ashlar::make_routed<ashlar::tensor<double, Rank>>(m, c.extents, p, c.routes);
  auto const& rows = ashlar::rows_of(x);
  std::int64_t addends = 1, own = 0;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) {
      addends *= m.topology().extent(a);
      own = own * m.topology().extent(a) + m.coordinate()[static_cast<std::size_t>(a)];
    }
  auto const features = rows.within[c.extents.rank() - 1];
  std::int64_t at = 0;
  for (std::int64_t e = 0; e < rows.experts().size; ++e)
    for (auto r = rows.first[static_cast<std::size_t>(e)];
         r < rows.first[static_cast<std::size_t>(e) + 1]; ++r)
      for (std::int64_t f = features.begin; f < features.end(); ++f) {
        auto const value = (rows.token[static_cast<std::size_t>(r)] * c.extents.experts() +
                            rows.experts().begin + e) *
                               10 +
                           f + 1;
        x.data()[at++] = static_cast<double>(own > 0 ? -7 : value + 7 * (addends - 1));
      }
  return x;
}

}  // namespace detail

/// Returns a routed tensor (layout/routing.hpp: it has rows only for the experts to which a token
/// goes) with the routes of a case, at placement `p`. The value for token t, expert e and feature f
/// is the integer 10 (t · experts + e) + f + 1. It differs for all (t, e, f) if there are at most
/// 10 features. Addends of partial tensors have both signs.
inline ashlar::any_tensor<ashlar::device::host::processor>
routed_tensor(ashlar::mesh const& m, routed_case const& c, ashlar::placement const& p) {
  return c.extents.rank() == 4 ? detail::routed_tensor<4>(m, c, p)
                               : detail::routed_tensor<3>(m, c, p);
}

/// Returns whether the shards of x and y on this rank have equally many elements and equal values.
inline bool same_shards(ashlar::any_tensor<ashlar::device::host::processor> const& x,
                        ashlar::any_tensor<ashlar::device::host::processor> const& y) {
  auto const *const a = x.data_as<double>(), *const b = y.data_as<double>();
  return x.local_elements() == y.local_elements() && std::equal(a, a + x.local_elements(), b);
}

}  // namespace ashlar_test
