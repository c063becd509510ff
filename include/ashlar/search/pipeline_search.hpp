// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Implements search::pipeline (pipeline.hpp), in three steps:
//
//   candidates   A candidate is an axis of the mesh with a number of parts and a number of
//                micro-batches. For each candidate, the function `layout` (by default the exact
//                search) plans the chain on the mesh of one part, without a memory limit.
//   attempts     An attempt is a schedule for a candidate. Its estimate is a lower bound of the
//                seconds of a step with the candidate's plan, over all permitted cuts of the chain
//                (best_cut.hpp).
//   pipelines    Attempts are made in ascending order of their estimates, until the next estimate
//                reaches the seconds of the best pipeline found.
//
// An attempt cuts the chain and orders the passes. If the plan exceeds the memory limit, its stages
// first recompute as many segments as they must. After all attempts, the stages of the attempts
// that exceeded the limit are searched one by one, each together with its number of recomputed
// segments (limited_stages.hpp). In this search, a stage has as many micro-batches in flight as
// under the attempt's schedule. Attempts on the fewest ranks per part come first, because their
// searches are fastest, and a fast pipeline that they find shortens the later searches. Among
// attempts on equally many ranks, the one of least bound comes first.
//
// The lower bound of the result is the least bound of all candidates. Each candidate has a bound
// without a memory limit (candidate_bounds.hpp). Below a limit, limited_stages.hpp gives higher
// bounds, but only if four conditions hold: all stages have equally many blocks, the schedule is
// plain (is_plain), its order does not depend on costs, and the net has no ties.

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <ashlar/search/best_pipeline.hpp>
#include <ashlar/search/candidate_bounds.hpp>
#include <ashlar/search/limited_stages.hpp>
#include <ashlar/search/recompute_to_fit.hpp>
#include <ashlar/step/build.hpp>

namespace ashlar::search {

namespace detail {

template <int N, class Layout>
class pipeline_search {
 public:
  pipeline_search(topology const& t, machine const& m, pipeline_options const& options,
                  Layout const& layout)
      : mesh_(t), machine_(m), unlimited_(m), options_(options), layout_(layout),
        schedules_(options.schedules.empty() ? std::vector<schedule_choice>{{}}
                                             : schedule_choices(options.schedules, options.chunks)),
        best_(machine_, options_) {
    unlimited_.memory = 0;
    for (auto& s : schedules_) s.in_flight = options.in_flight;
  }

  /// Adds the candidates of a chain. Throws ashlar::error if the chain or the mesh cannot be
  /// divided into a requested number of stages, or if the chain has too many micro-batches.
  void add(basic_problem<N> described) {
    auto const& net = nets_.emplace_back(std::move(described));
    check_program_length(1, net.micro_batches);  // orders of passes would be too long, too
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
        refuse_stages(parts, blocks.count, units, options_.any_cuts, mesh_);
      }
      for (int const axis : axes) consider(blocks, parts, axis);
    }
  }

  pipeline_plan run() {
    if (candidates_.empty() && unpinnable_) std::rethrow_exception(unpinnable_);
    for (std::size_t k = 0; k < candidates_.size(); ++k) list_attempts(k);
    if (attempts_.empty()) best_.refuse_numbers();
    std::stable_sort(attempts_.begin(), attempts_.end(),
                     [](auto const& a, auto const& b) { return a.estimate < b.estimate; });
    for (auto& a : attempts_) {
      if (a.estimate >= known()) break;
      attempt(a);
    }
    search_limited();
    best_.demand();
    raise_bound();
    return best_.with_bound(least_of_all().second);
  }

 private:
  using candidate = pipeline_candidate<N>;

  struct attempted {
    std::size_t candidate;
    schedule_choice choice;
    double estimate;
    /// If the candidate's plan exceeds the memory limit: the searches of its stages, with the
    /// schedule that first_order returns.
    std::shared_ptr<limited_stages<N, Layout>> stages{};
    std::vector<int> limits{};
    pipelines::schedule order{};
    bool is_near = true;  ///< whether to search its stages alone
  };

  std::vector<int> possible(int blocks) const {
    if (!options_.any_cuts) return divisors(blocks);
    std::vector<int> list{1};
    for (int n = 2; n <= mesh_.ranks(); ++n)
      if (!stage_axes(mesh_, n).empty()) list.push_back(n);
    return list;
  }

  basic_problem<N> const& net_of(candidate const& c) const { return nets_[c.net]; }

