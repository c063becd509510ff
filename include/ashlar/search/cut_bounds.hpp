// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a lower bound of the seconds of a step that holds for all placements and all cuts of a
// chain under one schedule. A chain is a sequence of pieces, and every stage consists of whole
// pieces (stages_alone.hpp). A piece has these numbers, in seconds:
//
//   V         a lower bound of w u + g over all plans of the piece: u is the time of both passes of
//             one micro-batch, g the time to synchronize the gradients of the piece, and w a given
//             weight
//   F, I, W   the times to compute the forward pass, the gradient of the input, and the gradients
//             of the parameters for one micro-batch, if all ranks share the work equally and
//             compute at peak speed
//
// Let a step have m micro-batches on s parts. Since w >= m, v = V m / w is at most m u + g. The
// first stage of part p = 0 .. s - 1 is stage p of the chain. The bound is the largest of the
// following numbers. In them, F, I, W and v of a stage are sums over its pieces, and "before" marks
// a sum over all pieces of earlier stages.
//
//   one stage    If each part holds one stage, each stage has a number, which is the largest of
//                  (F) before + v                       under every schedule
//                  (F + a (I + W)) before + v           if backward passes are whole, a = 1 - m / w
//                  (F + I) before + m (F + I)           under every schedule
//                  (F + I + W) before + m (F + I + W)   if backward passes are whole
//                The number of a cut is the largest number of its stages. If the cut is not known,
//                bisection finds the least number of any cut.
//   all parts    Each part has the number (F) before its first stage + v of all its stages. The
//                bound is the mean of these numbers, and also the largest one if the cut is known.
//                If the cut is not known, at least p pieces lie before the first stage of part p,
//                because every stage has at least one piece.
//   micro-batch  One micro-batch passes through all stages. The bound is the sum of F + I over all
//                stages, or of F + I + W if backward passes are whole.
//
// The second line of "one stage" is a weighted mean of two bounds of best_cut.hpp. The bound
// (F) before + m u + g has the weight m / w. The bound (F + I + W) before + m u has the weight a.

#include <algorithm>
#include <utility>
#include <vector>

#include <ashlar/plan/step_prices.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/search/schedule_choice.hpp>
#include <ashlar/step/visit.hpp>

namespace ashlar::search::detail {

/// Lower bounds of one piece, in seconds.
struct piece_least {
  double whole = 0;                            ///< V
  double forward = 0, input = 0, weights = 0;  ///< F, I, W
};

/// A visitor of a layer's actions (visit.hpp). It adds the seconds of the layer's computations to
/// F, I and W of a piece, as if `ranks` ranks shared the work equally and computed at peak speed.
/// The second run of a recomputed forward pass counts in I.
struct ideal_work {
  piece_least& piece;
  layer_spec const& spec;
  machine const& priced_on;
  int element_size;
  int ranks;

  void compute(phase when, computation what, int part, int) {
    if (part > 0) return;
    double& sum = what == computation::weight_gradient ? piece.weights
                  : when == phase::forward             ? piece.forward
                                                       : piece.input;
    sum += work_seconds(work_of(spec, what), priced_on, element_size) / ranks;
  }
  void move(phase, moved, int, shape const&, placement const&, placement const&) {}
};

/// Sets F, I and W of a piece that has the elements first .. last - 1 of a chain, on a mesh with
/// this number of ranks.
template <int N>
void set_ideal_work(piece_least& piece, basic_problem<N> const& chain, int first, int last,
                    int ranks, machine const& m) {
  layer_choice const anywhere;  // F, I and W do not depend on placements
  for (int i = first; i < last; ++i) {
    ideal_work sums{piece, chain.spec(i), m, chain.element_size, ranks};
    for_each_phase(chain.runs(i, chain.recomputed), [&](phase when) {
      if (repeats(when)) visit_element(when, sums.spec, anywhere, sums);  // no other phase computes
    });
  }
}

class cut_bounds {
 public:
  /// `weight` is the w of the pieces.
  cut_bounds(std::vector<piece_least> pieces, int micro_batches, double weight)
      : pieces_(std::move(pieces)), m_(micro_batches), share_(micro_batches / weight) {}

