// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Adds exchanges of halos to a program (halo.hpp):
//
//   exchange_halo   before a forward pass: makes x with its halo from x
//   add_halo        after a backward pass: makes dx from dx with its halo. If several ranks have
//                   read an element of x, each of them has computed an addend of its gradient. The
//                   exchange adds them up
//
// A layer gets neither if it has no halo, or if every rank already has exactly the part of x that
// its windows cover.

#include <ashlar/step/memory.hpp>
#include <ashlar/step/program_writer.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class halo_writer : public program_writer {
 public:
  using program_writer::program_writer;

 protected:
  /// The layer that exchanges a halo, its index `element` in the chain, the micro-batch, and the
  /// bytes per element of the tensor.
  struct halo_user {
    layer_spec const& spec;
    layer_choice const& choice;
    int element, micro_batch, element_size;
  };

  /// Adds the exchange that makes x with its halo from the value `x`. Returns the index of the new
  /// value, or -1 if the layer needs no exchange.
  constexpr int exchange_halo(halo_user const& by, phase when, int x) {
    auto const layout = halo_layout_of(by.spec, by.choice.x, made_.mesh);
    if (!layout.has_halo()) return -1;
    auto const bytes = halo_memory_of(by.spec, by.choice, made_.mesh, by.element_size);
    action a = action_of(by, layout, computation::forward);
    a.kind = action_kind::exchange_halo;
    a.phase = when;
    a.workspace = bytes.exchanging;
    a.reads.push_back(x);
    a.makes.push_back(add_value(
        {value_kind::x_halo, by.element, 0, by.micro_batch, when == phase::recompute, bytes.x}));
    made_.actions.push_back(a);
    return a.makes[0];
  }
  /// Adds the action that makes `dx` from the value `with_halo`: it sums the overlapping parts of
  /// neighbouring ranks.
  constexpr void add_halo(halo_user const& by, int with_halo, int dx) {
    action a = action_of(by, halo_layout_of(by.spec, by.choice.dx, made_.mesh),
                         computation::backward);
    a.kind = action_kind::add_halo;
    a.phase = phase::backward;
    a.workspace = halo_memory_of(by.spec, by.choice, made_.mesh, by.element_size).adding;
    a.reads.push_back(with_halo);
    a.makes.push_back(dx);
    made_.actions.push_back(a);
  }

 private:
  constexpr action action_of(halo_user const& by, halo_layout const& layout, computation pass) {
    action a{.element = by.element, .micro_batch = by.micro_batch};
    a.halo = halo_number(layout);
    a.halo_seconds = halo_with(
        pass, halo_seconds(by.spec, by.choice, made_.mesh, machine_, by.element_size));
    a.halo_bytes = halo_with(pass, halo_of(by.spec, by.choice, made_.mesh)).elements *
                   by.element_size;
    return a;
  }
  /// Returns the index of a layout in program::halos. Adds the layout if it is new.
  constexpr int halo_number(halo_layout const& layout) {
    for (std::size_t i = 0; i < made_.halos.size(); ++i)
      if (made_.halos[i] == layout) return static_cast<int>(i);
    made_.halos.push_back(layout);
    return static_cast<int>(made_.halos.size()) - 1;
  }
};

}  // namespace step_detail

}  // namespace step
}  // namespace ashlar::search
