// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines placements as types: sbp<S<0>, B> has one tag per mesh axis. Tags contain no rules,
// because all rules are functions of placement values. `value_of` converts a list of tags to a
// placement value. `tag_of` converts a placement value to the one list of tags that is canonical.
// It has S<d> if the axes that split dim d nest in the order of the mesh axes, else S<d, depth>.

#include <cstddef>
#include <type_traits>
#include <utility>

#include <ashlar/placement/placement.hpp>

namespace ashlar {

namespace placements {
/// The axis splits dim Dim. Depth is the axis's position among all axes that split Dim, outermost
/// first; -1 stands for the order of the mesh axes.
template <int Dim, int Depth = -1>
struct S {};
struct B {};     ///< broadcast: every rank of the axis has the same values
struct P {};     ///< partial: the value is the sum over the ranks of the axis
struct Pmax {};  ///< partial: the value is the maximum over the ranks of the axis
struct Pmin {};  ///< partial: the value is the minimum over the ranks of the axis
/// owned: the rank with coordinate Owner along the axis has all values, its other ranks have none
template <int Owner>
struct O {};
}  // namespace placements

/// A placement as a type, with one tag per mesh axis.
template <class... Tags>
struct sbp {
  static constexpr int axes = static_cast<int>(sizeof...(Tags));
};

/// Used in place of sbp<…> when the placement is a value that is known only at run time.
struct dynamic {};

namespace detail {
template <class Tag>
struct tag_value;
template <int Dim, int Depth>
struct tag_value<placements::S<Dim, Depth>> {
  static constexpr axis_placement value = split(Dim, Depth);
};
template <>
struct tag_value<placements::B> {
  static constexpr axis_placement value = broadcast();
};
template <>
struct tag_value<placements::P> {
  static constexpr axis_placement value = partial(reduction::sum);
};
template <>
struct tag_value<placements::Pmax> {
  static constexpr axis_placement value = partial(reduction::max);
};
template <>
struct tag_value<placements::Pmin> {
  static constexpr axis_placement value = partial(reduction::min);
};
template <int Owner>
struct tag_value<placements::O<Owner>> {
  static_assert(Owner >= 0 && Owner < max_owners, "O<k>: k is a rank along the axis, below 512");
  static constexpr axis_placement value = owned(Owner);
};

template <class Sbp>
struct sbp_value;
template <class... Tags>
struct sbp_value<sbp<Tags...>> {
  static constexpr placement value{tag_value<Tags>::value...};
};

template <placement Value, int Axis>
constexpr auto tag_at() {
  constexpr axis_placement a = Value[Axis];
  if constexpr (a.is_split()) {
    constexpr bool canonical = [] {
      placement p = Value;
      for (auto& other : p.axis)
        if (!other.is_split_of(Value[Axis].dim)) other = broadcast();
      return p.is_canonical();
    }();
    if constexpr (canonical) return placements::S<a.dim>{};
    else return placements::S<a.dim, a.depth>{};
  } else if constexpr (a.is_broadcast()) {
    return placements::B{};
  } else if constexpr (a.is_owned()) {
    return placements::O<a.owner>{};
  } else if constexpr (a.op == reduction::sum) {
    return placements::P{};
  } else if constexpr (a.op == reduction::max) {
    return placements::Pmax{};
  } else {
    return placements::Pmin{};
  }
}

template <placement Value, class Axes>
struct tag_list;
template <placement Value, std::size_t... Axis>
struct tag_list<Value, std::index_sequence<Axis...>> {
  using type = sbp<decltype(tag_at<Value, static_cast<int>(Axis)>())...>;
};

// These are class templates and not alias templates, because GCC 12 crashes on alias templates of
// alias templates.
template <placement Value>
struct tags_of {
  using type = typename tag_list<
      Value, std::make_index_sequence<static_cast<std::size_t>(Value.axes())>>::type;
};
template <class Sbp>
struct canonical_tags {
  using type = typename tags_of<sbp_value<Sbp>::value>::type;
};
}  // namespace detail

/// The placement value of a list of tags, such as value_of<sbp<S<0>, B>>.
template <class Sbp>
inline constexpr placement value_of = detail::sbp_value<Sbp>::value;

/// The canonical list of tags of a placement value.
template <placement Value>
using tag_of = typename detail::tags_of<Value>::type;

/// The canonical list of tags that is equivalent to Sbp. For example, sbp<S<0, 0>, B> becomes
/// sbp<S<0>, B>.
template <class Sbp>
using canonical = typename detail::canonical_tags<Sbp>::type;

template <class Type>
inline constexpr bool is_sbp = false;
template <class... Tags>
inline constexpr bool is_sbp<sbp<Tags...>> = true;

/// A type that is a placement (sbp<…>), so that the placement is known at compile time.
template <class Type>
concept static_placement = is_sbp<Type>;

}  // namespace ashlar
