// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A mesh at run time: a topology, the coordinates of this rank, the transport, and the memory. It
// also has a machine (a description of the hardware), which determines the estimated costs of
// plans. A mesh object is a cheap handle, and copies refer to the same mesh.
//
//   mesh(env.world(), {{"node", 2}, {"gpu", 2}})   product of extents = number of ranks
//
// `mesh` is basic_mesh for processes with host memory. backend.hpp describes the parts that differ
// for other processors. By default, the ranks of a node share the memory of their tensors
// (shared/settings.hpp). The memory is released when the last handle is destroyed. Every tensor
// holds a handle.
//
// All ranks must create their meshes in the same order, but may destroy them in any order
// (mpi/collective_handles.hpp). Each plan is made once and cached (plan_cache.hpp). For progress
// reports, the mesh adds up the seconds that the program spends in transfers, waiting or copying
// (communication_seconds).

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <ashlar/comm/agreed_variables.hpp>
#include <ashlar/comm/agreement_in_maxima.hpp>
#include <ashlar/comm/checked_mode.hpp>
#include <ashlar/comm/host_values.hpp>
#include <ashlar/comm/mesh_state.hpp>
#include <ashlar/comm/mpi/backend.hpp>
#include <ashlar/comm/tagged.hpp>
#include <ashlar/comm/transfer_timer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/machine/fingerprint.hpp>
#include <ashlar/machine/machine_fault.hpp>
#include <ashlar/mesh/text.hpp>

namespace ashlar {

template <class Processor>
class basic_mesh {
  using backend = backend_of<Processor>;

 public:
  using processor_type = Processor;
  using world = typename backend::world;
  using settings = typename backend::settings;

  /// Creates a mesh. Collective over `ranks`. Throws ashlar::error on every rank if the ranks give
  /// different topologies, different machines or an invalid machine, or if they were built with
  /// different versions of ashlar. Also throws on every rank if the shared-memory settings or the
  /// environment variables of any rank are invalid. If the topology of a rank has another number of
  /// ranks than `ranks`, throws on this rank; with MPI, throws on every rank.
  basic_mesh(world ranks, ashlar::topology const& t,
             ashlar::machine const& m = machines::workstation,
             settings const& wanted = backend::default_settings());

  /// Returns a part of this mesh: the given ranks, in this order, arranged along `axes`. Collective
  /// over the mesh. On a rank that is not a member, is_here() is false: shards of tensors on the
  /// part are empty there, operators compute nothing, and transfers are skipped. The part shares
  /// memory, progress and watchdog with this mesh, and begins with this mesh's machine. Make parts
  /// once and keep them: their communicators live as long as the whole mesh. part<Tag>(...) puts a
  /// tag into the types of the part's tensors (tagged.hpp). Throws ashlar::error on every rank if
  /// `ranks` or `axes` are wrong (mesh_part.hpp) or differ between the ranks.
  template <class Tag = void>
  auto part(std::vector<int> const& ranks, ashlar::topology const& axes) const {
    using tag = tagged_by<Processor, Tag>;
    // The ranks compare their arguments first. So part_within throws on all ranks or on none.
    auto const text = to_string(mesh_part{axes, ranks});
    require_agreement(content_hash(text.data(), text.size()), "mesh",
                      "the ranks ask for different parts of the mesh");
    auto const what = part_within(whole(), as_part(), ranks, axes);
    return basic_mesh<tag>(std::make_shared<mesh_state<tag>>(state_, what));
  }
  /// Returns one part for each index along the axis named `axis`, with the other axes of this mesh.
  std::vector<basic_mesh> split(std::string_view axis) const {
    std::vector<basic_mesh> parts;
    for (auto const& own : parts_along(topology(), axis))
      parts.push_back(part(own.ranks, own.axes));
    return parts;
  }
  /// Returns whether this rank is one of the mesh's ranks, as it always is on a whole mesh.
  bool is_here() const { return state_->rank >= 0; }
  /// Returns the box of a tensor that this rank holds. The box is empty outside the mesh.
  box local_box(shape const& extents, placement const& p) const {
    return is_here() ? ashlar::local_box(extents, topology(), p, coordinate())
                     : empty_box(extents.rank());
  }
  /// Returns which part of the whole mesh this mesh is. A whole mesh is the part with all ranks.
  mesh_part const& as_part() const { return state_->part; }
  /// Returns the topology of the whole mesh, of which this mesh is a part or all.
  ashlar::topology const& whole() const { return state_->whole; }
  /// Returns this rank's number on the whole mesh, even if this rank is outside of this part.
  int rank_of_whole() const { return state_->whole_mesh().rank; }

