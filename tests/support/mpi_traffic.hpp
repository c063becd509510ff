// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What MPI was asked to move, noted below the library from the arguments of each call alone.
// support/mpi_traffic_calls.hpp defines the calls; programs that want the count include that.
//
//   collectives       what the rank receives by the bandwidth-optimal algorithm
//   point to point    what is received from another rank, and what is sent to another
//   anything else     that moves data: a call of `uncounted` bytes, which no prediction equals
//
// Notes only while `listening`. `stage` numbers the notes' origin: calls of one exchange share it.

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
    std::string name;  // without its I: "Allgatherv" also for MPI_Iallgatherv
    std::int64_t received_bytes;
    int stage = 0;
    friend bool operator==(call const&, call const&) = default;
  };
  static inline std::vector<call> calls;
  static inline bool listening = false;
  static inline std::function<int()> stage;  // none: 0

  // Point to point, since the program began.
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

  /// Whether all ranks together received, point to point, what they sent: receives note the size of
  /// their buffer, which could be larger than what came. Collective over the world.
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
  // `count` from each of the others.
  static void others(char const* name, std::int64_t count, MPI_Datatype type, MPI_Comm comm) {
    note(name, (group(comm).size - 1) * count, type);
  }
  static void reduce_scatter(int const* counts, MPI_Datatype type, MPI_Comm comm) {
    group const g(comm);
    note("Reduce_scatter", (g.size - 1) * counts[g.me], type);
  }
  // A reduce-scatter of balanced blocks, then an all-gather of them.
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