  void consider(repeated_blocks const& blocks, int parts, int axis) {
    auto const& net = nets_.back();
    candidate c;
    c.net = nets_.size() - 1;
    c.parts = parts;
    c.axis = axis;
    c.mesh = stage_mesh(mesh_, axis, parts);
    c.pins = filter_of(net, c.mesh, options_.pins, unpinnable_);
    auto const* const pins = c.pins.get();
    if (pins == nullptr && !options_.pins.empty()) return;
    auto const chain = weighed(net, parts);
    c.chosen = planned(layout_, chain, c.mesh, unlimited_, {}, filter_from(pins, 0));
    c.chosen.recomputed = net.recomputed;
    c.least = parts == 1 ? c.chosen.seconds * (1 - c.chosen.gap)
                         : least_of_candidate(c, net, blocks, schedules_, options_.any_cuts,
                                              unlimited_, layout_, moves_);
    candidates_.push_back(std::move(c));
  }

  void list_attempts(std::size_t k) {
    auto const& c = candidates_[k];
    auto const& net = net_of(c);
    candidate_costs<N> costs(net, c.chosen, c.axis, machine_);
    auto const blocks = find_blocks(net);
    for (auto const& choice : schedules_) {
      if (!permits(c, choice, net.micro_batches)) continue;
      if (!choice.fits_costs() &&
          best_.exceeds(make_schedule(choice, c.parts, net.micro_batches, {}, {})))
        continue;
      auto const limits = options_.any_cuts ? std::vector<int>{}
                                            : equal_limits(net, blocks, c.parts * choice.chunks);
      if (!options_.any_cuts && limits.empty()) continue;
      cut_search const cuts(costs.cuts, choice, c.parts, net.micro_batches, 0, unreachable);
      double const estimate = cuts.least_of(limits);
      if (estimate < unreachable) attempts_.push_back({k, choice, estimate});
    }
  }

  double known() const { return best_.seconds(); }

  best_pipeline::offered offer(candidate const& c, basic_plan<N> const& chosen,
                               std::vector<int> const& limits, std::vector<int> const& recomputed,
                               pipelines::schedule const& order) {
    return best_.offer(net_of(c), c, chosen, limits, recomputed, order);
  }

  void attempt(attempted& a) {
    auto const& c = candidates_[a.candidate];
    auto const& choice = a.choice;
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
    a.order = first_order(c, choice, m, costs.model, limits);
    a.limits = std::move(limits);
    // These placements may fit if the stages recompute segments. Other placements are seldom much
    // faster, so the stages are searched alone only if this pipeline is nearly as fast as the best
    // one. If these placements do not fit even with recomputation, the reason is seldom the
    // schedule. So the stages are then searched alone for one schedule only.
    if (auto const again = recompute_to_fit(costs.model, a.limits, a.order, machine_.memory)) {
      auto const p = offer(c, c.chosen, a.limits, *again, a.order);
      if (choice.fits_costs()) refit(c, choice, c.chosen, *again, a.limits);
      a.is_near = p.seconds <= 1.15 * known();
    } else {
      a.is_near = unfit_.insert(&c).second;
    }
    limit_stages(a);
  }

  void limit_stages(attempted& a) {
    auto const& c = candidates_[a.candidate];
    auto const& net = net_of(c);
    auto chain = weighed(in_stages(net, a.limits, recomputed_in_stages(net, a.limits)), c.parts);
    a.stages = std::make_shared<limited_stages<N, Layout>>(
        with_storage_of(std::move(chain), c.chosen), a.limits, a.order, c.mesh, machine_, layout_,
        moves_, c.pins.get(), has_bound(a));
  }

  /// Returns whether the searches of single stages of an attempt (limited_stages.hpp) give a lower
  /// bound of the seconds of all pipelines of the attempt.
  bool has_bound(attempted const& a) const {
    return !options_.any_cuts && is_plain(a.choice) && !a.choice.fits_costs() &&
           net_of(candidates_[a.candidate]).ties.empty();
  }

  /// Searches the stages of attempts whose plans exceed the memory limit. Omits attempts that are
  /// not near (is_near), and attempts that cannot be faster than the best pipeline so far.
  void search_limited() {
    std::vector<attempted*> left;
    for (auto& a : attempts_)
      if (a.stages != nullptr && a.is_near) left.push_back(&a);
    auto const parts = [&](attempted const* a) { return candidates_[a->candidate].parts; };
    std::stable_sort(left.begin(), left.end(),
                     [&](auto const* a, auto const* b) { return parts(a) > parts(b); });
    for (std::size_t k = 0, end = 0; k < left.size(); k = end) {
      for (; end < left.size() && parts(left[end]) == parts(left[k]); ++end) {
        if (left[end]->estimate < known()) sharpen(*left[end]);
        left[end]->estimate = std::max(left[end]->estimate, left[end]->stages->least());
      }
      auto const at = [&](std::size_t i) { return left.begin() + static_cast<std::ptrdiff_t>(i); };
      std::stable_sort(at(k), at(end),
                       [](auto const* a, auto const* b) { return a->estimate < b->estimate; });
      for (std::size_t i = k; i < end && left[i]->estimate < known(); ++i) search_alone(*left[i]);
    }
  }

