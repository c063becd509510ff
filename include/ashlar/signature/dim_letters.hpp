// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Letters for the dims of tensors. In signature tables, dims of operands and of a result that have
// the same letter are the same dim. This file also has the rule by which element-wise operators
// match the dims of two operands (NumPy's broadcasting). The dims are matched from the last one on:
//
//   extents          result    the operand that is repeated
//   512x8  +     8   512x8     the second one, along dim 0, which it lacks
//   512x8  +   1x8   512x8     the second one, along dim 0, where its extent is 1
//   512x1  *     8   512x8     both
//   512x8  +   512   none: 8 and 512 differ and neither is 1

#include <string_view>

#include <ashlar/layout/shape.hpp>

namespace ashlar {

/// Up to max_rank letters, one for each dim of a tensor. The letter '1' stands for a dim of extent
/// 1: the tensor is repeated along this dim, or a reduction over this dim has left the extent 1.
struct dim_letters {
  char text[max_rank + 1]{};
  int length = 0;

  constexpr dim_letters() = default;
  constexpr explicit dim_letters(std::string_view letters) {
    for (char const letter : letters) push_back(letter);
  }
  constexpr void push_back(char letter) { text[length++] = letter; }
  constexpr std::string_view view() const { return {text, static_cast<std::size_t>(length)}; }
  constexpr bool has(char letter) const { return view().find(letter) != std::string_view::npos; }
  constexpr dim_letters operator+(dim_letters const& more) const {
    dim_letters sum = *this;
    for (char const letter : more.view()) sum.push_back(letter);
    return sum;
  }
  friend constexpr bool operator==(dim_letters const& a, dim_letters const& b) {
    return a.view() == b.view();
  }
};

/// Returns the letters a, b, c, ... for the dims of a tensor with `rank` dims.
constexpr dim_letters first_letters(int rank) {
  dim_letters letters;
  for (int d = 0; d < rank; ++d) letters.push_back(static_cast<char>('a' + d));
  return letters;
}

/// Returns the letters of an operand of extents `x` that is repeated to the extents `out` of a
/// result. The dims of the result have the letters a, b, c and so on. A dim of the operand has the
/// letter of the result's dim that it is matched with, or '1' if the operand is repeated along it.
constexpr dim_letters repeated_letters(shape const& x, shape const& out) {
  dim_letters letters;
  for (int d = 0, e = out.rank() - x.rank(); d < x.rank(); ++d, ++e)
    letters.push_back(x[d] == 1 && out[e] != 1 ? '1' : static_cast<char>('a' + e));
  return letters;
}

/// Returns whether two extents may be equal. -1 is an unknown extent: when the compiler examines a
/// formula of typed tensors, it does not know their extents (tensor/gradient.hpp).
constexpr bool may_be_equal(std::int64_t u, std::int64_t v) { return u == v || u == -1 || v == -1; }

/// The extents of the result of an element-wise operator of x and y, and the letters of their dims.
struct matched_dims {
  shape extents;
  dim_letters x, y;
  int failing_dim = -1;  ///< a dim in which the extents differ and neither is 1, or -1
};

/// Matches the dims of two operands of extents `x` and `y`, beginning with the last dim of each.
/// Where one operand has the unknown extent -1 and the other one has an extent other than 1, the
/// result has the extent of the other operand. Where the other one has extent 1, the result has -1.
constexpr matched_dims match_dims(shape const& x, shape const& y) {
  matched_dims dims;
  int const rank = x.rank() > y.rank() ? x.rank() : y.rank();
  for (int d = 0; d < rank; ++d) {
    int const i = d - (rank - x.rank()), j = d - (rank - y.rank());
    std::int64_t const in_x = i < 0 ? 1 : x[i], in_y = j < 0 ? 1 : y[j];
    if (!may_be_equal(in_x, in_y) && in_x != 1 && in_y != 1) dims.failing_dim = d;
    bool const takes_y = in_x == 1 || (in_x == -1 && in_y != 1);
    dims.extents.extent.push_back(takes_y ? in_y : in_x);
  }
  dims.x = repeated_letters(x, dims.extents);
  dims.y = repeated_letters(y, dims.extents);
  return dims;
}

}  // namespace ashlar
