// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Moves a tensor from one part of a mesh to another one.
//
//   auto const stage = mesh.split("node");
//   auto const y = redistribute(x, stage[1], sbp<S<1>>{});        // from stage[0]
//   std::cout << plan_redistribution(x, stage[1], sbp<S<1>>{});   // the steps and the crossing
//
// Every rank of the whole mesh makes the same calls. A rank outside of both parts does nothing.

#include <ashlar/comm/prepared_crossing.hpp>
#include <ashlar/plan/crossing/text.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar {

namespace detail {

template <distributed Tensor>
std::shared_ptr<prepared_crossing const>
plan_to(Tensor const& x, typename Tensor::mesh_type const& other, placement const& target) {
  if (char const* const wrong = check(target, Tensor::rank, other.axes()))
    throw error("redistribute",
                describe(x) + " to " + to_string(target, other.topology()) + ": " + wrong);
  return x.mesh().cross_plan(x.extents(), sizeof(typename Tensor::value_type), x.placement(), other,
                             target);
}

template <class Processor>
any_tensor<Processor> run_plan(any_tensor<Processor> const& x, basic_mesh<Processor> const& other,
                               prepared_crossing const& prepared) {
  auto const& p = prepared.plan;
  auto const& m = x.mesh();
  auto const& extents = x.extents();
  int const size = static_cast<int>(size_of(x.type()));
  auto const sent = run_plan(x, *m.prepared(extents, size, p.before.from, p.before.to));
  any_tensor<Processor> const received(other, extents, p.after.from, x.type());
  auto const& own = m.is_here() ? sent : received;
  int const number = m.next_crossing();
  if (m.is_here() || other.is_here())
    m.wait(*own.mesh().start_crossing(prepared, own.local_box(), own.data(),
                                      static_cast<std::size_t>(size), number));
  return run_plan(received, *other.prepared(extents, size, p.after.from, p.after.to));
}

}  // namespace detail

/// Returns the tensor on another part of the mesh, at placement `target`. The plan is the cheapest
/// that plan_cross_mesh finds (plan_redistribution prints it). Throws ashlar::error if the
/// placement does not fit, or if the meshes are not parts of one mesh without common ranks.
/// Communicates the steps and the crossing of the plan.
template <distributed Tensor, placement_argument Target>
auto redistribute(Tensor const& x, typename Tensor::mesh_type const& other, Target const& target) {
  using result = tensor_for<typename Tensor::value_type, Tensor::rank, Target,
                            typename Tensor::processor_type>;
  auto const plan = detail::plan_to(x, other, as_value(target));
  return detail::run_plan(any_tensor(x), other, *plan).template as<result>();
}

/// Returns redistribute(x, other, sbp<Tags...>{}) for `x | to<Tags...>.on(other)`.
template <distributed Tensor, class... Tags>
auto operator|(Tensor const& x,
               to_placement_on<typename Tensor::processor_type, Tags...> const& target) {
  return redistribute(x, target.other, sbp<Tags...>{});
}

/// Returns the plan that redistribute(x, other, target) runs, for printing. Communicates nothing.
template <distributed Tensor, placement_argument Target>
cross_mesh_report plan_redistribution(Tensor const& x, typename Tensor::mesh_type const& other,
                                      Target const& target) {
  return {detail::plan_to(x, other, as_value(target))->plan, x.mesh().whole(), x.mesh().machine()};
}

}  // namespace ashlar