  ashlar::topology const& topology() const { return state_->shape; }
  /// Returns the coordinates of this rank: its index along each axis.
  coordinates const& coordinate() const { return state_->here; }
  /// Returns this rank's number on the mesh, or a negative number outside of it (is_here).
  int rank() const { return state_->rank; }
  int ranks() const { return state_->shape.ranks(); }
  int axes() const { return state_->shape.axes(); }
  ashlar::machine const& machine() const { return state_->priced_on; }
  /// Sets the machine for which plans are priced from now on. Collective over the mesh. Throws on
  /// every rank if the ranks give different machines, because the ranks would then choose different
  /// plans and deadlock. Also throws if a figure is outside of its limits, and on a part of a mesh,
  /// since all ranks price the part's crossings. Parts that exist already keep their machine.
  void set_machine(ashlar::machine const& m) const {
    detail::require_whole_for_machine(*state_);
    require_agreement(fingerprint(m), "mesh", "the ranks give different machines");
    check_machine(m, "mesh");
    state_->priced_on = m;
    state_->plans.clear();
    state_->cross_plans.clear();
  }
  /// Switches the checked mode on or off (checked_mode.hpp). Every rank calls it at the same point.
  void set_checked(bool checks) const { state_->is_checked = checks; }
  bool is_checked() const { return state_->is_checked; }
  /// Sets the order in which reductions combine addends (sum_order.hpp). Parts that exist already
  /// keep their order. Models that exist already would take the new order in only some of their
  /// transfers, so call this before you make a model. Every rank calls it at the same point.
  void set_sum_order(ashlar::sum_order order) const { state_->plans.set_sums(order); }
  ashlar::sum_order sum_order() const { return state_->plans.sums(); }
  /// Says that transfers from now on belong to this training step, for the watchdog's messages
  /// (watch/watchdog.hpp). A negative number means that they belong to no step.
  void note_step(std::int64_t step) const { record().set_step(step); }
  /// Returns the record of this rank's last operations.
  watch::flight_record& record() const { return state_->back->record(); }
  /// Returns the processor that computes with this mesh's tensors.
  decltype(auto) processor() const { return state_->back->processor(); }
  /// Returns the object that allocates this rank's tensors in the processor's memory.
  auto& memory() const { return state_->back->memory(); }
  /// Returns a std::shared_ptr to the object of memory(). The pointer keeps the mesh alive.
  auto shared_memory() const {
    auto& memory = state_->back->memory();
    return std::shared_ptr<std::remove_reference_t<decltype(memory)>>(state_, &memory);
  }

  /// Throws ashlar::error on every rank if `value` is not the same on all ranks. Collective over
  /// the mesh: one all-reduce of 16 bytes, and two more before an error. Communication logs record
  /// none of them. In the checked mode, the ranks compare them like other transfers.
  void require_agreement(std::uint64_t value, char const* operation, char const* fault) const {
    if (!is_here()) return;
    auto const all = [this](reduction op, auto values) { reduce(*state_->plain, op, values); };
    detail::require_agreement(value, rank(), ranks(), operation, fault, all);
  }

