// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Redistributions with a wire (plan/wire.hpp): sums of partial tensors, and gathers, whose data are
// encoded on the way.
//
//   redistribute(x, sbp<S<0>>{}, sync::wire<sync::int8>{})           from sbp<P>: encoded addends
//   redistribute(s, sbp<B>{}, sync::wire<sync::int8>{})              from sbp<S<0>>: encoded shards
//   redistribute(x, sbp<S<0>>{}, sync::wire<sync::int8>{}, errors)   with error feedback
//   redistribute(x, placement, wires::int8)                          dynamic; also from P to B
//   plan_redistribution(x, placement, wires::int8)                   the plan of the dynamic form
//
// A typed redistribution from P to B does not compile unless the wire is linear (power_sgd). Other
// wires cannot be summed on the way, so the sum must be encoded again. The program has to ask for
// this, with two redistributions or with the dynamic form.

#include <memory>
#include <utility>

#include <ashlar/sync/wire.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/running_plan.hpp>

namespace ashlar {
namespace detail {

/// Returns whether a wire can carry the elements of tensors of type `Tensor`. If it cannot, a
/// static_assert says why.
template <distributed Tensor>
consteval bool is_encodable() {
  static_assert(std::is_same_v<typename Tensor::value_type, float>,
                "redistribute: a wire carries elements of type float. Cast the tensor to float, or "
                "leave out the wire.");
  static_assert(Tensor::processor_type::is_host,
                "redistribute: wires encode in host memory, but the tensor is on a device. Leave "
                "out the wire.");
  return std::is_same_v<typename Tensor::value_type, float> && Tensor::processor_type::is_host;
}

constexpr bool has_all_reduce(placement const& from, placement const& to) {
  for (int a = 0; a < from.axes(); ++a)
    if (from[a].is_partial() && to[a].is_broadcast()) return true;
  return false;
}

/// Returns whether the wire can carry all sums of a redistribution between these placements: it is
/// linear, or there is no all-reduce. If it cannot, a static_assert says why.
template <static_placement From, static_placement To, class Format>
consteval bool can_carry_sums() {
  constexpr bool good = Format::value.is_linear() || !has_all_reduce(value_of<From>, value_of<To>);
  static_assert(good,
                "redistribute: encoded addends cannot be summed on the way, so an all-reduce has "
                "no wire. Redistribute to a split first, such as sbp<S<0>>, and then to sbp<B>, "
                "with a wire or without.");
  return good;
}

template <distributed Tensor>
std::shared_ptr<prepared_plan const> encoded_plan_to(Tensor const& x, placement const& target,
                                                     wire_format const& wire) {
  auto const& m = x.mesh();
  if (wire.momentum)
    throw error("redistribute", describe(x) + " as " + to_string(wire) +
                                    ": only a trainer averages gradients. Use the wire without "
                                    "momentum, such as wires::with_feedback(wires::int8).");
  if (char const* const wrong = check(target, Tensor::rank, m.topology()))
    throw error("redistribute", describe(x) + " to " + to_string(target) + ": " + wrong);
  if (char const* const wrong = wire_fault(wire, x.extents(), x.placement(), m.topology()))
    throw error("redistribute", describe(x) + " as " + to_string(wire) + ": " + wrong);
  return m.prepared(x.extents(), sizeof(float), x.placement(), target, wire);
}

template <distributed Tensor>
auto run_encoded(Tensor const& x, placement const& target, wire_format const& wire,
                 wire_errors* errors) {
  using processor = typename Tensor::processor_type;
  if (wire.feedback && errors == nullptr) refuse_without_errors(wire);
  recycled_vector<wire_errors*> kept;
  if (wire.feedback) kept.push_back(errors);
  recycled_vector<any_tensor<processor>> tensors{any_tensor<processor>(x)};
  running_plan<processor> run(std::move(tensors),
                              std::make_shared<bucket>(encoded_plan_to(x, target, wire)), nullptr,
                              std::move(kept));
  x.mesh().wait(run);
  return run.result();
}

}  // namespace detail

/// Returns `x` with another placement, by the plan that plan_encoded makes for the wire `Format`.
/// Requires elements of type float in host memory. If the result is B on an axis on which `x` is P,
/// requires a linear wire. Communicates the collectives of this plan, with the exact bytes that the
/// plan states. Throws ashlar::error if the placement or the wire does not fit the tensor.
template <distributed Tensor, static_placement Target, class Format>
  requires Tensor::is_static
auto redistribute(Tensor const& x, Target const&, sync::wire<Format> const& wire) {
  if constexpr (detail::target_fits<Tensor, Target>() && detail::is_encodable<Tensor>() &&
                detail::can_carry_sums<typename Tensor::placement_type, Target, Format>())
    return detail::run_encoded(x, value_of<Target>, wire.value, nullptr)
        .template as<tensor_for<float, Tensor::rank, Target, typename Tensor::processor_type>>();
}
/// Overload with error feedback: adds the errors of earlier redistributions to the values before
/// they are encoded, and stores the new errors in `errors`.
template <distributed Tensor, static_placement Target, class Format>
  requires Tensor::is_static
auto redistribute(Tensor const& x, Target const&, sync::wire<Format> const& wire,
                  wire_errors& errors) {
  if constexpr (detail::target_fits<Tensor, Target>() && detail::is_encodable<Tensor>() &&
                detail::can_carry_sums<typename Tensor::placement_type, Target, Format>())
    return detail::run_encoded(x, value_of<Target>, wires::with_feedback(wire.value), &errors)
        .template as<tensor_for<float, Tensor::rank, Target, typename Tensor::processor_type>>();
}

/// Returns `x` with another placement, by the plan that plan_encoded makes for `wire`. If the wire
/// has error feedback, `errors` must not be null. Requires elements of type float in host memory.
/// Communicates the collectives of this plan. Throws ashlar::error if the placement or the wire
/// does not fit the tensor, or if the wire has momentum.
template <distributed Tensor>
auto redistribute(Tensor const& x, placement const& target, wire_format const& wire,
                  wire_errors* errors = nullptr) {
  if constexpr (detail::is_encodable<Tensor>())
    return detail::run_encoded(x, target, wire, errors)
        .template as<typename Tensor::dynamic_type>();
}

/// Returns the plan that redistribute(x, target, wire) runs. Communicates nothing. Throws
/// ashlar::error if the placement or the wire does not fit the tensor, or if the wire has momentum.
template <distributed Tensor>
plan_report plan_redistribution(Tensor const& x, placement const& target, wire_format const& wire) {
  return {detail::encoded_plan_to(x, target, wire)->plan, x.mesh().topology(), x.mesh().machine()};
}

}  // namespace ashlar
