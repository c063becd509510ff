// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans ranges of a chain as separate chains. Some ranges are stages within a memory limit
// (limited_stages.hpp). Others are pieces, whose least seconds give lower bounds of all pipelines.
// A piece lies between two neighbouring points at which the chain may be cut.
//
// Let a step have m micro-batches, and let a stage take u seconds for both passes of one
// micro-batch and g seconds to synchronize its gradients. The busiest of the s parts of the mesh
// takes at least the average over all parts. So the seconds T of a step satisfy, under every
// schedule,
//
//   T >= ( m Σ u + Σ g ) / s
//
// with sums over all stages. Each stage consists of whole pieces, and moves between its pieces take
// zero seconds or more. So the sum in parentheses is at least the sum of the seconds of the fastest
// plans of all pieces alone.
//
// Skips and ties need no special treatment. A piece with one end of a skip counts that end as a
// layer. A piece with one use of a tied parameter may store the parameter at the placement that
// suits this piece best. If a stage contains both ends of a skip or both uses of a parameter, this
// only restricts the choices further, and both uses still synchronize their gradients. Crossings
// between parts take additional time.
//
// If each part holds one stage and backward passes are whole, T >= Σ u_i + m u_j for every stage
// j, with the sum over all stages i before j. The weighted mean of these bounds in which all u have
// the same coefficient is T >= a Σ u. Together with the first bound, this gives, for any weight
// w >= m of u relative to g,
//
//   T >= a ( w Σ u + Σ g ) / ( a s + w - m )   with a = 1 / (1 - (1 - 1/m)^s)
//
// cut_bounds.hpp has further bounds that follow from the least seconds of pieces.

#include <cmath>
#include <map>
#include <type_traits>

#include <ashlar/machine/machine.hpp>
#include <ashlar/search/move_tables.hpp>
#include <ashlar/search/pinned_choices.hpp>
#include <ashlar/search/search_effort.hpp>
#include <ashlar/search/stages.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search::detail {

/// Calls a layout: a function that returns a plan of a chain on a mesh (search::pipeline). Passes
/// it the effort and the filter, if it takes them.
template <int N, class Layout>
basic_plan<N> planned(Layout const& layout, basic_problem<N> const& chain, topology const& t,
                      machine const& m, search_effort const& effort, choice_filter const& permits) {
  if constexpr (requires { layout(chain, t, m, effort, permits); })
    return layout(chain, t, m, effort, permits);
  else if constexpr (requires { layout(chain, t, m, effort); }) return layout(chain, t, m, effort);
  else if constexpr (requires { layout(chain, t, m, permits); })
    return layout(chain, t, m, permits);
  else return layout(chain, t, m);
}

/// Says whether a layout takes a filter, and so can obey pins.
template <class Layout, int N>
inline constexpr bool takes_filter =
    std::is_invocable_v<Layout const&, basic_problem<N> const&, topology const&, machine const&,
                        search_effort const&, choice_filter const&> ||
    std::is_invocable_v<Layout const&, basic_problem<N> const&, topology const&, machine const&,
                        choice_filter const&>;

/// Returns the filter of the pins for the elements of a chain from `first` on. The filter numbers
/// these elements from 0. Without pins, it permits every choice.
template <int N>
choice_filter filter_from(pinned_choices<N> const* pins, int first) {
  if (pins == nullptr) return {};
  return [pins, first](int i, layer_choice const& c) { return (*pins)(first + i, c); };
}

/// Plans ranges of a chain. Equal ranges with equal pins are planned only once.
template <int N, class Layout>
class planned_ranges {
 public:
  /// All arguments must outlive this object. Other searches may share the tables of moves. `pins`
  /// are the pins of the chain, or null.
  planned_ranges(basic_problem<N> const& chain, Layout const& layout, shared_moves& moves,
                 pinned_choices<N> const* pins)
      : chain_(chain), layout_(layout), moves_(moves), pins_(pins) {}

  /// Returns the plan of the elements first .. last - 1. It has no choices if the layout finds no
  /// plan of fewer than `known` seconds.
  basic_plan<N> const& operator()(int first, int last, int in_flight, topology const& t,
                                  machine const& m, double known = unreachable) {
    std::vector<std::int64_t> key{in_flight, first > 0, last < chain_.size(), m.memory};
    for (auto const& a : t.axis) key.push_back(a.extent);
    for (int i = first; i < last; ++i) {
      auto const& e = chain_[i];
      bool const begins = i == first || chain_[i - 1].segment != e.segment;
      std::int64_t const segment = e.segment < 0 ? 0
                                                 : 1 + begins + 2 * (e.segment < chain_.recomputed);
      static_assert(static_cast<int>(element_kind::branch_formula) < 16);
      key.push_back((e.layer * 16 + static_cast<int>(e.kind)) * 8 + segment);
      if (pins_ == nullptr) continue;
      key.push_back(static_cast<std::int64_t>(pins_->of(i).size()));
      for (auto const k : pins_->of(i)) key.push_back(static_cast<std::int64_t>(k));
    }
    auto& own = known_[std::move(key)];
    if (own.known == 0 || (own.plan.size() == 0 && own.known < known)) {
      auto const part = stage_of(chain_, first, last, in_flight);
      own = {planned(layout_, part, t, m, {few_labels, known, &moves_}, filter_from(pins_, first)),
             known};
    }
    return own.plan;
  }

 private:
  /// The most labels (partial plans) of one search. More labels hardly make the plans of stages
  /// faster, but make the search several times as long.
  static constexpr std::int64_t few_labels = 300'000;

  struct entry {
    basic_plan<N> plan;
    double known = 0;
  };
  basic_problem<N> const& chain_;
  Layout const& layout_;
  shared_moves& moves_;
  pinned_choices<N> const* pins_;
  std::map<std::vector<std::int64_t>, entry> known_;
};

/// Returns for each piece a lower bound of the seconds of its plans. Piece k has the elements
/// points[k] to points[k + 1] - 1.
template <int N, class Layout>
std::vector<double> least_of_pieces(basic_problem<N> const& chain, std::vector<int> const& points,
                                    topology const& t, machine const& unlimited,
                                    Layout const& layout, shared_moves& moves,
                                    pinned_choices<N> const* pins) {
  planned_ranges<N, Layout> plans(chain, layout, moves, pins);
  std::vector<double> least;
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    auto const& own = plans(points[k], points[k + 1], 1, t, unlimited);
    least.push_back(own.seconds * (1 - own.gap));
  }
  return least;
}

/// Returns the last lower bound of T in the comment at the head of this file. `weight` is the w of
/// this bound, and `sum` is the sum of the least seconds of all pieces of the chain with `weight`
/// micro-batches.
inline double least_plain_step(double sum, int parts, int micro_batches, int weight) {
  double const m = micro_batches, a = 1 / (1 - std::pow(1 - 1 / m, parts));
  return a * sum / (a * parts + weight - m);
}

}  // namespace ashlar::search::detail
