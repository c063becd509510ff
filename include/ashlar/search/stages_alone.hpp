// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans parts of a chain as chains of their own: pieces of a chain, for a lower bound of all
// pipelines, and stages within a memory limit (limited_stages.hpp).
//
// Lower bound: Each part of the mesh runs its stages m times and synchronizes their gradients, so
// with u and g of each stage, a step takes at least the average over the s parts,
//
//   T >= ( m Σ u + Σ g ) / s
//
// under every schedule. Each stage consists of whole pieces, and moves between pieces take no less
// than no time, so the sum is at least that of the fastest plans of all pieces alone.
//
// Skips and ties need no case of their own. A piece with one end of a skip counts that end as a layer,
// and one with one use of a tied parameter is free to store it as is best there. In a stage the other
// end or use only restricts the choice, and both uses synchronize their gradients there, too. What
// crosses between parts takes more than no time.
//
// If each part holds one stage and backward passes are whole, T >= Σ u before stage j + m u of j.
// The sum of these bounds, weighed so that all u count alike, is T >= a Σ u with a = 1 / (1 - (1 -
// 1/m)^s). Together with the first bound, for any weight w >= m of u against g,
//
//   T >= a ( w Σ u + Σ g ) / ( a s + w - m )

#include <cmath>
#include <map>

#include <ashlar/machine/machine.hpp>
#include <ashlar/search/move_tables.hpp>
#include <ashlar/search/search_effort.hpp>
#include <ashlar/search/stages.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search::detail {

/// Calls a layout, with the effort if the layout takes it.
template <int N, class Layout>
basic_plan<N> planned(Layout const& layout, basic_problem<N> const& chain, topology const& t,
                      machine const& m, search_effort const& effort) {
  if constexpr (requires { layout(chain, t, m, effort); }) return layout(chain, t, m, effort);
  else return layout(chain, t, m);
}

/// Plans ranges of a chain, equal ones only once.
template <int N, class Layout>
class planned_ranges {
 public:
  /// The tables of moves may be shared with other searches. All must outlive this object.
  planned_ranges(basic_problem<N> const& chain, Layout const& layout, shared_moves& moves)
      : chain_(chain), layout_(layout), moves_(moves) {}

  /// The result has no choices if the layout finds no plan of fewer than `known` seconds.
  basic_plan<N> const& operator()(int first, int last, int in_flight, topology const& t,
                                  machine const& m, double known = unreachable) {
    std::vector<std::int64_t> key{in_flight, first > 0, last < chain_.size(), m.memory};
    for (auto const& a : t.axis) key.push_back(a.extent);
    for (int i = first; i < last; ++i) {
      auto const& e = chain_[i];
      bool const begins = i == first || chain_[i - 1].segment != e.segment;
      std::int64_t const segment = e.segment < 0 ? 0
                                                 : 1 + begins + 2 * (e.segment < chain_.recomputed);
      key.push_back((e.layer * 3 + static_cast<int>(e.kind)) * 8 + segment);
    }
    auto& own = known_[std::move(key)];
    if (own.known == 0 || (own.plan.size() == 0 && own.known < known)) {
      auto const part = stage_of(chain_, first, last, in_flight);
      own = {planned(layout_, part, t, m, {few_labels, known, &moves_}), known};
    }
    return own.plan;
  }

 private:
  /// More labels make plans of stages hardly faster, and a search several times as long.
  static constexpr std::int64_t few_labels = 300'000;

  struct entry {
    basic_plan<N> plan;
    double known = 0;
  };
  basic_problem<N> const& chain_;
  Layout const& layout_;
  shared_moves& moves_;
  std::map<std::vector<std::int64_t>, entry> known_;
};

/// Returns the sum of the least seconds of all pieces: the elements points[k] .. points[k + 1] - 1.
template <int N, class Layout>
double least_of_pieces(basic_problem<N> const& chain, std::vector<int> const& points,
                       topology const& t, machine const& unlimited, Layout const& layout,
                       shared_moves& moves) {
  planned_ranges<N, Layout> plans(chain, layout, moves);
  double sum = 0;
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    auto const& own = plans(points[k], points[k + 1], 1, t, unlimited);
    sum += own.seconds * (1 - own.gap);
  }
  return sum;
}

/// Returns the first lower bound of the head of this file. `chain` has the micro-batches of a step,
/// and every stage consists of whole pieces.
template <int N, class Layout>
double least_step(basic_problem<N> const& chain, std::vector<int> const& points, int parts,
                  topology const& t, machine const& unlimited, Layout const& layout,
                  shared_moves& moves) {
  return least_of_pieces(chain, points, t, unlimited, layout, moves) / parts;
}

/// Returns the second lower bound. `weighed` has as many micro-batches as the weight w.
template <int N, class Layout>
double least_plain_step(basic_problem<N> const& weighed, std::vector<int> const& points, int parts,
                        int micro_batches, topology const& t, machine const& unlimited,
                        Layout const& layout, shared_moves& moves) {
  double const m = micro_batches, a = 1 / (1 - std::pow(1 - 1 / m, parts));
  return a * least_of_pieces(weighed, points, t, unlimited, layout, moves) /
         (a * parts + weighed.micro_batches - m);
}

}  // namespace ashlar::search::detail
