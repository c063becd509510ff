// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// DualPipeV (DeepSeek's DualPipe, cut in half by Sea AI Lab): each part has two chunks in a vee
// (schedule.hpp). A forward pass of one chunk stands beside a backward pass of the other chunk, so
// that the transfers of one chunk travel while the other chunk computes. There are s positions and
// m micro-batches, and r = s - 1 - j positions come after position j. The part at position j runs
//
//   times             passes (the number after the point is the chunk)
//   2 r               F.0
//   j + 1             F.0 F.1
//   r                 I.1 W F.1
//   m - 2 s + j + 1   F.0 B.1 F.1 B.0
//   r                 B.1 F.1 B.0
//   j + 1             B.1 B.0              of these passes the last j + 1 are I and not B
//   r                 W I.0
//   j + 1             W
//
// Each W is the oldest W that has not run yet. At most 2 s + 1 micro-batches are in flight, where
// a micro-batch counts once for each chunk in which it is in flight. In the published schedule a
// part waits for (s - 1) (F&B + B - 3 W) seconds in a step. B is I + W, and F&B is a pair of an F
// and the B beside it, run as one pass. In this library, the F of a pair sends its result before
// the B begins. So if F = I = W and transfers take no time, a part waits for only (s - 1) F.

#include <string>

#include <ashlar/step/pipeline/schedule.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::pipelines {

namespace detail {

/// Adds passes to the order of one position, each with the next micro-batch of its chunk.
class dual_pipe_order {
 public:
  constexpr void add(pass what, int chunk) {
    bool const forward = what == pass::forward;
    action const a{what, (forward ? forward_ : backward_)[chunk]++, chunk};
    made_.push_back(a);
    if (what == pass::input_gradient)
      waiting_.push_back({pass::weight_gradient, a.micro_batch, chunk});
  }
  /// Adds the oldest weight gradient that was not added yet.
  constexpr void add_weight_gradient() { made_.push_back(waiting_.data()[weights_++]); }
  constexpr std::vector<action> const& made() const { return made_; }

 private:
  std::vector<action> made_, waiting_;
  int forward_[2]{}, backward_[2]{};
  std::size_t weights_ = 0;
};

}  // namespace detail

/// Returns the schedule DualPipeV. Throws ashlar::error if there are fewer than two micro-batches
/// for each position.
constexpr schedule dual_pipe_v(int positions, int micro_batches) {
  if (micro_batches < 2 * positions)
    throw error("pipelines::dual_pipe_v",
                std::to_string(micro_batches) + " micro-batches are too few for " +
                    std::to_string(positions) +
                    " positions. Choose two for each position, or more, or another schedule.");
  schedule s{positions, micro_batches, 2, wiring::vee, {}};
  constexpr auto f = pass::forward, b = pass::backward, i = pass::input_gradient;
  for (int j = 0; j < positions; ++j) {
    int const behind = positions - 1 - j;
    detail::dual_pipe_order own;
    for (int k = 0; k < 2 * behind; ++k) own.add(f, 0);
    for (int k = 0; k <= j; ++k) own.add(f, 0), own.add(f, 1);
    for (int k = 0; k < behind; ++k) own.add(i, 1), own.add_weight_gradient(), own.add(f, 1);
    for (int k = 0; k < micro_batches - 2 * positions + j + 1; ++k)
      own.add(f, 0), own.add(b, 1), own.add(f, 1), own.add(b, 0);
    for (int k = 0; k < behind; ++k) own.add(b, 1), own.add(f, 1), own.add(b, 0);
    for (int k = 0; k < 2 * (j + 1); ++k) own.add(k <= j ? b : i, 1 - k % 2);
    for (int k = 0; k < behind; ++k) own.add_weight_gradient(), own.add(i, 0);
    for (int k = 0; k <= j; ++k) own.add_weight_gradient();
    s.order.push_back(own.made());
  }
  return s;
}

}  // namespace ashlar::pipelines
