// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Predicts what overlaps in a step of a plan, element by element. The figures are those of the
// timeline (step/timeline.hpp) of the plan's program after the passes of step/overlapped.hpp. They
// are in seconds of one step with all micro-batches:
//
//   work            computation
//   communication   redistributions and exchanges of halos, as if nothing overlapped
//   hidden          the part of communication that runs beside computations
//   exposed         the part for which the processor waits
//
// An element is charged for its own moves, as in breakdown.hpp. If one move makes a later move
// wait, the time is charged to the earlier move, which occupies the link.

#include <utility>
#include <vector>

#include <ashlar/search/fold.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/step/timeline.hpp>

namespace ashlar::search {
namespace detail {

/// Returns the program of a plan after all passes that make it faster, with gradients divided into
/// buckets by `division`.
inline overlap_result overlapped_program(problem const& net, plan const& chosen, machine const& m,
                                         bucket_rule const& division = {}) {
  overlap_options o;
  o.limit = m.memory;
  o.division = division;
  return overlapped(build(net, chosen, m), m, o);
}

}  // namespace detail

struct overlap_breakdown {
  int turns = 1;      ///< the number of micro-batches that take turns
  double serial = 0;  ///< seconds of a step in which nothing overlaps
  program made;       ///< the program of the plan after all passes
  timeline when;      ///< the timeline of `made`; its `elements` has the figures of each element

  double seconds() const { return when.seconds; }
};

/// Returns what overlaps in a step of a plan on machine `m`. Expects a plan of this problem. Throws
/// ashlar::error if its program is too long (step/build.hpp).
template <int N>
overlap_breakdown overlap_of(basic_problem<N> const& net, basic_plan<N> const& chosen,
                             machine const& m) {
  auto described = any_length(net);
  described.interleaved = chosen.interleaved;
  auto result = detail::overlapped_program(described, with_capacity<dynamic_size>(chosen), m);
  auto when = timeline_of(result.made, m);
  return {chosen.interleaved, result.serial, std::move(result.made), std::move(when)};
}

/// A line of a report on overlap: an element, or all copies of an element of a repeated block.
struct overlap_line {
  int element = 0;    ///< the element, or its first copy
  fold of;            ///< the repeated block that contains the element
  element_time time;  ///< the times of all copies together
};

/// Returns the lines of a report, with one line for all copies of an element of a repeated block.
/// Copies can differ in what is hidden, since the first and the last ones have other neighbours.
inline std::vector<overlap_line> overlap_lines(overlap_breakdown const& b,
                                               std::vector<fold> const& folds) {
  std::vector<overlap_line> lines;
  for (auto const& f : folds)
    for (int i = f.first; i < f.first + f.period; ++i) {
      overlap_line line{i, f, {}};
      for (int copy = i; copy < f.end(); copy += f.period) {
        auto const& own = b.when.elements[static_cast<std::size_t>(copy)];
        line.time.work += own.work;
        line.time.communication += own.communication;
        line.time.exposed += own.exposed;
      }
      // If all communication is exposed, rounding can make hidden() slightly different from 0.
      if (line.time.hidden() < 1e-9 * line.time.communication)
        line.time.exposed = line.time.communication;
      lines.push_back(line);
    }
  return lines;
}

}  // namespace ashlar::search
