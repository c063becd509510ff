// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a lower bound of the seconds of a step that holds for all placements and all cuts of a
// chain under one schedule. A chain is a sequence of pieces, and every stage consists of whole
// pieces (stages_alone.hpp). A piece has these numbers, in seconds:
//
//   V         a lower bound of w u + g over all of its plans: u for both passes of one micro-batch,
//             g for the synchronization of its gradients
//   F, I, W   its part of the forward pass, of the gradient of the input, and of the gradients of
//             the parameters, if all ranks share the work equally and compute at peak speed
//
// Let a step have m micro-batches on s parts. Since w >= m, v = V m / w is at most m u + g. The
// first stages of the s parts are the first s stages of the chain, in this order. The bound is the
// largest of the following numbers. In each of them, "before" sums over all pieces of earlier
// stages.
//
//   one stage    If each part holds one stage, the largest of its stages decides. Bisection finds
//                the least number that no stage of some cut exceeds. The number of a stage is the
//                largest of
//                  F before + v                     under every schedule
//                  F + a (I + W) before + v         if backward passes are whole, a = 1 - m / w
//                  F + I before + m (F + I)         under every schedule
//                  F + I + W before + m (F + I + W) if backward passes are whole
//   all parts    The mean over the parts of (F before the first stage of the part + v of all its
//                pieces), and the largest of these numbers if the cut is known. If it is not known,
//                a stage has at least one piece, so that at least p pieces lie before the first
//                stage of part p.
//   one batch    A micro-batch passes through all stages: the sum of F + I, or of F + I + W if
//                backward passes are whole.
//
// The second line of "one stage" is a mean of two bounds (best_cut.hpp), of which only the first
// has g: F before + m u + g with the weight m / w, and F + I + W before + m u with the weight a.

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

/// A visitor of a layer's actions (visit.hpp) that adds the seconds of its computations to the F, I
/// and W of a piece, as if `ranks` ranks shared the work equally and computed at peak speed. A
/// recomputed forward pass is part of the backward pass, and so of I.
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
      if (repeats(when)) visit_element(when, sums.spec, anywhere, sums);  // others compute nothing
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
    std::vector<double> before{0};   // what comes before a stage in addition to its v
    std::vector<double> passes{0};   // F + I, or F + I + W

    sums(cut_bounds const& of, bool whole) {
      for (auto const& p : of.pieces_) {
        double const v = p.whole * of.share_, back = p.input + p.weights;
        double const head = p.forward + (whole ? (1 - of.share_) * back : 0);
        own.push_back(own.back() + v);
        forward.push_back(forward.back() + p.forward);
        // A piece adds no more than its v to what comes before later stages. Otherwise a longer
        // stage could have a lower bound than a shorter one, which cannot happen if V is exact.
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

  /// Returns the bound for a known cut: the largest of those that follow from each part alone.
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

  /// Returns a lower bound of the largest of_stage of a cut into `parts` stages, over all cuts. If
  /// some cut has no stage above `least`, returns `least`. The of_stage of a range of pieces does
  /// not fall if pieces are added at either end. So to learn whether a cut has no stage above a
  /// number, it suffices to make each stage, from the first on, as long as this number permits.
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