  /// Replaces `values` by their sums, maxima or minima over all ranks. Every rank gives the same
  /// number of values. Collective over the mesh: one all-reduce.
  template <class T>
  void all_reduce(std::span<T> values, reduction op = reduction::sum) const {
    detail::refuse_if_forbidden(*state_, collective::all_reduce, all_axes(axes()));
    if (!is_here()) return;
    auto const timed = time();
    reduce(*state_->transport, op, values);
  }
  /// Computes the sums, maxima or minima of the arrays `stored` over all ranks, element by element,
  /// and writes them to `sums` in host memory. `stored` is an array in the mesh's memory with as
  /// many elements as `sums`. It stays unchanged. The host waits for the result, and so also for
  /// all work that it gave to the processor before. Collective over the mesh: one all-reduce.
  template <class T>
  void all_reduce(T const* stored, std::span<T> sums, reduction op = reduction::sum) const {
    detail::refuse_if_forbidden(*state_, collective::all_reduce, all_axes(axes()));
    if (!is_here()) return;
    auto const timed = time();
    reduce(*state_->transport, op, stored, sums);
  }

  /// Replaces `values` by the values of rank `root`. Every rank gives the same number of values.
  /// Collective over the mesh.
  template <class T>
  void broadcast(std::span<T> values, int root = 0) const {
    rooted(collective::broadcast, values, root, reduction::sum);
  }
  /// Replaces the `values` of rank `root` by the sums, maxima or minima over all ranks. On other
  /// ranks, `values` stays unchanged. Every rank gives the same number of values. Collective over
  /// the mesh.
  template <class T>
  void reduce(std::span<T> values, int root = 0, reduction op = reduction::sum) const {
    if (rank() == root) return rooted(collective::reduce, values, root, op);
    std::vector<T> sent(values.begin(), values.end());
    rooted(collective::reduce, std::span<T>(sent), root, op);
  }

  /// Carries out a transfer. communication_seconds() counts its time. Collective over the group.
  void run(transfer const& what, element_type type, void const* source, void* target) const {
    detail::refuse_if_forbidden(*state_, what.kind, what.axes);
    if (!is_here()) return;
    compare_with_group(what, type);
    auto const timed = time();
    state_->transport->run(
        {&what, type, source, target, operations().take_ticket(what.axes), state_->label});
  }

  /// In the checked mode, throws ashlar::error unless all members of the group are about to make
  /// this transfer (checked_mode.hpp). Collective over the group. Does nothing during a capture.
  void compare_with_group(transfer const& what, element_type type) const {
    if (state_->is_checked && !is_captured())
      detail::compare_with_group(*state_->back, operations(), *state_->plain, what, type,
                                 topology(), coordinate());
  }
  /// Returns the ticket of a transfer that `start` begins later. A ticket is the number of a
  /// transfer in its group. All ranks must take their tickets in the same order. Throws if
  /// communication is forbidden. `start` must not fail, because later transfers wait for every
  /// ticket that was taken. So call compare_with_group before this function.
  std::uint64_t take_ticket(transfer const& what) const {
    detail::refuse_if_forbidden(*state_, what.kind, what.axes);
    state_->transport->open(what.axes);
    return operations().take_ticket(what.axes);
  }
  /// Returns the name that transfers have now (operation_label.hpp), or null.
  char const* label() const { return state_->label; }
  /// Begins a transfer. The durations of start, test, wait and progress are included in
  /// communication_seconds().
  std::unique_ptr<pending_operation> start(transfer_request const& s) const {
    auto const timed = time();
    return state_->transport->start(s);
  }
  /// Advances a pending operation. Returns true when the operation has ended. During a capture of
  /// device work, where the end cannot be queried, returns true when later work is ordered after
  /// the operation.
  bool test(pending_operation& p) const {
    auto const timed = time();
    return is_captured() ? p.join() : p.advance();
  }
  /// Makes all later work of the processor wait for the end of `p`. With host memory, this function
  /// returns when `p` has ended. With a device, this function returns as soon as the request to
  /// wait is in the device's queue.
  void wait(pending_operation& p) const {
    auto const timed = time();
    state_->back->until([&] { return p.join(); });
  }
  ashlar::operation_queue& operations() const { return *state_->operations; }
  /// Advances pending transfers and handles letters. Long computations should call it now and then.
  void progress() const {
    if (!operations().needs_polling()) return;
    auto const timed = time();
    operations().poll();
  }

