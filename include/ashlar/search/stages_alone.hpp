// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans parts of a chain as chains of their own: the stages of a pipeline within a memory limit,
// and pieces of a chain for a lower bound of all pipelines.
//
// Lower bound: Each part of the mesh runs its stages m times and synchronizes their gradients, so
// with u and g of each stage, a step takes at least the average over the s parts,
//
//   T >= ( m Σ u + Σ g ) / s
//
// under every schedule. Each stage consists of whole pieces, and moves between pieces take no less
// than no time, so the sum is at least that of the fastest plans of all pieces alone.
//
// If each part holds one stage and backward passes are whole, T >= Σ u before stage j + m u of j.
// The sum of these bounds, weighed so that all u count alike, is T >= a Σ u with a = 1 / (1 - (1 -
// 1/m)^s). Together with the first bound, for any weight w >= m of u against g,
//
//   T >= a ( w Σ u + Σ g ) / ( a s + w - m )

#include <cmath>
#include <map>

#include <ashlar/machine/machine.hpp>
#include <ashlar/search/stages.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search::detail {

/// Plans ranges of a chain, equal ones only once.
template <int N, class Layout>
class planned_ranges {
 public:
  planned_ranges(basic_problem<N> const& chain, topology const& t, Layout const& layout)
      : chain_(chain), mesh_(t), layout_(layout) {}

  basic_plan<N> const& operator()(int first, int last, int in_flight, machine const& m) {
    std::vector<std::int64_t> key{in_flight, first > 0, last < chain_.size(), m.memory};
    for (int i = first; i < last; ++i) {
      auto const& e = chain_[i];
      bool const begins = i == first || chain_[i - 1].segment != e.segment;
      std::int64_t const segment = e.segment < 0 ? 0
                                                 : 1 + begins + 2 * (e.segment < chain_.recomputed);
      key.push_back((e.layer * 3 + static_cast<int>(e.kind)) * 8 + segment);
    }
    auto const it = known_.find(key);
    if (it != known_.end()) return it->second;
    auto const part = stage_of(chain_, first, last, in_flight);
    return known_.emplace(std::move(key), layout_(part, mesh_, m)).first->second;
  }

 private:
  basic_problem<N> const& chain_;
  topology const& mesh_;
  Layout const& layout_;
  std::map<std::vector<std::int64_t>, basic_plan<N>> known_;
};

/// Returns the sum of the least seconds of all pieces: the elements points[k] .. points[k + 1] - 1.
template <int N, class Layout>
double least_of_pieces(basic_problem<N> const& chain, std::vector<int> const& points,
                       topology const& t, machine const& unlimited, Layout const& layout) {
  planned_ranges<N, Layout> planned(chain, t, layout);
  double sum = 0;
  for (std::size_t k = 0; k + 1 < points.size(); ++k) {
    auto const& own = planned(points[k], points[k + 1], 1, unlimited);
    sum += own.seconds * (1 - own.gap);
  }
  return sum;
}

/// Returns the first lower bound of the head of this file. `chain` has the micro-batches of a step,
/// and every stage consists of whole pieces.
template <int N, class Layout>
double least_step(basic_problem<N> const& chain, std::vector<int> const& points, int parts,
                  topology const& t, machine const& unlimited, Layout const& layout) {
  return least_of_pieces(chain, points, t, unlimited, layout) / parts;
}

/// Returns the second lower bound. `weighed` has as many micro-batches as the weight w.
template <int N, class Layout>
double least_plain_step(basic_problem<N> const& weighed, std::vector<int> const& points, int parts,
                        int micro_batches, topology const& t, machine const& unlimited,
                        Layout const& layout) {
  double const m = micro_batches, a = 1 / (1 - std::pow(1 - 1 / m, parts));
  return a * least_of_pieces(weighed, points, t, unlimited, layout) /
         (a * parts + weighed.micro_batches - m);
}

/// The result of searching each stage of a pipeline separately.
template <int N>
struct separate_stages {
  basic_plan<N> chosen;         ///< placements of all elements of the chain
  std::vector<int> recomputed;  ///< per stage: the number of recomputed segments
  bool complete = true;         ///< whether all stages were searched
};

/// Searches the best placements of each stage of a chain separately, within m.memory bytes per rank
/// and chunk. Throws if a stage does not fit.
///   chain    has as many micro-batches as the seconds of a stage weigh more than its
///            synchronization
///   limits   the first element of every stage, and the number of all elements
///   order    tells how many micro-batches each stage has in flight
///   known    the search stops when a part takes about `known` seconds
template <int N, class Layout>
separate_stages<N> stages_alone(basic_problem<N> const& chain, std::vector<int> const& limits,
                                pipelines::schedule const& order, topology const& t,
                                machine const& m, Layout const& layout, double known) {
  planned_ranges<N, Layout> planned(chain, t, layout);
  separate_stages<N> joined;
  joined.chosen.mesh = t;
  int const most = pipelines::in_flight(order, 0).held;
  for (int s = 0; s < order.stages(); ++s) {
    // Equal stages share a search if they have nearly equally many micro-batches in flight.
    int const own = pipelines::in_flight(order, s).held, step = own <= 4    ? 1
                                                                : own <= 8  ? 2
                                                                : own <= 32 ? 4
                                                                            : 8;
    int const in_flight = std::max(own, std::min(most, (own + step - 1) / step * step));
    auto const& placed = planned(limits[static_cast<std::size_t>(s)],
                                 limits[static_cast<std::size_t>(s) + 1], in_flight, m);
    if (s > 0 && !(placed.mesh == joined.chosen.mesh))
      throw error("search::pipeline",
                  "the layout function placed two stages on different meshes. Use one mesh for "
                  "all stages.");
    joined.chosen.mesh = placed.mesh;
    joined.recomputed.push_back(placed.recomputed);
    for (int i = 0; i < placed.size(); ++i) {
      // If a skip begins on an earlier stage, its end takes the same placements.
      int const begin = chain[limits[static_cast<std::size_t>(s)] + i].partner;
      bool const tied = begin >= 0 && begin < limits[static_cast<std::size_t>(s)];
      joined.chosen.choices.push_back(tied ? layer_choice(joined.chosen[begin]) : placed[i]);
    }
    // A part runs this stage for all micro-batches, and as many others as it has chunks. Those with
    // less in flight may take a little less time.
    double const share = order.chunks > 1 ? 0.87 * order.chunks : 1;
    double const least = share * placed.seconds * (1 - placed.gap) * order.micro_batches /
                         chain.micro_batches;
    if (least < known) continue;
    joined.complete = false;
    break;
  }
  return joined;
}

}  // namespace ashlar::search::detail
