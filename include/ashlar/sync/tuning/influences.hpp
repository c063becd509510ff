// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The figures of a machine, and how much each of them influences the seconds of a step. The
// influence of a figure is the elasticity of these seconds: if the figure grows by a quarter, the
// seconds grow by the factor 1.25 to the power of the influence (price.hpp). So 0 means that the
// figure does not matter, and 1 that the seconds are proportional to it:
//
//   intra, inter alpha         seconds of a message inside a node, between nodes
//   intra, inter beta          seconds of a byte inside a node, between nodes (with machine::flow)
//   all-reduce, reduce-        all messages and bytes of this collective
//   scatter, all-gather,
//   all-to-all
//   coding                     seconds of encoding and decoding
//
// If the true figures are the assumed ones times factors f, then log(true seconds / predicted
// seconds) is to first order the sum of influence · log f. corrected_ranker.hpp learns the
// logarithms of f. The speed of computations is no figure: if all figures and the seconds of
// computations had the same factor, the ranking would not change. So each f is relative to the
// factor of computations.

#include <array>

#include <ashlar/machine/machine.hpp>

namespace ashlar::sync {

/// The figures of a machine whose influence is computed.
enum class influence : signed char {
  intra_alpha,
  intra_beta,
  inter_alpha,
  inter_beta,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  coding
};
inline constexpr int influences_size = static_cast<int>(influence::coding) + 1;
using influences = std::array<double, influences_size>;

/// Returns machine `m` with figure `what` multiplied by `factor`.
constexpr machine scaled(machine m, influence what, double factor) {
  auto const scale = [&](link& general, collective_links& single, bool alpha, bool beta) {
    if (alpha) general.alpha *= factor;
    if (beta) general.beta *= factor;
    for (auto& l : single.of) {
      if (alpha) l.alpha *= factor;
      if (beta) l.beta *= factor;
    }
  };
  auto const scale_kind = [&](collective kind) {
    link const inside = m.intra_of.has(kind) ? m.intra_of[kind] : m.intra;
    link const between = m.inter_of.has(kind) ? m.inter_of[kind] : m.inter;
    m.intra_of.set(kind, {inside.alpha * factor, inside.beta * factor});
    m.inter_of.set(kind, {between.alpha * factor, between.beta * factor});
  };
  switch (what) {
    case influence::intra_alpha: scale(m.intra, m.intra_of, true, false); break;
    case influence::intra_beta: scale(m.intra, m.intra_of, false, true); break;
    case influence::inter_alpha: scale(m.inter, m.inter_of, true, false); break;
    case influence::inter_beta:
      scale(m.inter, m.inter_of, false, true);
      m.flow *= factor;
      break;
    case influence::all_reduce: scale_kind(collective::all_reduce); break;
    case influence::reduce_scatter: scale_kind(collective::reduce_scatter); break;
    case influence::all_gather: scale_kind(collective::all_gather); break;
    case influence::all_to_all: scale_kind(collective::all_to_all); break;
    case influence::coding: m.memory_bandwidth /= factor; break;
  }
  return m;
}

}  // namespace ashlar::sync
