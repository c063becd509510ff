// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the turn of a branch (problem.hpp) does in a program: it hands tensors on and computes
// nothing.
//
//   forward    its x, the output of the branch's first net, goes to the end of the branch
//              its y, which the second net reads, is the x of the branch
//   backward   its dx is the gradient of the first net's output, which the end has made
//              its dy, the gradient of the second net's input, waits for the begin of the branch

#include <ashlar/step/problem.hpp>
#include <ashlar/step/program_writer.hpp>
#include <ashlar/step/work.hpp>

namespace ashlar::search {
inline namespace step {
namespace step_detail {

/// Returns the gradient of the first of the two tensors that element `end` joins. `own` are the
/// tensors of this element.
template <int N>
constexpr int gradient_of_first_input(basic_problem<N> const& net, int end,
                                      element_tensors const& own) {
  return ends_in_sum(net, end) ? own.dx : own.skipped;
}

/// Hands the tensors of the turn, element i, on. `input` is its x, and own(k) are the tensors of
/// element k.
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
