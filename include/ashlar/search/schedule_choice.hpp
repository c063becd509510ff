// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the schedules among which the search of a pipeline chooses, by name (step/pipeline/ makes
// them):
//
//   name            stages per part  backward  order
//   gpipe           1               whole      fixed: all forward passes first
//   1f1b            1               whole      fixed: one forward and one backward pass in turn,
//                                              with as few micro-batches in flight as possible
//   eager           1               whole      fixed: like 1f1b, with more forward passes first, so
//                                              that transfers overlap with passes
//   searched        1               whole      1F1B with warm-up depths found by search, from the
//                                              seconds of the stages
//   interleaved:N   N               whole      fixed; micro-batches are a multiple of the parts
//   zb_h1           1               split      built from the seconds of the stages
//   zb_h2           1               split      built from the seconds of the stages; needs about
//                                              twice the memory of zb_h1
//   delayed         1               split      warm-up depths, and delays of the gradients of
//                                              parameters, found by search, from the seconds of
//                                              the stages
//   zb_v            2, in a vee     split      built from the seconds of the stages; needs as much
//                                              memory as zb_h1
//   dual_pipe_v     2, in a vee     both       fixed; at least two micro-batches per part
//
// In a vee, the first half of the stages lies on the parts in ascending order, and the second half
// in descending order. A whole backward pass computes all gradients at once. A split one consists
// of two passes: the gradient of the input, for which the stage in front waits, and later the
// gradients of the parameters. In dual_pipe_v some backward passes are whole and some are split.
// `interleaved` without a number stands for several choices: one for each number of stages per part
// (chunks) that is to be tried.

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <ashlar/step/pipeline/best_warm_ups.hpp>
#include <ashlar/step/pipeline/delayed_weights.hpp>
#include <ashlar/step/pipeline/dual_pipe_v.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>

namespace ashlar::search {

enum class schedule_kind : signed char {
  one_f_one_b,
  eager,
  gpipe,
  searched,
  interleaved,
  zb_h1,
  zb_h2,
  delayed,
  zb_v,
  dual_pipe_v
};

/// What all schedules of one kind have in common.
struct schedule_traits {
  bool splits = false;  ///< whether backward passes are split into two passes
  pipelines::wiring wired = pipelines::wiring::straight;
  bool fits_costs = false;  ///< whether the order depends on the costs of the stages
};

constexpr schedule_traits traits_of(schedule_kind kind) {
  using pipelines::wiring;
  switch (kind) {
    case schedule_kind::one_f_one_b:
    case schedule_kind::eager:
    case schedule_kind::gpipe:
    case schedule_kind::interleaved: return {false, wiring::straight, false};
    case schedule_kind::searched: return {false, wiring::straight, true};
    case schedule_kind::zb_h1:
    case schedule_kind::zb_h2:
    case schedule_kind::delayed: return {true, wiring::straight, true};
    case schedule_kind::zb_v: return {true, wiring::vee, true};
    case schedule_kind::dual_pipe_v: return {true, wiring::vee, false};
  }
  return {};
}

struct schedule_choice {
  schedule_kind kind = schedule_kind::one_f_one_b;
  int chunks = 1;
  /// The most micro-batches that a stage may have in flight; 0: any number. `searched`, zb_h1,
  /// zb_h2 and `delayed` keep to this limit. The other schedules may need more
  /// (pipelines::in_flight_fault).
  int in_flight = 0;

  constexpr bool splits() const { return traits_of(kind).splits; }
  constexpr pipelines::wiring wired() const { return traits_of(kind).wired; }
  /// Returns whether the order depends on the costs of the stages.
  constexpr bool fits_costs() const { return traits_of(kind).fits_costs; }

