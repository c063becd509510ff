// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The communicator on MPI. For each transfer:
//
//   all members on one node, all shards in their windows   direct (shared/direct_transfer.hpp)
//   else                                                   messages (message_transfer.hpp), by the
//                                                          algorithm that choice.hpp takes
//
// A member whose shard came from the heap says so in the handshake, and all members turn to messages
// together. Group communicators are made when opened (MPI_Comm_split over the whole mesh, so every
// rank must come by) and kept.

#include <exception>
#include <thread>
#include <unordered_map>
#include <variant>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/mpi/choice_file.hpp>
#include <ashlar/comm/mpi/message_transfer.hpp>
#include <ashlar/comm/mpi/shared_window.hpp>
#include <ashlar/comm/shared/direct_transfer.hpp>

namespace ashlar::mpi {

class communicator final : public ashlar::communicator {
 public:
  /// Expects: `comm` has as many ranks as `t`. Duplicates it, so that messages never mix with the
  /// program's own. `memory` is where the shards come from; it and `order` outlive this.
  communicator(MPI_Comm comm, topology const& t, shared_window const& window, arena& memory,
               progress& order)
      : topology_(t), window_(&window), memory_(&memory), order_(&order) {
    choices_ = choices_from_environment(comm);
    MPI_Comm_dup(comm, &world_);
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);  // check() throws instead
    int rank = 0;
    MPI_Comm_rank(world_, &rank);
    here_ = t.coordinates_of(rank);
    int const cores = static_cast<int>(std::thread::hardware_concurrency());
    patience_ = window.ranks_on_node() <= cores ? 2000 : 1;
  }
  ~communicator() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    for (auto& [key, g] : groups_) MPI_Comm_free(&g.comm);
    MPI_Comm_free(&world_);
  }

  void open(axis_list const& axes) override { group_of(axes); }

  void run(shipment const& s) override {
    wait_until([&] { return order_->is_turn_of(s.what->axes, s.ticket); });
    auto const& g = group_of(s.what->axes);
    if (g.is_on_node) {
      auto direct = start_direct(s, g);
      wait_until([&] { return direct.advance(); });
      if (direct.must_be_messages()) run_messages(s, g);
    } else {
      run_messages(s, g);
    }
    order_->end(s.what->axes);
  }

  std::unique_ptr<progressing> start(shipment const& s) override {
    auto pending = std::make_unique<pending_transfer>(*this, s);
    pending->advance();
    return pending;
  }

  void barrier() override { check(MPI_Barrier(world_)); }

 private:
  /// The ranks that differ along a list of axes, in the list's order.
  struct group {
    MPI_Comm comm = MPI_COMM_NULL;
    bool is_on_node = false;
    spread where = spread::one_node;
    shared::neighbourhood neighbours;
  };

  /// A transfer under way: waits for its turn, then goes direct or as messages.
  class pending_transfer final : public progressing {
   public:
    pending_transfer(communicator& owner, shipment const& s)
        : owner_(&owner), shipment_(s), group_(&owner.group_of(s.what->axes)) {
      owner.order_->add(*this);
    }
    ~pending_transfer() override {
      if (std::uncaught_exceptions() == 0) owner_->wait_until([&] { return advance(); });
      if (!done_) owner_->order_->abandon();
      owner_->order_->remove(*this);
    }

    bool advance() override {
      if (done_) return true;
      if (std::holds_alternative<std::monostate>(way_)) {
        if (!owner_->order_->is_turn_of(shipment_.what->axes, shipment_.ticket)) return false;
        if (group_->is_on_node) way_ = owner_->start_direct(shipment_, *group_);
        else begin_messages();
      }
      if (auto* const direct = std::get_if<shared::direct_transfer>(&way_)) {
        if (!direct->advance()) return false;
        if (direct->must_be_messages()) begin_messages();
      }
      if (auto* const under_way = std::get_if<messages>(&way_))
        if (!(*under_way)->advance()) return false;
      way_ = std::monostate{};
      done_ = true;
      owner_->order_->end(shipment_.what->axes);
      return true;
    }

   private:
    using messages = std::unique_ptr<message_transfer>;

    void begin_messages() { way_ = owner_->start_messages(shipment_, *group_); }

    communicator* owner_;
    shipment shipment_;
    group const* group_;
    bool done_ = false;
    std::variant<std::monostate, shared::direct_transfer, messages> way_;
  };

  template <class Condition>
  void wait_until(Condition ended) {
    for (int asked = 0; !ended(); ++asked) {
      order_->poll();
      if (asked % 128 == 127) let_messages_go_on();
      if (asked >= patience_) std::this_thread::yield();
    }
  }

  shared::direct_transfer start_direct(shipment const& s, group const& g) {
    return {*s.what,
            s.type,
            g.neighbours,
            s.ticket,
            s.target,
            memory_->offset_in_region(s.source),
            memory_->offset_in_region(s.target)};
  }

  std::unique_ptr<message_transfer> start_messages(shipment const& s, group const& g) {
    return std::make_unique<message_transfer>(*s.what, element_pointer(s.source, s.type),
                                              element_pointer(s.target, s.type), g.comm, *memory_,
                                              choose(choices_, *s.what, s.type, g.where));
  }

  void run_messages(shipment const& s, group const& g) {
    message_transfer messages(*s.what, {s.source, s.type}, {s.target, s.type}, g.comm, *memory_,
                              choose(choices_, *s.what, s.type, g.where));
    if (order_->idle()) messages.wait();
    else wait_until([&] { return messages.advance(); });
  }

  static std::uint32_t key_of(axis_list const& axes) {
    std::uint32_t key = 1;
    for (auto const a : axes) key = key * 8 + static_cast<std::uint32_t>(a);
    return key;
  }

  group const& group_of(axis_list const& axes) {
    auto const found = groups_.find(key_of(axes));
    if (found != groups_.end()) return found->second;
    group g;
    coordinates color = here_;  // ranks that agree on every other axis
    for (auto const a : axes) color[static_cast<std::size_t>(a)] = 0;
    check(MPI_Comm_split(world_, topology_.rank_of(color), topology_.index_in_group(here_, axes),
                         &g.comm));
    MPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
    g.is_on_node = true;
    g.where = spread_of(topology_, axes);
    unsigned const slot = progress::group_of(axes);
    for (int j = 0; j < topology_.group_size(axes); ++j) {
      int const rank = topology_.rank_of(topology_.member(here_, axes, j));
      auto* const region = window_->region_of(rank);
      if (region == nullptr) {
        g.is_on_node = false;
        break;
      }
      g.neighbours.windows.push_back(region);
      g.neighbours.slots.push_back(window_->slot_of(rank, slot));
    }
    return groups_.emplace(key_of(axes), std::move(g)).first->second;
  }

  topology topology_;
  choice_table choices_;
  shared_window const* window_;
  arena* memory_;
  progress* order_;
  coordinates here_{};
  int patience_ = 1;  // how often a waiting rank asks again before it gives its core away
  MPI_Comm world_ = MPI_COMM_NULL;
  std::unordered_map<std::uint32_t, group> groups_;
};

}  // namespace ashlar::mpi
