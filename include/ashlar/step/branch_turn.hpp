// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the turn of a branch (problem.hpp) does in a program: it hands tensors on and computes
// nothing.
//
//   forward    its x, the output of the branch's first net, goes to the end of the branch
//              its y, which the second net reads, is the x of the branch
//   backward   its dx, the gradient of the first net's output, is made by the end of the branch
//              its dy, the gradient of the second net's input, is kept until the begin of the
//              branch reads it

#include <ashlar/step/problem.hpp>
#include <ashlar/step/program_writer.hpp>
#include <ashlar/step/work.hpp>

namespace ashlar::search {
inline namespace step {
namespace step_detail {

/// Returns the gradient of the first of the two tensors that element `end` joins. `own` has the
/// tensors of element `end`.
template <int N>
constexpr int gradient_of_first_input(basic_problem<N> const& net, int end,
                                      element_tensors const& own) {
  return ends_in_sum(net, end) ? own.dx : own.skipped;
}

/// Hands on the tensors of element i, which is the turn of a branch. `input` is its x, and own(k)
/// has the tensors of element k.
template <int N, class Own>
constexpr void turn(basic_problem<N> const& net, int i, computation what, int input,
                    Own const& own) {
  int const end = net[i].partner;
  if (what == computation::forward) {
    own(end).arrived = input;
    own(i).y = own(net[end].partner).y;
  } else {
    own(i).dx = gradient_of_first_input(net, end, own(end));
  }
}

}  // namespace step_detail
}  // namespace step
}  // namespace ashlar::search
