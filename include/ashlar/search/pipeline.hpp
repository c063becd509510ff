// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches for pipeline parallelism in combination with all other layouts (AutoDDL, section 5.4).
// The search chooses the number of parts of the mesh, the mesh axis that they divide, the number of
// micro-batches, the placements of the layers of each stage on its ranks, the schedule, and where
// the chain is cut.
//
// By default a part holds one stage, stages consist of equally many repeated blocks (stages.hpp),
// and the schedule is 1F1B. The parts divide one axis of the mesh. If the mesh has axes between
// nodes, the parts divide one of these axes. pipeline_search.hpp says how the search proceeds.

#include <type_traits>
#include <utility>

#include <ashlar/search/pipeline_search.hpp>

namespace ashlar::search {

/// Returns the fastest pipeline found, over the numbers of parts and micro-batches in `options`,
/// the axes that parts can divide, the placements, the schedules, and the cuts.
///   net_of    net_of(m) returns the chain for m micro-batches per step, each with 1/m of the batch
///   layout    layout(chain, mesh, machine) returns a plan of the chain, on this mesh or on another
///             one with equally many ranks. The default is the exact search. For options.pins, it
///             must be layout(chain, mesh, machine, filter) and choose only what the filter permits
///             (choice_filter)
///
/// `lower_bound` of the result is a lower bound of the seconds of all these pipelines. If `layout`
/// is not the exact search, the bound applies only to pipelines whose plans are of the kind that
/// `layout` makes. Even then it is valid only if `layout` returns the best plan of that kind.
///
/// Throws ashlar::error in these cases:
///   - No pipeline fits in machine.memory, or none has at most options.in_flight micro-batches in
///     flight.
///   - A requested number of stages does not divide the extent of any permitted axis, or the chain
///     cannot be cut into that many stages.
///   - A requested number of micro-batches is below 1, or net_of(m) returns a chain with a number
///     of micro-batches other than m.
///   - A requested number of micro-batches is above most_repeated_elements (step/build.hpp).
///   - net_of(m) returns a chain whose micro-batches take turns, or with problem::overlap set.
///   - A requested schedule does not exist, or none of the requested schedules is possible with any
///     of the numbers of parts and micro-batches.
///   - No mesh of one part has a plan that satisfies the pins, or there are pins and the layout
///     takes no filter.
template <class Describe, class Layout = optimal_layout>
pipeline_plan pipeline(Describe const& net_of, topology const& t, machine const& m,
                       pipeline_options const& options = {}, Layout const& layout = {}) {
  using described = decltype(net_of(1));
  constexpr int capacity = decltype(detail::capacity_tag(std::declval<described>()))::value;
  if (!options.pins.empty() && !detail::takes_filter<Layout, capacity>)
    throw error(
        "search::pipeline",
        "this layout function does not obey pins. Give it a filter as a fourth argument, or "
        "leave out options.pins.");
  detail::pipeline_search<capacity, Layout> search(t, m, options, layout);
  for (int const batches : options.micro_batches.empty() ? std::vector{1} : options.micro_batches) {
    if (batches < 1)
      throw error("search::pipeline",
                  std::to_string(batches) + " micro-batches: a step needs 1 or more.");
    auto net = net_of(batches);
    if (net.micro_batches != batches)
      throw error("search::pipeline",
                  std::to_string(batches) +
                      " micro-batches were requested, but the chain was described with " +
                      std::to_string(net.micro_batches) + ".");
    if (net.interleaved != 1)
      throw error("search::pipeline",
                  "micro-batches cannot take turns in a pipeline, whose schedule orders them. Set "
                  "problem::interleaved to 1.");
    if (net.overlap)
      throw error("search::pipeline",
                  "the times of pipelines count the overlap of their transfers already. Leave "
                  "problem::overlap off.");
    search.add(std::move(net));
  }
  return search.run();
}

}  // namespace ashlar::search
