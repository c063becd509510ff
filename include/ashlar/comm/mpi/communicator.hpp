// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The communicator on MPI: each exchange is one MPI call, blocking or non-blocking, on a
// communicator of the group's ranks in the group's order. Group communicators are made on first
// use (MPI_Comm_split over the whole mesh, so every rank must come by) and kept.

#include <climits>
#include <map>
#include <string>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::mpi {

class communicator final : public ashlar::communicator {
 public:
  /// Expects: `comm` has as many ranks as `t`. Duplicates it, so that messages never mix with the
  /// program's own.
  communicator(MPI_Comm comm, topology const& t) : topology_(t) {
    MPI_Comm_dup(comm, &world_);
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);  // check() throws instead
    int rank = 0;
    MPI_Comm_rank(world_, &rank);
    here_ = t.coordinates_of(rank);
  }
  ~communicator() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    for (auto& [axes, comm] : groups_) MPI_Comm_free(&comm);
    MPI_Comm_free(&world_);
  }

  void run(exchange const& what) override {
    auto const call = prepare(what);
    switch (what.pattern()) {
      case collective::all_gather:
        check(MPI_Allgatherv(what.send, call.mine, call.type, what.recv, call.recv_counts.data(),
                             call.recv_offsets.data(), call.type, call.comm));
        break;
      case collective::reduce_scatter:
        check(MPI_Reduce_scatter(what.send, what.recv, call.recv_counts.data(), call.type, call.op,
                                 call.comm));
        break;
      case collective::all_reduce:
        check(MPI_Allreduce(MPI_IN_PLACE, what.recv, call.recv_counts[0], call.type, call.op,
                            call.comm));
        break;
      case collective::all_to_all:
        check(MPI_Alltoallv(what.send, call.send_counts.data(), call.send_offsets.data(), call.type,
                            what.recv, call.recv_counts.data(), call.recv_offsets.data(), call.type,
                            call.comm));
        break;
      case collective::permute:
        check(MPI_Sendrecv(what.send, call.send_counts[0], call.type, what.to, 0, what.recv,
                           call.recv_counts[0], call.type, what.from, 0, call.comm,
                           MPI_STATUS_IGNORE));
        break;
      default: break;
    }
  }

  std::unique_ptr<pending_exchange> start(exchange const& what) override {
    auto pending = std::make_unique<mpi_pending>(prepare(what));
    auto& call = pending->call;
    auto* const requests = pending->requests;
    switch (what.pattern()) {
      case collective::all_gather:
        check(MPI_Iallgatherv(what.send, call.mine, call.type, what.recv, call.recv_counts.data(),
                              call.recv_offsets.data(), call.type, call.comm, requests));
        break;
      case collective::reduce_scatter:
        check(MPI_Ireduce_scatter(what.send, what.recv, call.recv_counts.data(), call.type, call.op,
                                  call.comm, requests));
        break;
      case collective::all_reduce:
        check(MPI_Iallreduce(MPI_IN_PLACE, what.recv, call.recv_counts[0], call.type, call.op,
                             call.comm, requests));
        break;
      case collective::all_to_all:
        check(MPI_Ialltoallv(what.send, call.send_counts.data(), call.send_offsets.data(),
                             call.type, what.recv, call.recv_counts.data(),
                             call.recv_offsets.data(), call.type, call.comm, requests));
        break;
      case collective::permute:
        check(MPI_Irecv(what.recv, call.recv_counts[0], call.type, what.from, 0, call.comm,
                        requests));
        check(MPI_Isend(what.send, call.send_counts[0], call.type, what.to, 0, call.comm,
                        requests + 1));
        break;
      default: break;
    }
    return pending;
  }

  void barrier() override { check(MPI_Barrier(world_)); }

 private:
  // What MPI wants to be told, which must outlive a non-blocking call.
  struct prepared {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype type = MPI_FLOAT;
    MPI_Op op = MPI_SUM;
    int mine = 0;
    std::vector<int> send_counts, send_offsets, recv_counts, recv_offsets;
  };

  struct mpi_pending final : pending_exchange {
    explicit mpi_pending(prepared p) : call(std::move(p)) {}
    ~mpi_pending() override { MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); }
    void wait() override { check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)); }
    bool test() override {
      int done = 0;
      check(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE));
      return done != 0;
    }
    prepared call;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  };

  static void check(int status) {
    if (status == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(status, text, &length);
    throw error("mpi", std::string(text, static_cast<std::size_t>(length)));
  }

  static void narrow(std::span<std::int64_t const> counts, std::vector<int>& narrow_counts,
                     std::vector<int>& offsets) {
    std::int64_t offset = 0;
    for (auto const n : counts) {
      if (offset + n > INT_MAX)
        throw error("mpi",
                    "more than 2^31 - 1 elements in one exchange. Split the tensor further.");
      narrow_counts.push_back(static_cast<int>(n));
      offsets.push_back(static_cast<int>(offset));
      offset += n;
    }
  }

  prepared prepare(exchange const& what) {
    prepared p;
    p.comm = group(what.axes);
    MPI_Datatype const types[] = {MPI_FLOAT, MPI_DOUBLE, MPI_INT32_T, MPI_INT64_T, MPI_UINT16_T};
    MPI_Op const ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
    // MPI would add the bits of a bfloat16 as an integer.
    bool const reduces = what.kind == collective::reduce_scatter ||
                         what.kind == collective::all_reduce;
    if (reduces && what.type == element_type::bf16)
      throw error("mpi", "this transport does not reduce bfloat16. Reduce in float.");
    p.type = types[static_cast<int>(what.type)];
    p.op = ops[static_cast<int>(what.op)];
    narrow(what.send_counts, p.send_counts, p.send_offsets);
    narrow(what.recv_counts, p.recv_counts, p.recv_offsets);
    if (what.kind == collective::all_gather)
      p.mine = p.recv_counts[static_cast<std::size_t>(topology_.index_in_group(here_, what.axes))];
    return p;
  }

  MPI_Comm group(axis_list const& axes) {
    std::vector<signed char> const key(axes.begin(), axes.end());
    auto const found = groups_.find(key);
    if (found != groups_.end()) return found->second;
    coordinates color = here_;  // ranks that agree on every other axis
    for (auto const a : axes) color[static_cast<std::size_t>(a)] = 0;
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_split(world_, topology_.rank_of(color), topology_.index_in_group(here_, axes),
                         &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    groups_.emplace(key, comm);
    return comm;
  }

  topology topology_;
  coordinates here_{};
  MPI_Comm world_ = MPI_COMM_NULL;
  std::map<std::vector<signed char>, MPI_Comm> groups_;
};

}  // namespace ashlar::mpi
