// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Turns the probabilities of a router into the routes of all tokens: the experts to which each
// token goes. A token's choices are `chosen` numbers of experts in ascending order. If experts have
// a capacity, the gates of these experts, which are their probabilities, follow after the numbers.
// All ranks have the choices of all tokens, so that all ranks find the same routes, the same tokens
// to drop and the same faults.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <ashlar/layout/routing.hpp>
#include <ashlar/nn/mixture_log.hpp>
#include <ashlar/nn/moe_options.hpp>

namespace ashlar::nn {

using ashlar::check_routes;

/// Returns how many numbers `choose` writes for one token.
constexpr int numbers_of_choices(moe_options const& o) {
  return o.capacity < dropless ? 2 * o.chosen : o.chosen;
}

/// Chooses the o.chosen experts with the largest probabilities for one token. Among experts of
/// equal probability, chooses those with the lower numbers. Writes the numbers of the experts to
/// `choices`, in ascending order. If experts have a capacity, writes the probabilities of the
/// experts after the numbers, in the same order. If a probability of the token is not finite,
/// choices[0] is set to -1, which tells routes_from that the choices are not valid.
template <class A>
void choose(moe_options const& o, A const* probability, A* choices) {
  bool finite = true;
  for (int e = 0; e < o.experts; ++e) finite = finite && std::isfinite(probability[e]);
  for (int k = 0; k < o.chosen; ++k) {
    int best = -1;
    for (int e = 0; e < o.experts; ++e)
      if (std::find(choices, choices + k, A(e)) == choices + k &&
          (best < 0 || probability[e] > probability[best]))
        best = e;
    choices[k] = A(best);
  }
  std::sort(choices, choices + o.chosen);
  if (numbers_of_choices(o) > o.chosen)
    for (int k = 0; k < o.chosen; ++k)
      choices[o.chosen + k] = probability[static_cast<int>(choices[k])];
  if (!finite) choices[0] = A(-1);
}

namespace detail {

/// Drops tokens from experts that have more tokens than their capacity: sets the routes with the
/// smallest gates to -1.
template <class A>
void drop_beyond_capacity(moe_options const& o, A const* choices, routing& routes) {
  int const numbers = numbers_of_choices(o);
  double const even = double(o.chosen) * double(routes.tokens) / o.experts;
  // 1.1 · 50 is a little more than 55 in double. Such an excess must not count as another token.
  double const capacity = std::ceil(o.capacity * even * (1 - 1e-12));
  auto const most = static_cast<std::size_t>(std::min(capacity, double(routes.tokens)));
  std::vector<std::vector<std::int64_t>> entries(static_cast<std::size_t>(o.experts));
  for (std::int64_t t = 0; t < routes.tokens; ++t)
    for (int k = 0; k < o.chosen; ++k)
      entries[static_cast<std::size_t>(routes.experts_of(t)[k])].push_back(t * o.chosen + k);
  auto const gate = [&](std::int64_t entry) {
    A const value = choices[entry / o.chosen * numbers + o.chosen + entry % o.chosen];
    return std::isfinite(value) ? value : A(-1);
  };
  for (auto& own : entries) {
    std::stable_sort(own.begin(), own.end(), [&](auto a, auto b) { return gate(a) > gate(b); });
    for (std::size_t i = most; i < own.size(); ++i)
      routes.expert[static_cast<std::size_t>(own[i])] = -1;
  }
}

}  // namespace detail

/// Returns the routes that follow from the choices of all tokens. If the probabilities of a token
/// were not finite, the token gets the experts with the lowest numbers, and *fault becomes the
/// number of the first such token. Throws ashlar::error if there is such a token and `fault` is
/// null.
template <class A>
routes_and_loads routes_from(moe_options const& o, A const* choices, std::int64_t tokens,
                             std::optional<std::int64_t>* fault = nullptr) {
  auto routes = std::make_shared<routing>(routing{tokens, o.experts, o.chosen, {}});
  routes->expert.reserve(static_cast<std::size_t>(tokens * o.chosen));
  std::vector<std::int64_t> chosen_by(static_cast<std::size_t>(o.experts));
  int const numbers = numbers_of_choices(o);
  for (std::int64_t t = 0; t < tokens; ++t) {
    A const* const own = choices + t * numbers;
    if (own[0] < 0 && fault == nullptr)
      throw error("nn::dispatch", "the router's logits of token " + std::to_string(t) +
                                      " of the micro-batch are not finite, so it has no experts. "
                                      "Lower the learning rate, or clip gradients.");
    if (own[0] < 0 && !fault->has_value()) *fault = t;
    for (int k = 0; k < o.chosen; ++k) {
      int const e = own[0] < 0 ? k : static_cast<int>(own[k]);
      routes->expert.push_back(e);
      ++chosen_by[static_cast<std::size_t>(e)];
    }
  }
  if (o.capacity < dropless) detail::drop_beyond_capacity(o, choices, *routes);
  return {std::move(routes), std::move(chosen_by)};
}

}  // namespace ashlar::nn
