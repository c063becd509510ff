// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the bytes of memory that one element of a chain needs under one choice of placements, on
// the rank that needs most. An element is a layer, or the begin, turn or end of a residual, skip or
// branch. The bytes are computed phase by phase from the actions that visit.hpp enumerates.
// memory_fold.hpp combines the elements of a chain.
//
//   lasting    held for the whole step:
//              Σ parameters  |update| · (1 + optimizer_states) · a  +  |grad| · a
//                            + |update| · e if e differs from a
//                            + |store| · e if update is not store
//                            + |grad| · a + (delay - 1) · |update| · a if delay > 0
//                            + the errors of its gradient if its wire has feedback (error_bytes)
//              + the saved values of other micro-batches in flight in a pipeline stage
//   saved      held from the forward to the backward pass:
//              e · saved_values · |x| / (elements of x), because these values are distributed like x
//              (if x has a halo, |x| includes it)
//              + e · saved_beside, whose parts are divided only by the splits of some dims of x
//   a phase    the peak over the actions of the phase: their results, parameters in use if use is
//              not store, workspace, x and dx with their halos, a parameter that is being
//              redistributed
//
// |p| is the number of elements of the largest shard of a tensor at placement p; x also names the
// placement of x. A parameter is stored at placement store and read at placement use. Its gradient
// is summed at placement grad, and it is updated at placement update. e is element_size and a is
// accumulation_size, both in bytes (element_size.hpp).
//
// If K micro-batches take turns (turns.hpp), everything that belongs to a micro-batch counts K
// times. This is an upper bound, since the micro-batches do not reach their peaks at the same time.
// A parameter that is gathered once for all K stays in memory until the last of them has read it.
// Its bytes are not added separately, since the bytes that count K times include them.
//
// A redistribution counts as the larger of its source and its result, plus its buffers
// (plan/packing.hpp). Not counted are the batch (it belongs to the caller), statistics, shards
// between the steps of a redistribution, and what layers from formulas need only on GPUs.

#include <ashlar/layout/layout.hpp>
#include <ashlar/plan/encoded_redistribution.hpp>
#include <ashlar/step/element_size.hpp>
#include <ashlar/step/halo_memory.hpp>
#include <ashlar/step/row_exchange.hpp>
#include <ashlar/step/visit.hpp>

