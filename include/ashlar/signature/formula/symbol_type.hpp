// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The type of symbols (symbol.hpp), functions that add a node to a symbol's graph, and checks that
// a symbol has the dims that an operator names.

#include <concepts>
#include <type_traits>

#include <ashlar/signature/formula/graph.hpp>

namespace ashlar::formulas {

/// The rank of a symbol whose number of dims the compiler does not know.
inline constexpr int any_rank = -1;

/// A tensor of `Rank` dims in a formula. If `Rank` is any_rank, it may have any number of dims. The
/// symbol refers to the formula's graph, which must outlive it.
template <int Rank>
struct symbol {
  static constexpr int rank = Rank;
  graph* in = nullptr;
  int node = -1;
};

template <class Type>
inline constexpr bool is_symbol = false;
template <int Rank>
inline constexpr bool is_symbol<symbol<Rank>> = true;

namespace detail {

template <class...>
inline constexpr bool never = false;

template <int A, int B>
using larger = symbol<(A == any_rank || B == any_rank ? any_rank
                       : A > B                        ? A
                                                      : B)>;

template <int A, int B>
constexpr larger<A, B> pair(operation what, symbol<A> u, symbol<B> v) {
  return {u.in, add_pair(*u.in, what, u.node, v.node)};
}
template <int Rank>
constexpr symbol<Rank> with_number(operation what, symbol<Rank> u, double a) {
  return {u.in, add_map(*u.in, what, u.node, a)};
}
template <int Rank>
constexpr symbol<Rank> applied(function f, symbol<Rank> u) {
  return {u.in, add_map(*u.in, operation::apply, u.node, 0, f)};
}

/// Returns the number of dim `dim` of u, counted from 0. A negative `dim` counts from the last dim,
/// which is -1. Throws ashlar::error if u does not have the dim.
template <int Rank>
constexpr int dim_of(symbol<Rank> u, int dim, char const* name) {
  int const rank = u.in->nodes[u.node].extents.rank();
  int const d = dim < 0 ? dim + rank : dim;
  if (d < 0 || d >= rank)
    throw error(u.in->name, std::string(name) + " over dim " + std::to_string(dim) +
                                " of a tensor " + to_string(u.in->nodes[u.node].extents) +
                                ". Dims count from 0, and from the last one with -1.");
  return d;
}

/// Returns the given dims of u as a bit mask. Throws ashlar::error if u lacks a dim or if a dim is
/// named twice.
template <int Rank, class... Dim>
constexpr unsigned dims_of(symbol<Rank> u, char const* name, Dim... dims) {
  unsigned mask = 0;
  for (int const d : {static_cast<int>(dims)...}) {
    unsigned const bit = 1u << dim_of(u, d, name);
    if ((mask & bit) != 0)
      throw error(u.in->name, std::string(name) + " over dim " + std::to_string(d) +
                                  " of a tensor " + to_string(u.in->nodes[u.node].extents) +
                                  ", which is named twice.");
    mask |= bit;
  }
  return mask;
}

}  // namespace detail

}  // namespace ashlar::formulas
