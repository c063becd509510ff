// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How an operator applies its rule table. One function (`resolve` of signature/signature.hpp)
// serves both kinds of placement: typed operands give the tags of the result or remove the
// overload, and dynamic ones give a placement value or throw the rule's message.
//
// A rule is a type with   static constexpr signature_table table();
//                         static constexpr char const* name, *sentence;
// or, if the message depends on the operands, with sentence_for(placement const&...) instead of
// `sentence`.

#include <ashlar/signature/signature.hpp>
#include <ashlar/tensor/sentences.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {

/// The return type of a fallback overload. No operation accepts it.
struct ill_formed {};

namespace detail {

template <class...>
inline constexpr bool always_false = false;

template <int Dim, distributed X>
inline constexpr bool has_dim = Dim >= 0 && Dim < X::rank;

template <class... Operands>
inline constexpr bool all_static = (std::remove_cvref_t<Operands>::is_static && ...);

template <class Operand>
inline constexpr placement static_value =
    value_of<typename std::remove_cvref_t<Operand>::placement_type>;

template <class Rule, class... Operands>
constexpr bool holds_statically() {
  if constexpr (!all_static<Operands...>) {
    return true;  // checked at run time
  } else {
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

/// Throws ashlar::error if the operands are on different meshes.
template <class First, class... Rest>
void same_mesh(char const* name, First const& first, Rest const&... rest) {
  if (!((first.mesh() == rest.mesh()) && ...))
    throw error(name, "the operands are on different meshes. Make them on one mesh object.");
}

/// Returns the placement of the result as a placement argument: tags if all operands are typed,
/// else a value. Throws if no row of the table matches.
template <class Rule, class... Operands>
auto result_of(Operands const&... operands) {
  same_mesh(Rule::name, operands...);
  if constexpr (all_static<Operands...>) {
    constexpr placement value = *resolve(Rule::table(), nullptr, static_value<Operands>...);
    return tag_of<value>{};
  } else {
    int axis = 0;
    auto const value = resolve(Rule::table(), &axis, operands.placement()...);
    if (!value) {
      std::string text;
      ((text += (text.empty() ? "" : ", ") + describe(operands)), ...);
      auto const& first = std::get<0>(std::tie(operands...));
      std::string sentence = sentence_of<Rule>(operands.placement()...);
      std::string const prefix = std::string(Rule::name) + ": ";  // error() adds this prefix
      if (sentence.starts_with(prefix)) sentence.erase(0, prefix.size());
      throw error(Rule::name, sentence + " Operands: " + text + "; failing axis: " +
                                  std::string(first.mesh().topology().axis[axis].name.view()) +
                                  ".");
    }
    return *value;
  }
}

}  // namespace detail

/// Holds if the operator of `Rule` is local on these operands. Always holds for dynamic operands,
/// which are checked at run time.
template <class Rule, class... Operands>
concept locally_applicable = (distributed<Operands> && ...) &&
                             detail::holds_statically<Rule, Operands...>();

}  // namespace ashlar
