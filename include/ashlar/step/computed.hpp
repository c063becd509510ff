// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Records which computations of one layer have run in a micro-batch, and checks whether the next
// computation is allowed. A forward pass has several parts if statistics must be redistributed in
// between.
//
//   forward      each part once, in order
//   recompute    each part once, in order, after the forward pass has ended
//   backward     either one `backward`, or a weight_gradient and an input_gradient in any order,
//                each at most once

#include <ashlar/step/action.hpp>

namespace ashlar::search {
inline namespace step {
namespace step_detail {

struct computed {
  struct passed {
    int parts = 0;
    bool over = false;
    friend constexpr bool operator==(passed const&, passed const&) = default;
  };
  passed forward, again;
  bool weights = false, input = false;

  friend constexpr bool operator==(computed const&, computed const&) = default;

  /// Records an action that computes. `last` is true if the action is the last part of a forward
  /// pass. Returns null, or an error message if the action is not allowed here.
  constexpr char const* take(action const& a, bool last) {
    if (a.kind == action_kind::forward || a.kind == action_kind::recompute) {
      passed& own = a.kind == action_kind::forward ? forward : again;
      if (a.kind == action_kind::recompute && !forward.over)
        return "recomputes before the forward pass";
      if (own.over || a.part < own.parts) return "does a part of a forward pass twice";
      if (a.part > own.parts) return "does a part of a forward pass before the previous part";
      own = {a.part + 1, last};
      return nullptr;
    }
    bool const makes_weights = a.kind != action_kind::input_gradient;
    bool const makes_input = a.kind != action_kind::weight_gradient;
    if (makes_weights && weights) return "computes the gradients of parameters twice";
    if (makes_input && input) return "computes the gradient of the input twice";
    weights = weights || makes_weights;
    input = input || makes_input;
    return nullptr;
  }
};

}  // namespace step_detail
}  // namespace step
}  // namespace ashlar::search
