// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A mesh at run time: a topology, this rank's place on it, the transport, the memory, and the
// machine that plans are priced for. A cheap handle: copies are the same mesh.
//
//   mesh(env.world(), {{"node", 2}, {"gpu", 2}})   product of extents = number of ranks
//
// Plans are made once and kept (plan_cache.hpp). The time spent in exchanges is summed up for
// progress reports.

#include <bit>
#include <chrono>
#include <memory>
#include <string>

#include <ashlar/comm/arena.hpp>
#include <ashlar/comm/counting.hpp>
#include <ashlar/comm/mpi/communicator.hpp>
#include <ashlar/comm/plan_cache.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar {

class mesh {
 public:
  /// Collective over `comm`. Throws ashlar::error on every rank if the ranks do not match.
  mesh(MPI_Comm comm, topology const& t, machine const& m = machines::workstation)
      : state_(std::make_shared<state>()) {
    int size = 0, rank = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    if (t.ranks() != size)
      throw error("mesh", to_string(t) + " has " + std::to_string(t.ranks()) +
                              " ranks but the program runs on " + std::to_string(size) +
                              ". Start it with mpirun -n " + std::to_string(t.ranks()) +
                              ", or give a mesh whose extents multiply to " + std::to_string(size) +
                              ".");
    state_->shape = t;
    state_->rank = rank;
    state_->here = t.coordinates_of(rank);
    state_->priced_on = m;
    state_->plain = state_->transport = std::make_shared<mpi::communicator>(comm, t);
    set_machine(m);
  }
  mesh(MPI_Comm comm, std::initializer_list<mesh_axis> axes,
       machine const& m = machines::workstation)
      : mesh(comm, ashlar::topology(axes), m) {}

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
    std::int64_t const count = 2;
    // The maximum of a number and of its complement: they complement each other if all are equal.
    std::int64_t both[2] = {static_cast<std::int64_t>(value), static_cast<std::int64_t>(~value)};
    exchange e;
    e.kind = collective::all_reduce;
    for (int a = 0; a < axes(); ++a) e.axes.push_back(static_cast<signed char>(a));
    e.type = element_type::i64;
    e.op = reduction::max;
    e.recv = both;
    e.recv_counts = {&count, 1};
    state_->plain->run(e);
    if (both[0] != ~both[1])
      throw error(operation, std::string(fault) + ". All ranks of a mesh must agree on it.");
  }

  /// Carries an exchange and adds its time to communication_seconds().
  void run(exchange const& what) const {
    refuse_if_forbidden(what);
    auto const start = std::chrono::steady_clock::now();
    state_->transport->run(what);
    state_->seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  /// Begins an exchange. Its time is not in communication_seconds().
  std::unique_ptr<pending_exchange> start(exchange const& what) const {
    refuse_if_forbidden(what);
    return state_->transport->start(what);
  }
  void barrier() const { state_->transport->barrier(); }

  double communication_seconds() const { return state_->seconds; }

  /// The plan of a redistribution, from the cache.
  redistribution_plan const& plan(shape const& extents, int element_size, placement const& from,
                                  placement const& to) const {
    return state_->plans.redistribution(extents, element_size, from, to, topology(), machine());
  }

  /// The plans of this mesh; matmul keeps its own there.
  plan_cache& plans() const { return state_->plans; }

  friend bool operator==(mesh const& a, mesh const& b) { return a.state_ == b.state_; }

 private:
  friend class communication_log;
  friend class no_communication;

  struct state {
    ashlar::topology shape;
    int rank = 0;
    coordinates here{};
    ashlar::machine priced_on;
    arena memory;
    std::shared_ptr<communicator> plain;      // without decorators
    std::shared_ptr<communicator> transport;  // the same, perhaps decorated
    plan_cache plans;
    double seconds = 0;
    bool forbidden = false;
  };

  static std::uint64_t fingerprint(ashlar::machine const& m) {
    std::uint64_t h = std::bit_cast<std::uint64_t>(m.memory);
    for (double const v :
         {m.intra.alpha, m.intra.beta, m.inter.alpha, m.inter.beta, m.flops, m.memory_bandwidth})
      h = (h ^ std::bit_cast<std::uint64_t>(v)) * 1099511628211ull;
    return h;
  }

  void refuse_if_forbidden(exchange const& what) const {
    if (state_->forbidden)
      throw error("mesh", std::string("communication is forbidden here, but ") +
                              to_string(what.kind) + " along " + to_string(what.axes, topology()) +
                              " was asked for.");
  }

  std::shared_ptr<state> state_;
};

/// Records every exchange of a mesh while it lives.
class communication_log {
 public:
  explicit communication_log(mesh const& m)
      : mesh_(m), counter_(std::make_shared<counting_communicator>(m.state_->transport,
                                                                   m.topology(), m.here())) {
    mesh_.state_->transport = counter_;
  }
  communication_log(communication_log const&) = delete;
  communication_log& operator=(communication_log const&) = delete;
  ~communication_log() { mesh_.state_->transport = counter_->inner(); }

  std::vector<collective_record> const& records() const { return counter_->records(); }
  void clear() { counter_->clear(); }
  std::int64_t received_bytes() const {
    std::int64_t bytes = 0;
    for (auto const& r : records()) bytes += r.received_bytes;
    return bytes;
  }

 private:
  mesh mesh_;
  std::shared_ptr<counting_communicator> counter_;
};

/// Makes every exchange of a mesh an error while it lives.
class no_communication {
 public:
  explicit no_communication(mesh const& m) : mesh_(m), before_(m.state_->forbidden) {
    mesh_.state_->forbidden = true;
  }
  no_communication(no_communication const&) = delete;
  no_communication& operator=(no_communication const&) = delete;
  ~no_communication() { mesh_.state_->forbidden = before_; }

 private:
  mesh mesh_;
  bool before_;
};

}  // namespace ashlar
