// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that tags and values express the same placements. A canonical list of tags that is
// converted to a value and back is the same list. A value that is converted to tags and back is the
// same value.

#include <type_traits>

#include <ashlar/placement/tags.hpp>

using namespace ashlar::placements;
using ashlar::broadcast, ashlar::canonical, ashlar::partial, ashlar::placement, ashlar::reduction,
    ashlar::sbp, ashlar::split, ashlar::tag_of, ashlar::value_of;

// Tags are converted to values.
static_assert(value_of<sbp<>> == placement{});
static_assert(value_of<sbp<B>> == placement{broadcast()});
static_assert(value_of<sbp<S<0>, B>> == placement{split(0), broadcast()});
static_assert(value_of<sbp<P, S<3>, Pmax>>[0] == partial());
static_assert(value_of<sbp<Pmax>> == placement{partial(reduction::max)});
static_assert(value_of<sbp<Pmin>> == placement{partial(reduction::min)});
static_assert(value_of<sbp<S<0>, S<0>>>[1].depth == 1);
static_assert(value_of<sbp<S<0>, S<0>>> == value_of<sbp<S<0, 0>, S<0, 1>>>);
static_assert(!(value_of<sbp<S<0>, S<0>>> == value_of<sbp<S<0, 1>, S<0, 0>>>));
static_assert(value_of<sbp<S<1>, B, S<1>, S<0>>> ==
              placement{split(1, 0), broadcast(), split(1, 1), split(0, 0)});

// Values are converted to tags.
template <placement Value, class Tags>
inline constexpr bool spelled = std::is_same_v<tag_of<Value>, Tags>;
static_assert(spelled<placement{}, sbp<>>);
static_assert(spelled<placement{split(0), broadcast()}, sbp<S<0>, B>>);
static_assert(spelled<placement{split(1, 1), split(1, 0)}, sbp<S<1, 1>, S<1, 0>>>);
static_assert(spelled<placement{partial(), partial(reduction::max)}, sbp<P, Pmax>>);
static_assert(spelled<placement{partial(reduction::min)}, sbp<Pmin>>);
static_assert(spelled<placement::all_broadcast(6), sbp<B, B, B, B, B, B>>);

// Each placement has one canonical spelling. This spelling states the shard depth (the second
// argument of S) only for dimensions whose shard order is not the default.
template <class Tags, class Canonical>
inline constexpr bool is_canonical_spelling = std::is_same_v<canonical<Tags>, Canonical> &&
                                              std::is_same_v<canonical<Canonical>, Canonical> &&
                                              value_of<Tags> == value_of<Canonical>;
static_assert(is_canonical_spelling<sbp<S<0, 0>, B>, sbp<S<0>, B>>);
static_assert(is_canonical_spelling<sbp<S<0, 0>, S<0, 1>>, sbp<S<0>, S<0>>>);
static_assert(is_canonical_spelling<sbp<S<0, 1>, S<0, 0>>, sbp<S<0, 1>, S<0, 0>>>);
static_assert(is_canonical_spelling<sbp<S<0, 1>, S<1, 0>, S<0, 0>>, sbp<S<0, 1>, S<1>, S<0, 0>>>);
static_assert(
    is_canonical_spelling<sbp<S<1>, S<0, 1>, S<0, 0>, S<1, 1>>, sbp<S<1>, S<0, 1>, S<0, 0>, S<1>>>);
static_assert(is_canonical_spelling<sbp<P, S<2, 0>, B>, sbp<P, S<2>, B>>);

// Every combination of the tags below, on one and on two axes, is canonical: converting it to a
// value and back gives the same tags.
template <class Tags>
inline constexpr bool survives = std::is_same_v<canonical<Tags>, Tags>;
template <class... First>
constexpr bool all_pairs_survive(sbp<First...>) {
  return (survives<sbp<First>> && ...) && ([]<class Second>(sbp<Second>) {
           return (survives<sbp<First, Second>> && ...);
         }(sbp<First>{}) && ...);
}
static_assert(all_pairs_survive(sbp<S<0>, S<1>, S<2>, B, P>{}));

// Only lists of tags satisfy the concept static_placement.
static_assert(ashlar::static_placement<sbp<S<0>, B>>);
static_assert(!ashlar::static_placement<ashlar::dynamic>);
static_assert(!ashlar::static_placement<placement>);
static_assert(sbp<S<0>, B>::axes == 2);

// check(placement, rank of the tensor, number of mesh axes) returns nullptr for a valid placement.
static_assert(check(value_of<sbp<S<0>, S<0>>>, 1, 2) == nullptr);
static_assert(check(value_of<sbp<S<0>, B>>, 1, 3) != nullptr);
static_assert(check(value_of<sbp<S<1>>>, 1, 1) != nullptr);
static_assert(check(value_of<sbp<S<0, 1>>>, 1, 1) != nullptr);
static_assert(check(value_of<sbp<S<0, 0>, S<0, 0>>>, 1, 2) != nullptr);
static_assert(check(value_of<sbp<P, Pmax>>, 1, 2) != nullptr);
