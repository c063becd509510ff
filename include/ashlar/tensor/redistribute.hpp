// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Moves a tensor to another placement by the cheapest plan.
//
//   redistribute(x, sbp<S<0>, B>{})   typed result          x | to<S<0>, B>     the same
//   redistribute(x, placement)        tensor<…, dynamic>
//   plan_redistribution(x, p)         what it would do, printable
//
// Where nothing moves the result shares the shard of x.

#include <ashlar/plan/text.hpp>
#include <ashlar/tensor/run_step.hpp>
#include <ashlar/tensor/sentences.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {
namespace detail {

/// The plan of `x` to `target`, from the mesh's cache. Throws if the placement does not fit.
template <distributed Tensor>
redistribution_plan const& plan_to(Tensor const& x, placement const& target) {
  auto const& m = x.mesh();
  if (char const* const wrong = check(target, Tensor::rank, m.axes()))
    throw error("redistribute", describe(x) + " to " + to_string(target) + ": " + wrong);
  return m.plan(x.extents(), sizeof(typename Tensor::value_type), x.placement(), target);
}

/// Runs the plan from `x` into a tensor of the target's type.
template <class Result, distributed Tensor>
Result run_plan(Tensor const& x, placement const& target) {
  using T = typename Tensor::value_type;
  auto const& m = x.mesh();
  auto const& plan = plan_to(x, target);
  tensor<T, Tensor::rank, dynamic> current = x.as_dynamic();
  for (int i = 0; i < plan.steps.size(); ++i) {
    tensor<T, Tensor::rank, dynamic> next(m, x.extents(), plan.steps[i].to);
    run_step(m, x.extents(), plan.steps[i], static_cast<T const*>(current.data()), next.data());
    current = next;
  }
  if constexpr (Result::is_static)
    return current.template as_static<typename Result::placement_type>();
  else return current;
}

}  // namespace detail

/// `x` with another placement, by the cheapest plan.
/// Communicates: the plan's collectives (plan_redistribution prints them); nothing if x lies so.
/// Throws ashlar::error if the placement does not fit the tensor.
template <distributed Tensor, placement_argument Target>
auto redistribute(Tensor const& x, Target const& target) {
  using T = typename Tensor::value_type;
  if constexpr (Tensor::is_static && static_placement<Target>)
    static_assert(Tensor::placement_type::axes == Target::axes, ASHLAR_SAYS_AXES);
  if constexpr (static_placement<Target>) {
    constexpr placement value = value_of<Target>;
    static_assert(check(value, Tensor::rank, Target::axes) == nullptr,
                  "redistribute: " ASHLAR_SAYS_PLACEMENT);
  }
  using result = tensor_for<T, Tensor::rank, Target>;
  return detail::run_plan<result>(x, as_value(target));
}

/// x | to<S<0>, B>: the pipe form of redistribute.
template <class... Tags>
struct to_placement {};
template <class... Tags>
inline constexpr to_placement<Tags...> to{};

template <distributed Tensor, class... Tags>
auto operator|(Tensor const& x, to_placement<Tags...>) {
  return redistribute(x, sbp<Tags...>{});
}

/// The plan that redistribute(x, target) runs. Communicates nothing.
/// Throws ashlar::error if the placement does not fit the tensor.
template <distributed Tensor, placement_argument Target>
plan_report plan_redistribution(Tensor const& x, Target const& target) {
  auto const& plan = detail::plan_to(x, as_value(target));
  return {plan, x.mesh().topology(), x.mesh().machine()};
}

}  // namespace ashlar
