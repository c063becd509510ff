// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The data of a training step of which each rank passes only the part that its placements need:
//
//   auto const& part = trainer.part();                  // the boxes of a micro-batch
//   trainer.step(train::local_batch<>{inputs, targets});
//
// The trainer copies the part to its position in an array for the whole batch. The program of the
// step then cuts the rank's shards out of this array, as it cuts them out of a whole batch. So
// losses and gradients are the same bit for bit as with the whole batch, and the ranks send each
// other the same number of bytes. The values outside of the part are never read.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/comm/operation_label.hpp>
#include <ashlar/comm/throw_together.hpp>
#include <ashlar/nn/batch_part.hpp>
#include <ashlar/support/content_hash.hpp>
#include <ashlar/train/batch_data.hpp>

namespace ashlar::train {

/// The part of a step's data that this rank reads: all micro-batches, one after the other. Ranks
/// with the same boxes (trainer::part) must pass the same data.
template <class Input = std::int32_t, class Target = std::int32_t>
struct local_batch {
  /// For each micro-batch: the inputs in the box trainer::part().input, row-major. If layers of the
  /// net read a context (layer_spec::context, such as captions beside images), the values in the
  /// box trainer::part().context follow.
  std::vector<Input> inputs;
  /// For each micro-batch: the targets in the box trainer::part().target, row-major.
  std::vector<Target> targets;
  /// Says why this rank could not make its part; empty if it could. If it is not empty, the step
  /// throws an error with this sentence on every rank.
  std::string fault{};
};

namespace detail {

/// Returns the text of a box for error messages, such as "[0, 2) x [3, 5)".
inline std::string box_text(box const& b) {
  std::string text;
  for (int d = 0; d < b.rank(); ++d)
    text += (d > 0 ? " x [" : "[") + std::to_string(b[d].begin) + ", " +
            std::to_string(b[d].end()) + ")";
  return text;
}

/// Calls f(position, length) for each row of a box, in row-major order. A row is a run of elements
/// along the last dim. `position` is the index of the row's first element in a row-major array with
/// these extents, and `length` is the row's number of elements.
template <class F>
void for_each_row(box const& b, shape const& extents, F f) {
  if (b.rank() == 0 || b.elements() == 0) return;
  int const last = b.rank() - 1;
  std::int64_t const length = b[last].size;
  for (std::int64_t row = 0; row < b.elements() / length; ++row) {
    std::int64_t at = 0, stride = extents[last], rest = row;
    for (int d = last - 1; d >= 0; --d) {
      at += (b[d].begin + rest % b[d].size) * stride;
      rest /= b[d].size;
      stride *= extents[d];
    }
    f(at + b[last].begin, length);
  }
}

/// Copies the values of box `b` to their positions in `whole`, a row-major array with these
/// extents. Returns the pointer to the value after the last one that was copied.
template <class T>
T const* put_box(T const* values, box const& b, shape const& extents, T* whole) {
  for_each_row(b, extents, [&](std::int64_t at, std::int64_t length) {
    std::copy_n(values, length, whole + at);
    values += length;
  });
  return values;
}

/// Arrays with room for a whole batch, in which a rank fills in only the part that it reads.
template <class Model>
class whole_room {
  using input = typename Model::input_type;
  using target = typename Model::target_type;

 public:
  /// Writes this rank's part into the arrays and returns an empty text. If the part has a fault
  /// (local_batch::fault, a wrong size or an invalid value), fills the arrays with zeros and
  /// returns a sentence that says what is wrong. Communicates nothing.
  std::string set(Model const& model, nn::batch_part const& part,
                  local_batch<input, target> const& local) {
    auto const parts = static_cast<std::size_t>(model.micro_batches());
    auto const x = static_cast<std::size_t>(model.inputs()),
               rows = static_cast<std::size_t>(model.rows());
    data_.inputs.resize(x * parts);
    data_.targets.resize(rows * parts);
    auto fault = local.fault.empty() ? size_fault(part, local, parts) : local.fault;
    if (fault.empty())
      fault = fault_of([&] {
        auto const* from = local.inputs.data();
        auto const* from_targets = local.targets.data();
        for (std::size_t i = 0; i < parts; ++i) {
          auto* const to = data_.inputs.data() + i * x;
          auto* const to_targets = data_.targets.data() + i * rows;
          from = put_box(from, part.input, model.input_extents(), to);
          from = put_box(from, part.context, model.context_extents(),
                         to + model.input_extents().elements());
          from_targets = put_box(from_targets, part.target, model.target_extents(), to_targets);
        }
        check_micro_batches(model, data_);
      });
    if (!fault.empty()) zeros(model);
    return fault;
  }
  /// Fills the arrays with zeros, and returns them.
  batch_data<input, target> const& zeros(Model const& model) {
    auto const parts = static_cast<std::size_t>(model.micro_batches());
    data_.inputs.assign(static_cast<std::size_t>(model.inputs()) * parts, input(0));
    data_.targets.assign(static_cast<std::size_t>(model.rows()) * parts, target(0));
    return data_;
  }
  batch_data<input, target> const& data() const { return data_; }

