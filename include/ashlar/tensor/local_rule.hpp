// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Applies the signature table of an operator to its operands: finds the placement of the result, or
// rejects the operands if the operator would need communication. Typed and dynamic tensors use the
// same function, `resolve` of signature/signature.hpp:
//
//   typed operands     the result is typed; if no row of the table matches, the overload is removed
//   dynamic operands   the result is dynamic; if no row matches, the operator throws its message
//
// No table has a row with an owned operand (placement O(k)), because only rank k of the axis has
// its values. So every operator rejects owned operands, and all do so with the same message.
//
// A rule is a type that describes an operator:
//
//   static constexpr signature_table table();
//   static constexpr char const* name;         the operator's name in errors
//   static constexpr char const* sentence;     the message if no row matches
//
// No operator with a table takes a routed operand (tensor/routed.hpp), unless the rule has a member
// `takes_routed`. Operators without a table call refuse_owned_or_routed.
//
// If the message depends on the operands, the rule has sentence_for(placement const&...) instead of
// `sentence`. A rule may also have note(axis_placement const&...). It is called with the placements
// of the operands on the failing axis, and returns a text that is added to the message at run time.

#include <initializer_list>

#include <ashlar/signature/signature.hpp>
#include <ashlar/tensor/sentences.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {

/// The result type of fallback overloads. Each operator has a fallback overload for operands that
/// match no row of its signature table. This overload only reports the error. No operator accepts
/// an ill_formed operand.
struct ill_formed {};

/// Stands for the mesh axis `Axis`, counted from 0, on which the placements of typed operands match
/// no row of a table. Fallback overloads assert `fits`, which is false, so that GCC and Clang print
/// on_mesh_axis<1>::fits with the message.
template <int Axis>
struct on_mesh_axis {
  static constexpr bool fits = false;
};

