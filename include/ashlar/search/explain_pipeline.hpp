// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a readable report of a plan with pipeline stages: the cost of a step, then each stage,
// then the placements of each element as in explain.hpp.
//
//   pipeline for node=4,gpu=2 (8 ranks): 1.93 ms a step of 8 micro-batches, 20.1 % of it bubble
//     4 stages along node, each on node=1,gpu=2 (2 ranks), 1F1B
//     ...
//   stage        elements  in flight micro-batch   forward      work     sends gradients    memory
//   0             0 to 14          4    120.0 us   ...
//
// The figures of a stage are for its busiest rank and one micro-batch. There are two exceptions.
// "gradients" is the time to synchronize gradients, once per step. "memory" is for all
// micro-batches in flight. "forward" does not include the recomputation in the backward pass.
// Neighbouring stages that differ only in memory share a line, which shows the largest memory.
//
// "sends" is the time of transfers to the stages before and after. These transfers run while the
// stages compute. A second table lists the skips between stages: their elements, the stages of both
// ends, and the seconds to send the skipped tensor and to send its gradient back. The lines above
// the tables say how much of the step is spent waiting for all these transfers.
//
// The breakdown by element is as in breakdown.hpp: seconds and bytes of a step on the busiest rank
// of the element's stage. It leaves out transfers between stages on different parts. Memory is for
// all micro-batches in flight in the stage.

#include <cmath>

#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/explain_text.hpp>
#include <ashlar/search/price_pipeline.hpp>
#include <ashlar/search/recomputed.hpp>
#include <ashlar/search/schedule_choice.hpp>

