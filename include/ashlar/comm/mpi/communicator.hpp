// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The transport on MPI. It carries out each transfer in one of three ways:
//
//   condition                                             way
//   all members on one node, all shards small             eager (shared/eager_transfer.hpp)
//   all members on one node, all shards in shared memory  direct (shared/direct_transfer.hpp)
//   otherwise                                             messages (message_transfer.hpp) by an
//                                                         algorithm of algorithm_table.hpp
//
// If a member's shard is on the heap, the handshake reports this to the other members, and all
// members use messages for this transfer. open() creates the MPI communicator of a group and keeps
// it. open() calls MPI_Comm_split over the whole mesh, so every rank of the mesh must call open().

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/group_split.hpp>
#include <ashlar/comm/mpi/algorithm_table.hpp>
#include <ashlar/comm/mpi/collective_handles.hpp>
#include <ashlar/comm/mpi/message_transfer.hpp>
#include <ashlar/comm/mpi/shared_window.hpp>
#include <ashlar/comm/mpi/waiting.hpp>
#include <ashlar/comm/shared/direct_transfer.hpp>
#include <ashlar/comm/shared/eager_transfer.hpp>
#include <ashlar/support/exception_watch.hpp>

namespace ashlar::mpi {

class communicator final : public ashlar::communicator {
 public:
  /// The communicator `comm` must have as many ranks as `t`. `algorithms` must be the same on all
  /// ranks. `memory` is the arena in which the shards are allocated. All arguments passed by
  /// reference must outlive this object. If this is the transport of a part of a mesh, rank i of
  /// the part is rank ranks[i] of the whole mesh.
  communicator(MPI_Comm comm, collective_handles& handles, topology const& t, shared_window& window,
               arena& memory, operation_queue& operations, watch::flight_record& record,
               waiting const& wait, algorithm_table algorithms, std::vector<int> ranks = {})
      : topology_(t), algorithms_(std::move(algorithms)), comm_(comm), ranks_(std::move(ranks)),
        handles_(&handles), window_(&window), memory_(&memory), operations_(&operations),
        record_(&record), waiting_(&wait) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    here_ = t.coordinates_of(rank);
    first_slot_ = window.reserve_slots(comm, t.axes());
    if (!ranks_.empty()) part_ = record.add_part(t, ranks_, rank);
  }

  /// Returns the table by which the algorithms of messages are chosen.
  algorithm_table const& algorithms() const { return algorithms_; }

  void open(axis_list const& axes) override { group_of(axes); }

  void run(transfer_request const& s) override {
    std::uint64_t number = 0;
    try {
      waiting_->until([&] { return operations_->is_turn_of(s.what->axes, s.ticket); });
      auto const& g = group_of(s.what->axes);
      number = record_->began(s, part_);
      if (goes_eager(s, g)) {
        auto eager = start_eager(s, g);
        waiting_->until([&] { return eager.advance(); });
      } else if (!g.is_on_node || !run_direct(s, g)) {
        run_messages(s, g);
      }
    } catch (...) {
      operations_->abandon();
      throw;
    }
    record_->ended(number);
    operations_->end(s.what->axes);
  }

  std::unique_ptr<pending_operation> start(transfer_request const& s) override {
    auto pending = std::make_unique<pending_transfer>(*this, s);
    pending->advance();
    return pending;
  }

  void barrier() override {
    auto const number = record_->began("a barrier", part_);
    meet();
    record_->ended(number);
  }

 private:
  /// A group of ranks that differ only along a list of axes. The ranks are numbered in row-major
  /// order of these axes.
  struct group {
    MPI_Comm comm = MPI_COMM_NULL;
    bool is_on_node = false;
    spread where = spread::one_node;
    shared::neighbourhood neighbours;
  };

  /// A pending transfer. It waits for its turn and then proceeds in one of three ways: eager,
  /// direct or by messages.
  class pending_transfer final : public pending_operation {
   public:
    pending_transfer(communicator& owner, transfer_request const& s)
        : owner_(&owner), request_(s), group_(&owner.group_of(s.what->axes)) {
      owner.operations_->add(*this);
    }
    ~pending_transfer() override {
      auto& operations = *owner_->operations_;
      if (!done_ && !watch_.is_passing() && !operations.is_abandoned()) try {
          owner_->waiting_->until([&] { return advance(); });
        } catch (...) {  // the next transfer reports that the mesh is abandoned
        }
      if (!done_) {
        if (std::holds_alternative<shared::direct_transfer>(way_)) owner_->memory_->retire();
        operations.abandon();
      }
      operations.remove(*this);
    }

    bool advance() override {
      if (done_) return true;
      if (std::holds_alternative<std::monostate>(way_)) {
        if (!owner_->operations_->is_turn_of(request_.what->axes, request_.ticket)) return false;
        number_ = owner_->record_->began(request_, owner_->part_);
        if (goes_eager(request_, *group_)) way_ = owner_->start_eager(request_, *group_);
        else if (group_->is_on_node) way_ = owner_->start_direct(request_, *group_);
        else begin_messages();
      }
      if (auto* const eager = std::get_if<shared::eager_transfer>(&way_))
        if (!eager->advance()) return false;
      if (auto* const direct = std::get_if<shared::direct_transfer>(&way_)) {
        if (!direct->advance()) return false;
        if (direct->must_be_messages()) begin_messages();
      }
      if (auto* const messages = std::get_if<message_transfer>(&way_))
        if (!messages->advance()) return false;
      way_.emplace<std::monostate>();
      done_ = true;
      owner_->record_->ended(number_);
      owner_->operations_->end(request_.what->axes);
      return true;
    }