  /// Opens a mailbox (mpi/mailbox.hpp). handler(from, kind, letter) gets each letter that arrives
  /// while this rank advances transfers. Collective. Throws ashlar::error on a part of a mesh.
  template <class Handler>
  auto open_mailbox(Handler const& handler) const {
    detail::require_whole(*state_);
    return state_->back->open_mailbox(handler, *state_->transport);
  }

  void barrier() const {
    if (is_here()) state_->transport->barrier();
  }

  /// Returns whether device work is being captured (see capture).
  bool is_captured() const { return is_here() && state_->plain->is_captured(); }
  /// Captures the work that the function `work` gives to the device, without executing it. Returns
  /// an object whose function replay() executes the work. replay() may be called any number of
  /// times. All ranks must capture the same work and replay it in the same order. Only available on
  /// devices.
  template <class Work>
    requires requires(backend& back, std::shared_ptr<void> const& mesh, Work const& work) {
      back.capture(mesh, work);
    }
  auto capture(Work const& work) const {
    return state_->back->capture(state_, work);
  }

  double communication_seconds() const { return state_->seconds; }
  /// Returns the plan of a redistribution. Takes the plan from the cache if the cache contains it.
  redistribution_plan plan(shape const& extents, int element_size, placement const& from,
                           placement const& to) const {
    return prepared(extents, element_size, from, to)->plan;
  }
  /// Returns the plan together with this rank's transfer for each step. The reference is valid only
  /// until the next call. Copy the pointer to keep the plan alive.
  std::shared_ptr<prepared_plan const> const& prepared(shape const& extents, int element_size,
                                                       placement const& from, placement const& to,
                                                       wire_format const& wire = {}) const {
    return state_->plans.redistribution(extents, element_size, from, to, topology(), machine(),
                                        coordinate(), wire);
  }

  /// Returns the plan of a redistribution to `target`, with this rank's messages. Throws
  /// ashlar::error if `target` belongs to another mesh or shares a rank, or if no plan fits `how`.
  template <same_processor<Processor> Other>
  std::shared_ptr<prepared_crossing const>
  cross_plan(shape const& extents, int element_size, placement const& from,
             basic_mesh<Other> const& target, placement const& to, crossing_choice how = {}) const {
    detail::require_one_mesh(*state_, *target.state_);
    return state_->cross_plans.plan(extents, element_size, as_part(), from, target.as_part(), to,
                                    whole(), state_->whole_mesh().rank, machine(), how);
  }
  /// Returns a new number for a crossing to `target`. It is odd: crossings in training steps have
  /// even numbers. Every rank of the whole mesh calls this for each crossing, in the same order.
  /// Throws ashlar::error if communication is forbidden on this mesh or on `target`.
  template <class Other>
  int next_crossing(basic_mesh<Other> const& target) const {
    refuse_forbidden_crossing();
    target.refuse_forbidden_crossing();
    return detail::next_crossing_number(state_->whole_mesh());
  }
  /// Throws ashlar::error if communication is forbidden on this mesh. Code that requests a crossing
  /// calls this before it changes anything, since the crossing itself may begin later.
  void refuse_forbidden_crossing() const { detail::refuse_forbidden_crossing(*state_); }
  /// On a device, orders the crossing `number` before all transfers requested from now on.
  void announce_crossing(int number) const {
    if constexpr (requires { state_->back->announce_crossing(number); })
      state_->back->announce_crossing(number);
  }
  /// Begins this rank's share of a crossing, in the background. Expects is_here(). `shard` has the
  /// elements of box `tile`. All ranks give the same `number`, which no other pending crossing has.
  /// `c` and `shard` must outlive the result.
  std::unique_ptr<pending_operation> start_crossing(prepared_crossing const& c, box const& tile,
                                                    void* shard, std::size_t element_size,
                                                    int number) const {
    auto const timed = time();
    state_->transport->note_crossing(received_elements(c) * std::int64_t(element_size));
    return state_->back->start_crossing(c, tile, shard, element_size, number);
  }

