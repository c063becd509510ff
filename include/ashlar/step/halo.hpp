// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The halo exchange of a layer whose window slides along a split dim (layer_spec::halo), such as a
// convolution. The halo of a rank is the part of x that its outputs y need and that other ranks
// have. This exchange is not one of the collectives of a plan. It has its own line in the step's
// program (program_builder.hpp).
//
//   forward    A rank receives its halo from one or two neighbours, or from more if a
//              shard is thinner than the halo.
//   backward   A rank receives the gradients of its own part of x from the ranks whose halos
//              contain it, and adds them.
//
// Traffic is computed from the real split of x and y into balanced parts. So unequal shards,
// strides and padding need no special cases. With equal shards and a centred window of odd extent k
// at stride 1, the halo of a rank between two others has k - 1 coordinates along the split dim,
// half of them on either side. If the windows leave gaps (stride > k), the coordinates in the gaps
// are sent too.
//
// The price is the time of the rank that receives most: α seconds per neighbour and β seconds per
// byte (machine/link.hpp). α and β are the largest among the mesh axes that split the dim. If
// several axes split the dim, this price is an upper bound.

#include <vector>

#include <ashlar/config.hpp>
#include <ashlar/layout/halo_layout.hpp>
#include <ashlar/layout/layout.hpp>
#include <ashlar/machine/link.hpp>
#include <ashlar/step/work.hpp>

namespace ashlar::search {
inline namespace step {

/// The traffic that the busiest rank receives in each pass, per micro-batch.
struct halo_traffic {
  traffic forward, backward;
  friend constexpr bool operator==(halo_traffic const&, halo_traffic const&) = default;
};

namespace step_detail {

constexpr void take_larger(traffic& most, traffic const& other) {
  if (other.elements > most.elements ||
      (other.elements == most.elements && other.messages > most.messages))
    most = other;
}

constexpr halo_traffic halo_coordinates_here(sliding_window const& w, std::int64_t x,
                                             std::int64_t y, topology const& t,
                                             axis_list const& axes) {
  int ranks = 1;
  for (auto const a : axes) ranks *= t.extent(a);
  halo_traffic most;
  std::vector<traffic> added(static_cast<std::size_t>(ranks));
  for (int at = 0; at < ranks; ++at) {
    interval const read = w.covered(split_part(y, t, axes, at), x);
    traffic received;
    auto const from = [&](int other) {
      auto const rows = intersect(read, split_part(x, t, axes, other)).size;
      if (rows == 0) return;
      received = {received.messages + 1, received.elements + rows};
      traffic& back = added[static_cast<std::size_t>(other)];
      back = {back.messages + 1, back.elements + rows};
    };
    // Parts are in ascending order. Each loop starts at this rank's part and stops at the first
    // part that is outside the range that this rank reads.
    for (int k = at - 1; k >= 0 && split_part(x, t, axes, k).end() > read.begin; --k) from(k);
    for (int k = at + 1; k < ranks && split_part(x, t, axes, k).begin < read.end(); ++k) from(k);
    take_larger(most.forward, received);
  }
  for (auto const& back : added) take_larger(most.backward, back);
  return most;
}

#if ASHLAR_COMPILED
halo_traffic halo_coordinates_at_run_time(sliding_window const& w, std::int64_t x, std::int64_t y,
                                          topology const& t, axis_list const& axes);
#endif

}  // namespace step_detail

/// Returns the halo traffic that the busiest of the ranks along `axes` receives. In the result,
/// `elements` is a number of coordinates along the split dim, such as rows of pixels. The dim has
/// extent `x` in the tensor x and extent `y` in the tensor y. Both tensors must be split along
/// `axes`.
constexpr halo_traffic halo_coordinates(sliding_window const& w, std::int64_t x, std::int64_t y,
                                        topology const& t, axis_list const& axes) {
  ASHLAR_RETURN(step_detail::halo_coordinates_here(w, x, y, t, axes),
                step_detail::halo_coordinates_at_run_time(w, x, y, t, axes));
}

/// Returns the mesh axes that split the dim along which the windows of a layer slide, if its input
/// x, or the gradient of x, lies at placement `at`. A halo is exchanged only along these axes. The
/// list is empty if the layer has no such windows.
constexpr axis_list halo_axes(layer_spec const& spec, placement const& at, topology const& t) {
  axis_list axes;
  if (spec.halo.dim < 0) return axes;
  for (auto const a : at.axes_of(spec.halo.dim))
    if (t.extent(a) > 1) axes.push_back(a);
  return axes;
}

/// Returns what each rank owns and reads of a layer's input x, or of the gradient of x. This tensor
/// lies at placement `at`. The result has no halo if no mesh axis splits the dim of the windows, or
/// if every rank has exactly what its windows cover.
constexpr halo_layout halo_layout_of(layer_spec const& spec, placement const& at,
                                     topology const& t) {
  halo_layout e{spec.x, at, spec.halo.dim, spec.halo.window, 0, halo_axes(spec, at, t)};
  if (spec.halo.dim < 0) return e;
  e.places = spec.y[spec.halo.dim];
  for (int k = 0; k < t.group_size(e.axes); ++k)
    if (!(e.read_range(t, k) == e.own_range(t, k))) return e;
  e.axes.clear();
  return e;
}

/// Returns the halo traffic of a layer under a choice `c` of its placements, in elements.
constexpr halo_traffic halo_of(layer_spec const& spec, layer_choice const& c, topology const& t) {
  auto const axes = halo_axes(spec, c.x, t);
  if (axes.empty()) return {};
  int const d = spec.halo.dim;
  auto found = halo_coordinates(spec.halo.window, spec.x[d], spec.y[d], t, axes);
  box const own = local_box(spec.x, t, c.x, {});
  for (auto* load : {&found.forward, &found.backward})
    for (int k = 0; k < own.rank(); ++k)
      if (k != d) load->elements *= own[k].size;
  return found;
}

/// Returns the link that prices a halo exchange along these axes. It has the largest α and the
/// largest β of the links of the axes.
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

/// The seconds of a layer's halo exchanges per micro-batch.
struct halo_cost {
  double forward = 0, backward = 0;
  constexpr double seconds() const { return forward + backward; }
};

/// Returns the cost or the traffic of the halo exchange that belongs to a computation. A forward
/// pass is preceded by an exchange of x, and a computation of dx is followed by an exchange of dx.
/// A weight gradient needs no exchange, so the result is 0. `halo` is a halo_cost or a
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
  auto const axes = halo_axes(spec, c.x, t);
  if (axes.empty()) return {};
  auto const load = halo_of(spec, c, t);
  link const between = halo_link(t, m, axes);
  return {seconds(between, load.forward, element_size),
          seconds(between, load.backward, element_size)};
}

}  // namespace step
}  // namespace ashlar::search
