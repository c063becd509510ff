// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A mesh at run time: a topology, this rank's place on it, the transport, the memory, and the
// machine that plans are priced for. A cheap handle: copies are the same mesh.
//
//   mesh(env.world(), {{"node", 2}, {"gpu", 2}})   product of extents = number of ranks
//
// `mesh` is basic_mesh on processes with host memory; what differs on others is in backend.hpp.
// The ranks of a node share the memory of its tensors unless told otherwise (shared/settings.hpp).
// That memory goes back when the last handle ends, and every tensor holds one. Meshes are made by all
// their ranks in the same order; they may end in any (mpi/collective_handles.hpp).
// Plans are made once and kept (plan_cache.hpp). The time that the program spends in transfers, waiting
// or copying, is summed up for progress reports.

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <ashlar/comm/host_values.hpp>
#include <ashlar/comm/mesh_core.hpp>
#include <ashlar/comm/mpi/backend.hpp>
#include <ashlar/comm/transfer_timer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/machine/fingerprint.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar {

template <class Processor>
class basic_mesh {
  using backend = backend_of<Processor>;

 public:
  using processor_type = Processor;
  using world = typename backend::world;
  using settings = typename backend::settings;

  /// Collective over `ranks`. Throws ashlar::error on every rank if the number of ranks is another, if
  /// machines differ, or if what one rank is told of shared memory is wrong.
  basic_mesh(world ranks, ashlar::topology const& t,
             ashlar::machine const& m = machines::workstation,
             settings const& wanted = backend::default_settings()) {
    int const size = backend::size_of(ranks), rank = backend::rank_in(ranks);
    if (t.ranks() != size)
      throw error("mesh", to_string(t) + " has " + std::to_string(t.ranks()) +
                              " ranks but the program runs on " + std::to_string(size) +
                              ". Start it with mpirun -n " + std::to_string(t.ranks()) +
                              ", or give a mesh whose extents multiply to " + std::to_string(size) +
                              ".");
    state_ = std::make_shared<state>(ranks, t, wanted);
    state_->shape = t;
    state_->rank = rank;
    state_->here = t.coordinates_of(rank);
    state_->priced_on = m;
    state_->plain = state_->transport = state_->back.make_transport();
    set_machine(m);
  }
  basic_mesh(world ranks, std::initializer_list<mesh_axis> axes,
             ashlar::machine const& m = machines::workstation,
             settings const& wanted = backend::default_settings())
      : basic_mesh(ranks, ashlar::topology(axes), m, wanted) {}

  ashlar::topology const& topology() const { return state_->shape; }
  /// Where this rank is on the mesh: one index for each axis.
  coordinates const& coordinate() const { return state_->here; }
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
  /// What computes on this mesh's tensors.
  decltype(auto) processor() const { return state_->back.processor(); }
  auto& memory() const { return state_->back.memory(); }
  /// The same with a share in the mesh, which lives as long.
  auto shared_memory() const {
    auto& memory = state_->back.memory();
    return std::shared_ptr<std::remove_reference_t<decltype(memory)>>(state_, &memory);
  }

  /// Throws ashlar::error on every rank unless all have the same `value`. Collective over the mesh:
  /// one all-reduce of 16 bytes, which logs do not see.
  void require_agreement(std::uint64_t value, char const* operation, char const* fault) const {
    // The maximum of a number and of its complement: they complement each other if all are equal.
    std::int64_t both[2] = {static_cast<std::int64_t>(value), static_cast<std::int64_t>(~value)};
    reduce(*state_->plain, reduction::max, std::span<std::int64_t>(both));
    if (both[0] != ~both[1])
      throw error(operation, std::string(fault) + ". All ranks of a mesh must agree on it.");
  }

  /// Replaces `values`, as many on every rank, by their sums (maxima, minima) over all ranks.
  /// Collective over the mesh: one all-reduce.
  template <class T>
  void all_reduce(std::span<T> values, reduction op = reduction::sum) const {
    refuse_if_forbidden(collective::all_reduce, all_axes(axes()));
    auto const timed = time();
    reduce(*state_->transport, op, values);
  }
  /// The same for values in the memory of the mesh, `stored`, which stay as they are: the host gets their
  /// sums and waits once, for all that it had given the processor.
  template <class T>
  void all_reduce(T const* stored, std::span<T> sums, reduction op = reduction::sum) const {
    refuse_if_forbidden(collective::all_reduce, all_axes(axes()));
    auto const timed = time();
    reduce(*state_->transport, op, stored, sums);
  }

