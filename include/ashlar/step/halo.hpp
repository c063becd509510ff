// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The exchange that a layer makes when a dim is split along which a window slides (layer_spec::halo):
// no collective of the algebra, but the one extra exchange that a training row may bring with it.
//
//   forward    a rank receives the coordinates of x that its places of y read and it does not have,
//              its halo: from one neighbour or two, from more where a shard is thinner than the halo
//   backward   a rank receives dx of its own coordinates from those that had them in their halo,
//              and adds it
//
// Counted from the balanced splits of x and y as they are, so parts of unequal size, strides, padding
// and borders of shards that are no multiple of the stride need no case of their own. For equal parts
// of h coordinates and a window of k at stride 1 it is the k - 1 of the textbooks, in the middle of
// the dim (k - 1) / 2 from either side. What lies between windows that do not touch (stride > k) goes
// along. Priced is the rank that receives most, α per neighbour and β per byte, along the slowest of
// the axes that split the dim: an upper bound where several do.

#include <vector>

#include <ashlar/layout/layout.hpp>
#include <ashlar/machine/link.hpp>
#include <ashlar/step/work.hpp>

namespace ashlar::search {
inline namespace step {

/// What the busiest rank receives per micro-batch.
struct halo_traffic {
  traffic forward, backward;
  friend constexpr bool operator==(halo_traffic const&, halo_traffic const&) = default;
};

namespace step_detail {

/// The part of a dim of n that position `at` has, positions row-major along the axes that split it.
constexpr interval part_of(std::int64_t n, topology const& t, axis_list const& axes, int at) {
  interval part{0, n};
  int below = 1;
  for (auto const a : axes) below *= t.extent(a);
  for (auto const a : axes) {
    below /= t.extent(a);
    part = balanced_part(part, t.extent(a), at / below % t.extent(a));
  }
  return part;
}

constexpr void take_larger(traffic& most, traffic const& other) {
  if (other.elements > most.elements ||
      (other.elements == most.elements && other.messages > most.messages))
    most = other;
}

}  // namespace step_detail

/// Messages and coordinates of the dim, in place of elements, that the busiest of the ranks along
/// `axes` receives. Expects y to be split along them as x is.
constexpr halo_traffic halo_coordinates(sliding_window const& w, std::int64_t x, std::int64_t y,
                                        topology const& t, axis_list const& axes) {
  int ranks = 1;
  for (auto const a : axes) ranks *= t.extent(a);
  halo_traffic most;
  std::vector<traffic> added(static_cast<std::size_t>(ranks));
  for (int at = 0; at < ranks; ++at) {
    interval const read = w.covered(step_detail::part_of(y, t, axes, at), x);
    traffic received;
    auto const from = [&](int other) {
      auto const rows = intersect(read, step_detail::part_of(x, t, axes, other)).size;
      if (rows == 0) return;
      received = {received.messages + 1, received.elements + rows};
      traffic& back = added[static_cast<std::size_t>(other)];
      back = {back.messages + 1, back.elements + rows};
    };
    // Parts ascend: from here to either side until they are past what is read.
    for (int k = at - 1; k >= 0 && step_detail::part_of(x, t, axes, k).end() > read.begin; --k)
      from(k);
    for (int k = at + 1; k < ranks && step_detail::part_of(x, t, axes, k).begin < read.end(); ++k)
      from(k);
    step_detail::take_larger(most.forward, received);
  }
  for (auto const& back : added) step_detail::take_larger(most.backward, back);
  return most;
}

/// The axes along which a choice exchanges a halo; none if the layer has none.
constexpr axis_list halo_axes(layer_spec const& spec, layer_choice const& c, topology const& t) {
  axis_list axes;
  if (spec.halo.dim < 0) return axes;
  for (auto const a : c.x.axes_of(spec.halo.dim))
    if (t.extent(a) > 1) axes.push_back(a);
  return axes;
}

/// The same of a choice of a layer, in elements.
constexpr halo_traffic halo_of(layer_spec const& spec, layer_choice const& c, topology const& t) {
  auto const axes = halo_axes(spec, c, t);
  if (axes.empty()) return {};
  int const d = spec.halo.dim;
  auto found = halo_coordinates(spec.halo.window, spec.x[d], spec.y[d], t, axes);
  box const own = local_box(spec.x, t, c.x, {});
  for (auto* load : {&found.forward, &found.backward})
    for (int k = 0; k < own.rank(); ++k)
      if (k != d) load->elements *= own[k].size;
  return found;
}

/// The link that a halo of these axes is priced by.
constexpr link halo_link(topology const& t, machine const& m, axis_list const& axes) {
  link slowest;
  slowest.alpha = slowest.beta = 0;
  for (auto const a : axes) {
    link const own = group_link(m, t, {a}, collective::all_gather);
    if (own.alpha > slowest.alpha) slowest.alpha = own.alpha;
    if (own.beta > slowest.beta) slowest.beta = own.beta;
  }
  return slowest;
}

/// Seconds of a choice's exchanges, of one micro-batch.
struct halo_cost {
  double forward = 0, backward = 0;
  constexpr double seconds() const { return forward + backward; }
};

/// Which of a layer's two exchanges goes with one of its computations: that of x with the forward pass,
/// that of dx with the computation that makes dx, neither with another one. `halo`: halo_cost or
/// halo_traffic.
template <class Halo>
constexpr auto halo_with(computation what, Halo const& halo) -> decltype(halo.forward) {
  switch (what) {
    case computation::forward: return halo.forward;
    case computation::backward:
    case computation::input_gradient: return halo.backward;
    case computation::weight_gradient: break;
  }
  return {};
}

constexpr halo_cost halo_seconds(layer_spec const& spec, layer_choice const& c, topology const& t,
                                 machine const& m, int element_size) {
  if (spec.halo.dim < 0) return {};
  auto const axes = halo_axes(spec, c, t);
  if (axes.empty()) return {};
  auto const load = halo_of(spec, c, t);
  link const between = halo_link(t, m, axes);
  return {seconds(between, load.forward, element_size),
          seconds(between, load.backward, element_size)};
}

}  // namespace step
}  // namespace ashlar::search