   private:
    void begin_messages() {
      auto const& s = request_;
      way_.emplace<message_transfer>(*s.what, element_pointer(s.source, s.type),
                                     element_pointer(s.target, s.type), group_->comm,
                                     *owner_->memory_, owner_->algorithm_for(s, *group_));
    }

    communicator* owner_;
    transfer_request request_;
    group const* group_;
    bool done_ = false;
    std::uint64_t number_ = 0;  // its number in the flight record
    exception_watch watch_;
    std::variant<std::monostate, shared::eager_transfer, shared::direct_transfer, message_transfer>
        way_;
  };

  /// Waits until all ranks of the mesh have called meet(). Meanwhile this rank advances its pending
  /// transfers and crossings and handles letters, for which other ranks may wait before they call
  /// meet(). All ranks call MPI_Ibarrier, and each chooses by itself how it waits.
  void meet() {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm_, &request));
    if (!operations_->needs_polling()) {
      watch::flight_record::waiting const noted(*record_);
      check(MPI_Wait(&request, MPI_STATUS_IGNORE));
      return;
    }
    waiting_->until([&] {
      int ended = 0;
      check(MPI_Test(&request, &ended, MPI_STATUS_IGNORE));
      return ended != 0;
    });
  }

  static bool goes_eager(transfer_request const& s, group const& g) {
    return g.is_on_node && shared::eager_transfer::carries(*s.what, s.type, g.neighbours);
  }
  shared::eager_transfer start_eager(transfer_request const& s, group const& g) {
    return {*s.what, s.type, g.neighbours, s.ticket, s.source, s.target};
  }
  shared::direct_transfer start_direct(transfer_request const& s, group const& g) {
    return {*s.what,
            s.type,
            g.neighbours,
            s.ticket,
            s.target,
            memory_->offset_in_region(s.source),
            memory_->offset_in_region(s.target)};
  }

  /// Carries out a transfer directly in shared memory. Returns false if it must be sent as
  /// messages.
  bool run_direct(transfer_request const& s, group const& g) {
    auto direct = start_direct(s, g);
    try {
      waiting_->until([&] { return direct.advance(); });
    } catch (...) {
      memory_->retire();  // others may still read the source
      throw;
    }
    return !direct.must_be_messages();
  }

  algorithm algorithm_for(transfer_request const& s, group const& g) const {
    return choose(algorithms_, *s.what, s.type, g.where);
  }

  void run_messages(transfer_request const& s, group const& g) {
    message_transfer messages(*s.what, {s.source, s.type}, {s.target, s.type}, g.comm, *memory_,
                              algorithm_for(s, g));
    if (!operations_->needs_polling()) {
      watch::flight_record::waiting const noted(*record_);
      messages.wait();
    } else {
      waiting_->until([&] { return messages.advance(); });
    }
  }

  static std::uint32_t key_of(axis_list const& axes) {
    std::uint32_t key = 1;
    for (auto const a : axes) key = key * 8 + static_cast<std::uint32_t>(a);
    return key;
  }

  group const& group_of(axis_list const& axes) {
    auto const found = groups_.find(key_of(axes));
    if (found != groups_.end()) return found->second;
    auto const number = record_->began("the creation of groups of ranks", part_);
    meet();  // since a rank that waits in MPI_Comm_split does nothing for other ranks
    watch::flight_record::waiting const noted(*record_);
    group g;
    // Groups along the same axes in another order share tickets, and therefore a slot.
    unsigned const slot = first_slot_ + set_of(axes);
    bool const has_slot = slot < shared_window::slot_count;
    if (has_slot) window_->obtain_stages(slot);
    auto const split = split_of(topology_, here_, axes);
    check(MPI_Comm_split(comm_, split.color, split.key, &g.comm));
    handles_->keep_communicator(g.comm);
    g.is_on_node = has_slot;
    g.where = spread_of(topology_, axes);
    auto& neighbours = g.neighbours;
    neighbours.most_staged = shared::stage_bytes;
    for (int j = 0; j < topology_.group_size(axes) && g.is_on_node; ++j) {
      int rank = topology_.rank_of(topology_.member(here_, axes, j));
      if (!ranks_.empty()) rank = ranks_[static_cast<std::size_t>(rank)];
      auto* const region = window_->region_of(rank);
      if (region == nullptr) {
        g.is_on_node = false;
        continue;
      }
      neighbours.ranks.push_back(rank);
      neighbours.windows.push_back(region);
      neighbours.states.push_back(window_->slot_of(rank, slot));
      neighbours.stages.push_back(window_->stages_of(rank, slot));
      neighbours.most_staged = std::min(
          neighbours.most_staged, neighbours.states.back()->stages.load(std::memory_order_acquire));
    }
    record_->ended(number);
    return groups_.emplace(key_of(axes), std::move(g)).first->second;
  }

  topology topology_;
  algorithm_table algorithms_;
  MPI_Comm comm_;
  std::vector<int> ranks_;  // for each rank of a part, its number on the whole mesh
  int part_ = 0;            // number of this part in the flight record
  collective_handles* handles_;
  shared_window* window_;
  arena* memory_;
  operation_queue* operations_;
  watch::flight_record* record_;
  waiting const* waiting_;
  coordinates here_{};
  std::unordered_map<std::uint32_t, group> groups_;
  unsigned first_slot_;  // number of this mesh's first slot in the shared window
};

}  // namespace ashlar::mpi
