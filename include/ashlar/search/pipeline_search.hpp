// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The search behind search::pipeline (pipeline.hpp), in three steps.
//
//   candidates   an axis of the mesh with numbers of parts and of micro-batches. For each, the layout
//                (the exact search) finds the plan of the whole chain on the mesh of one part that is
//                fastest without a memory limit
//   attempts     a schedule for a candidate. Its estimate is the lower bound of all of its cuts under
//                that plan (best_cut.hpp)
//   pipelines    attempts in the order of their estimates, until the next estimate reaches the best
//                pipeline found
//
// An attempt cuts the chain and orders the passes. If the plan exceeds the memory limit, stages
// first recompute as many segments as they must. Then each stage is searched alone, including the
// number of its recomputed segments, with as many micro-batches in flight as the schedule has
// there.
//
// The lower bound of the result is the least of all candidates' (stages_alone.hpp).

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/best_cut.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/recompute_to_fit.hpp>
#include <ashlar/search/stages_alone.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>

namespace ashlar::search {

struct pipeline_options {
  /// Numbers of parts of the mesh to try, which are the stages if each part holds one. If empty,
  /// tries all numbers that divide the extent of an axis and, unless `any_cuts`, the number of
  /// repeated blocks.
  std::vector<int> stages{};
  /// Numbers of micro-batches to try. If empty, tries one micro-batch.
  std::vector<int> micro_batches{};
  /// Schedules to try, as schedule_choice.hpp names them. If empty, tries 1F1B.
  std::vector<std::string> schedules{};
  /// Numbers of stages a part that "interleaved" without a number stands for.
  std::vector<int> chunks{2, 4};
  /// Whether stages may begin at any element that is in no residual block. Otherwise all stages
  /// have equally many repeated blocks.
  bool any_cuts = false;
  /// The most micro-batches that a stage may have in flight; 0: any number. Schedules that need more
  /// are not tried.
  int in_flight = 0;
};

/// The default layout of pipeline(): the placements that the exact search finds.
struct optimal_layout {
  template <int N>
  basic_plan<N> operator()(basic_problem<N> const& net, topology const& t, machine const& m) const {
    return optimal(net, t, m);
  }
};

namespace detail {

/// Returns the axes whose extent is divisible by this number of stages. If the mesh has axes
/// between nodes, returns only such axes.
inline std::vector<int> stage_axes(topology const& t, int stages) {
  std::vector<int> between, within;
  for (int a = 0; a < t.axes(); ++a)
    if (t.extent(a) > 1) (t.axis[a].tier == link_tier::inter_node ? between : within).push_back(a);
  auto& axes = between.empty() ? within : between;
  std::erase_if(axes, [&](int a) { return t.extent(a) % stages != 0; });
  return axes;
}

inline std::vector<int> divisors(int n) {
  std::vector<int> list;
  for (int d = 1; d <= n; ++d)
    if (n % d == 0) list.push_back(d);
  return list;
}

/// Returns the possible numbers of stages for this number of repeated blocks, as text such as "1,
/// 2, 4".
inline std::string possible_stages(int blocks, topology const& t) {
  std::string list = "1";
  for (int const n : divisors(blocks))
    if (n > 1 && !stage_axes(t, n).empty()) list += ", " + std::to_string(n);
  return list;
}

/// Numbers of parts and micro-batches with an axis of the mesh, and the fastest plan of the chain.
template <int N>
struct pipeline_candidate {
  std::size_t net = 0;  ///< which description of the chain
  int parts = 1, axis = -1;
  topology mesh;  ///< of one part
  basic_plan<N> chosen;
  double least = 0;  ///< lower bound of the seconds of a step
};

/// The costs of a candidate's stages under one plan of the chain.
template <int N>
struct candidate_costs {
  crossing_prices crossings;
  stage_model<N> model;
  cut_costs cuts;