namespace ashlar::search {
inline namespace step {

/// The tensors that an element of the layer chain keeps in memory from its forward pass to its
/// backward pass.
///
///   all           all values that the forward pass saves
///   input         the input x only, because the forward pass runs again
///   moved_input   like input, but 0 bytes if x is read from the batch in the caller's memory
///   nothing       no tensor
///   least         the smaller of all and input; used for a lower bound
enum class saved_part : signed char { all, input, moved_input, nothing, least };

/// Returns whether element i of the layer chain may read the batch in the caller's memory, without
/// a copy. This holds if no pipeline stage precedes the chain and all elements before i begin
/// residuals or branches.
template <int N>
constexpr bool reads_batch(basic_problem<N> const& net, int i) {
  while (i > 0 && begins_block(net[i - 1].kind)) --i;
  return i == 0 && !net.stages_before;
}

/// Returns which tensors element i of the layer chain keeps for its backward pass, if the first
/// `again` segments are recomputed.
template <int N>
constexpr saved_part part_held(basic_problem<N> const& net, int i, int again) {
  switch (net.runs(i, again)) {
    case forward_runs::once: return saved_part::all;
    case forward_runs::twice: return saved_part::nothing;
    case forward_runs::twice_from_here: break;
  }
  return reads_batch(net, i) ? saved_part::moved_input : saved_part::input;
}

/// Returns which tensors element i of the layer chain keeps at least for its backward pass, if the
/// number of recomputed segments is in the range from again.least to again.most. Whatever the
/// number in this range is, the element keeps no fewer bytes than these tensors have.
template <int N>
constexpr saved_part part_held(basic_problem<N> const& net, int i, recomputation const& again) {
  saved_part const part = part_held(net, i, again.most);
  bool const sure = part == saved_part::all || net[i].segment < again.least;
  return sure ? part : part == saved_part::input ? saved_part::least : saved_part::nothing;
}

/// The memory that one element of the layer chain needs on a rank, in bytes.
struct element_bytes {
  std::int64_t lasting = 0;  ///< held for the whole step
  std::int64_t held = 0;     ///< kept from the forward to the backward pass (saved_part)
  std::int64_t saved = 0;    ///< values that the forward pass saves for the backward pass
  std::int64_t x = 0, y = 0, dy = 0, dx = 0;
  /// At the end of a skip, or of a branch that does not add: the gradient of the first of the two
  /// joined tensors.
  std::int64_t skipped = 0;
  std::int64_t forward = 0;      ///< peak of the forward pass with its results, without x
  std::int64_t again = 0;        ///< peak of the recomputation with its results, without x
  std::int64_t backward = 0;     ///< peak of the backward pass, without dy and `saved`
  std::int64_t synchronize = 0;  ///< peak while its gradients are synchronized
  std::int64_t gradients = 0;    ///< synchronized gradients, held until the step ends
  /// Peak while updated parameters move to where they are stored. It includes the redistributions
  /// of tied parameters' gradients that cross between parts of a pipeline (add_tied_apart).
  std::int64_t renew = 0;

  /// Multiplies the bytes that belong to one micro-batch by `micro_batches`.
  constexpr void multiply(int micro_batches) {
    for (auto which :
         {&element_bytes::held, &element_bytes::saved, &element_bytes::x, &element_bytes::y,
          &element_bytes::dy, &element_bytes::dx, &element_bytes::skipped, &element_bytes::forward,
          &element_bytes::again, &element_bytes::backward})
      this->*which *= micro_batches;
  }
  /// Returns whether every member is at most the same member of `other`.
  constexpr bool is_within(element_bytes const& other) const {
    for (auto which :
         {&element_bytes::lasting, &element_bytes::held, &element_bytes::saved, &element_bytes::x,
          &element_bytes::y, &element_bytes::dy, &element_bytes::dx, &element_bytes::skipped,
          &element_bytes::forward, &element_bytes::again, &element_bytes::backward,
          &element_bytes::synchronize, &element_bytes::gradients, &element_bytes::renew})
      if (this->*which > other.*which) return false;
    return true;
  }
};

/// Returns the bytes that a redistribution needs in addition to its source while it runs. `from`
/// and `to` are the bytes of its source and of its result on one rank.
constexpr std::int64_t moving_bytes(std::int64_t from, std::int64_t to, int ranks) {
  std::int64_t const larger = from > to ? from : to;
  return larger - from + packing_bound(larger, ranks);
}

/// Returns the peak of the bytes that a redistribution needs in addition to its source: while it
/// runs, or afterwards for its result. `from` and `to` are the bytes of its source and of its
/// result.
constexpr std::int64_t most_of_move(std::int64_t from, std::int64_t to, int ranks) {
  std::int64_t const moving = moving_bytes(from, to, ranks);
  return moving > to ? moving : to;
}

/// Returns the bytes that a layer saves per micro-batch for its backward pass.
template <int N>
constexpr std::int64_t saved_bytes(basic_problem<N> const& net, layer_spec const& spec,
                                   layer_choice const& c, topology const& t) {
  if (spec.saved_values <= 0 && spec.saved_beside.empty()) return 0;
  std::int64_t input = max_local_elements(spec.x, t, c.x) * net.element_size;
  if (spec.halo.dim >= 0)
    if (auto const halo = halo_memory_of(spec, c, t, net.element_size); halo.has_x) input = halo.x;
  double saved = spec.saved_values * double(input) / double(spec.x.elements());
  box const own = local_box(spec.x, t, c.x, {});  // of rank 0, which has the largest shard
  for (auto const& part : spec.saved_beside) {
    double values = part.values;
    for (int d = 0; d < own.rank(); ++d)
      if ((part.dims >> d & 1u) != 0) values *= double(own[d].size) / double(spec.x[d]);
    saved += values * net.element_size;
  }
  auto const bytes = static_cast<std::int64_t>(saved);
  return double(bytes) < saved ? bytes + 1 : bytes;
}

/// Returns the bytes of the sum to which backward passes add the gradient of parameter k.
template <int N>
constexpr std::int64_t sum_bytes(basic_problem<N> const& net, layer_spec const& spec,
                                 layer_choice const& c, int k, topology const& t) {
  int const a = net.accumulation_size;
  if (c.parameters.items[k].in_rows)
    return row_exchange_of(spec, c, k, t, net.micro_batches).own_bytes(a);
  return a * max_local_elements(spec.parameters.items[k].extents, t, c.parameters.items[k].grad);
}

/// Returns the bytes of scratch memory that a computation of a layer needs.
constexpr std::int64_t workspace_bytes(layer_spec const& spec, layer_choice const& c,
                                       topology const& t, int element_size) {
  auto const bytes = static_cast<std::int64_t>(spec.workspace_values) * element_size;
  if (spec.temporary_values <= 0) return bytes;
  auto const share = [&](shape const& extents, placement const& p) {
    std::int64_t const all = extents.elements();
    return all == 0 ? 1.0 : double(max_local_elements(extents, t, p)) / double(all);
  };
  double const x = share(spec.x, c.x), y = share(spec.y, c.y);
  double const temporary = spec.temporary_values * (x > y ? x : y);
  return bytes + (static_cast<std::int64_t>(temporary) + 1) * element_size;
}

/// Returns the bytes that a rank keeps between two steps for the error feedback of a parameter's
/// gradient: the errors and, with momentum, the averages. `a` is accumulation_size.
constexpr std::int64_t error_bytes(shape const& extents, parameter_choice const& p, int a,
                                   topology const& t) {
  if (!p.wire.feedback) return 0;
  return error_bytes(plan_encoded(extents, a, p.grad, p.updated_at(), p.wire, t, {}), t);
}

/// Returns the bytes of the synchronized gradients of a parameter that a rank keeps between two
/// steps: 0 if the gradient is delayed by at most one step, or if the parameter is the later use of
/// a tied one. `a` is accumulation_size.
constexpr std::int64_t kept_gradient_bytes(parameter_spec const& spec, parameter_choice const& p,
                                           int a, topology const& t) {
  if (p.delay < 2 || spec.tie == tie_role::later) return 0;
  return (p.delay - 1) * a * max_local_elements(spec.extents, t, p.updated_at());
}

namespace step_detail {

/// A visitor (visit.hpp) that computes the peak memory of one phase of an element of the layer
/// chain. The peak is in bytes and does not include the memory that is in use when the phase
/// begins.
struct phase_memory {
  layer_spec const& spec;
  layer_choice const& choice;
  topology const& mesh;
  halo_memory const& halo;
  int element_size, accumulation_size;
  std::int64_t made;       ///< bytes of the results of the phase's last computation
  std::int64_t workspace;  ///< bytes of scratch memory of each computation
  std::int64_t held = 0, most = 0;
  int micro_batches = 1;

  constexpr void raise(std::int64_t bytes) { most = bytes > most ? bytes : most; }

  constexpr void compute(phase, computation what, int part, int parts) {
    std::int64_t bytes = workspace;
    if (what == computation::forward) {
      if (part == 0 && halo.has_x) raise(held + halo.x + halo.exchanging);
      bytes += halo.x;
      if (part + 1 == parts) bytes += made;
    } else if (what != computation::weight_gradient) {
      bytes = halo.during_backward(bytes, made) + (halo.has_dx ? halo.dx : made);
    }
    raise(held + bytes);
  }
  constexpr void move(phase when, moved what, int index, shape const& extents,
                      placement const& from, placement const& to) {
    if (what != moved::parameter || from == to) return;
    // If a parameter is updated at one placement and stored at another, the stored value is a copy
    // in the type of the activations (element_size.hpp). This copy is gathered.
    bool const is_copy = repeats(when) && choice.parameters.items[index].is_updated_apart();
    std::int64_t const source = max_local_elements(extents, mesh, from) *
                                (is_copy ? element_size : accumulation_size);
    std::int64_t const target = max_local_elements(extents, mesh, to) *
                                (when == phase::synchronize ? accumulation_size : element_size);
    auto const& wire = choice.parameters.items[index].wire;
    if (when == phase::synchronize && !wire.is_exact()) {
      std::int64_t const moving = encoded_moving_bytes(
          plan_encoded(extents, accumulation_size, from, to, wire, mesh, {}), mesh);
      raise(held + (moving > target ? moving : target));
      if (!is_added_at_once(when, index)) held += target;
      return;
    }
    if (when == phase::renew) return raise(moving_bytes(source, target, mesh.ranks()));
    raise(held + most_of_move(source, target, mesh.ranks()));
    if (!is_added_at_once(when, index)) held += target;
  }
  constexpr void exchange_rows(int k) {
    auto const rows = row_exchange_of(spec, choice, k, mesh, micro_batches);
    std::int64_t const gradient = rows.all_bytes(accumulation_size);
    raise(held + gradient + rows.exchange_bytes(accumulation_size));
    held += gradient;
  }
  /// Returns whether a redistribution in phase `when` makes the gradient of a tied parameter's
  /// later use. This gradient is added to that of the first use at once and then released, so it
  /// does not stay in memory.
  constexpr bool is_added_at_once(phase when, int index) const {
    auto const& p = spec.parameters.items[index];
    return when == phase::synchronize && p.tie == tie_role::later && !p.is_apart;
  }
};

/// Adds the memory that a tied parameter needs because its two uses are in different parts of a
/// pipeline. Its value crosses to the part of the later use, and the gradient of the later use
/// crosses back. An owned value or gradient is replicated before it crosses, and is owned again
/// after it has crossed (crosses_at).
///
///   value at the first use       The replicated value stays in memory, since it may be sent until
///                                the last pass has ended.
///   value at the later use       The received value is already counted, as the copy that this part
///                                keeps (memory_of). Only while it becomes owned does it need more.
///   gradient at the first use    The received gradient is held in addition to all synchronized
///                                gradients.
///   gradient at both uses        The gradient is replicated at the later use, and becomes owned at
///                                the first use, after all gradients are synchronized. The bytes
///                                that this takes count in `renew`.
///
/// `e` and `a` are element_size and accumulation_size.
constexpr void add_tied_apart(element_bytes& bytes, parameter_spec const& p,
                              parameter_choice const& c, topology const& t, int e, int a) {
  auto const raise = [](std::int64_t& most, std::int64_t to) { most = to > most ? to : most; };
  auto const bytes_at = [&](placement const& at, int size) {
    return max_local_elements(p.extents, t, at) * size;
  };
  bool const is_first = p.tie == tie_role::first;
  if (placement const across = crosses_at(c.store); !(across == c.store)) {
    std::int64_t const value = bytes_at(across, e);
    if (is_first) {
      std::int64_t const stored = bytes_at(c.store, c.is_updated_apart() ? e : a);
      bytes.lasting += value;
      raise(bytes.forward, most_of_move(stored, value, t.ranks()) - value);
    } else {
      raise(bytes.forward, most_of_move(value, bytes_at(c.store, e), t.ranks()));
    }
  }
  placement const across = crosses_at(c.updated_at());
  std::int64_t const gradient = bytes_at(across, a);
  if (is_first) {
    bytes.synchronize += gradient + packing_bound(gradient, t.ranks());
    bytes.gradients += gradient;
  }
  if (across == c.updated_at()) return;
  std::int64_t const own = bytes_at(c.updated_at(), a);
  raise(bytes.renew,
        is_first ? most_of_move(gradient, own, t.ranks()) : most_of_move(own, gradient, t.ranks()));
}

}  // namespace step_detail

/// The properties of an element of the layer chain that determine its memory, together with its
/// layer and its placements.
struct element_role {
  element_kind kind;
  shape const &x, &y;
  forward_runs runs;
  saved_part held;
};

/// Returns the bytes of all micro-batches that take turns, from the bytes of one of them.
template <int N>
constexpr element_bytes with_turns(element_bytes bytes, basic_problem<N> const& net) {
  if (net.interleaved > 1 && net.micro_batches > 1) bytes.multiply(turns_at_once(net));
  return bytes;
}

/// Returns the memory that an element of the layer chain needs under a choice `c` of its
/// placements.
template <int N>
constexpr element_bytes memory_of(basic_problem<N> const& net, layer_spec const& spec,
                                  element_role const& role, layer_choice const& c,
                                  topology const& t) {
  element_bytes bytes;
  int const e = net.element_size, a = net.accumulation_size;
  bytes.x = max_local_elements(role.x, t, c.x) * e;
  bytes.dx = c.dx == c.x ? bytes.x : max_local_elements(role.x, t, c.dx) * e;
  bytes.y = max_local_elements(role.y, t, c.y) * e;
  bytes.dy = c.dy == c.y ? bytes.y : max_local_elements(role.y, t, c.dy) * e;
  if (makes_two_gradients(role.kind, spec))
    bytes.skipped = max_local_elements(skipped_extents(role.kind, spec), t, c.dx) * e;
  if (role.kind == element_kind::layer || role.kind >= element_kind::branch_join)
    bytes.saved = saved_bytes(net, spec, c, t);
  switch (role.held) {
    case saved_part::all: bytes.held = bytes.saved; break;
    case saved_part::input: bytes.held = bytes.x; break;
    case saved_part::moved_input:
      bytes.held = c.x == placement::all_broadcast(t.axes()) ? 0 : bytes.x;
      break;
    case saved_part::nothing: break;
    case saved_part::least: bytes.held = bytes.x < bytes.saved ? bytes.x : bytes.saved;
  }
  bytes.lasting = (net.in_flight - 1) * bytes.held;
  for (int k = 0; k < spec.parameters.size(); ++k) {
    parameter_choice const& p = c.parameters.items[k];
    shape const& extents = spec.parameters.items[k].extents;
    std::int64_t const store = max_local_elements(extents, t, p.store);
    std::int64_t const update = p.is_updated_apart() ? max_local_elements(extents, t, p.update)
                                                     : store;
    auto const& tied = spec.parameters.items[k];
    bytes.lasting += sum_bytes(net, spec, c, k, t) * (p.delay > 0 ? 2 : 1) +
                     error_bytes(extents, p, a, t) + kept_gradient_bytes(tied, p, a, t);
    if (tied.tie != tie_role::later)
      bytes.lasting += (stored_size(net) - a) * update + (p.is_updated_apart() ? e * store : 0);
    else if (tied.is_apart) bytes.lasting += e * store;  // the copy on the later use's part
  }
  halo_memory const halo = spec.halo.dim < 0 ? halo_memory{} : halo_memory_of(spec, c, t, e);
  std::int64_t const workspace = workspace_bytes(spec, c, t, e);
  auto const running = [&](phase when, std::int64_t made) {
    step_detail::phase_memory run{spec, c, t, halo, e, a, made, workspace};
    run.micro_batches = net.micro_batches;
    visit_element(when, spec, c, run);
    return run;
  };
  if (role.kind == element_kind::branch_turn) return with_turns(bytes, net);
  if (!begins_block(role.kind)) {
    bool const once = role.runs == forward_runs::once;
    std::int64_t const all = running(phase::forward, bytes.y + bytes.saved).most;
    bytes.forward = once ? all : running(phase::forward, bytes.y).most;
    if (!once) bytes.again = all;
  }
  bytes.backward = running(phase::backward, bytes.dx + bytes.skipped).most;
  auto const synchronized = running(phase::synchronize, 0);
  bytes.synchronize = synchronized.most;
  bytes.gradients = synchronized.held;
  bytes.renew = running(phase::renew, 0).most;
  for (int k = 0; k < spec.parameters.size(); ++k)
    if (auto const& p = spec.parameters.items[k]; p.is_apart)
      step_detail::add_tied_apart(bytes, p, c.parameters.items[k], t, e, a);
  return with_turns(bytes, net);
}

}  // namespace step
}  // namespace ashlar::search