  /// Returns the bound for a schedule. `cut` has the first piece of each stage and the number of
  /// all pieces; if it is empty, the bound holds for every cut into as many stages as the schedule
  /// has. Returns `unreachable` if the chain has too few pieces.
  double least(schedule_choice const& choice, int parts, std::vector<int> const& cut) const {
    int const stages = parts * choice.chunks, n = static_cast<int>(pieces_.size());
    if (n < stages) return unreachable;
    sums const s(*this, !choice.splits());
    double sum = s.own.back(), bound = s.passes.back();
    for (int p = 0; p < parts; ++p) sum += s.forward[at(cut.empty() ? p : cut[at(p)])];
    bound = std::max(bound, sum / parts);
    if (!cut.empty()) return std::max(bound, of_cut(s, choice, parts, cut));
    return choice.chunks > 1 ? bound : std::max(bound, least_largest(s, parts, bound));
  }

 private:
  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }

  /// Sums over all pieces before a piece, for each piece and for the end of the chain.
  struct sums {
    std::vector<double> own{0};      // v
    std::vector<double> forward{0};  // F
    std::vector<double> before{0};   // F, or F + a (I + W), limited to v
    std::vector<double> passes{0};   // F + I, or F + I + W

    sums(cut_bounds const& of, bool whole) {
      for (auto const& p : of.pieces_) {
        double const v = p.whole * of.share_, back = p.input + p.weights;
        double const head = p.forward + (whole ? (1 - of.share_) * back : 0);
        own.push_back(own.back() + v);
        forward.push_back(forward.back() + p.forward);
        // A piece adds at most its v to `before`. If it added more, of_stage could be smaller for a
        // longer stage than for a shorter one. This cannot happen if V is exact.
        before.push_back(before.back() + std::min(head, v));
        passes.push_back(passes.back() + p.forward + (whole ? back : p.input));
      }
    }
  };

  /// Returns the bound that follows from the stage of the pieces first .. last - 1, if its part
  /// holds no other stage.
  double of_stage(sums const& s, int first, int last) const {
    double const own = s.own[at(last)] - s.own[at(first)],
                 passes = s.passes[at(last)] - s.passes[at(first)];
    return std::max(s.before[at(first)] + own, s.passes[at(first)] + m_ * passes);
  }

  /// Returns the bound for a known cut: the largest of the bounds that follow from each part alone.
  double of_cut(sums const& s, schedule_choice const& choice, int parts,
                std::vector<int> const& cut) const {
    auto const shape = choice.shape(parts, 1);
    double bound = 0;
    for (int p = 0; p < parts; ++p) {
      if (choice.chunks == 1) {
        bound = std::max(bound, of_stage(s, cut[at(p)], cut[at(p + 1)]));
        continue;
      }
      double own = s.forward[at(cut[at(p)])];
      for (int c = 0; c < choice.chunks; ++c) {
        auto const k = at(shape.stage_of(p, c));
        own += s.own[at(cut[k + 1])] - s.own[at(cut[k])];
      }
      bound = std::max(bound, own);
    }
    return bound;
  }

  /// Let the value of a cut be the largest of_stage() of its stages. Returns a lower bound of the
  /// values of all cuts into `parts` stages, or `least` if some cut has a value of at most `least`.
  /// A range of pieces that is extended at either end does not get a smaller of_stage(). So it is
  /// enough to try one cut to see whether any cut has at most a given value: the cut in which each
  /// stage, from the first on, is as long as the given value permits.
  double least_largest(sums const& s, int parts, double least) const {
    int const n = static_cast<int>(pieces_.size());
    auto const possible = [&](double most) {
      int first = 0;
      for (int stages = 0; stages < parts && first < n; ++stages) {
        int last = first;
        while (last < n && of_stage(s, first, last + 1) <= most) ++last;
        first = last;
      }
      return first == n;
    };
    double below = least, above = of_stage(s, 0, n);
    if (possible(below)) return below;
    for (int k = 0; k < 40 && below < above * (1 - 1e-9); ++k) {
      double const middle = below + (above - below) / 2;
      (possible(middle) ? above : below) = middle;
    }
    return below;
  }

  std::vector<piece_least> pieces_;
  double m_;
  double share_;  // m / w
};

}  // namespace ashlar::search::detail