  candidate_costs(basic_problem<N> const& chain, basic_plan<N> const& chosen, int axis,
                  machine const& m)
      : crossings(chosen.mesh, axis, m), model(chain, chosen, m, crossings),
        cuts(model, cutting_points(chain)) {}
  candidate_costs(candidate_costs const&) = delete;
  candidate_costs& operator=(candidate_costs const&) = delete;
};

template <int N, class Layout>
class pipeline_search {
 public:
  pipeline_search(topology const& t, machine const& m, pipeline_options const& options,
                  Layout const& layout)
      : mesh_(t), machine_(m), unlimited_(m), options_(options), layout_(layout),
        schedules_(options.schedules.empty()
                       ? std::vector<schedule_choice>{{}}
                       : schedule_choices(options.schedules, options.chunks)) {
    unlimited_.memory = 0;
    for (auto& s : schedules_) s.in_flight = options.in_flight;
  }

  /// Adds the candidates of a chain. Throws ashlar::error if a requested number is not possible.
  void add(basic_problem<N> described) {
    auto const& net = nets_.emplace_back(std::move(described));
    auto const blocks = find_blocks(net);
    int const units = static_cast<int>(cutting_points(net).size()) - 1;
    bool const all = options_.stages.empty();
    for (int const parts : all ? possible(blocks.count) : options_.stages) {
      auto const axes = parts < 1    ? std::vector<int>{}
                        : parts == 1 ? std::vector{-1}
                                     : stage_axes(mesh_, parts);
      bool const cut = options_.any_cuts ? parts <= units : parts > 0 && blocks.count % parts == 0;
      if (axes.empty() || !cut) {
        if (all) continue;
        throw error("search::pipeline",
                    std::to_string(parts) + " stages of " + std::to_string(blocks.count) +
                        " equal blocks on " + to_string(mesh_) +
                        ": the stages must divide the number of blocks and the extent of an axis "
                        "(one between nodes, if there is one). Possible numbers here: " +
                        possible_stages(blocks.count, mesh_) + ".");
      }
      for (int const axis : axes) consider(blocks, parts, axis);
    }
  }

  pipeline_plan run() {
    double bound = unreachable;
    for (std::size_t k = 0; k < candidates_.size(); ++k) {
      bound = std::min(bound, candidates_[k].least);
      list_attempts(k);
    }
    std::stable_sort(attempts_.begin(), attempts_.end(),
                     [](auto const& a, auto const& b) { return a.estimate < b.estimate; });
    for (auto const& a : attempts_) {
      if (a.estimate >= known()) break;
      attempt(candidates_[a.candidate], a.choice);
    }
    if (!found_ && !too_many_.empty())
      throw error("search::pipeline", "no schedule stays within the limit: " + too_many_);
    if (!found_)
      throw error(
          "search::pipeline",
          "no number of stages and micro-batches fits in the machine's memory per rank. The "
          "last one tried: " +
              refused_);
    best_.lower_bound = std::min(bound, best_.seconds());
    best_.chosen.gap = best_.seconds() > 0 ? 1 - best_.lower_bound / best_.seconds() : 0;
    return best_;
  }

 private:
  using candidate = pipeline_candidate<N>;

  struct attempted {
    std::size_t candidate;
    schedule_choice choice;
    double estimate;
  };

  std::vector<int> possible(int blocks) const {
    if (!options_.any_cuts) return divisors(blocks);
    std::vector<int> list{1};
    for (int n = 2; n <= mesh_.ranks(); ++n)
      if (!stage_axes(mesh_, n).empty()) list.push_back(n);
    return list;
  }

  basic_problem<N> const& net_of(candidate const& c) const { return nets_[c.net]; }

  /// Returns the chain with as many micro-batches as a stage takes of a step under 1F1B.
  static basic_problem<N> weighed(basic_problem<N> chain, int parts) {
    chain.micro_batches += parts - 1;
    return chain;
  }

  /// Returns the cut into stages of equally many blocks, or an empty list.
  static std::vector<int> equal_limits(basic_problem<N> const& net, repeated_blocks const& blocks,
                                       int stages) {
    return blocks.count % stages == 0 ? stage_limits(net, blocks, stages) : std::vector<int>{};
  }

