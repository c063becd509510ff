// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How the next token is chosen from the logits that follow the last one:
//
//   temperature 0   the token with the highest logit; the first one if several are highest
//   temperature t   a token drawn with probability softmax(logits / t), among the top_k tokens with
//                   the highest logits, or among all
//
// The random number of a draw depends only on the seed and the index of the draw
// (device/philox.hpp).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include <ashlar/device/philox.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nn {

/// How tokens are chosen. The default is the most probable token ("greedy").
struct sampling {
  double temperature = 0;
  std::int64_t top_k = 0;  ///< how many tokens may be drawn; 0 means all tokens
  std::uint64_t seed = 0;
};

/// Throws ashlar::error if the temperature or top_k is not possible.
inline void check(sampling const& how) {
  if (!(how.temperature >= 0) || !std::isfinite(how.temperature))
    throw error("nn::sampling", "the temperature is " + std::to_string(how.temperature) +
                                    ". It must be positive, or 0 for the most probable token.");
  if (how.top_k < 0)
    throw error("nn::sampling", "top_k is " + std::to_string(how.top_k) +
                                    ". It must be a number of tokens, or 0 for all of them.");
}

/// Returns the number of the chosen token. `index` is the number of the draw. Expects one logit or
/// more, and a `how` that check() accepts. Throws ashlar::error if a logit is NaN or infinity, or
/// if all are -infinity. Communicates nothing.
template <class T>
std::int32_t choose_token(std::span<T const> logits, sampling const& how, std::int64_t index) {
  auto const highest = std::max_element(logits.begin(), logits.end());
  bool const is_good = std::all_of(logits.begin(), logits.end(), [](T const v) {
    return static_cast<double>(v) < std::numeric_limits<double>::infinity();
  });
  if (!is_good || std::isinf(static_cast<double>(*highest)))
    throw error("nn::sampling", "a logit is NaN or infinite, so no token can be chosen. Look for "
                                "the first step of the training whose loss is not finite.");
  if (how.temperature == 0) return static_cast<std::int32_t>(highest - logits.begin());
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  auto const logit = [&](std::int32_t i) { return logits[static_cast<std::size_t>(i)]; };
  if (how.top_k > 0 && how.top_k < static_cast<std::int64_t>(order.size())) {
    std::partial_sort(order.begin(), order.begin() + how.top_k, order.end(),
                      [&](std::int32_t a, std::int32_t b) {
                        return logit(a) > logit(b) || (logit(a) == logit(b) && a < b);
                      });
    order.resize(static_cast<std::size_t>(how.top_k));
  }
  std::vector<double> weight;
  for (auto const i : order)
    weight.push_back(std::exp(static_cast<double>(logit(i) - *highest) / how.temperature));
  // The random streams from 3 << 62 on are separate from those of parameters, dropout and the order
  // of sequences.
  double left = device::uniform<double>(how.seed, std::uint64_t{3} << 62, index) *
                std::accumulate(weight.begin(), weight.end(), 0.0);
  std::size_t chosen = 0;
  while (chosen + 1 < weight.size() && left >= weight[chosen]) left -= weight[chosen++];
  return order[chosen];
}

}  // namespace ashlar::nn
