// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer as one call of the MPI library, where algorithm_table.hpp allows it.
//
//   all_gather       MPI_Iallgatherv in place, after copying this rank's block into the target
//   reduce_scatter   MPI_Ireduce_scatter
//   all_reduce       MPI_Iallreduce
//
// The call is always non-blocking, even if the caller waits at once. A member that does not wait at
// once must use the non-blocking call, and MPI does not match a blocking collective with its
// non-blocking counterpart. So all members use the non-blocking one. Some networks also offload
// non-blocking calls.

#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/element_pointer.hpp>
#include <ashlar/comm/mpi/check.hpp>
#include <ashlar/comm/transfer.hpp>

namespace ashlar::mpi {

class library_collective {
 public:
  /// Begins the transfer. Collective over `comm`. Requires that may_carry(algorithm::library, …) is
  /// true for the transfer.
  library_collective(transfer const& x, element_pointer source, element_pointer target,
                     MPI_Comm comm, arena& memory)
      : memory_(&memory) {
    auto const type = datatype_of(source.type());
    if (x.kind == collective::all_reduce) {
      bool const in_place = source == target;
      check(MPI_Iallreduce(in_place ? MPI_IN_PLACE : source.at, target.at,
                           static_cast<int>(x.from.elements()), type, operation_of(x.op), comm,
                           &request_));
      return;
    }
    auto const p = static_cast<std::size_t>(x.members);
    bytes_ = 2 * p * sizeof(int);
    counts_ = static_cast<int*>(memory.allocate(bytes_));  // MPI may read the counts until the end
    int* const offsets = counts_ + p;
    auto const& blocks = x.kind == collective::all_gather ? x.receives : x.sends;
    for (std::size_t j = 0; j < p; ++j) {
      counts_[j] = static_cast<int>(blocks[j].elements);
      offsets[j] = static_cast<int>(blocks[j].target_offset);
    }
    if (x.kind == collective::all_gather) {
      auto const& mine = x.receives[static_cast<std::size_t>(x.index)];
      copy(mine, source, target);
      check(MPI_Iallgatherv(MPI_IN_PLACE, 0, type, target.at, counts_, offsets, type, comm,
                            &request_));
    } else {
      check(MPI_Ireduce_scatter(source.at, target.at, counts_, type, operation_of(x.op), comm,
                                &request_));
    }
  }
  library_collective(library_collective const&) = delete;
  library_collective& operator=(library_collective const&) = delete;
  ~library_collective() {
    if (request_ != MPI_REQUEST_NULL) memory_->retire();
    if (counts_ != nullptr) memory_->release(counts_, bytes_);
  }

  bool advance() {
    int complete = 0;
    check(MPI_Test(&request_, &complete, MPI_STATUS_IGNORE));
    return complete != 0;
  }
  void wait() { check(MPI_Wait(&request_, MPI_STATUS_IGNORE)); }

 private:
  arena* memory_;
  std::size_t bytes_ = 0;
  int* counts_ = nullptr;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace ashlar::mpi