namespace ashlar::search {

namespace detail {

/// Removes some redistributions from the breakdown `parts`: those at cuts between stages on
/// different parts of the mesh, where crossings take their place.
template <int N>
void leave_out_cuts(basic_problem<N> const& chain, pipeline_plan const& p, machine const& m,
                    plan_breakdown& parts) {
  auto const order = schedule_of(p);
  planned_moves prices(p.chosen.mesh, m);
  for (int j = 1; j < static_cast<int>(p.stages.size()); ++j) {
    if (order.position_of(j) == order.position_of(j - 1)) continue;
    int const first = p.stages[static_cast<std::size_t>(j)].first;
    shape const& extents = boundary_extents(chain, first - 1);
    for (bool const back : {false, true}) {
      int const element = back ? first - 1 : first;
      auto const kind = back ? moved::gradient : moved::activation;
      auto const when = back ? phase::backward : phase::forward;
      double const seconds = times_per_step(chain, when) *
                             prices
                                 .move(extents, element_size(chain, kind, when),
                                       back ? p.chosen[first].dx : p.chosen[first - 1].y,
                                       back ? p.chosen[first - 1].dy : p.chosen[first].x)
                                 .seconds;
      auto& own = parts.elements[static_cast<std::size_t>(element)];
      (back ? own.gradients : own.activations) -= seconds;
      (back ? parts.total.gradients : parts.total.activations) -= seconds;
      std::erase_if(parts.moves, [&](scheduled_move const& move) {
        if (move.element != element || move.phase != when || move.what != kind) return false;
        for (auto const& s : move.plan.steps) {
          double const bytes = double(times_per_step(chain, move)) *
                               double(received_bytes(move.plan, s, p.chosen.mesh));
          own.received -= bytes;
          parts.total.received -= bytes;
        }
        return true;
      });
    }
  }
}

}  // namespace detail

/// Returns the seconds and bytes of each element of a pipeline on machine `m`. Expects a pipeline
/// of this problem. The total adds up all stages, so it is not the cost of any one rank.
template <int N>
plan_breakdown breakdown(basic_problem<N> const& net, pipeline_plan const& p, machine const& m) {
  auto const chain = chain_of(net, p);
  auto parts = breakdown(chain, p.chosen, m);
  detail::leave_out_cuts(chain, p, m, parts);
  parts.total.memory = {};
  for (int j = 0; j < static_cast<int>(p.stages.size()); ++j) {
    auto const stage = stage_of(chain, p, j);
    auto const own = plan_of_stage<N>(p, j);
    int const first = p.stages[static_cast<std::size_t>(j)].first;
    std::int64_t kept = 0;
    for (int i = 0; i < stage.size(); ++i) {
      auto& memory = parts.elements[static_cast<std::size_t>(first + i)].memory;
      memory = parts_of(memory_of(stage, own, i));
      kept += memory.kept;
    }
    parts.total.memory.kept += kept;
    parts.total.memory.running += memory_per_rank(stage, own) - kept;
  }
  return parts;
}

/// Returns the memory that recomputation saves and the seconds that it adds to a pipeline. The
/// saved memory is the memory of the fullest part without recomputation minus the memory of the
/// fullest part with recomputation.
template <int N>
recomputation_effect effect_of_recomputing(basic_problem<N> const& net, pipeline_plan const& p,
                                           machine const& m) {
  auto const kept = price_pipeline(net, p.chosen, limits_of(p),
                                   std::vector<int>(p.stages.size(), 0), p.axis, p.micro_batches(),
                                   m, p.order);
  double const longer = p.seconds() - kept.seconds();
  return {kept.chosen.memory - p.chosen.memory, longer,
          kept.seconds() > 0 ? longer / kept.seconds() : 0};
}

namespace detail {

/// Returns whether two stages have equally many elements, recompute equally many segments, and have
/// equal times.
inline bool alike(pipeline_stage const& a, pipeline_stage const& b) {
  auto const same = [](double p, double q) { return std::abs(p - q) <= 1e-9 * std::abs(p); };
  return a.last - a.first == b.last - b.first && a.recomputed == b.recomputed &&
         same(a.seconds, b.seconds) && same(a.forward, b.forward) && same(a.weights, b.weights) &&
         same(a.work, b.work) && same(a.sending, b.sending) && same(a.synchronize, b.synchronize);
}

/// Returns "3", or "3 to 7".
inline std::string range_text(int first, int last) {
  return std::to_string(first) + (last > first ? " to " + std::to_string(last) : "");
}

/// Consecutive stages of a pipeline with equal times: first .. end - 1.
struct stage_group {
  int first = 0, end = 0;
  std::int64_t memory = 0;  ///< bytes per rank of the fullest stage of the group
};

inline std::vector<stage_group> stage_groups(pipeline_plan const& p) {
  std::vector<stage_group> groups;
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    int const at = static_cast<int>(s);
    if (s == 0 || !alike(p.stages[s - 1], p.stages[s])) groups.push_back({at, at, 0});
    groups.back().end = at + 1;
    groups.back().memory = std::max(groups.back().memory, p.stages[s].memory);
  }
  return groups;
}

/// Returns a table of the stages: a heading and one line per group of consecutive stages with equal
/// times.
inline std::string stages_text(pipeline_plan const& p) {
  std::string text = "  " + padded("stage", 8) + right("elements", 13) + right("in flight", 11);
  for (char const* name : {"micro-batch", "forward", "work", "sends", "gradients", "memory"})
    text += right(name, name[0] == 'm' ? 12 : 10);
  text += "\n";
  for (auto const& g : stage_groups(p)) {
    auto const& s = p.stages[static_cast<std::size_t>(g.first)];
    int const last = p.stages[static_cast<std::size_t>(g.end) - 1].last - 1;
    text += "  " + padded(range_text(g.first, g.end - 1), 8) +
            right(range_text(s.first, last), 13) + right(std::to_string(p.in_flight(g.first)), 11) +
            right(seconds_or_dash(s.seconds), 12);
    for (double part : {s.forward, s.work, s.sending, s.synchronize})
      text += right(seconds_or_dash(part), 10);
    text += right(bytes_text(double(g.memory)), 12) + "\n";
  }
  return text;
}

/// A line of the table of skips: the texts of one skip between two stages.
struct skip_line {
  std::string elements, stages, sends, sends_back;
};

template <int N>
std::vector<skip_line> skip_lines(basic_problem<N> const& net, pipeline_plan const& p) {
  std::vector<skip_line> lines;
  auto const skips = cut_skips(net, limits_of(p));
  for (std::size_t k = 0; k < skips.size() && k < p.skips.size(); ++k) {
    auto const& it = skips[k];
    lines.push_back({range_text(it.begin, it.end),
                     std::to_string(it.from) + " to " + std::to_string(it.to),
                     seconds_or_dash(p.skips[k].forward), seconds_or_dash(p.skips[k].backward)});
  }
  return lines;
}

/// Returns a table of the skips between stages, or an empty text if there are none.
template <int N>
std::string skips_text(basic_problem<N> const& net, pipeline_plan const& p) {
  auto const lines = skip_lines(net, p);
  if (lines.empty()) return {};
  std::string text = "  " + padded("skip", 8) + right("stages", 13) + right("sends", 11) +
                     right("sends back", 12) + "\n";
  for (auto const& it : lines)
    text += "  " + padded(it.elements, 12) + right(it.stages, 9) + right(it.sends, 11) +
            right(it.sends_back, 12) + "\n";
  return text;
}

/// Returns "4 stages along node, each on node=1,gpu=2", "8 stages on 4 parts along node, each on
/// node=1,gpu=2", "2 stages on one part", or "1 stage".
inline std::string layout_of_stages(pipeline_plan const& p) {
  std::string text = std::to_string(p.stages.size());
  if (p.stages.size() == 1) return text + " stage";
  text += " stages";
  if (p.parts() == 1) return text + " on one part";
  if (p.parts() < static_cast<int>(p.stages.size()))
    text += " on " + std::to_string(p.parts()) + " parts";
  return text + " along " + std::string(whole_mesh(p).axis[p.axis].name.view()) + ", each on " +
         to_string(p.chosen.mesh);
}

/// Returns the layout of the stages and the schedule. If both do not fit on one line, the schedule
/// is on a second line.
inline std::string stages_line(pipeline_plan const& p) {
  auto const text = layout_of_stages(p) + " (" + std::to_string(p.chosen.mesh.ranks()) + " ranks),";
  auto const schedule = schedule_text(schedule_of(p));
  return text + (text.size() + schedule.size() < 97 ? " " : "\n    ") + schedule;
}

/// Returns how many segments each stage recomputes, such as "3 of 4 in stage 0" and "1 of 4 in
/// stages 1 to 2".
template <int N>
std::vector<std::string> recomputed_pieces(basic_problem<N> const& net, pipeline_plan const& p) {
  std::vector<std::string> pieces;
  int const stages = static_cast<int>(p.stages.size());
  auto const count = [&](int j) {
    int const n = p.stages[static_cast<std::size_t>(j)].recomputed;
    return n == 0 ? std::string()
                  : std::to_string(n) + " of " + std::to_string(stage_of(net, p, j).segments);
  };
  for (int j = 0, end = 0; j < stages; j = end) {
    auto const own = count(j);
    for (end = j + 1; end < stages && count(end) == own;) ++end;
    if (!own.empty())
      pieces.push_back(own + (end > j + 1 ? " in stages " : " in stage ") + range_text(j, end - 1));
  }
  return pieces;
}

}  // namespace detail

