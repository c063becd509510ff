// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The derivatives of the two losses of a router (moe_options.hpp). A layer `dispatch` keeps them
// from the forward pass of a micro-batch for its backward pass.
//
//   balance loss   o.balance · o.experts · Σ f p, summed over the experts. Here f is the share of
//                  the routes that lead to an expert, in a group of o.balance_over micro-batches,
//                  and p is the expert's mean probability. The derivative of this loss with
//                  respect to the probability of an expert is the same for all tokens.
//   z-loss         o.z_loss · log(Σ exp(logit))² of each token
//
// The loss of a step has the mean of the balance loss over the groups of the step, and the mean of
// the z-loss over its tokens.

#include <algorithm>
#include <string>
#include <vector>

#include <ashlar/nn/mixture_log.hpp>
#include <ashlar/nn/moe_options.hpp>
#include <ashlar/nn/pass.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nn {

struct router_losses {
  /// The derivative of the balance loss with respect to the probability of each expert.
  std::vector<double> by_probability;
  /// The derivative of the z-loss with respect to the square of log(Σ exp(logit)).
  double by_square = 0;
  std::int64_t tokens = 0;  ///< the number of tokens of the micro-batch on all ranks
  /// Whether the gradient on this rank has the derivatives, and whether this rank reports the
  /// losses of its tokens.
  bool adds_gradients = true, adds_losses = true;
  nn::pass at;

  /// Returns the share of a token in the losses of a step.
  double share() const { return 1.0 / at.micro_batches / static_cast<double>(tokens); }
  /// Sets the derivatives to 0 unless this rank adds them. If dx is a partial sum, all ranks but
  /// one leave them out, since the sum over the ranks must contain them once.
  void keep_once() {
    if (adds_gradients) return;
    std::fill(by_probability.begin(), by_probability.end(), 0.0);
    by_square = 0;
  }
};

/// Returns the derivative of the balance loss with respect to the probability of each expert.
/// `chosen_by` says how many tokens chose each expert in a group of `group` micro-batches.
inline std::vector<double> slopes_of(moe_options const& o,
                                     std::vector<std::int64_t> const& chosen_by, std::int64_t group,
                                     router_losses const& losses) {
  double const routes = static_cast<double>(losses.tokens * group) * o.chosen;
  std::vector<double> slopes;
  for (auto const n : chosen_by)
    slopes.push_back(o.balance * o.experts * (static_cast<double>(n) / routes) * losses.share());
  return slopes;
}

/// Returns the same derivatives for the group of o.balance_over micro-batches to which the pass of
/// `losses` belongs. Takes the group's loads from the log. Throws ashlar::error if a micro-batch of
/// the group has not taken its forward pass.
inline std::vector<double> slopes_of_group(moe_options const& o, router_losses const& losses) {
  auto const& at = losses.at;
  std::int64_t const place = at.number % at.micro_batches, step = at.number - place;
  std::int64_t const first = at.number - place % o.balance_over;
  std::int64_t const end = std::min(first + o.balance_over, step + at.micro_batches);
  std::vector<std::int64_t> chosen_by(static_cast<std::size_t>(o.experts));
  for (std::int64_t n = first; n < end; ++n) {
    if (at.mixtures == nullptr || !at.mixtures->loads.contains({n, at.element}))
      throw error("nn::dispatch",
                  "the balance loss is over " + std::to_string(o.balance_over) +
                      " micro-batches, but one of them has not taken its forward pass. Let a "
                      "multiple of so many micro-batches take turns (problem::interleaved).");
    auto const& loads = at.mixtures->loads.at({n, at.element});
    for (std::size_t e = 0; e < chosen_by.size(); ++e) chosen_by[e] += loads[e];
  }
  return slopes_of(o, chosen_by, end - first, losses);
}

}  // namespace ashlar::nn
