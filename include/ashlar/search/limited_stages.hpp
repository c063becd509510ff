// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches each stage of a pipeline alone within a memory limit. These searches also give a lower
// bound of the seconds of a step, for all plans with the same cut and the same schedule.
//
// A step runs m micro-batches through s stages. Under a plan, stage j takes u_j seconds for both
// passes of a micro-batch and g_j seconds to synchronize its gradients. Stage j is planned as a
// chain of w = m + s - 1 micro-batches, because a step lasts about as long as that many of its
// passes. Its search gives a lower bound V_j: w u_j + g_j >= V_j for all plans of stage j within
// the limit. If each part of the mesh holds one stage and backward passes are whole, a step takes
// at least
//
//   m u_j + g_j                      the passes of stage j and its synchronization
//   m u_j + Σ u_i of earlier stages  the passes of stage j, and both passes of one micro-batch in
//                                    all earlier stages: the first micro-batch comes from them, and
//                                    the last gradient goes back to them
//
// So the seconds T of a step satisfy, for every stage j = 0, 1, ..,
//
//   T >= m V_j / w
//   T >= ( m V_j + Σ V_i of earlier stages ) / ( w + j )
//
// The second line is a weighted mean of both bounds of stage j and of the first bounds of the
// earlier stages. It holds for every w >= m. With a larger w, the bound loses less of u and more of
// g. So V_j is also computed for a second, large w where that may raise the bound.

#include <algorithm>

#include <ashlar/search/stages_alone.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>

namespace ashlar::search::detail {

/// The result of searching each stage of a pipeline separately.
template <int N>
struct separate_stages {
  basic_plan<N> chosen;         ///< placements of all elements of the chain
  std::vector<int> recomputed;  ///< per stage: the number of recomputed segments
  bool complete = true;         ///< whether all stages were searched
};

template <int N, class Layout>
class limited_stages {
 public:
  /// The mesh, the machine, the layout, the tables of moves and the pins (or null) must outlive
  /// this object.
  ///   chain    the chain with w micro-batches
  ///   limits   the index of the first element of every stage, then the number of all elements
  ///   order    the schedule; it determines how many micro-batches each stage has in flight
  ///   layout   the function that plans a stage (search::pipeline)
  ///   exact    whether every plan of the schedule has this cut and these numbers of micro-batches
  ///            in flight. Only then is there a lower bound
  limited_stages(basic_problem<N> chain, std::vector<int> limits, pipelines::schedule order,
                 topology const& t, machine const& m, Layout const& layout, shared_moves& moves,
                 pinned_choices<N> const* pins, bool exact)
      : chain_(std::move(chain)), long_(chain_), limits_(std::move(limits)),
        order_(std::move(order)), mesh_(t), machine_(m), unlimited_(m),
        exact_(exact && order_.chunks == 1), plans_(chain_, layout, moves, pins),
        long_plans_(long_, layout, moves, pins), v_(count()), long_v_(count()) {
    long_.micro_batches *= long_step;
    unlimited_.memory = 0;
    int const most = pipelines::in_flight(order_, 0).held;
    for (int s = 0; s < order_.stages(); ++s) {
      // Numbers of micro-batches in flight are rounded up. So more stages of equal layers also have
      // equal numbers, and share a search.
      int const own = pipelines::in_flight(order_, s).held, step = own <= 4    ? 1
                                                                   : own <= 8  ? 2
                                                                   : own <= 32 ? 4
                                                                               : 8;
      in_flight_.push_back(std::max(own, std::min(most, (own + step - 1) / step * step)));
      is_same_.push_back(in_flight_.back() == own);
    }
  }
  limited_stages(limited_stages const&) = delete;
  limited_stages& operator=(limited_stages const&) = delete;

  /// Returns a lower bound of the seconds of a step, which follows from the searches so far.
  /// Without `exact` there is no such bound, and the result is 0.
  double least() const {
    if (!exact_) return 0;
    double const m = order_.micro_batches, w = chain_.micro_batches;
    double bound = 0;
    for (auto const& [list, weight] : {std::pair{&v_, w}, std::pair{&long_v_, w * long_step}}) {
      double before = 0, at = 0;
      for (double const v : *list) {
        bound = std::max({bound, m * v / weight, (m * v + before) / (weight + at)});
        before += v;
        at += 1;
      }
    }
    return bound;
  }

