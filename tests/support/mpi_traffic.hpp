// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the bytes that the program moves through MPI. The counter intercepts the program's MPI
// calls and computes the bytes from the arguments of these calls. support/mpi_traffic_calls.hpp
// defines the intercepted calls; include it in programs that need the count.
//
//   collectives       bytes that this rank receives with the bandwidth-optimal algorithm
//   point to point    bytes received from another rank, and bytes sent to another
//   anything else     that moves data: recorded with `uncounted` bytes, which matches no prediction
//
// Calls are recorded only while `listening` is true. stage() tells to which part of a test the
// calls belong: calls with the same number count as one exchange.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <mpi.h>

namespace ashlar_test {

struct mpi_traffic {
  static constexpr std::int64_t uncounted = -1;

  struct call {
    std::string name;  // without the I of nonblocking calls: "Allgatherv" also for MPI_Iallgatherv
    std::int64_t received_bytes;
    int stage = 0;
    friend bool operator==(call const&, call const&) = default;
  };
  static inline std::vector<call> calls;
  static inline bool listening = false;
  static inline std::function<int()> stage;  // the current stage number; if empty, the stage is 0

  // Bytes of all recorded point-to-point calls since the program began.
  static inline std::int64_t sent_bytes = 0;
  static inline std::int64_t received_bytes = 0;

  static void listen(std::function<int()> stage_of_now = {}) {
    calls.clear();
    stage = std::move(stage_of_now);
    listening = true;
  }
  static void stop() {
    listening = false;
    stage = {};
  }

  /// Returns whether all ranks together sent as many point-to-point bytes as their receives
  /// recorded. A receive records the size of its buffer, so the two numbers differ if a buffer is
  /// larger than its message. Collective over the world.
  static bool balanced() {
    std::array<std::int64_t, 2> const mine{sent_bytes, received_bytes};
    std::array<std::int64_t, 2> all{};
    PMPI_Allreduce(mine.data(), all.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all[0] == all[1];
  }

  struct group {
    std::int64_t size;
    std::int64_t me;
    explicit group(MPI_Comm comm) {
      int n = 0, r = 0;
      PMPI_Comm_size(comm, &n);
      PMPI_Comm_rank(comm, &r);
      size = n;
      me = r;
    }
  };

  static std::int64_t bytes_of(std::int64_t elements, MPI_Datatype type) {
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    return elements * bytes;
  }
  static void note_bytes(char const* name, std::int64_t bytes) {
    if (listening) calls.push_back({name, bytes, stage ? stage() : 0});
  }
  static void note(char const* name, std::int64_t elements, MPI_Datatype type) {
    note_bytes(name, bytes_of(elements, type));
  }
  static void unknown(char const* name) { note_bytes(name, uncounted); }

  static void others(char const* name, int const* counts, MPI_Datatype type, MPI_Comm comm) {
    group const g(comm);
    std::int64_t elements = 0;
    for (std::int64_t i = 0; i < g.size; ++i) elements += i == g.me ? 0 : counts[i];
    note(name, elements, type);
  }
  // Records that this rank receives `count` elements from each other member of the group.
  static void others(char const* name, std::int64_t count, MPI_Datatype type, MPI_Comm comm) {
    note(name, (group(comm).size - 1) * count, type);
  }
  static void reduce_scatter(int const* counts, MPI_Datatype type, MPI_Comm comm) {
    group const g(comm);
    note("Reduce_scatter", (g.size - 1) * counts[g.me], type);
  }
  // Counts an all-reduce as a reduce-scatter into nearly equal blocks, followed by an all-gather of
  // the blocks.
  static void all_reduce(std::int64_t count, MPI_Datatype type, MPI_Comm comm) {
    group const g(comm);
    std::int64_t const block = count / g.size + (g.me < count % g.size ? 1 : 0);
    note("Allreduce", (g.size - 1) * block + (count - block), type);
  }
  static void broadcast(std::int64_t count, MPI_Datatype type, int root, MPI_Comm comm) {
    note("Bcast", group(comm).me == root ? 0 : count, type);
  }

  static bool is_other(int rank, MPI_Comm comm) {
    return rank != MPI_PROC_NULL && rank != group(comm).me;
  }
  static void received(char const* name, int count, MPI_Datatype type, int source, MPI_Comm comm) {
    if (!listening) return;
    std::int64_t const bytes = is_other(source, comm) ? bytes_of(count, type) : 0;
    received_bytes += bytes;
    note_bytes(name, bytes);
  }
  static void sent(int count, MPI_Datatype type, int target, MPI_Comm comm) {
    if (listening && is_other(target, comm)) sent_bytes += bytes_of(count, type);
  }
};

}  // namespace ashlar_test
