// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Redistributions that give new placements to mesh axes by name. The other axes keep their
// placements.
//
//   x | to<on<"gpu", S<1>>>                             the result is dynamic
//   redistribute(x, {{"gpu", split(1)}})                the result is dynamic
//   x | to<mesh_axes<"node", "gpu">, on<"gpu", S<1>>>   the result is typed if x is typed
//
// The names of mesh axes are run-time values, and so are not in the type of a tensor. A typed
// result therefore needs the list of all names, mesh_axes<...>. With the list, the compiler refuses
// a name that the list does not have. Without the list, a name that the mesh does not have throws
// ashlar::error. A list that differs from the names of the mesh throws ashlar::error, too.

#include <ashlar/mesh/named_placement.hpp>
#include <ashlar/tensor/local_rule.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar {
namespace detail {

template <class Tag>
inline constexpr bool is_on = false;
template <axis_name Name, class Tag>
inline constexpr bool is_on<placements::on<Name, Tag>> = true;

template <class Tag>
struct named_value;
template <axis_name Name, class Tag>
struct named_value<placements::on<Name, Tag>> {
  static constexpr named_placement value{Name, tag_value<Tag>::value};
};

using axis_names = inplace_vector<axis_name, max_axes>;

inline axis_names names_of(topology const& t) {
  axis_names names;
  for (auto const& axis : t.axis) names.push_back(axis.name);
  return names;
}

inline std::span<axis_name const> as_span(axis_names const& names) {
  return {names.begin(), static_cast<std::size_t>(names.size())};
}

/// Returns the placement of x with the changes. Throws ashlar::error if a name is unknown or is
/// given twice.
template <distributed X>
placement changed_placement(X const& x, std::span<named_placement const> changes) {
  auto const& t = x.mesh().topology();
  auto const names = names_of(t);
  axis_name at;
  auto const fault = fault_of(as_span(names), changes, &at);
  std::string const what = "\"" + std::string(at.view()) + "\" on mesh " + to_string(t) + ": ";
  if (fault == naming_fault::unknown) throw error("redistribute", what + ASHLAR_SAYS_UNKNOWN_AXIS);
  if (fault == naming_fault::twice) throw error("redistribute", what + ASHLAR_SAYS_AXIS_TWICE);
  return changed(x.placement(), as_span(names), changes);
}

/// Returns whether the names have no fault. If they have one, a static_assert says which.
template <naming_fault Fault>
consteval bool names_are_right() {
  static_assert(Fault != naming_fault::unknown, "to: " ASHLAR_SAYS_UNKNOWN_AXIS);
  static_assert(Fault != naming_fault::twice, "to: " ASHLAR_SAYS_AXIS_TWICE);
  return Fault == naming_fault::none;
}

}  // namespace detail

/// Returns x with new placements on the named axes, by the cheapest plan. Communicates the plan's
/// collectives. Throws ashlar::error if the mesh has no axis of a given name, if a name is given
/// twice, or if the placement does not fit the tensor.
template <distributed X>
typename X::dynamic_type redistribute(X const& x, std::initializer_list<named_placement> changes) {
  return redistribute(x, detail::changed_placement(x, {changes.begin(), changes.size()}));
}

/// Returns the plan that redistribute(x, changes) runs. Communicates nothing. Throws like
/// redistribute.
template <distributed X>
plan_report plan_redistribution(X const& x, std::initializer_list<named_placement> changes) {
  return plan_redistribution(x, detail::changed_placement(x, {changes.begin(), changes.size()}));
}

/// Returns redistribute(x, {...}) with the axes and placements of the tags. Communicates the plan's
/// collectives.
template <distributed X, class... Tags>
  requires(sizeof...(Tags) > 0 && (detail::is_on<Tags> && ...))
typename X::dynamic_type operator|(X const& x, to_placement<Tags...>) {
  return redistribute(x, {detail::named_value<Tags>::value...});
}
template <distributed X, class... Tags>
  requires((detail::is_on<Tags> || ...) && !(detail::is_on<Tags> && ...))
ill_formed operator|(X const&, to_placement<Tags...>) {
  static_assert(detail::always_false<X>, ASHLAR_SAYS_SOME_AXES_NAMED);
  return {};
}

/// Overload for tags that begin with the names of all axes of the mesh. The result is typed if x is
/// typed. Communicates the plan's collectives. Throws ashlar::error if the axes of the mesh have
/// other names.
template <distributed X, axis_name... Names, class... Tags>
  requires(detail::is_on<Tags> && ...)
auto operator|(X const& x, to_placement<placements::mesh_axes<Names...>, Tags...>) {
  static constexpr axis_name names[] = {Names...};
  static constexpr inplace_vector<named_placement, sizeof...(Tags) + 1> changes{
      detail::named_value<Tags>::value...};
  static constexpr std::span<named_placement const> given(changes.begin(), sizeof...(Tags));
  if constexpr (detail::names_are_right<fault_of(names, given)>()) {
    auto const here = detail::names_of(x.mesh().topology());
    if (!std::ranges::equal(detail::as_span(here), names))
      throw error("to", "mesh_axes<...> does not have the names of mesh " +
                            to_string(x.mesh().topology()) + ". List all, in the mesh's order.");
    if constexpr (!X::is_static) {
      return redistribute(x, changed(x.placement(), names, given));
    } else {
      constexpr placement from = value_of<typename X::placement_type>;
      static_assert(from.axes() == sizeof...(Names), ASHLAR_SAYS_AXES_OF_LIST);
      if constexpr (from.axes() == sizeof...(Names)) {
        constexpr placement target = changed(from, names, given);
        constexpr bool fits = check(target, X::rank, target.axes()) == nullptr;
        static_assert(fits, "redistribute: " ASHLAR_SAYS_PLACEMENT);
        if constexpr (fits) return redistribute(x, tag_of<target>{});
      }
    }
  }
}

}  // namespace ashlar
