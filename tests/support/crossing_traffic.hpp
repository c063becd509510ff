// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the bytes that this rank receives in a move from one part of a mesh to another, in three
// ways that must agree:
//
//   planned        the steps of the plan on this rank's part, and the messages of its crossing
//   recorded       communication_log of the rank's part
//   asked of MPI   mpi_traffic.hpp, below the library
//
// On a mesh in shared memory, steps make no MPI calls. In a crossing on such a mesh, a rank
// receives bytes through MPI only from ranks that send it little
// (crossing_neighbours::least_bytes). A rank that sends more uses messages only to say where its
// elements are. These messages have less than a KiB.

#include <map>
#include <optional>
#include <string>

#include <support/mpi_traffic.hpp>
#include <support/transport.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/mpi/crossing_neighbours.hpp>
#include <ashlar/plan/crossing/transfers.hpp>
#include <ashlar/tensor/cross_mesh.hpp>

namespace ashlar_test {

/// Calls move(), which moves a tensor from part `source` to part `target` as the plan of `report`
/// says, on meshes that communicate by `on`. Returns a description of bytes that do not agree, or
/// an empty text. Adds to `through_memory` the bytes that this rank copied from other ranks.
template <class Move>
std::string wrong_traffic(transport on, ashlar::cross_mesh_report const& report,
                          ashlar::mesh const& source, ashlar::mesh const& target, Move const& move,
                          std::int64_t* through_memory = nullptr) {
  auto const& plan = report.plan;
  bool const is_here = source.is_here() || target.is_here();
  auto const& own = source.is_here() ? source : target;
  std::map<int, std::int64_t> from;  // by rank: the bytes that it sends to this rank
  for_each_transfer(plan.across, report.whole, [&](ashlar::crossing_transfer const& t) {
    if (t.to == source.rank_of_whole()) from[t.from] += t.size * plan.before.element_size;
  });
  std::int64_t steps = 0, crossing = 0, in_memory = 0, offers = 0;
  if (is_here)
    steps = (source.is_here() ? plan.before : plan.after)
                .received_bytes(own.topology(), own.coordinate());
  for (auto const& entry : from) {
    crossing += entry.second;
    if (on == transport::messages || entry.second < ashlar::mpi::crossing_neighbours::least_bytes)
      continue;
    in_memory += entry.second;
    offers += 1024;
  }

  std::optional<ashlar::communication_log> log;
  if (is_here) log.emplace(own);
  mpi_traffic::listen();
  move();
  mpi_traffic::stop();
  std::int64_t asked = 0, recorded_steps = 0, recorded_crossing = 0;
  for (auto const& call : mpi_traffic::calls) {
    if (call.received_bytes == mpi_traffic::uncounted)
      return " MPI_" + call.name + " moves data and is not counted;";
    asked += call.received_bytes;
  }
  if (log)
    for (auto const& r : log->records())
      (r.crosses ? recorded_crossing : recorded_steps) += r.received_bytes;
  std::int64_t const least = crossing - in_memory + (on == transport::messages ? steps : 0);
  if (through_memory != nullptr) *through_memory += in_memory;
  if (recorded_steps == steps && recorded_crossing == crossing && asked >= least &&
      asked <= least + offers)
    return "";
  auto const bytes = [](std::int64_t n) { return std::to_string(n) + " B"; };
  return std::string(" by ") + to_string(on) + ", planned " + bytes(steps) + " in steps and " +
         bytes(crossing) + " in the crossing, recorded " + bytes(recorded_steps) + " and " +
         bytes(recorded_crossing) + ", asked of MPI " + bytes(asked) + ";";
}

}  // namespace ashlar_test
