// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Moves a tensor from one part of a mesh to another one.
//
//   auto const stage = mesh.split("node");
//   auto const y = redistribute(x, stage[1], sbp<S<1>>{});        // from stage[0]
//   std::cout << plan_redistribution(x, stage[1], sbp<S<1>>{});   // the steps and the crossing
//   redistribute(x, stage[1], sbp<B>{}, {crossing_strategy::gather_in_nodes});
//
// The plan has three parts: steps of a redistribution within the source part, the crossing (the
// messages from the source part to the target part), and steps within the target part. Every rank
// of the whole mesh makes the same calls. A rank outside of both parts does nothing.

#include <ashlar/comm/prepared_crossing.hpp>
#include <ashlar/plan/crossing/text.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar {

namespace detail {

template <distributed Tensor, same_processor<typename Tensor::processor_type> Other>
std::shared_ptr<prepared_crossing const> plan_to(Tensor const& x, basic_mesh<Other> const& other,
                                                 placement const& target,
                                                 crossing_choice const& how) {
  if (char const* const wrong = check(target, Tensor::rank, other.topology()))
    throw error("redistribute",
                describe(x) + " to " + to_string(target, other.topology()) + ": " + wrong);
  if (x.extents().is_routed())
    throw error("redistribute", "rows of experts do not move to another part of the mesh. Combine "
                                "them first, or keep all layers of the mixture on one part.");
  if (x.placement().has_owned() || target.has_owned())
    throw error("redistribute", describe(x) + " to " + to_string(target, other.topology()) +
                                    ": owned tensors do not cross to another part of the mesh. "
                                    "Redistribute before or after the crossing, as in x | to<B, "
                                    "...>.");
  return x.mesh().cross_plan(x.extents(), sizeof(typename Tensor::value_type), x.placement(), other,
                             target, how);
}

template <class Processor, class Other>
any_tensor<Other> run_plan(any_tensor<Processor> const& x, basic_mesh<Other> const& other,
                           prepared_crossing const& prepared) {
  auto const& p = prepared.plan;
  auto const& m = x.mesh();
  auto const& extents = x.extents();
  int const size = static_cast<int>(size_of(x.type()));
  int const number = m.next_crossing(other);
  auto const sent = run_plan(x, *prepared_as(p.before, m));
  any_tensor<Other> const received(other, extents, p.after.from, x.type());
  auto const cross = [&](auto const& own) {
    m.wait(*own.mesh().start_crossing(prepared, own.local_box(), own.data(),
                                      static_cast<std::size_t>(size), number));
  };
  if (m.is_here()) cross(sent);
  else if (other.is_here()) cross(received);
  return run_plan(received, *prepared_as(p.after, other));
}

}  // namespace detail

/// Returns the tensor on another part of the mesh, at placement `target`. Runs the cheapest plan,
/// or the cheapest one whose crossing is as `how` prescribes (plan/crossing_choice.hpp).
/// plan_redistribution returns this plan. Throws ashlar::error if the placement does not fit, if x
/// is routed, or if x or `target` is owned on an axis. Also throws if the two meshes are not parts
/// of one mesh, if they have a rank in common, or if no plan crosses as `how` prescribes.
/// Communicates the steps and the crossing of the plan.
template <distributed Tensor, same_processor<typename Tensor::processor_type> Other,
          placement_argument Target>
auto redistribute(Tensor const& x, basic_mesh<Other> const& other, Target const& target,
                  crossing_choice const& how = {}) {
  using result = tensor_for<typename Tensor::value_type, Tensor::rank, Target, Other>;
  auto const plan = detail::plan_to(x, other, as_value(target), how);
  return detail::run_plan(any_tensor(x), other, *plan).template as<result>();
}

/// Returns redistribute(x, other, sbp<Tags...>{}) for `x | to<Tags...>.on(other)`.
template <distributed Tensor, class Other, class... Tags>
auto operator|(Tensor const& x, to_placement_on<Other, Tags...> const& target) {
  return redistribute(x, target.other, sbp<Tags...>{});
}

/// Returns the plan that redistribute(x, other, target, how) runs, for printing. Communicates
/// nothing.
template <distributed Tensor, same_processor<typename Tensor::processor_type> Other,
          placement_argument Target>
cross_mesh_report plan_redistribution(Tensor const& x, basic_mesh<Other> const& other,
                                      Target const& target, crossing_choice const& how = {}) {
  return {detail::plan_to(x, other, as_value(target), how)->plan, x.mesh().whole(),
          x.mesh().machine()};
}

}  // namespace ashlar
