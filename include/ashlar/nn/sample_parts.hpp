// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs a net that is planned for batches of one size on batches of any size. A batch is run in
// parts of the planned size, one after another. The last part is filled up with copies of its last
// sample, and the results for these copies are cut off (in_parts) or subtracted (mean_loss.hpp).
// The other results are right only if samples do not depend on each other. A net whose samples
// depend on each other (layer_spec::couples_rows, layer_spec::couples_samples) takes whole parts
// only. The number of results of such a net need not be a multiple of the number of samples.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ashlar/step/problem.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nn::detail {

/// Copies the values of `planned` samples, from sample number `first` on, to `part`. If fewer
/// samples are left, fills the rest of `part` with copies of the last sample. `samples` is the
/// number of samples in `all`.
template <class Value>
void copy_samples(std::span<Value const> all, std::size_t samples, std::size_t first,
                  std::size_t planned, std::span<Value> part) {
  std::size_t const size = all.size() / samples;
  for (std::size_t k = 0; k < planned; ++k)
    std::ranges::copy(all.subspan(std::min(first + k, samples - 1) * size, size),
                      part.subspan(k * size, size).begin());
}

/// A batch of any number of samples. `input` and `context` are the extents of a part; dim 0 of both
/// counts its samples. `inputs` has the inputs of all samples, followed by the contexts of all
/// samples.
template <class Input>
class sample_parts {
 public:
  /// Throws ashlar::error if `inputs` does not consist of whole samples. If the samples of `net`
  /// depend on each other, also throws if `inputs` does not consist of whole parts. `inputs` must
  /// outlive this object.
  sample_parts(std::span<Input const> inputs, search::problem const& net, shape const& input,
               shape const& context)
      : inputs_(inputs), planned_(static_cast<std::size_t>(input[0])),
        of_x_(static_cast<std::size_t>(input.elements()) / planned_),
        sample_(of_x_ + (context.rank() == 0
                             ? 0
                             : static_cast<std::size_t>(context.elements()) / planned_)),
        samples_(inputs.size() / sample_) {
    if (inputs.size() % sample_ != 0)
      throw error("model",
                  std::to_string(inputs.size()) + " inputs are no whole samples of " +
                      without_first(input) +
                      (sample_ > of_x_ ? " with a context of " + without_first(context) : "") +
                      ".");
    if (samples_ % planned_ == 0) return;
    for (auto const& spec : net.layers)
      if (spec.couples_rows || spec.couples_samples)
        throw error("model", std::to_string(samples_) +
                                 " samples are no multiple of the planned batch of " +
                                 std::to_string(planned_) +
                                 ", but in this net samples depend on each other. Fill the batch "
                                 "up, or place the net for another one.");
  }

  std::size_t samples() const { return samples_; }
  /// Returns the number of samples in a part.
  std::size_t planned() const { return planned_; }

  /// Returns the inputs and then the contexts of the part whose first sample is number `first`. The
  /// result is valid until the next call.
  std::span<Input const> from(std::size_t first) {
    if (samples_ == planned_ && first == 0) return inputs_;
    part_.resize(sample_ * planned_);
    auto const part = std::span(part_);
    copy_samples(inputs_.first(samples_ * of_x_), samples_, first, planned_,
                 part.first(planned_ * of_x_));
    copy_samples(inputs_.subspan(samples_ * of_x_), samples_, first, planned_,
                 part.subspan(planned_ * of_x_));
    return part;
  }

 private:
  static std::string without_first(shape const& s) {
    std::string text;
    for (int d = 1; d < s.rank(); ++d) text += (d > 1 ? "x" : "") + std::to_string(s[d]);
    return text.empty() ? std::string("1") : text;
  }

  std::span<Input const> inputs_;
  std::size_t planned_, of_x_, sample_, samples_;
  std::vector<Input> part_;
};

/// Calls run(part) for each part of a batch, and returns the results for the batch's samples, one
/// after the other. The other arguments are those of the constructor of sample_parts.
template <class Input, class Run>
auto in_parts(std::span<Input const> inputs, search::problem const& net, shape const& input,
              shape const& context, Run run) -> decltype(run(inputs)) {
  sample_parts<Input> parts(inputs, net, input, context);
  auto const planned = parts.planned(), samples = parts.samples();
  if (samples == planned) return run(inputs);
  decltype(run(inputs)) all;
  for (std::size_t first = 0; first < samples; first += planned) {
    auto const made = run(parts.from(first));
    auto const here = std::min(planned, samples - first);
    auto const wanted = here == planned ? made.size() : made.size() / planned * here;
    all.insert(all.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  return all;
}

}  // namespace ashlar::nn::detail