  void consider(repeated_blocks const& blocks, int parts, int axis) {
    auto const& net = nets_.back();
    candidate c;
    c.net = nets_.size() - 1;
    c.parts = parts;
    c.axis = axis;
    c.mesh = stage_mesh(mesh_, axis, parts);
    auto const chain = weighed(net, parts);
    c.chosen = layout_(chain, c.mesh, unlimited_);
    c.chosen.recomputed = net.recomputed;
    bool plain = true;
    for (auto const& s : schedules_) plain = plain && s.chunks == 1 && !s.splits();
    auto const pieces = options_.any_cuts || !plain ? cutting_points(net)
                                                    : stage_limits(net, blocks, parts);
    c.least = parts == 1 ? c.chosen.seconds * (1 - c.chosen.gap)
              : plain    ? least_plain_step(chain, pieces, parts, net.micro_batches, c.mesh,
                                            unlimited_, layout_)
                         : least_step(net, pieces, parts, c.mesh, unlimited_, layout_);
    candidates_.push_back(std::move(c));
  }

  bool permits(candidate const& c, schedule_choice const& choice) const {
    return c.parts > 1 ? choice.permits(c.parts, net_of(c).micro_batches)
                       : choice.chunks == 1 && !choice.splits();
  }

  void list_attempts(std::size_t k) {
    auto const& c = candidates_[k];
    auto const& net = net_of(c);
    candidate_costs<N> costs(net, c.chosen, c.axis, machine_);
    auto const blocks = find_blocks(net);
    for (auto const& choice : schedules_) {
      if (!permits(c, choice)) continue;
      if (!choice.fits_costs() &&
          exceeds(make_schedule(choice, c.parts, net.micro_batches, {}, {})))
        continue;
      auto const limits = options_.any_cuts ? std::vector<int>{}
                                            : equal_limits(net, blocks, c.parts * choice.chunks);
      if (!options_.any_cuts && limits.empty()) continue;
      cut_search const cuts(costs.cuts, choice, c.parts, net.micro_batches, 0, unreachable);
      double const estimate = cuts.least_of(limits);
      if (estimate < unreachable) attempts_.push_back({k, choice, estimate});
    }
  }

  /// Returns whether a stage has more micro-batches in flight than it may have.
  bool exceeds(pipelines::schedule const& order) {
    if (options_.in_flight == 0) return false;
    auto const fault = pipelines::in_flight_fault(
        order, std::vector<int>(static_cast<std::size_t>(order.stages()), options_.in_flight));
    if (!fault.empty()) too_many_ = fault;
    return !fault.empty();
  }

  double known() const { return found_ ? best_.seconds() : unreachable; }

  struct offered {
    double seconds;
    std::int64_t memory;
  };

  /// Prices a pipeline and keeps it if it fits and is better than the best one.
  offered offer(candidate const& c, basic_plan<N> const& chosen, std::vector<int> const& limits,
                std::vector<int> const& recomputed, pipelines::schedule const& order) {
    auto const& net = net_of(c);
    auto p = price_pipeline(net, chosen, limits, recomputed, c.axis, net.micro_batches, machine_,
                            order);
    if (order == pipelines::one_f_one_b(c.parts, net.micro_batches)) p.order = {};
    offered const own{p.seconds(), p.chosen.memory};
    if ((machine_.memory > 0 && own.memory > machine_.memory) || own.seconds >= known()) return own;
    if (exceeds(order)) return own;
    best_ = std::move(p);
    found_ = true;
    return own;
  }

  void attempt(candidate const& c, schedule_choice const& choice) {
    auto const& net = net_of(c);
    candidate_costs<N> costs(net, c.chosen, c.axis, machine_);
    int const m = net.micro_batches;
    auto limits = equal_limits(net, find_blocks(net), c.parts * choice.chunks);
    auto const cut = best_cut(costs.cuts, choice, c.parts, m, machine_.memory, known(), limits,
                              options_.any_cuts);
    if (!cut.limits.empty())
      offer(c, c.chosen, cut.limits, recomputed_in_stages(net, cut.limits), cut.order);
    if (!cut.is_limited) return;
    if (options_.any_cuts || limits.empty()) {
      cut_search const any(costs.cuts, choice, c.parts, m, 0, unreachable);
      limits.clear();
      for (int const u : any.balanced(0)) limits.push_back(costs.cuts.points()[std::size_t(u)]);
    }
    auto const order = first_order(c, choice, m, costs.model, limits);
    // Other placements may be faster than the same ones with recomputation, but seldom much. If
    // these do not fit at all, that is due to the placements and hardly to the schedule.
    if (auto const again = recompute_to_fit(net, c.chosen, limits, order, machine_.memory)) {
      auto const p = offer(c, c.chosen, limits, *again, order);
      if (choice.fits_costs()) refit(c, choice, c.chosen, *again, limits);
      if (p.seconds > 1.15 * known()) return;
    } else if (!unfit_.insert(&c).second) {
      return;
    }
    search_alone(c, choice, order, limits);
  }

