// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Memory that the ranks of one node share: an MPI-3 shared-memory window. Each rank's part of the
// window contains, in this order:
//
//   slots    one per group of ranks: the state of this rank's transfers (shared/handshake.hpp)
//   stages   two per group of ranks: buffers for small shards
//   region   the memory for tensors, which an arena manages
//
// Either all ranks of a node have a window, or none of them has one. The ranks of a node without a
// window send each other messages. A node has no window in these cases:
//
// - The node has a single rank of the mesh, or the user asks for less than a page.
// - MPI does not support such windows, or a test of the new window fails.
// - /dev/shm has too little free memory. If the user has chosen the size of the window, every rank
//   of the mesh then throws. If the size is the default, the node's first rank prints a warning.
//
// Slots and stages alone need about one MiB per rank.
//
// When a rank destroys its mesh, it gives the pages of its region back to the system. This is safe,
// since all other ranks have finished reading the region. After keep_pages() the region stays,
// since messages from or to it may still be under way. A child process (support/fork_watch.hpp)
// leaves the region, which it shares with its parent, as it is. Slots and stages, which other ranks
// may still read, stay until the window is freed (collective_handles.hpp).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include <mpi.h>

#include <ashlar/comm/mpi/agreed_settings.hpp>
#include <ashlar/comm/mpi/collective_handles.hpp>
#include <ashlar/comm/shared/handshake.hpp>
#include <ashlar/comm/shared/pages.hpp>
#include <ashlar/comm/shared/settings.hpp>
#include <ashlar/mesh/topology.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/support/fork_watch.hpp>

namespace ashlar::mpi {

class shared_window {
 public:
  static constexpr std::size_t slot_count = 64;
  static constexpr std::size_t page = 4096;
  static constexpr std::size_t slots_bytes = slot_count * sizeof(shared::slot);  // one page
  static constexpr std::size_t pair_bytes = 2 * shared::stage_bytes;             // two stages
  static constexpr std::size_t head_bytes = slots_bytes + slot_count * pair_bytes;
  static_assert(slots_bytes % page == 0 && pair_bytes % page == 0);

  /// Creates the window. Collective over the handles' communicator, whose ranks are the ranks of
  /// the mesh. Throws ashlar::error on every rank if the settings of any rank are invalid
  /// (agreed_settings.hpp), or if a node has too little memory for the size that the user has
  /// chosen.
  shared_window(collective_handles& handles, shared::settings wanted) {
    MPI_Comm const comm = handles.comm();
    int rank = 0, ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    window_of_.assign(static_cast<std::size_t>(ranks), nullptr);
    wanted = agreed_settings(wanted, comm);
    make_node(comm, rank, wanted.ranks_per_node);
    bool const has_room = wanted.bytes_per_rank == shared::settings::automatic ||
                          wanted.bytes_per_rank >= std::int64_t(page);
    bool const is_shared = has_room && members_ > 1;
    auto const bytes = is_shared ? bytes_to_allocate(wanted) : 0;
    std::string const fault = is_shared ? missing_memory(bytes) : "";
    bool const is_default = wanted.bytes_per_rank == shared::settings::automatic;
    if (!is_default) refuse_together(fault, comm);
    if (is_shared && fault.empty()) allocate(bytes);
    if (is_default && !fault.empty()) warn_once(fault);
    if (window_ != MPI_WIN_NULL) {
      handles.keep_window(window_);
      look_up(rank);
    }
    MPI_Comm_free(&node_);
  }
  shared_window(shared_window const&) = delete;
  shared_window& operator=(shared_window const&) = delete;
  ~shared_window() {
    if (fork_.is_in_child()) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized && mine_ != nullptr && !keeps_pages_)
      shared::give_back_pages(region(), region_bytes());
  }
  /// Makes the destructor leave the region as it is. This is necessary if messages from or to the
  /// region may still be under way.
  void keep_pages() { keeps_pages_ = true; }

  /// Returns this rank's memory for tensors, or null if nothing is shared.
  std::byte* region() const { return mine_ == nullptr ? nullptr : mine_ + head_bytes; }
  std::size_t region_bytes() const { return bytes_ - head_bytes; }