/// Returns the effect of recomputation and the number of recomputed segments per stage, such as
/// "recomputed segments: 3.10 GiB less, 1.20 ms (12.0 %) longer" and "3 of 4 in stage 0". The list
/// is empty if nothing is recomputed.
template <int N>
std::vector<std::string> recomputed_pieces(basic_problem<N> const& net, pipeline_plan const& p,
                                           machine const& m) {
  if (p.chosen.recomputed == 0) return {};
  std::vector<std::string> pieces{"recomputed segments: " +
                                  effect_text(effect_of_recomputing(net, p, m))};
  for (auto const& piece : detail::recomputed_pieces(net, p)) pieces.push_back(piece);
  return pieces;
}

/// Returns the effect of recomputation on a pipeline and the recomputed segments as one text,
/// separated by "; ".
template <int N>
std::string recomputed_text(basic_problem<N> const& net, pipeline_plan const& p, machine const& m) {
  std::string text;
  for (auto const& piece : recomputed_pieces(net, p, m)) text += (text.empty() ? "" : "; ") + piece;
  return text;
}

/// Returns the report of a pipeline. `p` must be a pipeline of this problem, and `m` the machine
/// that it was priced for.
template <int N>
explanation explain(basic_problem<N> const& net, pipeline_plan const& p, machine const& m) {
  using namespace detail;
  topology const whole = whole_mesh(p);
  auto const share = [&](double s) { return percent_text(p.seconds() > 0 ? s / p.seconds() : 0); };
  std::int64_t sent = 0;
  for (auto const& s : p.stages) sent = std::max(sent, s.sent);
  std::string text = "pipeline for " + to_string(whole) + " (" + std::to_string(whole.ranks()) +
                     " ranks): " + seconds_text(p.seconds()) + " a step of " +
                     std::to_string(p.micro_batches()) +
                     (p.micro_batches() == 1 ? " micro-batch, " : " micro-batches, ") +
                     share(p.bubble) + " of it bubble\n  " + stages_line(p) + "\n  " +
                     bytes_text(double(p.chosen.memory)) +
                     " of memory per rank of the fullest stage; a rank sends at most " +
                     bytes_text(double(sent) * p.micro_batches()) + " to other stages\n";
  if (auto const pieces = recomputed_pieces(net, p, m); !pieces.empty())
    text += "  " + wrapped(pieces, 4) + "\n";
  if (p.lower_bound > 0 && p.chosen.gap > 0 && p.chosen.gap < 1)
    text += "  no plan of the searched stages and micro-batches is more than " +
            gap_text(p.chosen.gap) + " faster\n";
  double const communication = p.chosen.communication_seconds;
  text += std::string("  of the ") + (p.order.chunks > 1 ? "busiest part: " : "slowest stage: ") +
          share(p.seconds() - communication - p.bubble) + " work, " + share(communication) +
          " communication, " + share(p.bubble) + " waiting\n";
  if (p.exposed > 1e-9 * p.seconds())
    text += "  without transfers between stages it would wait " + share(p.exposed) + " less\n";
  for (auto const& note : notes(net, p.chosen)) text += "  note: " + note + "\n";
  text += "\n" + stages_text(p) + skips_text(net, p);
  auto const& chain = chain_of(net, p);
  auto const parts = breakdown(net, p, m);
  return {text + "\n" +
          elements_text(chain, p.chosen, parts, outline_of(chain, p.chosen, parts, m))};
}

}  // namespace ashlar::search