  /// Returns the order for costs without a memory limit. Searched depths begin with those of 1F1B.
  static pipelines::schedule first_order(candidate const& c, schedule_choice const& choice,
                                         int micro_batches, stage_model<N>& model,
                                         std::vector<int> const& limits) {
    if (choice.kind == schedule_kind::searched) {
      std::vector<int> depths;
      for (int j = c.parts; j > 0; --j)
        depths.push_back(choice.in_flight > 0 ? std::min(j, choice.in_flight) : j);
      return pipelines::with_warm_ups(depths, micro_batches);
    }
    auto shape = choice.shape(c.parts, micro_batches);
    shape.order.resize(static_cast<std::size_t>(c.parts));
    auto const costs = costs_of(priced_stages(model, limits, shape));
    return make_schedule(choice, c.parts, micro_batches, costs, {}, model.skips(limits, shape));
  }

  /// Searches each stage alone within the memory limit.
  void search_alone(candidate const& c, schedule_choice const& choice,
                    pipelines::schedule const& order, std::vector<int> const& limits) {
    auto const& net = net_of(c);
    auto chain = weighed(in_stages(net, limits, recomputed_in_stages(net, limits)), c.parts);
    chain = with_storage_of(std::move(chain), c.chosen);
    machine room = machine_;
    room.memory /= choice.chunks;
    try {
      for (int again = 0; again < 2 && room.memory > 0; ++again) {
        auto const alone = stages_alone(chain, limits, order, c.mesh, room, layout_, known());
        if (!alone.complete) return;
        auto const over = offer(c, alone.chosen, limits, alone.recomputed, order).memory -
                          machine_.memory;
        if (over <= 0) {
          if (choice.fits_costs()) refit(c, choice, alone.chosen, alone.recomputed, limits);
          return;
        }
        refused_ = "the stages fit alone, but not with what waits for the gradients of parameters.";
        if (over > machine_.memory / 4) return;
        room.memory -= over / choice.chunks + 1;
      }
    } catch (error const& e) {
      refused_ = e.what();
    }
  }

  /// Orders the passes anew for the costs of other placements or with recomputation.
  void refit(candidate const& c, schedule_choice const& choice, basic_plan<N> chosen,
             std::vector<int> const& recomputed, std::vector<int> const& limits) {
    auto const& net = net_of(c);
    auto const chain = in_stages(net, limits, recomputed);
    chosen.recomputed = chain.recomputed;
    candidate_costs<N> costs(chain, chosen, c.axis, machine_);
    auto const cut = best_cut(costs.cuts, choice, c.parts, net.micro_batches, machine_.memory,
                              known(), limits, false);
    if (!cut.limits.empty()) offer(c, chosen, limits, recomputed, cut.order);
  }

  topology const& mesh_;
  machine const& machine_;
  machine unlimited_;
  pipeline_options const& options_;
  Layout const& layout_;
  std::vector<schedule_choice> schedules_;
  std::vector<basic_problem<N>> nets_;
  std::vector<candidate> candidates_;
  std::vector<attempted> attempts_;
  pipeline_plan best_;
  std::set<candidate const*> unfit_;  // whose plan does not fit even if all segments are recomputed
  bool found_ = false;
  std::string refused_;
  std::string too_many_;  // micro-batches in flight, in the last schedule that needs more
};

template <int N>
std::integral_constant<int, N> capacity_tag(basic_problem<N> const&);

}  // namespace detail

}  // namespace ashlar::search
