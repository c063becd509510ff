// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes how much memory recomputation (activation checkpointing) saves in a plan and how much
// time it adds, compared with the same plan without recomputation.

#include <string>

#include <ashlar/plan/text.hpp>
#include <ashlar/search/cost.hpp>
#include <ashlar/search/text.hpp>

namespace ashlar::search {

struct recomputation_effect {
  std::int64_t memory = 0;  ///< bytes per rank that recomputation saves; may be negative
  double seconds = 0;       ///< seconds that recomputation adds to a step
  double share = 0;         ///< `seconds` as a fraction of the step without recomputation
};

template <int N>
constexpr recomputation_effect
effect_of_recomputing(basic_problem<N> const& net, basic_plan<N> const& chosen, machine const& m) {
  basic_plan<N> kept = chosen;
  kept.recomputed = 0;
  double const with = total_cost(net, chosen, m).seconds();
  double const without = total_cost(net, kept, m).seconds();
  return {memory_per_rank(net, kept) - memory_per_rank(net, chosen), with - without,
          without > 0 ? with / without - 1 : 0};
}

/// Returns a text such as "3.10 GiB less, 1.20 ms (12.0 %) longer".
inline std::string effect_text(recomputation_effect const& effect) {
  return bytes_text(double(effect.memory < 0 ? -effect.memory : effect.memory)) +
         (effect.memory < 0 ? " more, " : " less, ") + seconds_text(effect.seconds) + " (" +
         detail::percent_text(effect.share) + ") longer";
}

/// Returns a text such as "segments 1-8 of 12 are recomputed: 3.10 GiB less, 1.20 ms (12.0 %)
/// longer". Returns an empty text if no segment is recomputed.
template <int N>
std::string recomputed_text(basic_problem<N> const& net, basic_plan<N> const& chosen,
                            machine const& m) {
  if (chosen.recomputed == 0) return {};
  std::string const last = std::to_string(chosen.recomputed);
  return (chosen.recomputed == 1 ? "segment 1 of " : "segments 1-" + last + " of ") +
         std::to_string(net.segments) + (chosen.recomputed == 1 ? " is" : " are") +
         " recomputed: " + effect_text(effect_of_recomputing(net, chosen, m));
}

}  // namespace ashlar::search
