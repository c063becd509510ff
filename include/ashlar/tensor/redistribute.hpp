// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Moves a tensor to another placement by the cheapest plan.
//
//   redistribute(x, sbp<S<0>, B>{})   the result is typed
//   x | to<S<0>, B>                   the same in pipe form
//   redistribute(x, placement)        the result is tensor<…, dynamic>
//   plan_redistribution(x, p)         the plan that redistribute(x, p) runs, printable
//
// If the plan has no steps, the result shares the shard of x.

#include <ashlar/comm/abandon_on_exception.hpp>
#include <ashlar/config.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/routed_steps.hpp>
#include <ashlar/tensor/sentences.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {
namespace detail {

/// Returns the plan that moves `x` to placement `target`, from the mesh's cache of plans. Throws
/// ashlar::error if `target` does not fit the tensor.
template <distributed Tensor>
std::shared_ptr<prepared_plan const> const& plan_to(Tensor const& x, placement const& target) {
  auto const& m = x.mesh();
  if (char const* const wrong = check(target, Tensor::rank, m.topology()))
    throw error("redistribute", describe(x) + " to " + to_string(target) + ": " + wrong);
  return m.prepared(x.extents(), sizeof(typename Tensor::value_type), x.placement(), target);
}

/// Returns `plan`, which is a plan on the mesh `m`, with this rank's transfers. If the plan is the
/// one that the mesh would choose now, it comes from the mesh's cache. The plan of a program or of
/// a crossing may have been made for another machine than the mesh now has. Such a plan is prepared
/// anew, so that the steps that run are those that were priced.
template <class Processor>
std::shared_ptr<prepared_plan const> prepared_as(redistribution_plan const& plan,
                                                 basic_mesh<Processor> const& m) {
  auto const& chosen = m.prepared(plan.extents, plan.element_size, plan.from, plan.to, plan.wire);
  if (chosen->plan == plan) return chosen;
  return std::make_shared<prepared_plan const>(
      prepare(plan, m.topology(), m.coordinate(), m.sum_order()));
}

/// Runs the plan's steps on a routed tensor, which stores for each token only the rows of the
/// experts to which the token goes (layout/routing.hpp). Returns the moved tensor.
template <class Processor>
any_tensor<Processor> run_routed_plan(any_tensor<Processor> x, redistribution_plan const& plan) {
  auto const m = x.mesh();
  // The sizes of shards depend on the routes, so one rank alone may run out of memory. An exception
  // abandons the mesh, so that the other ranks do not wait for this rank.
  abandon_on_exception const guard(m.operations());
  routed_steps<Processor> steps(x, plan);
  for (std::size_t k = 0; k < static_cast<std::size_t>(plan.steps.size()); ++k) {
    auto next = steps.like(k, x);
    if (communicates(plan.steps[static_cast<int>(k)].kind)) {
      auto const* const source = steps.pack(k, x);
      m.run(steps.what(k), x.type(), source, steps.target(next));
      steps.unpack(k, next);
    } else {
      steps.run_local(k, x, next);
    }
    x = std::move(next);
  }
  return x;
}

/// Runs the plan's steps on `x` and returns the moved tensor. `x` must have the placement at which
/// the plan starts.
template <class Processor>
any_tensor<Processor> run_plan(any_tensor<Processor> x, prepared_plan const& p) {
  auto const m = x.mesh();
  if (!m.is_here()) return x.like(p.plan.to);
  if (x.extents().is_routed()) return run_routed_plan(std::move(x), p.plan);

  abandon_on_exception guard(m.operations(), false);  // not armed until a step has communicated
  for (std::size_t i = 0; i < p.transfers.size(); ++i) {
    auto const& what = p.transfers[i];
    auto next = x.like(p.plan.steps[static_cast<int>(i)].to);
    if (communicates(what.kind)) {
      m.run(what, x.type(), x.data(), next.data());
      guard.arm();
    } else {
      run_local(m.processor(), what, x.type(), x.data(), next.data());
    }
    x = std::move(next);
  }
  return x;
}

#if !ASHLAR_DEFINES(TENSOR)
extern template any_tensor<device::host::processor> run_plan(any_tensor<device::host::processor>,
                                                             prepared_plan const&);
#endif

/// Overload for a dynamic tensor. If a caller moves its tensor here, the tensor's shard is released
/// as soon as the first step has read it.
template <distributed Tensor>
  requires(!Tensor::is_static)
Tensor run_plan(Tensor x, prepared_plan const& p) {
  any_tensor moving(x);
  x = {};
  return run_plan(std::move(moving), p).template as<Tensor>();
}

/// Returns whether placement `Target` fits tensors of type `Tensor`. If it does not, a
/// static_assert says why.
template <distributed Tensor, static_placement Target>
consteval bool target_fits() {
  constexpr bool fits = check(value_of<Target>, Tensor::rank, Target::axes) == nullptr;
  static_assert(fits, "redistribute: " ASHLAR_SAYS_PLACEMENT);
  if constexpr (Tensor::is_static)
    static_assert(Tensor::placement_type::axes == Target::axes, ASHLAR_SAYS_AXES);
  return fits;
}

}  // namespace detail

/// Returns `x` with another placement, by the cheapest plan. Communicates the collectives of this
/// plan, which plan_redistribution returns, or nothing if `x` has the placement already. Throws
/// ashlar::error if the placement does not fit the tensor.
template <distributed Tensor, placement_argument Target>
auto redistribute(Tensor const& x, Target const& target) {
  if constexpr (std::same_as<typename Tensor::placement_type,
                             typename placement_traits<Target>::type> &&
                Tensor::is_static) {
    return x;
  } else if constexpr (static_placement<Target>) {
    if constexpr (detail::target_fits<Tensor, Target>())
      return detail::run_plan(any_tensor(x), *detail::plan_to(x, value_of<Target>))
          .template as<tensor_for<typename Tensor::value_type, Tensor::rank, Target,
                                  typename Tensor::processor_type>>();
  } else {
    if (x.placement() == target) return x.as_dynamic();
    return detail::run_plan(any_tensor(x), *detail::plan_to(x, target))
        .template as<typename Tensor::dynamic_type>();
  }
}

/// The right operand of `x | to<S<0>, B>.on(other)` (cross_mesh.hpp).
template <class Processor, class... Tags>
struct to_placement_on {
  basic_mesh<Processor> other;
};

/// The right operand of `x | to<S<0>, B>`, the pipe form of redistribute.
template <class... Tags>
struct to_placement {
  /// Returns the right operand of `x | to<S<0>, B>.on(other)`, which moves x to another part of the
  /// mesh (cross_mesh.hpp).
  template <class Processor>
  to_placement_on<Processor, Tags...> on(basic_mesh<Processor> const& other) const {
    return {other};
  }
};
template <class... Tags>
inline constexpr to_placement<Tags...> to{};

/// Returns redistribute(x, sbp<Tags...>{}). Communicates the plan's collectives.
template <distributed Tensor, class... Tags>
auto operator|(Tensor const& x, to_placement<Tags...>) {
  return redistribute(x, sbp<Tags...>{});
}

/// Returns the plan that redistribute(x, target) runs. Communicates nothing. Throws ashlar::error
/// if the placement does not fit the tensor.
template <distributed Tensor, placement_argument Target>
plan_report plan_redistribution(Tensor const& x, Target const& target) {
  return {detail::plan_to(x, as_value(target))->plan, x.mesh().topology(), x.mesh().machine()};
}

}  // namespace ashlar
