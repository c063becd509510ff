// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// How a branch joins the outputs of its two nets (branch.hpp):
//
//   join::add             f(x) + g(x)
//   join::multiply        f(x) · g(x), element by element. Both factors are kept for the backward
//                         pass.
//   join::concat<Dim>     f(x), then g(x), along dim Dim. No mesh axis splits this dim at the end
//                         of the branch, so that the end only copies within each rank.
//
// formula_join.hpp has a fourth join, a formula of both outputs.
//
// Both outputs have the same placement when they are joined.

#include <memory>
#include <string>
#include <string_view>

#include <ashlar/nn/branch_node.hpp>

namespace ashlar::nn::join {

struct addition {
  static constexpr auto kind = search::element_kind::branch_sum;
  static constexpr bool fits(shape const& first, shape const& second) { return first == second; }
  template <int Rank>
  static constexpr int y_rank = Rank;
  static constexpr shape joined(shape const&, shape const& second) { return second; }
  static constexpr char const* need = "An addition needs equal extents.";

  static constexpr void describe(search::layer_spec& end) {
    end.rows = independent_training_rows(end.x.rank());
    end.forward_values = 3 * static_cast<double>(end.y.elements());
  }
  template <class T, int Rank, class At>
  static auto node(shape const&, At const&) {
    return std::make_unique<branch_node<T, Rank, At>>("branch");
  }
};

struct multiplication {
  static constexpr auto kind = search::element_kind::branch_join;
  static constexpr bool fits(shape const& first, shape const& second) { return first == second; }
  template <int Rank>
  static constexpr int y_rank = Rank;
  static constexpr shape joined(shape const&, shape const& second) { return second; }
  static constexpr char const* need = "A multiplication needs equal extents.";

  static constexpr void describe(search::layer_spec& end) {
    end.rows = nonlinear_training_rows(
        std::string_view("abcdefgh").substr(0, static_cast<std::size_t>(end.x.rank())));
    double const n = static_cast<double>(end.y.elements());
    end.saved_values = 2 * n;
    end.forward_values = 3 * n;
    end.backward_values = 5 * n;
  }
  template <class T, int Rank, class At>
  static auto node(shape const&, At const&) {
    return std::make_unique<product_node<T, Rank, At>>();
  }
};

template <int Dim>
struct concatenation {
  static_assert(Dim >= 1,
                "nn::join::concat<Dim>: dim 0 counts the samples of a batch, which no layer may "
                "concatenate. Take the dim of the channels or features, such as "
                "nn::join::concat<1>.");
  static constexpr auto kind = search::element_kind::branch_join;
  static constexpr char const* need = "A concatenation needs extents that differ in its dim only.";

  static constexpr bool fits(shape const& first, shape second) {
    if (Dim >= first.rank() || second.rank() != first.rank()) return false;
    second[Dim] = first[Dim];
    return second == first;
  }
  template <int Rank>
  static constexpr int y_rank = Rank;
  static constexpr shape joined(shape const& first, shape second) {
    second[Dim] += first[Dim];
    return second;
  }
  static constexpr void describe(search::layer_spec& end) {
    for (auto const& row : independent_training_rows(end.x.rank()))
      if (!row.x.is_split() || row.x.dim != Dim) end.rows.push_back(row);
    // A copy reads and writes each element: of the result, and in the backward pass of dy.
    end.forward_values = end.backward_values = 2 * static_cast<double>(end.y.elements());
  }
  template <class T, int Rank, class At>
  static auto node(shape const& first, At const&) {
    static_assert(Dim < Rank, "nn::join::concat<Dim>: the tensors have no dim Dim. Dims count from "
                              "0, such as 1 for the features of rows.");
    return std::make_unique<concatenation_node<T, Rank, Dim, At>>("branch", first[Dim]);
  }
};

inline constexpr addition add{};
inline constexpr multiplication multiply{};
template <int Dim>
inline constexpr concatenation<Dim> concat{};

}  // namespace ashlar::nn::join
