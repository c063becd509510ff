// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A mesh at run time: a topology, this rank's place on it, the transport, the memory, and the
// machine that plans are priced for. A cheap handle: copies are the same mesh.
//
//   mesh(env.world(), {{"node", 2}, {"gpu", 2}})   product of extents = number of ranks
//
// The ranks of a node share the memory of its tensors unless told otherwise (shared/settings.hpp).
// That memory goes back when the last handle ends, and every tensor holds one. Meshes are made by all
// their ranks in the same order; they may end in any (mpi/collective_handles.hpp).
// Plans are made once and kept (plan_cache.hpp). The time that the program spends in transfers, waiting
// or copying, is summed up for progress reports.

#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>
#include <span>
#include <string>

#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/buffer.hpp>
#include <ashlar/comm/mpi/communicator.hpp>
#include <ashlar/comm/plan_cache.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar {

class mesh {
 public:
  /// Collective over `comm`. Throws ashlar::error on every rank if the number of ranks is another, if
  /// machines differ, or if what one rank is told of shared memory is wrong.
  mesh(MPI_Comm comm, ashlar::topology const& t, ashlar::machine const& m = machines::workstation,
       shared::settings const& sharing = shared::from_environment()) {
    int size = 0, rank = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    if (t.ranks() != size)
      throw error("mesh", to_string(t) + " has " + std::to_string(t.ranks()) +
                              " ranks but the program runs on " + std::to_string(size) +
                              ". Start it with mpirun -n " + std::to_string(t.ranks()) +
                              ", or give a mesh whose extents multiply to " + std::to_string(size) +
                              ".");
    state_ = std::make_shared<state>(comm, sharing);
    state_->shape = t;
    state_->rank = rank;
    state_->here = t.coordinates_of(rank);
    state_->priced_on = m;
    state_->plain = state_->transport = std::make_shared<mpi::communicator>(
        state_->handles, t, state_->window, state_->memory, state_->order, state_->waiting);
    set_machine(m);
  }
  mesh(MPI_Comm comm, std::initializer_list<mesh_axis> axes,
       ashlar::machine const& m = machines::workstation,
       shared::settings const& sharing = shared::from_environment())
      : mesh(comm, ashlar::topology(axes), m, sharing) {}

  ashlar::topology const& topology() const { return state_->shape; }
  coordinates const& here() const { return state_->here; }
  int rank() const { return state_->rank; }
  int ranks() const { return state_->shape.ranks(); }
  int axes() const { return state_->shape.axes(); }
  ashlar::machine const& machine() const { return state_->priced_on; }
  /// Prices plans for `m` from now on. Collective over the mesh; throws on every rank if the ranks
  /// do not all give the same machine, since they would then choose different plans and wait for ever.
  void set_machine(ashlar::machine const& m) const {
    require_agreement(fingerprint(m), "mesh", "the ranks give different machines");
    state_->priced_on = m;
    state_->plans.clear();
  }
  arena& memory() const { return state_->memory; }
  std::shared_ptr<arena> shared_memory() const { return {state_, &state_->memory}; }

  /// Throws ashlar::error on every rank unless all have the same `value`. Collective over the mesh:
  /// one all-reduce of 16 bytes, which logs do not see.
  void require_agreement(std::uint64_t value, char const* operation, char const* fault) const {
    // The maximum of a number and of its complement: they complement each other if all are equal.
    std::int64_t both[2] = {static_cast<std::int64_t>(value), static_cast<std::int64_t>(~value)};
    reduce(*state_->plain, std::span<std::int64_t>(both), reduction::max);
    if (both[0] != ~both[1])
      throw error(operation, std::string(fault) + ". All ranks of a mesh must agree on it.");
  }

  /// Replaces `values`, as many on every rank, by their sums (maxima, minima) over all ranks.
  /// Collective over the mesh: one all-reduce.
  template <class T>
  void all_reduce(std::span<T> values, reduction op = reduction::sum) const {
    refuse_if_forbidden(collective::all_reduce, all_axes());
    auto const timed = time();
    reduce(*state_->transport, values, op);
  }

  /// Carries a transfer to its end and adds its time to communication_seconds().
  void run(transfer const& what, element_type type, void const* source, void* target) const {
    refuse_if_forbidden(what.kind, what.axes);
    auto const timed = time();
    state_->transport->run({&what, type, source, target, state_->order.take_ticket(what.axes)});
  }

