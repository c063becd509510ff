// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The state to which the handles of a mesh refer (mesh.hpp): the backend, and all that does not
// depend on the backend (mesh_core.hpp). A part of a mesh has a state of its own with the backend
// of the whole mesh.

#include <memory>
#include <utility>

#include <ashlar/comm/backend.hpp>
#include <ashlar/comm/mesh_core.hpp>
#include <ashlar/comm/watch/introduce.hpp>

namespace ashlar {

namespace detail {

/// The backend is in a base class, so that it is destroyed after the transport, which uses it.
template <class Processor>
struct state_with_backend {
  std::shared_ptr<backend_of<Processor>> back;
  std::unique_ptr<operation_queue> own_operations{};  ///< null for a whole mesh
};

}  // namespace detail

template <class Processor>
struct mesh_state : detail::state_with_backend<Processor>, mesh_core {
  /// Makes the state of a whole mesh. The state has no transport yet.
  mesh_state(std::shared_ptr<backend_of<Processor>> made, topology const& t, int this_rank)
      : detail::state_with_backend<Processor>{std::move(made)} {
    shape = whole = t;
    rank = this_rank;
    here = t.coordinates_of(rank);
    part = all_of(t);
    operations = &this->back->operations();
  }

  /// `from` is the state of a mesh. Makes the state of its part `what`. Collective over the ranks
  /// of `from`.
  template <class Kind>
  mesh_state(std::shared_ptr<mesh_state<Kind>> const& from, mesh_part const& what)
      : detail::state_with_backend<Processor>{from->back} {
    this->own_operations = std::make_unique<operation_queue>(*from->operations);
    operations = this->own_operations.get();
    shape = what.axes;
    whole = from->whole;
    part = what;
    parent = from->parent;
    if (parent == nullptr) parent = from;
    priced_on = from->priced_on;
    is_checked = from->is_checked;
    plans.set_sums(from->plans.sums());
    rank = position_in(what, whole_mesh().rank);
    if (from->rank < 0) return;
    plain = transport = this->back->make_transport(what, rank, *operations, *from->plain);
    if (rank >= 0) here = shape.coordinates_of(rank);
  }

  /// Starts the watchdogs of a whole mesh. `wanted` are this rank's settings. `reduce(op, span)`
  /// replaces values by their sums or maxima over all ranks. Collective over the mesh.
  template <class Reduce>
  void start_watchdog(watch::settings const& wanted, Reduce const& reduce) {
    constexpr bool watches_itself = requires { this->back->explain_by(watching); };
    watching = watch::introduce(this->back->record(), shape, rank, wanted, !watches_itself, reduce);
    if constexpr (watches_itself) this->back->explain_by(watching);
  }
};

}  // namespace ashlar
