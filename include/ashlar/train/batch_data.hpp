// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The data of one training step as a whole batch, which every rank passes. With local_batch.hpp,
// each rank passes only its part of the batch instead.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ashlar::train {

/// The data of one step: all micro-batches, one after the other. Every rank passes the same data.
template <class Input = std::int32_t, class Target = std::int32_t>
struct batch_data {
  /// For each micro-batch: its input, followed by its context if layers of the net read a context
  /// (nn/context_attention.hpp).
  std::vector<Input> inputs;
  /// For each micro-batch: its targets, row-major. The loss determines their extents and their
  /// type: softmax_cross_entropy takes one class for each row of the net's output,
  /// mean_squared_error one number for each element. A row with a negative class has loss 0, or is
  /// left out of the mean (nn::ignored_rows).
  std::vector<Target> targets;
};

namespace detail {

/// Throws ashlar::error if an id or a target of any micro-batch is out of range. Expects as many
/// inputs and targets as a step of the model takes.
template <class Model, class Input, class Target>
void check_micro_batches(Model const& model, batch_data<Input, Target> const& data) {
  auto const x = static_cast<std::size_t>(model.inputs());
  auto const rows = static_cast<std::size_t>(model.rows());
  for (std::size_t i = 0; i < static_cast<std::size_t>(model.micro_batches()); ++i)
    model.check(std::span(data.inputs).subspan(i * x, x),
                std::span(data.targets).subspan(i * rows, rows));
}

}  // namespace detail

}  // namespace ashlar::train
