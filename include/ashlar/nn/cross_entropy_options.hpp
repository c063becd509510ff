// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The options of nn::softmax_cross_entropy:
//
//   nn::chain(nn::linear(d, vocab),
//             nn::softmax_cross_entropy({.label_smoothing = 0.1,
//                                        .ignored = nn::ignored_rows::left_out}))
//
// With both options, the loss is that of PyTorch's cross_entropy(.., label_smoothing = 0.1), where
// every negative target is an ignore_index.

#include <string>

#include <ashlar/support/error.hpp>

namespace ashlar::nn {

/// How a row with a negative target counts in the mean. Its loss and its gradient are 0 either way.
///
///   counted    as a row with loss 0: the mean is over all rows of a step
///   left_out   not at all: the mean is over the other rows of a step, in all its micro-batches
///              and on all ranks
enum class ignored_rows : signed char { counted, left_out };

struct cross_entropy_options {
  /// The share of each row's target that is divided evenly among all classes, from 0 to 1. The loss
  /// of a row with logits x is then log(sum of e^x) - sum of q x. Here q is label_smoothing /
  /// classes for each class, plus 1 - label_smoothing for the target.
  double label_smoothing = 0;
  ignored_rows ignored = ignored_rows::counted;

  /// Throws ashlar::error if label_smoothing is not from 0 to 1.
  constexpr void check() const {
    if (!(label_smoothing >= 0 && label_smoothing <= 1))
      throw error("nn::softmax_cross_entropy", "label_smoothing is " +
                                                   std::to_string(label_smoothing) +
                                                   ", but must be from 0 to 1.");
  }
};

}  // namespace ashlar::nn