  /// Runs the next searches that may raise the bound: of one stage with w, or at last of all stages
  /// with the large w. Returns false if none is left, or without `exact`. A bound of `known`
  /// seconds is sufficient, so the searches need not find higher bounds.
  bool sharpen(double known) {
    std::size_t const s = count(), k = next_;
    if (!exact_ || k > s) return false;
    ++next_;
    if (k < s) {  // The first stage needs the most memory; the last one often takes longest.
      std::size_t const stage = k == 0 ? 0 : k == 1 ? s - 1 : k - 1;
      search(stage, machine_, known);
      return true;
    }
    // All stages have been searched with w. Now each is searched with the large w, without a memory
    // limit. The stage of largest V affects the bound most. It is also searched within the limit,
    // unless its number of micro-batches in flight was rounded up.
    for (std::size_t j = 0; j < s; ++j) search_long(j, unlimited_, 1, unreachable);
    auto const stage = static_cast<std::size_t>(std::max_element(v_.begin(), v_.end()) -
                                                v_.begin());
    if (is_same_[stage])
      search_long(stage, machine_, in_flight_[stage],
                  std::min(unreachable, long_step * needed(known)));
    return true;
  }

  /// Searches all stages on one mesh. `limit` is the most bytes per rank that a single stage may
  /// need. If a stage shows that the step takes about `known` seconds or more, stops with an
  /// incomplete result. Throws ashlar::error if the layout finds that a stage does not fit.
  separate_stages<N> plan(std::int64_t limit, double known) {
    topology t = mesh_;
    for (int round = 0; round < 3; ++round)
      if (auto found = plan_on(t, limit, known); !found.complete || is_joined_) return found;
      else t = found.chosen.mesh;
    throw error("search::pipeline",
                "the layout function placed two stages on different meshes. Use one mesh for all "
                "stages.");
  }

 private:
  /// The large w (see the comment at the head of this file) is this multiple of w.
  static constexpr int long_step = 64;

  std::size_t count() const { return limits_.size() - 1; }

  /// Returns the seconds that a part of the mesh runs, divided by the seconds of one of its stages.
  /// A part runs as many stages as the schedule has chunks. But stages with fewer micro-batches in
  /// flight may be a little faster, so the result is a little less than the number of chunks.
  double share() const { return order_.chunks > 1 ? 0.87 * order_.chunks : 1; }
  /// Returns the least V of a stage with which a step takes `seconds` or more.
  double needed(double seconds) const {
    if (seconds == unreachable) return unreachable;
    return seconds * chain_.micro_batches / (share() * order_.micro_batches);
  }

  /// Plans stage s. Raises the stage's lower bound V if mesh, memory limit and micro-batches in
  /// flight (is_same_) are those of the pipeline.
  basic_plan<N> const& search(std::size_t s, machine const& m, double known) {
    return search(s, mesh_, m, known);
  }
  basic_plan<N> const& search(std::size_t s, topology const& t, machine const& m, double known) {
    auto const& placed = plans_(limits_[s], limits_[s + 1], in_flight_[s], t, m, needed(known));
    if (t == mesh_ && m.memory == machine_.memory && is_same_[s])
      v_[s] = std::max(v_[s], placed.seconds * (1 - placed.gap));
    return placed;
  }

  void search_long(std::size_t s, machine const& m, int in_flight, double known) {
    auto const& placed = long_plans_(limits_[s], limits_[s + 1], in_flight, mesh_, m, known);
    long_v_[s] = std::max(long_v_[s], placed.seconds * (1 - placed.gap));
  }

  separate_stages<N> plan_on(topology const& t, std::int64_t limit, double known) {
    separate_stages<N> joined;
    joined.chosen.mesh = t;
    machine room = machine_;
    room.memory = limit;
    is_joined_ = true;
    for (std::size_t s = 0; s < count(); ++s) {
      auto const* placed = &search(s, t, room, known);
      if (placed->size() > 0 && s > 0 && !(placed->mesh == joined.chosen.mesh)) {
        // A layout may factor the mesh axes differently for each stage.
        placed = &search(s, joined.chosen.mesh, room, known);
        if (placed->size() > 0 && !(placed->mesh == joined.chosen.mesh)) {
          joined.chosen.mesh = placed->mesh;
          is_joined_ = false;
          return joined;
        }
      }
      if (placed->size() == 0 || placed->seconds * (1 - placed->gap) >= needed(known)) {
        joined.complete = false;
        return joined;
      }
      joined.chosen.mesh = placed->mesh;
      joined.recomputed.push_back(placed->recomputed);
      for (int i = 0; i < placed->size(); ++i) {
        // If a skip begins on an earlier stage, its end takes the placements of its begin.
        int const begin = chain_[limits_[s] + i].partner;
        bool const tied = begin >= 0 && begin < limits_[s];
        joined.chosen.choices.push_back(tied ? layer_choice(joined.chosen[begin]) : (*placed)[i]);
      }
    }
    return joined;
  }

  basic_problem<N> chain_, long_;
  std::vector<int> limits_;
  pipelines::schedule order_;
  topology const& mesh_;
  machine machine_, unlimited_;
  bool exact_;
  planned_ranges<N, Layout> plans_, long_plans_;
  std::vector<double> v_, long_v_;
  std::vector<int> in_flight_;
  std::vector<bool> is_same_;
  std::size_t next_ = 0;
  bool is_joined_ = true;
};

}  // namespace ashlar::search::detail