  /// Returns the cache of this mesh's plans, for redistributions and for matrix products.
  plan_cache& plans() const { return state_->plans; }

  friend bool operator==(basic_mesh const& a, basic_mesh const& b) { return a.state_ == b.state_; }

 private:
  explicit basic_mesh(std::shared_ptr<mesh_state<Processor>> state) : state_(std::move(state)) {}

  template <class>
  friend class basic_mesh;
  friend class decorated_transport;
  friend class no_communication;
  friend class operation_label;
  friend class fake_rank;

  template <class T>
  void rooted(collective kind, std::span<T> values, int root, reduction op) const {
    detail::require_root(kind, root, ranks());
    detail::refuse_if_forbidden(*state_, kind, all_axes(axes()));
    if (!is_here()) return;
    auto const timed = time();
    auto const count = static_cast<std::int64_t>(values.size());
    auto const what = flat_rooted(kind, count, all_axes(axes()), topology(), coordinate(), root, op,
                                  sum_order());
    compare_with_group(what, element_type_of<T>);
    detail::carry(*state_->back, operations(), *state_->transport, values, what, state_->label);
  }

  transfer_timer time() const { return transfer_timer(*state_); }

  /// Reduces `values` over all ranks. `values` has two forms:
  /// - one span of values in host memory, which are replaced by the results
  /// - a pointer to values in the mesh's memory, and a span in host memory for the results
  template <class... Values>
  void reduce(communicator& transport, reduction op, Values... values) const {
    auto const& last = std::get<sizeof...(Values) - 1>(std::tie(values...));
    auto const count = static_cast<std::int64_t>(last.size());
    auto const what = flat_all_reduce(count, all_axes(axes()), topology(), coordinate(), op,
                                      sum_order());
    using T = std::remove_const_t<typename std::remove_reference_t<decltype(last)>::element_type>;
    compare_with_group(what, element_type_of<T>);
    detail::carry(*state_->back, operations(), transport, values..., what, state_->label);
  }

  std::shared_ptr<mesh_state<Processor>> state_;
};

template <class Processor>
basic_mesh<Processor>::basic_mesh(world ranks, ashlar::topology const& t, ashlar::machine const& m,
                                  settings const& wanted) {
  int const size = backend::size_of(ranks), rank = backend::rank_in(ranks);
  backend::require_topology(ranks, t);
  state_ = std::make_shared<mesh_state<Processor>>(std::make_shared<backend>(ranks, t, wanted), t,
                                                   rank);
  state_->priced_on = m;
  state_->plain = state_->transport = state_->back->make_transport();
  require_agreement(ASHLAR_VERSION, "mesh", "the ranks run different versions of ashlar");
  set_machine(m);
  auto const all = [this](reduction op, auto values) { reduce(*state_->plain, op, values); };
  auto const variables = detail::agreed_variables<backend>(rank, size, all);
  state_->is_checked = variables.checks;
  if constexpr (backend::is_watched) state_->start_watchdog(variables.watching, all);
}

/// A mesh of processes with host memory, which communicate through MPI.
using mesh = basic_mesh<device::host::processor>;

#if !ASHLAR_DEFINES(COMM)
extern template class basic_mesh<device::host::processor>;
#endif

}  // namespace ashlar
