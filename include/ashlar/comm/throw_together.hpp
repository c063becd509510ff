// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes a fault of one rank an error on every rank. These functions are needed where a rank works
// alone, for example when it writes a file. If only this rank threw an exception, the other ranks
// would wait for this rank in the next transfer.

#include <cstdint>
#include <span>
#include <string>

#include <ashlar/comm/fault_of.hpp>
#include <ashlar/comm/long_work.hpp>
#include <ashlar/comm/mesh.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

/// Throws an ashlar::error of `operation` on every rank if `fault` is not empty on any rank.
/// `fault` is the text of an error. The thrown error names the first rank with a fault and contains
/// the text of that fault. Collective over the mesh: one all-reduce of 8 bytes, and after a fault
/// two broadcasts.
template <class Processor>
void throw_together(basic_mesh<Processor> const& m, char const* operation,
                    std::string const& fault) {
  std::int64_t first = fault.empty() ? m.ranks() : m.rank();
  m.all_reduce(std::span(&first, 1), reduction::min);
  if (first == m.ranks()) return;
  throw_fault_of(first, operation, fault,
                 [&](auto values) { m.broadcast(values, static_cast<int>(first)); });
}

/// Calls work(), which may take long, and returns the text of its exception like the overload in
/// fault_of.hpp. `what` tells the watchdogs what this rank does, such as "writes a file"
/// (long_work.hpp).
template <class Processor, class Work>
std::string fault_of(basic_mesh<Processor> const& m, char const* what, Work work) {
  long_work const noted(m, what);
  return fault_of(work);
}

/// Calls work() on this rank, and throws an ashlar::error of `operation` on every rank if work()
/// throws on any rank. `what` means the same as in fault_of. Does nothing on a rank outside of the
/// mesh. Communicates what throw_together communicates.
template <class Processor, class Work>
void work_together(basic_mesh<Processor> const& m, char const* operation, char const* what,
                   Work work) {
  if (m.is_here()) throw_together(m, operation, fault_of(m, what, work));
}

}  // namespace ashlar
