// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines what the search for pipelines (pipeline_search.hpp) tries: its options, its default
// layout, and its candidates. A candidate is a number of parts and a number of micro-batches, with
// the fastest plan of the chain on the mesh of one part.

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/best_cut.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/pinned_choices.hpp>

namespace ashlar::search {

struct pipeline_options {
  /// Numbers of parts of the mesh to try. If each part holds one stage, these are the numbers of
  /// stages. If the list is empty, tries all numbers that divide the extent of an axis and, unless
  /// `any_cuts` is set, the number of repeated blocks.
  std::vector<int> stages{};
  /// Numbers of micro-batches to try. If empty, tries one micro-batch.
  std::vector<int> micro_batches{};
  /// Schedules to try, as schedule_choice.hpp names them. If empty, tries 1F1B.
  std::vector<std::string> schedules{};
  /// For the schedule "interleaved" without a number: the numbers of stages per part to try.
  std::vector<int> chunks{2, 4};
  /// Says whether stages may begin at any element before which the chain can be cut (cutting_points
  /// in stages.hpp). Otherwise all stages have equally many repeated blocks.
  bool any_cuts = false;
  /// The most micro-batches that a stage may have in flight. 0 means any number. Schedules that
  /// need more are not tried.
  int in_flight = 0;
  /// Placements that the plan must have (pin.hpp), on the mesh of one part. That mesh has all axes
  /// of the whole mesh, but the axis that the parts divide is shorter, and may have extent 1. A pin
  /// says nothing about an axis of extent 1.
  std::vector<pin> pins{};
};

/// The default layout of pipeline(): the placements that the exact search finds.
struct optimal_layout {
  template <int N>
  basic_plan<N> operator()(basic_problem<N> const& net, topology const& t, machine const& m,
                           search_effort const& effort = {},
                           choice_filter const& permits = {}) const {
    return permits ? optimal(net, t, m, permits, effort) : optimal(net, t, m, any_choice{}, effort);
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

/// Throws the error for a net of `blocks` equal blocks that cannot be cut into `parts` stages on
/// the mesh t. If `any_cuts` is true, stages may have different numbers of blocks, and the net can
/// be cut into at most `units` stages.
[[noreturn]] inline void refuse_stages(int parts, int blocks, int units, bool any_cuts,
                                       topology const& t) {
  std::string const stages = std::to_string(parts) + " stages of ", on = " on " + to_string(t);
  if (any_cuts)
    throw error("search::pipeline",
                stages + "a net that can be cut into at most " + std::to_string(units) + on +
                    ": their number must also divide the extent of an axis (one between nodes, if "
                    "there is one).");
  throw error("search::pipeline",
              stages + std::to_string(blocks) + " equal blocks" + on +
                  ": the stages must divide the number of blocks and the extent of an axis (one "
                  "between nodes, if there is one). Possible numbers here: " +
                  possible_stages(blocks, t) + ".");
}

/// A candidate: into how many parts an axis of the mesh is divided, the number of micro-batches
/// (given by `net`), and the fastest plan of the chain on the mesh of one part.
template <int N>
struct pipeline_candidate {
  std::size_t net = 0;  ///< the index of the description of the chain
  int parts = 1, axis = -1;
  topology mesh;  ///< the mesh of one part
  basic_plan<N> chosen;
  double least = 0;                                 ///< lower bound of the seconds of a step
  std::shared_ptr<pinned_choices<N> const> pins{};  ///< null if there are none
};

/// Returns the pins as a filter for plans of the chain on a mesh, or null if there are none, or if
/// no plan on this mesh satisfies them. In the last case, `refused` is set to the error.
template <int N>
std::shared_ptr<pinned_choices<N> const> filter_of(basic_problem<N> const& net, topology const& t,
                                                   std::vector<pin> const& pins,
                                                   std::exception_ptr& refused) {
  if (pins.empty()) return nullptr;
  try {
    return std::make_shared<pinned_choices<N> const>(net, t, pins);
  } catch (error const&) {
    refused = std::current_exception();
    return nullptr;
  }
}

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

/// Returns whether a schedule has one stage per part and whole backward passes.
inline bool is_plain(schedule_choice const& choice) {
  return choice.chunks == 1 && !choice.splits();
}

/// Returns the order of passes that the schedule `choice` takes, given the costs of the stages
/// between `limits`, without a memory limit. For the schedule `searched`, returns the order with
/// the warm-up depths of 1F1B, at most `choice.in_flight`. With the schedule `delayed`, no part has
/// more micro-batches in flight than there are parts.
template <int N>
pipelines::schedule first_order(pipeline_candidate<N> const& c, schedule_choice const& choice,
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
  std::vector<int> const most(static_cast<std::size_t>(c.parts), c.parts);
  return make_schedule(choice, c.parts, micro_batches, costs, most, model.skips(limits, shape));
}

}  // namespace detail

}  // namespace ashlar::search