namespace detail {

template <class...>
inline constexpr bool always_false = false;

template <int Dim, distributed X>
inline constexpr bool has_dim = Dim >= 0 && Dim < X::rank;

/// Says whether `Dims` are different dims of X.
template <class X, int... Dims>
inline constexpr bool are_dims_of = [] {
  unsigned seen = 0;
  for (int const d : std::initializer_list<int>{Dims...}) {
    if (d < 0 || d >= X::rank || (seen >> d & 1u) != 0) return false;
    seen |= 1u << d;
  }
  return true;
}();

template <class... Operands>
inline constexpr bool all_static = (std::remove_cvref_t<Operands>::is_static && ...);

template <class Operand>
inline constexpr placement static_value =
    value_of<typename std::remove_cvref_t<Operand>::placement_type>;

template <class Rule, class... Operands>
constexpr bool holds_statically() {
  if constexpr (!all_static<Operands...>) {
    return true;  // dynamic operands are checked at run time
  } else {
    static_assert((!static_value<Operands>.has_owned() && ...), ASHLAR_SAYS_OWNED);
    constexpr int axes[] = {static_value<Operands>.axes()...};
    for (int const n : axes)
      if (n != axes[0]) return false;
    return resolve(Rule::table(), nullptr, static_value<Operands>...).has_value();
  }
}

/// Returns the rule's error message for operands that match no row of its table.
template <class Rule, class... Placements>
constexpr char const* sentence_of(Placements const&... operands) {
  if constexpr (requires { Rule::sentence; }) return Rule::sentence;
  else return Rule::sentence_for(operands...);
}

/// Returns the first mesh axis on which typed operands match no row of the table of `Rule`. If the
/// operands have different numbers of axes, returns the first axis that one of them lacks.
template <class Rule, class... Operands>
constexpr int failing_axis() {
  int const axes[] = {static_value<Operands>.axes()...};
  int axis = axes[0];
  bool same = true;
  for (int const n : axes) {
    same = same && n == axes[0];
    if (n < axis) axis = n;
  }
  if (same) (void)resolve(Rule::table(), &axis, static_value<Operands>...);
  return axis;
}

/// A fallback overload asserts the member `fits` of `type`. If `Concerned`, `type` is on_mesh_axis
/// for the failing axis, and `fits` is false. Otherwise the overload reports another mistake, and
/// `fits` is true.
template <bool Concerned, class Rule, class... Operands>
struct match_if {
  using type = on_mesh_axis<failing_axis<Rule, Operands...>()>;
};
template <class Rule, class... Operands>
struct match_if<false, Rule, Operands...> {
  struct type {
    static constexpr bool fits = true;
  };
};
template <bool Concerned, class Rule, class... Operands>
using matched_if = typename match_if<Concerned, Rule, Operands...>::type;
template <class Rule, class... Operands>
using matched = matched_if<true, Rule, Operands...>;

/// Returns the error for operands on two meshes, or on two parts of one mesh.
inline error different_meshes(char const* name, mesh_part const& a, mesh_part const& b) {
  if (a == b)
    return error(name, "the operands are on different meshes with the same ranks. Make them on one "
                       "mesh object.");
  return error(name, "the operands are on different meshes, " + to_string(a) + " and " +
                         to_string(b) +
                         ". Move one of them, as in redistribute(x, y.mesh(), placement), or make "
                         "them on one mesh object.");
}

template <class Mesh, class Other>
void require_same_mesh(char const* name, Mesh const& a, Other const& b) {
  if (!(a == b)) throw different_meshes(name, a.as_part(), b.as_part());
}

/// Throws ashlar::error if the operands are on different meshes.
template <class First, class... Rest>
void same_mesh([[maybe_unused]] char const* name, First const& first, Rest const&... rest) {
  (require_same_mesh(name, first.mesh(), rest.mesh()), ...);
}

/// Throws ashlar::error if an operand is routed. The shard of a routed tensor has the rows of some
/// experts only, and loops over the dims of the tensor do not find these rows.
inline void refuse_routed(char const* name, shape const& operand) {
  if (operand.is_routed())
    throw error(name,
                "the operand " + to_string(operand) +
                    " is routed: it has rows only for the experts to which tokens go. Combine "
                    "the rows first, as in combine(r).");
}

/// Throws ashlar::error if an operand is owned along an axis, or routed. Operators without a
/// signature table call this function.
inline void refuse_owned_or_routed(char const* name, shape const& operand, placement const& p) {
  refuse_routed(name, operand);
  if (p.has_owned())
    throw error(name, std::string(ASHLAR_SAYS_OWNED) + " Operand: tensor " + to_string(operand) +
                          " " + to_string(p) + ".");
}

/// Throws ashlar::error if the placement that a caller wants for a result is owned along an axis.
inline void refuse_owned_result(char const* name, placement const& wanted) {
  if (wanted.has_owned())
    throw error(name,
                "the result cannot be at " + to_string(wanted) +
                    ", since no operator computes values for one rank of an axis only. Name a "
                    "placement without O, and redistribute the result.");
}

/// Throws ashlar::error if the operands are on different meshes, or if one is routed and the rule
/// does not take routed operands.
template <class Rule, class... Operands>
void check_operands(Operands const&... operands) {
  same_mesh(Rule::name, operands...);
  if constexpr (!requires { Rule::takes_routed; })
    (refuse_routed(Rule::name, operands.extents()), ...);
}

/// Returns the placement that `table` gives the result, as a value. Throws ashlar::error with the
/// message of `Rule` if no row matches the operands, or as check_operands does.
template <class Rule, class... Operands>
placement result_value(signature_table const& table, Operands const&... operands) {
  check_operands<Rule>(operands...);
  int axis = 0;
  auto const value = resolve(table, &axis, operands.placement()...);
  if (!value) {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + describe(operands)), ...);
    auto const& first = std::get<0>(std::tie(operands...));
    std::string sentence = (operands.placement().has_owned() || ...)
                               ? ASHLAR_SAYS_OWNED
                               : sentence_of<Rule>(operands.placement()...);
    // error() adds this prefix, so it is removed here if the message has it already.
    std::string const prefix = std::string(Rule::name) + ": ";
    if (sentence.starts_with(prefix)) sentence.erase(0, prefix.size());
    if constexpr (requires { Rule::note(operands.placement()[axis]...); })
      text += Rule::note(operands.placement()[axis]...);
    throw error(Rule::name, sentence + " Operands: " + text + "; failing axis: " +
                                std::string(first.mesh().topology().axis[axis].name.view()) + ".");
  }
  return *value;
}

/// Returns the placement of the operator's result: an sbp<…> if all operands are typed, otherwise a
/// placement value. Throws ashlar::error if no row of the table matches, or as check_operands does.
template <class Rule, class... Operands>
auto result_of(Operands const&... operands) {
  if constexpr (all_static<Operands...>) {
    check_operands<Rule>(operands...);
    constexpr placement value = *resolve(Rule::table(), nullptr, static_value<Operands>...);
    return tag_of<value>{};
  } else {
    return result_value<Rule>(Rule::table(), operands...);
  }
}

}  // namespace detail

/// Holds if the operator of `Rule` needs no communication on these operands. If any operand is
/// dynamic, the concept always holds, because the check is then made at run time.
template <class Rule, class... Operands>
concept locally_applicable = (distributed<Operands> && ...) &&
                             detail::holds_statically<Rule, Operands...>();

}  // namespace ashlar
