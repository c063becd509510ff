// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The sizes of a mixture of experts, and how it routes tokens.

#include <cstdint>
#include <limits>
#include <string>

#include <ashlar/layout/shape.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nn {

/// The capacity with which no expert drops a token.
inline constexpr double dropless = std::numeric_limits<double>::infinity();

struct moe_options {
  int experts = 8;
  int chosen = 2;  ///< the number of experts of each token
  /// The number of features between the two products of an expert. 0 stands for four times the
  /// number of features of a token.
  std::int64_t hidden = 0;
  /// The factor of the balance loss, which is experts · Σ f p, summed over the experts. Here f is
  /// the share of the micro-batch's routes that lead to an expert, and p is the mean of the
  /// expert's probability over all tokens.
  double balance = 0;
  /// The number of consecutive micro-batches over which f and p above are computed. If it is above
  /// 1, a multiple of this number of micro-batches must take turns (problem::interleaved). The last
  /// group of a step may have fewer.
  int balance_over = 1;
  /// The factor of the router's z-loss, which keeps logits small. The z-loss is the mean of log(Σ
  /// exp(logit))² over all tokens of the micro-batch.
  double z_loss = 0;
  /// An expert takes at most capacity · chosen · tokens / experts tokens, rounded up. It takes the
  /// tokens with the largest gates; among gates that are equal bit for bit, the tokens that come
  /// first in the micro-batch. So the samples of a micro-batch depend on each other, and predict
  /// and evaluate take whole batches only.
  double capacity = dropless;
  /// The number of tokens of the fullest rank divided by the mean over all ranks, where a plan
  /// splits the experts. Only predictions of seconds, bytes and memory use this number. It must be
  /// between 1 and 1000.
  double imbalance = 1;

  friend constexpr bool operator==(moe_options const&, moe_options const&) = default;
};

/// Returns an imbalance in thousandths, rounded up (shape::fullest). A number with at most three
/// decimals is not rounded: 1.1 gives 1100, although the double is a little larger than 1.1.
constexpr int thousandths(double imbalance) {
  auto n = static_cast<int>(imbalance * evenly_full);
  while (double(n) / evenly_full < imbalance) ++n;
  while (double(n - 1) / evenly_full >= imbalance) --n;
  return n;
}

/// Throws ashlar::error if no mixture of experts can have these options.
constexpr void check(moe_options const& o) {
  if (o.experts < 1)
    throw error("nn::moe", std::to_string(o.experts) + " experts. Give 1 or more.");
  if (o.chosen < 1 || o.chosen > o.experts)
    throw error("nn::moe", std::to_string(o.chosen) + " of " + std::to_string(o.experts) +
                               " experts are chosen for each token. Choose at least 1 and at most "
                               "all of them.");
  if (!(o.capacity > 0))
    throw error("nn::moe", "the capacity is " + std::to_string(o.capacity) +
                               ", with which the experts take no token. Give a positive number, or "
                               "leave it out: then no token is dropped.");
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!(o.balance >= 0 && o.balance < infinity))
    throw error("nn::moe", "the factor of the balance loss is " + std::to_string(o.balance) +
                               ". Give 0 or a positive number.");
  if (o.balance_over < 1)
    throw error("nn::moe", "the balance loss is over " + std::to_string(o.balance_over) +
                               " micro-batches. Give 1 or more.");
  if (!(o.imbalance >= 1 && o.imbalance <= 1000))
    throw error("nn::moe",
                "the imbalance is " + std::to_string(o.imbalance) +
                    ". It is the tokens of the fullest rank over the mean: give 1, if all "
                    "ranks have equally many, or more, up to 1000.");
  if (!(o.z_loss >= 0 && o.z_loss < infinity))
    throw error("nn::moe", "the factor of the router's z-loss is " + std::to_string(o.z_loss) +
                               ". Give 0 or a positive number.");
  if (o.hidden < 0)
    throw error("nn::moe",
                "experts with " + std::to_string(o.hidden) +
                    " hidden features. Give 1 or more, or 0 for four times the features.");
}

}  // namespace ashlar::nn