 private:
  static std::string size_fault(nn::batch_part const& part, local_batch<input, target> const& local,
                                std::size_t parts) {
    auto const of_x = static_cast<std::size_t>(part.input.elements()),
               of_context = part.context.rank() > 0
                                ? static_cast<std::size_t>(part.context.elements())
                                : 0,
               of_targets = static_cast<std::size_t>(part.target.elements());
    if (local.inputs.size() == parts * (of_x + of_context) &&
        local.targets.size() == parts * of_targets)
      return {};
    return "this rank's part of a step is " + std::to_string(parts * (of_x + of_context)) +
           " inputs and " + std::to_string(parts * of_targets) + " targets, but it was given " +
           std::to_string(local.inputs.size()) + " and " + std::to_string(local.targets.size()) +
           ". Pass of each of " + std::to_string(parts) + " micro-batches the inputs in " +
           box_text(part.input) +
           (of_context > 0 ? ", those of the context in " + box_text(part.context) : "") +
           " and the targets in " + box_text(part.target) + ", as trainer.part() says.";
  }

  batch_data<input, target> data_;
};

/// Returns how many targets of all ranks together are in the mean of the loss, each counted once.
/// `fault` says what is wrong with this rank's part; it is empty if nothing is wrong. Communicates:
/// one all-reduce of 8 bytes if the loss leaves out targets, otherwise nothing.
template <class Model, class Input, class Target>
std::int64_t targets_in_mean(Model const& model, nn::batch_part const& part,
                             local_batch<Input, Target> const& local, std::string const& fault) {
  if (!model.leaves_out_targets()) return model.rows() * model.micro_batches();
  std::int64_t count = 1;  // with a fault, the step only informs the other ranks of it
  if (fault.empty())
    count = part.counts_targets ? model.targets_in_mean(std::span(local.targets)) : 0;
  operation_label const named(model.mesh(), "targets in the mean");
  model.mesh().all_reduce(std::span(&count, 1));
  return count;
}

/// Throws on every rank if the part of any rank has a fault, or if ranks with the same box passed
/// different values. `fault` is the text of this rank's fault, or empty. Does nothing on a mesh of
/// one rank. Communicates what throw_together does, and one all-reduce of 32 bytes per rank.
template <class Mesh, class Input, class Target>
void compare_parts(Mesh const& mesh, nn::batch_part const& part,
                   local_batch<Input, Target> const& local, std::string const& fault,
                   std::int64_t step) {
  if (mesh.ranks() == 1) return;
  throw_together(mesh, "trainer", fault);
  auto const hash_of = [](std::string const& boxes) {
    return static_cast<std::int64_t>(content_hash(boxes.data(), boxes.size()));
  };
  auto const ranks = static_cast<std::size_t>(mesh.ranks()), own = std::size_t(mesh.rank());
  std::vector<std::int64_t> all(4 * ranks);
  all[4 * own] = hash_of(box_text(part.input) + ' ' + box_text(part.context));
  all[4 * own + 1] = static_cast<std::int64_t>(content_hash(std::span(local.inputs)));
  all[4 * own + 2] = hash_of(box_text(part.target));
  all[4 * own + 3] = static_cast<std::int64_t>(content_hash(std::span(local.targets)));
  mesh.all_reduce(std::span(all));
  for (std::size_t k = 0; k < 4; k += 2)
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t s = 0; s < r; ++s)
        if (all[4 * r + k] == all[4 * s + k] && all[4 * r + k + 1] != all[4 * s + k + 1])
          throw error("trainer", "at step " + std::to_string(step) + " ranks " + std::to_string(s) +
                                     " and " + std::to_string(r) + " passed different " +
                                     (k == 0 ? "inputs" : "targets") +
                                     ", although both read the same part of the batch.");
}

}  // namespace detail
}  // namespace ashlar::train
