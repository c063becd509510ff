// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The seconds that a layer computes on the busiest rank.
//
//   seconds = flops · fraction / machine.flops · stretch
//           + values · fraction · element_size / memory_bandwidth
//
// fraction: the part of the layer's work that the rank does. It is a product of factors. Each mesh
// axis that splits a dim contributes the factor (extent of the largest part) / (extent of the dim).
// The dim belongs to x, or to y if the axis does not split x, or else to a parameter in use. An
// axis that splits nothing contributes 1, because all its ranks do the same work.
//
// stretch: the time of the rank's GEMM divided by the time of the same GEMM at peak speed
// (machine/gemm.hpp), for the dims that the layer names (gemm_dims). The stretch is 1 if the layer
// names no dims or machine::gemm_half is 0. The three GEMMs of the forward and backward pass have
// the same three extents in different order, and so the same stretch.
//
// A layer of a recomputed segment does the work of its forward pass twice.

#include <ashlar/layout/layout.hpp>
#include <ashlar/machine/gemm.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

/// Multiplies `fraction` by one factor for each mesh axis that splits a dim in `p` and is not in
/// the bit mask `counted`: (extent of the largest part) / (extent before this split). Adds these
/// axes to the mask.
constexpr void count_splits(placement const& p, shape const& s, topology const& t, double& fraction,
                            unsigned& counted) {
  unsigned const before = counted;
  int const axes = p.axes();
  for (int a = 0; a < axes; ++a)
    counted |= static_cast<unsigned>(p.axis.items[a].kind == placement_kind::split) << a;
  if (counted == before) return;
  shape part = s;
  for (int depth = 0, found = 1; depth < axes && found; ++depth) {
    found = 0;
    for (int a = 0; a < axes; ++a) {
      axis_placement const& role = p.axis.items[a];
      if (!role.is_split() || role.depth != depth) continue;
      found = 1;
      if (before >> a & 1u) continue;
      std::int64_t& n = part.extent.items[role.dim];
      if (n == 0) continue;
      std::int64_t const largest = (n + t.extent(a) - 1) / t.extent(a);
      fraction *= double(largest) / double(n);
      n = largest;
    }
  }
}

}  // namespace step_detail

/// Returns the part of a layer's work that its busiest rank does, in (0, 1].
constexpr double work_fraction(layer_spec const& spec, layer_choice const& c, topology const& t) {
  double fraction = 1;
  unsigned counted = 0;
  step_detail::count_splits(c.x, spec.x, t, fraction, counted);
  step_detail::count_splits(c.y, spec.y, t, fraction, counted);
  for (int k = 0; k < spec.parameters.size(); ++k)
    step_detail::count_splits(c.parameters.items[k].use, spec.parameters.items[k].extents, t,
                              fraction, counted);
  if (spec.x.is_routed() || spec.y.is_routed()) {  // the fullest rank has more rows than the mean
    box own = spec.x.is_routed() ? local_box(spec.x, t, c.x, {}) : local_box(spec.y, t, c.y, {});
    auto const fullest = double(own.elements());
    own.fullest = evenly_full;
    if (fullest > 0 && own.elements() > 0) fraction *= fullest / double(own.elements());
  }
  return fraction;
}

namespace step_detail {

constexpr std::int64_t extent_of(std::int64_t fixed, unsigned dims, box const& b) {
  for (int d = 0; d < b.rank(); ++d)
    if (dims >> d & 1u) fixed *= b[d].size;
  return fixed;
}

}  // namespace step_detail

/// Returns the time of a layer's GEMM on the busiest rank, divided by the time of the same GEMM at
/// peak speed.
constexpr double work_stretch(layer_spec const& spec, layer_choice const& c, topology const& t,
                              machine const& m) {
  gemm_dims const& g = spec.gemm;
  box const x = local_box(spec.x, t, c.x, {}), y = local_box(spec.y, t, c.y, {});
  return gemm_stretch(m, step_detail::extent_of(g.fixed_m, g.m, x),
                      step_detail::extent_of(g.fixed_n, g.n, y),
                      step_detail::extent_of(g.fixed_k, g.k, x));
}

/// The kinds of computation of a layer. `backward` makes the gradients of parameters and of the
/// input.
enum class computation : signed char { forward, backward, weight_gradient, input_gradient };

/// The amount of work of a computation of the whole layer, before it is distributed over ranks.
struct work_amount {
  double flops = 0;   ///< floating-point operations of GEMMs
  double values = 0;  ///< elements read or written by operations other than GEMMs
};

constexpr work_amount work_of(layer_spec const& spec, computation what) {
  switch (what) {
    case computation::forward: return {spec.forward_flops, spec.forward_values};
    case computation::backward: return {spec.backward_flops, spec.backward_values};
    case computation::weight_gradient: return {spec.gradient_flops, spec.gradient_values};
    case computation::input_gradient: break;
  }
  return {spec.backward_flops - spec.gradient_flops, spec.backward_values - spec.gradient_values};
}

/// The two factors by which placements scale a layer's time:
///
/// - fraction: the part of the layer's work that the busiest rank does
/// - stretch: the time of the layer's GEMMs divided by the time of the same GEMMs at peak speed
struct work_factors {
  double fraction = 1;
  double stretch = 1;
};

constexpr work_factors factors_of(layer_spec const& spec, layer_choice const& c, topology const& t,
                                  machine const& m) {
  bool const stretched = m.gemm_half > 0 && spec.gemm.known();
  return {work_fraction(spec, c, t), stretched ? work_stretch(spec, c, t, m) : 1.0};
}

/// Returns the seconds of one computation of a layer on the busiest rank, for one micro-batch. With
/// both factors 1, the result is the time of a single rank that does all the work at peak speed.
/// The sum of the times of all ranks is never less.
constexpr double work_seconds(work_amount const& work, machine const& m, int element_size,
                              work_factors const& by = {}) {
  return (work.flops / m.flops * by.stretch + work.values * element_size / m.memory_bandwidth) *
         by.fraction;
}

}  // namespace step
}  // namespace ashlar::search