  /// Returns a schedule without its order: which stage is on which part.
  constexpr pipelines::schedule shape(int parts, int micro_batches) const {
    return {parts, micro_batches, chunks, wired(), {}};
  }
  /// Returns whether the schedule exists for these numbers of parts and micro-batches.
  constexpr bool permits(int parts, int micro_batches) const {
    if (parts == 1) return kind == schedule_kind::one_f_one_b || kind == schedule_kind::searched;
    if (kind == schedule_kind::dual_pipe_v) return micro_batches >= 2 * parts;
    return kind != schedule_kind::interleaved || micro_batches % parts == 0;
  }
  friend constexpr bool operator==(schedule_choice const&, schedule_choice const&) = default;
};

/// The names of the kinds, in the order of schedule_kind.
inline constexpr std::string_view schedule_names[] = {
    "1f1b",  "eager", "gpipe",   "searched", "interleaved",
    "zb_h1", "zb_h2", "delayed", "zb_v",     "dual_pipe_v"};

/// Reads the name of a schedule. The name "interleaved" without a number stands for one schedule
/// for each number in `chunks` (stages per part). Throws ashlar::error if there is no schedule of
/// this name, or if a number of stages per part is not 2 to 1000.
inline std::vector<schedule_choice> schedule_choices(std::string_view name,
                                                     std::vector<int> const& chunks = {2}) {
  std::vector<schedule_choice> found;
  auto const colon = name.find(':');
  auto const stem = name.substr(0, colon);
  for (std::size_t k = 0; k < std::size(schedule_names); ++k) {
    if (stem != schedule_names[k]) continue;
    auto const kind = static_cast<schedule_kind>(k);
    if (kind != schedule_kind::interleaved) {
      if (colon != std::string_view::npos) break;
      return {{kind, traits_of(kind).wired == pipelines::wiring::vee ? 2 : 1}};
    }
    int number = 0;
    auto const digits = colon == std::string_view::npos ? "" : name.substr(colon + 1);
    auto const [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    bool const is_number = fault == std::errc() && end == digits.data() + digits.size();
    if (colon == std::string_view::npos)
      for (int const c : chunks) found.push_back({kind, c});
    else if (is_number) found.push_back({kind, number});
    auto const is_wrong = [](schedule_choice const& c) { return c.chunks < 2 || c.chunks > 1000; };
    if (std::any_of(found.begin(), found.end(), is_wrong)) found.clear();
  }
  if (!found.empty()) return found;
  std::string names;
  for (auto const n : schedule_names) names += (names.empty() ? "" : ", ") + std::string(n);
  throw error("search::schedule_choices", "there is no schedule \"" + std::string(name) +
                                              "\". Choose one of " + names +
                                              "; interleaved may name its chunks, 2 to 1000, as in "
                                              "interleaved:4.");
}

/// Returns the names of all schedules.
inline std::vector<std::string> all_schedules() {
  return {std::begin(schedule_names), std::end(schedule_names)};
}

/// Returns the schedules of all `names` in one list, as the overload for one name finds them.
inline std::vector<schedule_choice> schedule_choices(std::vector<std::string> const& names,
                                                     std::vector<int> const& chunks) {
  std::vector<schedule_choice> all;
  for (auto const& name : names)
    for (auto const& c : schedule_choices(name, chunks)) all.push_back(c);
  return all;
}

/// Returns the schedule of choice c: the order of its passes. Expects numbers of parts and
/// micro-batches that the choice permits. `costs` has the seconds of each stage, and `skips` the
/// seconds of the transfers of skips between stages. `most` has, for each part, the most
/// micro-batches in flight that `searched` and `delayed` may choose; if `most` is empty, only
/// `c.in_flight` limits `delayed`.
inline pipelines::schedule make_schedule(schedule_choice const& c, int parts, int micro_batches,
                                         pipelines::pipeline_costs const& costs,
                                         std::vector<int> const& most,
                                         pipelines::skip_transfers const& skips = {}) {
  int const in_flight = c.in_flight > 0 ? c.in_flight : std::numeric_limits<int>::max();
  switch (c.kind) {
    case schedule_kind::one_f_one_b: break;
    case schedule_kind::eager: return pipelines::eager(parts, micro_batches);
    case schedule_kind::gpipe: return pipelines::gpipe(parts, micro_batches);
    case schedule_kind::searched: {
      auto depths = most;
      for (int& d : depths) d = std::min(d, in_flight);
      return pipelines::with_warm_ups(pipelines::best_warm_ups(micro_batches, costs, depths, skips),
                                      micro_batches);
    }
    case schedule_kind::interleaved: return pipelines::interleaved(parts, micro_batches, c.chunks);
    case schedule_kind::zb_h1:
      return pipelines::zb_h1(parts, micro_batches, costs, in_flight, skips);
    case schedule_kind::zb_h2:
      return pipelines::zb_h2(parts, micro_batches, costs, in_flight, skips);
    case schedule_kind::delayed: {
      if (most.empty())
        return pipelines::delayed_weights(parts, micro_batches, costs, in_flight, skips);
      auto limits = most;
      for (int& n : limits) n = std::min(n, in_flight);
      return pipelines::delayed_weights(parts, micro_batches, costs, limits, skips);
    }
    case schedule_kind::zb_v: return pipelines::zb_v(parts, micro_batches, costs, skips);
    case schedule_kind::dual_pipe_v: return pipelines::dual_pipe_v(parts, micro_batches);
  }
  return pipelines::one_f_one_b(parts, micro_batches);
}

/// Returns the warm-up depth of each part if pipelines::with_warm_ups makes this schedule from
/// these depths, otherwise nothing.
inline std::optional<std::vector<int>> warm_ups_of(pipelines::schedule const& s) {
  if (s.chunks != 1) return {};
  std::vector<int> depths;
  for (auto const& own : s.order) {
    int depth = 0;
    while (depth < static_cast<int>(own.size()) &&
           own[static_cast<std::size_t>(depth)].what == pipelines::pass::forward)
      ++depth;
    if (depth == 0) return {};
    depths.push_back(depth);
  }
  if (!(pipelines::with_warm_ups(depths, s.micro_batches) == s)) return {};
  return depths;
}

/// Returns the name of a schedule, such as "1f1b" or "interleaved:2", if this name and the numbers
/// of parts and micro-batches determine the whole schedule. Otherwise returns nothing.
inline std::optional<std::string> name_of(pipelines::schedule const& s) {
  int const parts = s.positions, m = s.micro_batches;
  if (s.wired == pipelines::wiring::vee) {
    if (s.chunks != 2 || m < 2 * parts || !(pipelines::dual_pipe_v(parts, m) == s)) return {};
    return "dual_pipe_v";
  }
  if (s.chunks > 1) {
    if (m % parts != 0 || !(pipelines::interleaved(parts, m, s.chunks) == s)) return {};
    return "interleaved:" + std::to_string(s.chunks);
  }
  if (s == pipelines::one_f_one_b(parts, m)) return "1f1b";
  if (s == pipelines::eager(parts, m)) return "eager";
  if (s == pipelines::gpipe(parts, m)) return "gpipe";
  return {};
}

/// Describes a schedule for readers: "1F1B", "1F1B with warm-ups of 7, 5, 3, 2", "split backward
/// passes, 2 stages a part in a vee".
inline std::string schedule_text(pipelines::schedule const& s) {
  if (auto const name = name_of(s))
    return *name == "1f1b"    ? "1F1B"
           : *name == "eager" ? "eager 1F1B"
           : *name == "gpipe" ? "GPipe"
           : *name == "dual_pipe_v"
               ? "DualPipeV"
               : "interleaved 1F1B, " + std::to_string(s.chunks) + " stages a part";
  if (auto const depths = warm_ups_of(s)) {
    std::string text = "1F1B with warm-ups of ";
    if (depths->size() > 8)
      return text + std::to_string(depths->front()) + " to " + std::to_string(depths->back());
    for (std::size_t j = 0; j < depths->size(); ++j)
      text += (j > 0 ? ", " : "") + std::to_string((*depths)[j]);
    return text;
  }
  bool split = false;
  for (auto const& own : s.order)
    for (auto const& a : own) split = split || a.what == pipelines::pass::weight_gradient;
  std::string text = split ? "split backward passes" : "a schedule of its own";
  if (s.chunks > 1) text += ", " + std::to_string(s.chunks) + " stages a part";
  return text + (s.wired == pipelines::wiring::vee ? " in a vee" : "");
}

}  // namespace ashlar::search