  /// A turn for a transfer that is started later: all ranks take their turns in the same order.
  /// Where communication is forbidden this throws, not start(): a turn once taken is waited for.
  std::uint64_t take_ticket(transfer const& what) const {
    refuse_if_forbidden(what.kind, what.axes);
    state_->transport->open(what.axes);
    return state_->order.take_ticket(what.axes);
  }
  /// Begins a transfer. This and what follows adds its time to communication_seconds().
  std::unique_ptr<progressing> start(shipment const& s) const {
    auto const timed = time();
    return state_->transport->start(s);
  }
  /// Lets something that is under way go on. True when it has ended.
  bool test(progressing& p) const {
    auto const timed = time();
    return p.advance();
  }
  /// Waits for its end.
  void wait(progressing& p) const {
    auto const timed = time();
    state_->waiting.until([&] { return p.advance(); });
  }
  /// The transfers under way.
  ashlar::progress& order() const { return state_->order; }
  /// Lets all transfers under way go on: worth calling now and then in a long computation.
  void progress() const {
    if (state_->order.idle()) return;
    auto const timed = time();
    state_->order.poll();
  }

  void barrier() const { state_->transport->barrier(); }

  double communication_seconds() const { return state_->seconds; }

  /// The plan of a redistribution, from the cache.
  redistribution_plan plan(shape const& extents, int element_size, placement const& from,
                           placement const& to) const {
    return prepared(extents, element_size, from, to)->plan;
  }
  /// The same with what this rank does in each step. The reference is good until the next plan is
  /// asked for; a copy of the pointer for as long as it lives.
  std::shared_ptr<prepared_plan const> const& prepared(shape const& extents, int element_size,
                                                       placement const& from,
                                                       placement const& to) const {
    return state_->plans.redistribution(extents, element_size, from, to, topology(), machine(),
                                        here());
  }

  /// The plans of this mesh; matmul keeps its own there.
  plan_cache& plans() const { return state_->plans; }

  friend bool operator==(mesh const& a, mesh const& b) { return a.state_ == b.state_; }

 private:
  friend class communication_log;
  friend class no_communication;

  struct state {
    state(MPI_Comm comm, shared::settings const& sharing)
        : handles(comm), window(handles, sharing), memory(window.region(), window.region_bytes()),
          waiting(order, window.ranks_on_node()) {}
    ~state() {
      if (!memory.is_retired()) return;
      handles.keep_forever();
      window.keep_pages();
    }

    ashlar::topology shape;
    int rank = 0;
    coordinates here{};
    ashlar::machine priced_on;
    mpi::collective_handles handles;
    mpi::shared_window window;
    arena memory;
    ashlar::progress order;
    mpi::waiting waiting;
    std::shared_ptr<communicator> plain;      // without decorators
    std::shared_ptr<communicator> transport;  // the same, perhaps decorated
    plan_cache plans;
    double seconds = 0;
    bool is_timed = false;  // already, by a caller
    bool forbidden = false;
  };

  static std::uint64_t fingerprint(ashlar::machine const& m) {
    std::uint64_t h = std::bit_cast<std::uint64_t>(m.memory);
    auto const add = [&](auto v) { h = (h ^ std::bit_cast<std::uint64_t>(v)) * 1099511628211ull; };
    auto const add_link = [&](link const& l) { add(l.alpha), add(l.beta); };
    add_link(m.intra), add_link(m.inter);
    add(m.flops), add(m.memory_bandwidth), add(m.gemm_half);
    for (auto const* links : {&m.intra_of, &m.inter_of}) {
      add(std::uint64_t(links->given));
      for (link const& l : links->of) add_link(l);
    }
    return h;
  }

  void refuse_if_forbidden(collective kind, axis_list const& axes) const {
    if (state_->forbidden)
      throw error("mesh", std::string("communication is forbidden here, but ") + to_string(kind) +
                              " along " + to_string(axes, topology()) + " was asked for.");
  }

  axis_list all_axes() const {
    axis_list all;
    for (int a = 0; a < axes(); ++a) all.push_back(static_cast<signed char>(a));
    return all;
  }

  /// Adds the time until it goes to communication_seconds(), unless one around it does.
  class timer {
   public:
    explicit timer(state& s) : state_(s.is_timed ? nullptr : &s) {
      s.is_timed = true;
      if (state_ != nullptr) start_ = clock::now();
    }
    timer(timer const&) = delete;
    ~timer() {
      if (state_ == nullptr) return;
      state_->seconds += std::chrono::duration<double>(clock::now() - start_).count();
      state_->is_timed = false;
    }

   private:
    using clock = std::chrono::steady_clock;
    state* state_;
    clock::time_point start_;
  };
  timer time() const { return timer(*state_); }

  template <class T>
  void reduce(communicator& transport, std::span<T> values, reduction op) const {
    auto const all = all_axes();
    auto const count = static_cast<std::int64_t>(values.size());
    auto const what = flat_all_reduce(count, all, topology(), here(), op);
    // In the arena, so that neighbours can read it.
    buffer<T> const source(state_->memory, count), target(state_->memory, count);
    std::copy(values.begin(), values.end(), source.data());
    transport.run(
        {&what, element_type_of<T>, source.data(), target.data(), state_->order.take_ticket(all)});
    std::copy(target.data(), target.data() + count, values.begin());
  }

  std::shared_ptr<state> state_;
};

}  // namespace ashlar