  /// Returns the memory for tensors of a rank of the mesh, as an address in this process. Returns
  /// null if that rank is not on this node.
  std::byte* region_of(int rank) const {
    auto* const base = window_of_[static_cast<std::size_t>(rank)];
    return base == nullptr ? nullptr : base + head_bytes;
  }
  shared::slot* slot_of(int rank, unsigned group) const {
    return reinterpret_cast<shared::slot*>(window_of_[static_cast<std::size_t>(rank)]) + group;
  }
  /// Reserves the slots of all groups of a mesh with `axes` axes, one for each set of axes. Returns
  /// the number of the first of these slots, which are free on all ranks of `comm`. Slots with
  /// numbers from slot_count on do not exist: their groups send messages. Collective over `comm`,
  /// but the first call communicates nothing.
  unsigned reserve_slots(MPI_Comm comm, int axes) {
    unsigned first = next_slot_;
    if (first > 0) check(MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_UNSIGNED, MPI_MAX, comm));
    next_slot_ = first + (1u << axes);
    return first;
  }
  /// Obtains the pages for this rank's two stages of a group, in the first call for each group. If
  /// the system has no pages left, the slot's `stages` stays 0, and shards of this group are not
  /// staged. Other ranks may use the stages (stages_of) after the next collective call of the
  /// group's ranks.
  void obtain_stages(unsigned group) {
    if (mine_ == nullptr || (asked_ >> group & 1) != 0) return;
    asked_ |= std::uint64_t(1) << group;
    if (shared::obtain_pages(mine_ + stages_offset(group), pair_bytes) < pair_bytes) return;
    reinterpret_cast<shared::slot*>(mine_)[group].stages.store(
        shared::ranks_share_cores(ranks_on_node_) ? shared::stage_bytes
                                                  : shared::staged_by_own_core,
        std::memory_order_release);
  }
  /// Returns the two adjacent stages of a rank on this node for a group.
  std::byte* stages_of(int rank, unsigned group) const {
    return window_of_[static_cast<std::size_t>(rank)] + stages_offset(group);
  }
  /// Marks all slots of this rank as abandoned. Other ranks of this node that wait for a step of
  /// this rank then throw an error instead of waiting forever.
  void abandon(int rank) const {
    if (mine_ == nullptr) return;
    auto* const states = reinterpret_cast<shared::slot*>(mine_);
    for (std::size_t g = 0; g < slot_count; ++g) states[g].abandon(rank);
  }
  /// Returns the number of the mesh's ranks on this node, including ranks that share no memory.
  int ranks_on_node() const { return ranks_on_node_; }

 private:
  void make_node(MPI_Comm comm, int rank, int ranks_per_node) {
    check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_));
    MPI_Comm_size(node_, &ranks_on_node_);
    if (ranks_per_node > 0) {
      int local = 0;
      MPI_Comm_rank(node_, &local);
      MPI_Comm part = MPI_COMM_NULL;
      check(MPI_Comm_split(node_, local / ranks_per_node, local, &part));
      MPI_Comm_free(&node_);
      node_ = part;
    }
    MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN);
    MPI_Comm_size(node_, &members_);
  }

  /// Returns how many bytes this rank's part of the window is to have.
  std::size_t bytes_to_allocate(shared::settings const& wanted) const {
    auto const region = static_cast<std::size_t>(
        wanted.bytes_per_rank == shared::settings::automatic ? shared::automatic_bytes(members_)
                                                             : wanted.bytes_per_rank);
    return head_bytes + region / page * page;
  }

  /// Returns an error message if the node has less free shared memory than its ranks ask for
  /// together, and otherwise an empty string. All ranks of the node get the same message.
  /// Collective over the node. The check is needed because Open MPI 4.1 hangs in
  /// MPI_Win_allocate_shared if the memory is missing. Open MPI demands 5 % more free memory than
  /// the window has.
  std::string missing_memory(std::size_t bytes) const {
    auto const free = shared::free_bytes();
    double asked = double(bytes + 2 * page), most = free ? double(*free) : HUGE_VAL;
    check(MPI_Allreduce(MPI_IN_PLACE, &asked, 1, MPI_DOUBLE, MPI_SUM, node_));
    check(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MIN, node_));
    if (1.06 * asked <= most) return "";
    return "the " + std::to_string(members_) + " ranks of a node ask for " + bytes_text(asked) +
           " of shared memory, but its /dev/shm has only " + bytes_text(most) +
           " free. Free or enlarge it, or set ASHLAR_SHARED_MEMORY to fewer bytes per rank or to "
           "off.";
  }

  /// Prints that the ranks of this node share no memory. Prints this once per process, on the first
  /// rank of the node.
  void warn_once(std::string const& why) const {
    static bool was_printed = false;
    int rank = 0;
    MPI_Comm_rank(node_, &rank);
    if (rank == 0 && !was_printed)
      std::fprintf(stderr, "ashlar: WARNING: %s The ranks use messages now, which are slower.\n",
                   why.c_str());
    was_printed = true;
  }

  void allocate(std::size_t bytes) {
    // MPICH 4.0 may search page by page for addresses that are free on all ranks, which takes
    // seconds for a few GiB. It does this if the size is a multiple of a page, or if the parts may
    // be non-contiguous. So this function requests one contiguous piece, with room for alignment.
    auto const asked = static_cast<MPI_Aint>(bytes + page + alignof(shared::slot));
    void* base = nullptr;
    int const status = MPI_Win_allocate_shared(asked, 1, MPI_INFO_NULL, node_, &base, &window_);
    bool const made = status == MPI_SUCCESS;
    bool const usable = made && finds_own_part(base) &&
                        shared::obtain_pages(on_page(base), slots_bytes) == slots_bytes;
    int all[] = {made ? 1 : 0, usable ? 1 : 0};
    check(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_INT, MPI_MIN, node_));
    if (all[1] == 0) {
      if (all[0] == 1) MPI_Win_free(&window_);  // hangs unless all ranks have a window
      window_ = MPI_WIN_NULL;
      return;
    }
    check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_));
    mine_ = on_page(base);
    bytes_ = bytes;
    for (std::size_t g = 0; g < slot_count; ++g)
      ::new (mine_ + g * sizeof(shared::slot)) shared::slot;
    check(MPI_Win_sync(window_));
    check(MPI_Barrier(node_));  // nobody reads a slot before it is constructed
    check(MPI_Win_sync(window_));
  }

  /// Returns the start of the first page inside a rank's part. This start is the same byte of
  /// shared memory in all processes, because processes map whole pages.
  static std::byte* on_page(void* part) {
    auto const skip = (page - reinterpret_cast<std::uintptr_t>(part) % page) % page;
    return static_cast<std::byte*>(part) + skip;
  }

  /// Returns whether MPI_Win_shared_query gives the right address for this rank's part. In SimGrid
  /// 3.32 this function always gives the first rank's part.
  bool finds_own_part(void const* base) const {
    int rank = 0, unit = 0;
    MPI_Aint size = 0;
    void* found = nullptr;
    MPI_Comm_rank(node_, &rank);
    return MPI_Win_shared_query(window_, rank, &size, &unit, &found) == MPI_SUCCESS &&
           found == base;
  }

  /// Finds the addresses of the parts of all ranks of this node.
  void look_up(int rank) {
    std::vector<int> mesh_rank(static_cast<std::size_t>(members_));
    check(MPI_Allgather(&rank, 1, MPI_INT, mesh_rank.data(), 1, MPI_INT, node_));
    for (int i = 0; i < members_; ++i) {
      MPI_Aint size = 0;
      int unit = 0;
      void* base = nullptr;
      check(MPI_Win_shared_query(window_, i, &size, &unit, &base));
      auto const at = static_cast<std::size_t>(mesh_rank[static_cast<std::size_t>(i)]);
      window_of_[at] = on_page(base);
    }
  }

  static constexpr std::size_t stages_offset(unsigned group) {
    return slots_bytes + group * pair_bytes;
  }

  MPI_Comm node_ = MPI_COMM_NULL;  // only used during construction
  int members_ = 1;                // number of ranks in node_
  int ranks_on_node_ = 1;
  MPI_Win window_ = MPI_WIN_NULL;
  std::byte* mine_ = nullptr;
  std::size_t bytes_ = head_bytes;
  std::vector<std::byte*> window_of_;
  unsigned next_slot_ = 0;
  std::uint64_t asked_ = 0;  // bit mask of groups for which obtain_stages was called
  static_assert(slot_count <= 64);
  bool keeps_pages_ = false;
  fork_watch fork_;
};

}  // namespace ashlar::mpi
