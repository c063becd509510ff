// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Defines the MPI functions that move data. Each function records its call
// (support/mpi_traffic.hpp) and forwards it to MPI's profiling interface (PMPI). Include this
// header in only one translation unit of a program.

#include <support/mpi_traffic.hpp>

extern "C" {

// Collectives.
int MPI_Allgather(void const* s, int n, MPI_Datatype st, void* r, int n2, MPI_Datatype t,
                  MPI_Comm c) {
  ashlar_test::mpi_traffic::others("Allgather", std::int64_t{n2}, t, c);
  return PMPI_Allgather(s, n, st, r, n2, t, c);
}
int MPI_Iallgather(void const* s, int n, MPI_Datatype st, void* r, int n2, MPI_Datatype t,
                   MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::others("Allgather", std::int64_t{n2}, t, c);
  return PMPI_Iallgather(s, n, st, r, n2, t, c, q);
}
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
int MPI_Reduce_scatter_block(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  ashlar_test::mpi_traffic::others("Reduce_scatter", std::int64_t{n}, t, c);
  return PMPI_Reduce_scatter_block(s, r, n, t, op, c);
}
int MPI_Ireduce_scatter_block(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
                              MPI_Request* q) {
  ashlar_test::mpi_traffic::others("Reduce_scatter", std::int64_t{n}, t, c);
  return PMPI_Ireduce_scatter_block(s, r, n, t, op, c, q);
}
int MPI_Allreduce(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  ashlar_test::mpi_traffic::all_reduce(n, t, c);
  return PMPI_Allreduce(s, r, n, t, op, c);
}
int MPI_Iallreduce(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c,
                   MPI_Request* q) {
  ashlar_test::mpi_traffic::all_reduce(n, t, c);
  return PMPI_Iallreduce(s, r, n, t, op, c, q);
}
int MPI_Alltoall(void const* s, int n, MPI_Datatype st, void* r, int n2, MPI_Datatype t,
                 MPI_Comm c) {
  ashlar_test::mpi_traffic::others("Alltoall", std::int64_t{n2}, t, c);
  return PMPI_Alltoall(s, n, st, r, n2, t, c);
}
int MPI_Ialltoall(void const* s, int n, MPI_Datatype st, void* r, int n2, MPI_Datatype t,
                  MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::others("Alltoall", std::int64_t{n2}, t, c);
  return PMPI_Ialltoall(s, n, st, r, n2, t, c, q);
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
int MPI_Bcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c) {
  ashlar_test::mpi_traffic::broadcast(n, t, root, c);
  return PMPI_Bcast(b, n, t, root, c);
}
int MPI_Ibcast(void* b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::broadcast(n, t, root, c);
  return PMPI_Ibcast(b, n, t, root, c, q);
}
// Point to point.
int MPI_Sendrecv(void const* s, int n, MPI_Datatype st, int to, int stag, void* r, int count,
                 MPI_Datatype t, int from, int rtag, MPI_Comm c, MPI_Status* status) {
  ashlar_test::mpi_traffic::sent(n, st, to, c);
  ashlar_test::mpi_traffic::received("Sendrecv", count, t, from, c);
  return PMPI_Sendrecv(s, n, st, to, stag, r, count, t, from, rtag, c, status);
}
int MPI_Recv(void* r, int count, MPI_Datatype t, int from, int tag, MPI_Comm c,
             MPI_Status* status) {
  ashlar_test::mpi_traffic::received("Recv", count, t, from, c);
  return PMPI_Recv(r, count, t, from, tag, c, status);
}
int MPI_Irecv(void* r, int count, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::received("Recv", count, t, from, c);
  return PMPI_Irecv(r, count, t, from, tag, c, q);
}
int MPI_Send(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Send(s, n, t, to, tag, c);
}
int MPI_Isend(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Isend(s, n, t, to, tag, c, q);
}
int MPI_Ssend(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Ssend(s, n, t, to, tag, c);
}
int MPI_Issend(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Issend(s, n, t, to, tag, c, q);
}
int MPI_Rsend(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Rsend(s, n, t, to, tag, c);
}
int MPI_Irsend(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Irsend(s, n, t, to, tag, c, q);
}
int MPI_Bsend(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Bsend(s, n, t, to, tag, c);
}
int MPI_Ibsend(void const* s, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* q) {
  ashlar_test::mpi_traffic::sent(n, t, to, c);
  return PMPI_Ibsend(s, n, t, to, tag, c, q);
}
// The library does not use the following calls, so they are not counted by bytes. If the library
// starts to use one of them, count it above.
int MPI_Sendrecv_replace(void* b, int n, MPI_Datatype t, int to, int stag, int from, int rtag,
                         MPI_Comm c, MPI_Status* status) {
  ashlar_test::mpi_traffic::unknown("Sendrecv_replace");
  return PMPI_Sendrecv_replace(b, n, t, to, stag, from, rtag, c, status);
}
int MPI_Mrecv(void* r, int n, MPI_Datatype t, MPI_Message* m, MPI_Status* status) {
  ashlar_test::mpi_traffic::unknown("Mrecv");
  return PMPI_Mrecv(r, n, t, m, status);
}
int MPI_Imrecv(void* r, int n, MPI_Datatype t, MPI_Message* m, MPI_Request* q) {
  ashlar_test::mpi_traffic::unknown("Imrecv");
  return PMPI_Imrecv(r, n, t, m, q);
}
int MPI_Start(MPI_Request* q) {
  ashlar_test::mpi_traffic::unknown("Start");
  return PMPI_Start(q);
}
int MPI_Startall(int n, MPI_Request q[]) {
  ashlar_test::mpi_traffic::unknown("Startall");
  return PMPI_Startall(n, q);
}
int MPI_Alltoallw(void const* s, int const* scounts, int const* soffsets, MPI_Datatype const* st,
                  void* r, int const* counts, int const* offsets, MPI_Datatype const* t,
                  MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Alltoallw");
  return PMPI_Alltoallw(s, scounts, soffsets, st, r, counts, offsets, t, c);
}
int MPI_Gather(void const* s, int n, MPI_Datatype st, void* r, int n2, MPI_Datatype t, int root,
               MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Gather");
  return PMPI_Gather(s, n, st, r, n2, t, root, c);
}
int MPI_Gatherv(void const* s, int n, MPI_Datatype st, void* r, int const* counts,
                int const* offsets, MPI_Datatype t, int root, MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Gatherv");
  return PMPI_Gatherv(s, n, st, r, counts, offsets, t, root, c);
}
int MPI_Scatter(void const* s, int n, MPI_Datatype st, void* r, int n2, MPI_Datatype t, int root,
                MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Scatter");
  return PMPI_Scatter(s, n, st, r, n2, t, root, c);
}
int MPI_Scatterv(void const* s, int const* counts, int const* offsets, MPI_Datatype st, void* r,
                 int n, MPI_Datatype t, int root, MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Scatterv");
  return PMPI_Scatterv(s, counts, offsets, st, r, n, t, root, c);
}
int MPI_Reduce(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Reduce");
  return PMPI_Reduce(s, r, n, t, op, root, c);
}
int MPI_Scan(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Scan");
  return PMPI_Scan(s, r, n, t, op, c);
}
int MPI_Exscan(void const* s, void* r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  ashlar_test::mpi_traffic::unknown("Exscan");
  return PMPI_Exscan(s, r, n, t, op, c);
}
int MPI_Get(void* r, int n, MPI_Datatype t, int rank, MPI_Aint at, int n2, MPI_Datatype t2,
            MPI_Win w) {
  ashlar_test::mpi_traffic::unknown("Get");
  return PMPI_Get(r, n, t, rank, at, n2, t2, w);
}
int MPI_Put(void const* s, int n, MPI_Datatype t, int rank, MPI_Aint at, int n2, MPI_Datatype t2,
            MPI_Win w) {
  ashlar_test::mpi_traffic::unknown("Put");
  return PMPI_Put(s, n, t, rank, at, n2, t2, w);
}
int MPI_Accumulate(void const* s, int n, MPI_Datatype t, int rank, MPI_Aint at, int n2,
                   MPI_Datatype t2, MPI_Op op, MPI_Win w) {
  ashlar_test::mpi_traffic::unknown("Accumulate");
  return PMPI_Accumulate(s, n, t, rank, at, n2, t2, op, w);
}

}  // extern "C"