  /// Searches one more stage, to raise the bound of an attempt. Returns false if no stage is left.
  bool sharpen(attempted& a) {
    try {
      return a.stages->sharpen(known());
    } catch (error const& e) {
      best_.refuse(e.what());
      return true;
    }
  }

  /// Searches the plan of each stage alone within the memory limit. In a pipeline, a stage also
  /// holds values that wait for later passes and transfers. If the pipeline exceeds the limit
  /// because of these, the stages are searched again with less room.
  void search_alone(attempted& a) {
    auto const& c = candidates_[a.candidate];
    // With at most `below` bytes per stage, some stage does not fit. With `above` bytes, all stages
    // fit, but the pipeline exceeds the limit.
    std::int64_t below = 0, above = machine_.memory / a.choice.chunks + 1, room = above - 1;
    for (int again = 0; again < (best_.found() ? 2 : 8) && below < room && room < above; ++again) {
      try {
        auto const alone = a.stages->plan(room, known());
        ++searched_;
        if (!alone.complete) return;
        auto const over = offer(c, alone.chosen, a.limits, alone.recomputed, a.order).memory -
                          machine_.memory;
        if (over <= 0) {
          if (a.choice.fits_costs()) refit(c, a.choice, alone.chosen, alone.recomputed, a.limits);
          return;
        }
        best_.refuse(
            "the stages fit alone, but not with what waits for later passes and transfers.");
        if (best_.found() && over > machine_.memory / 4) return;
        above = room;
        room -= over / a.choice.chunks + 1;
      } catch (error const& e) {
        best_.refuse(e.what());
        if (again == 0) return;
        below = room;
      }
      if (room <= below) room = below + (above - below) / 2;
    }
  }

  /// Returns the candidate of the least bound, and this bound.
  std::pair<std::size_t, double> least_of_all() const {
    std::vector<double> of_attempts(candidates_.size(), unreachable);
    for (auto const& a : attempts_) {
      auto& least = of_attempts[a.candidate];
      least = std::min(least, a.stages == nullptr ? 0 : a.stages->least());
    }
    std::pair<std::size_t, double> best{0, unreachable};
    for (std::size_t k = 0; k < candidates_.size(); ++k) {
      double const least = std::max(candidates_[k].least,
                                    of_attempts[k] < unreachable ? of_attempts[k] : 0);
      if (least < best.second) best = {k, least};
    }
    return best;
  }

  /// Raises the lower bound of all pipelines: searches more stages of the candidate of least bound,
  /// as long as this may raise the bound. Makes at most eight rounds for each time that
  /// search_alone has planned the stages of a pipeline.
  void raise_bound() {
    for (int left = 8 * searched_; left > 0; --left) {
      auto const [k, least] = least_of_all();
      if (least >= known() * (1 - 1e-9)) return;
      bool is_any = false;
      for (auto& a : attempts_) {
        if (a.candidate != k || !has_bound(a)) continue;
        if (a.stages == nullptr) {  // The attempt was not made, since its estimate was too high.
          auto const& c = candidates_[k];
          int const m = net_of(c).micro_batches;
          a.limits = equal_limits(net_of(c), find_blocks(net_of(c)), c.parts);
          a.order = make_schedule(a.choice, c.parts, m, {}, {});
          limit_stages(a);
        }
        if (a.stages->least() <= least && sharpen(a)) is_any = true;
      }
      if (!is_any) return;
    }
  }

  /// Orders the passes again, now for the costs of the stages with the placements `chosen` and
  /// these recomputed segments. Keeps the resulting pipeline if it is the best one so far.
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
  std::deque<basic_problem<N>> nets_;  // pins refer to them
  std::vector<candidate> candidates_;
  std::vector<attempted> attempts_;
  shared_moves moves_;  // tables of moves for all searches of pieces and stages
  best_pipeline best_;
  // Candidates whose plans do not fit even if all segments are recomputed.
  std::set<candidate const*> unfit_;
  int searched_ = 0;  // how often search_alone has planned the stages of a pipeline
  // The error that no plan satisfies the pins, of the last candidate without such a plan, or null.
  std::exception_ptr unpinnable_;
};

template <int N>
std::integral_constant<int, N> capacity_tag(basic_problem<N> const&);

}  // namespace detail

}  // namespace ashlar::search