  /// Replaces `values`, as many on every rank, by those of rank `root`. Collective over the mesh.
  template <class T>
  void broadcast(std::span<T> values, int root = 0) const {
    rooted(collective::broadcast, values, root, reduction::sum);
  }
  /// Replaces the `values` of rank `root`, as many on every rank, by their sums (maxima, minima) over all
  /// ranks; the others keep theirs. Collective over the mesh.
  template <class T>
  void reduce(std::span<T> values, int root = 0, reduction op = reduction::sum) const {
    if (rank() == root) return rooted(collective::reduce, values, root, op);
    std::vector<T> sent(values.begin(), values.end());
    rooted(collective::reduce, std::span<T>(sent), root, op);
  }

  /// Carries a transfer to its end and adds its time to communication_seconds().
  void run(transfer const& what, element_type type, void const* source, void* target) const {
    refuse_if_forbidden(what.kind, what.axes);
    auto const timed = time();
    state_->transport->run({&what, type, source, target, operations().take_ticket(what.axes)});
  }

  /// A turn for a transfer that is started later: all ranks take their turns in the same order.
  /// Where communication is forbidden this throws, not start(): a turn once taken is waited for.
  std::uint64_t take_ticket(transfer const& what) const {
    refuse_if_forbidden(what.kind, what.axes);
    state_->transport->open(what.axes);
    return operations().take_ticket(what.axes);
  }
  /// Begins a transfer. This and what follows adds its time to communication_seconds().
  std::unique_ptr<pending_operation> start(transfer_request const& s) const {
    auto const timed = time();
    return state_->transport->start(s);
  }
  /// Lets something that is under way go on. True when it has ended.
  bool test(pending_operation& p) const {
    auto const timed = time();
    return is_captured() ? p.join() : p.advance();
  }
  /// Makes what follows come after its end, which a host waits for, and a device in its own time.
  void wait(pending_operation& p) const {
    auto const timed = time();
    state_->back.until([&] { return p.join(); });
  }
  /// The transfers under way.
  ashlar::operation_queue& operations() const { return state_->back.operations(); }
  /// Lets all transfers under way go on: worth calling now and then in a long computation.
  void progress() const {
    if (operations().idle()) return;
    auto const timed = time();
    operations().poll();
  }

  void barrier() const { state_->transport->barrier(); }

  /// Whether a device's work is being written down (capture).
  bool is_captured() const { return state_->plain->is_captured(); }
  /// What `work` gives the device, written down instead of done, to be done again and again: an object with
  /// replay(). All ranks capture the same, and replay it in the same order. On devices only.
  template <class Work>
    requires requires(backend& back, std::shared_ptr<void> const& mesh, Work const& work) {
      back.capture(mesh, work);
    }
  auto capture(Work const& work) const {
    return state_->back.capture(state_, work);
  }

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
                                        coordinate());
  }

  /// The plans of this mesh; matmul keeps its own there.
  plan_cache& plans() const { return state_->plans; }

  friend bool operator==(basic_mesh const& a, basic_mesh const& b) { return a.state_ == b.state_; }

 private:
  friend class decorated_transport;
  friend class no_communication;
  friend class fake_rank;

  /// The transport, which uses what the backend holds, goes first.
  struct state_with_backend {
    backend back;
  };
  struct state : state_with_backend, mesh_core {
    state(world ranks, ashlar::topology const& t, settings const& wanted)
        : state_with_backend{{ranks, t, wanted}} {}
  };

  void refuse_if_forbidden(collective kind, axis_list const& axes) const {
    if (state_->forbidden)
      throw error("mesh", std::string("communication is forbidden here, but ") + to_string(kind) +
                              " along " + to_string(axes, topology()) + " was asked for.");
  }

  template <class T>
  void rooted(collective kind, std::span<T> values, int root, reduction op) const {
    if (root < 0 || root >= ranks())
      throw error("mesh", std::string(to_string(kind)) + ": rank " + std::to_string(root) +
                              " is none of the " + std::to_string(ranks()) + " ranks.");
    refuse_if_forbidden(kind, all_axes(axes()));
    auto const timed = time();
    auto const count = static_cast<std::int64_t>(values.size());
    detail::carry(state_->back, *state_->transport, values,
                  flat_rooted(kind, count, all_axes(axes()), topology(), coordinate(), root, op));
  }

  transfer_timer time() const { return transfer_timer(*state_); }

  /// `values`: those of the host, or stored ones and where their sums go.
  template <class... Values>
  void reduce(communicator& transport, reduction op, Values... values) const {
    auto const& last = std::get<sizeof...(Values) - 1>(std::tie(values...));
    auto const count = static_cast<std::int64_t>(last.size());
    auto const what = flat_all_reduce(count, all_axes(axes()), topology(), coordinate(), op);
    detail::carry(state_->back, transport, values..., what);
  }

  std::shared_ptr<state> state_;
};

/// A mesh of processes with host memory, on MPI.
using mesh = basic_mesh<device::host::processor>;

#if !ASHLAR_DEFINES(COMM)
extern template class basic_mesh<device::host::processor>;
#endif

}  // namespace ashlar
