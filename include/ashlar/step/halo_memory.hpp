// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The bytes that a layer's exchanges of halos need, for memory.hpp.

#include <cstdint>

#include <ashlar/config.hpp>
#include <ashlar/plan/packing.hpp>
#include <ashlar/step/halo.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {
inline namespace step {

/// The memory that a layer's exchanges of halos need on the rank that needs most, in bytes.
struct halo_memory {
  bool has_x = false, has_dx = false;  ///< whether x, and the gradient of x, have a halo
  std::int64_t x = 0, dx = 0;          ///< bytes of x with its halo, and of dx with its halo
  std::int64_t exchanging = 0;         ///< bytes of the buffers of the exchange of x
  std::int64_t adding = 0;  ///< bytes of the buffers of the exchange of dx, with received addends

  /// Returns the bytes that a backward pass needs in addition to the gradient with its halo.
  /// `workspace` is what the pass itself needs. After the pass, the addends of dx are exchanged
  /// (add_halo). This exchange needs buffers, and its result has `made` bytes. The result and the
  /// buffers count as if the pass needed them, although dy may be released before the exchange.
  constexpr std::int64_t during_backward(std::int64_t workspace, std::int64_t made) const {
    return has_dx && made + adding > workspace ? made + adding : workspace;
  }
};

namespace step_detail {

constexpr halo_memory halo_memory_here(layer_spec const& spec, layer_choice const& c,
                                       topology const& t, int element_size) {
  halo_memory bytes;
  if (spec.halo.dim < 0) return bytes;
  auto const x = halo_layout_of(spec, c.x, t), dx = halo_layout_of(spec, c.dx, t);
  bytes.has_x = x.has_halo();
  bytes.has_dx = dx.has_halo();
  if (!bytes.has_x && !bytes.has_dx) return bytes;
  auto const load = halo_of(spec, c, t);
  std::int64_t const block = load.forward.elements * element_size;
  // With NCCL, all that a rank receives and sends is packed. In the forward pass a rank sends as
  // many elements as it receives in the backward pass, and the reverse.
  std::int64_t const both = block + load.backward.elements * element_size;
  auto const packing = [&](axis_list const& axes) {
    std::int64_t const of_messages = packing_of_blocks(block, t.group_size(axes));
    return of_messages > both ? of_messages : both;
  };
  if (bytes.has_x) {
    bytes.x = x.most_read(t) * element_size;
    bytes.exchanging = packing(x.axes);
  }
  if (bytes.has_dx) {
    bytes.dx = dx.most_read(t) * element_size;
    bytes.adding = packing(dx.axes) + load.backward.elements * element_size;
  }
  return bytes;
}

#if ASHLAR_COMPILED
halo_memory halo_memory_at_run_time(layer_spec const& spec, layer_choice const& c,
                                    topology const& t, int element_size);
#endif

}  // namespace step_detail

/// Returns the memory that a layer's exchanges of halos need.
constexpr halo_memory halo_memory_of(layer_spec const& spec, layer_choice const& c,
                                     topology const& t, int element_size) {
  ASHLAR_RETURN(step_detail::halo_memory_here(spec, c, t, element_size),
                step_detail::halo_memory_at_run_time(spec, c, t, element_size));
}

}  // namespace step
}  // namespace ashlar::search
