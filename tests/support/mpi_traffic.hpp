// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts bytes below the library: this header DEFINES the MPI calls that move tensors, notes what
// the rank receives by the bandwidth-optimal algorithm, from the arguments of the call alone, and
// passes them on to MPI's profiling names. Include it in one translation unit of a program.
//
//   mpi_traffic::calls       while `mpi_traffic::listening` is true

#include <cstdint>
#include <string>
#include <vector>

#include <mpi.h>

namespace ashlar_test {

struct mpi_traffic {
  struct call {
    std::string name;  // without its I: "Allgatherv" also for MPI_Iallgatherv
    std::int64_t received_bytes;
    friend bool operator==(call const&, call const&) = default;
  };
  static inline std::vector<call> calls;
  static inline bool listening = false;

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

  static void note(char const* name, std::int64_t elements, MPI_Datatype type) {
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    if (listening) calls.push_back({name, elements * bytes});
  }
  static void others(char const* name, int const* counts, MPI_Datatype type, MPI_Comm comm) {
    group const g(comm);
    std::int64_t elements = 0;
    for (std::int64_t i = 0; i < g.size; ++i) elements += i == g.me ? 0 : counts[i];
    note(name, elements, type);
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
  static void received(int count, MPI_Datatype type, int source, MPI_Comm comm) {
    note("Sendrecv", source == group(comm).me ? 0 : count, type);
  }
};

}  // namespace ashlar_test

extern "C" {

int MPI_Allgatherv(void const* s, int n, MPI_Datatype st, void* r, int const* counts,
                   int const* offsets, MPI_Datatype t, MPI_Comm c) {
  ashlar_test::mpi_traffic::others("Allgatherv", counts, t, c);
  return PMPI_Allgatherv(s, n, st, r, counts, offsets, t, c);
}
int MPI_Iallgatherv(void const* s, int n, MPI_Datatype st, void* r, int const* counts,
                    int const* offsets, MPI_Datatype t, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::others("Allgatherv", counts, t, c);
  return PMPI_Iallgatherv(s, n, st, r, counts, offsets, t, c, q);
}
int MPI_Reduce_scatter(void const* s, void* r, int const* counts, MPI_Datatype t, MPI_Op op,
                       MPI_Comm c) {
  ashlar_test::mpi_traffic::reduce_scatter(counts, t, c);
  return PMPI_Reduce_scatter(s, r, counts, t, op, c);
}
int MPI_Ireduce_scatter(void const* s, void* r, int const* counts, MPI_Datatype t, MPI_Op op,
                        MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::reduce_scatter(counts, t, c);
  return PMPI_Ireduce_scatter(s, r, counts, t, op, c, q);
}
int MPI_Allreduce(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  ashlar_test::mpi_traffic::all_reduce(n, t, c);
  return PMPI_Allreduce(s, r, n, t, op, c);
}
int MPI_Iallreduce(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
                   MPI_Request* q) {
  // The harness's own, on its own communicator, comes between cases: nobody listens then.
  ashlar_test::mpi_traffic::all_reduce(n, t, c);
  return PMPI_Iallreduce(s, r, n, t, op, c, q);
}
int MPI_Alltoallv(void const* s, int const* scounts, int const* soffsets, MPI_Datatype st, void* r,
                  int const* counts, int const* offsets, MPI_Datatype t, MPI_Comm c) {
  ashlar_test::mpi_traffic::others("Alltoallv", counts, t, c);
  return PMPI_Alltoallv(s, scounts, soffsets, st, r, counts, offsets, t, c);
}
int MPI_Ialltoallv(void const* s, int const* scounts, int const* soffsets, MPI_Datatype st, void* r,
                   int const* counts, int const* offsets, MPI_Datatype t, MPI_Comm c,
                   MPI_Request* q) {
  ashlar_test::mpi_traffic::others("Alltoallv", counts, t, c);
  return PMPI_Ialltoallv(s, scounts, soffsets, st, r, counts, offsets, t, c, q);
}
int MPI_Sendrecv(void const* s, int n, MPI_Datatype st, int to, int stag, void* r, int count,
                 MPI_Datatype t, int from, int rtag, MPI_Comm c, MPI_Status* status) {
  ashlar_test::mpi_traffic::received(count, t, from, c);
  return PMPI_Sendrecv(s, n, st, to, stag, r, count, t, from, rtag, c, status);
}
int MPI_Irecv(void* r, int count, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::received(count, t, from, c);
  return PMPI_Irecv(r, count, t, from, tag, c, q);
}

}  // extern "C"
