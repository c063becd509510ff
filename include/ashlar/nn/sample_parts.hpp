// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs a net that is planned for batches of one size on batches of any size. A batch is run in
// parts of the planned size, one after another. The last part is filled up with copies of its last
// sample, and the results for these copies are cut off. The other results are right only if samples
// do not depend on each other. A net whose samples depend on each other (layer_spec::couples_rows)
// takes whole parts only.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ashlar/step/problem.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nn::detail {

/// Calls run(part) for each part of a batch, and returns the results for its samples, one after the
/// other. `input` and `context` are the extents of a part; their dim 0 is the samples. The batch
/// has the inputs of all samples, followed by the contexts of all samples.
template <class Input, class Run>
auto in_parts(std::span<Input const> inputs, search::problem const& net, shape const& input,
              shape const& context, Run run) -> decltype(run(inputs)) {
  auto const planned = static_cast<std::size_t>(input[0]);
  auto const of_x = static_cast<std::size_t>(input.elements()) / planned;
  auto const of_context = context.rank() == 0
                              ? 0
                              : static_cast<std::size_t>(context.elements()) / planned;
  auto const sample = of_x + of_context, samples = inputs.size() / sample;
  auto const without_first = [](shape const& s) {
    std::string text;
    for (int d = 1; d < s.rank(); ++d) text += (d > 1 ? "x" : "") + std::to_string(s[d]);
    return text.empty() ? std::string("1") : text;
  };
  if (inputs.size() % sample != 0)
    throw error("model",
                std::to_string(inputs.size()) + " inputs are no whole samples of " +
                    without_first(input) +
                    (of_context > 0 ? " with a context of " + without_first(context) : "") + ".");
  if (samples % planned != 0)
    for (auto const& spec : net.layers)
      if (spec.couples_rows)
        throw error("model", std::to_string(samples) +
                                 " samples are no multiple of the planned batch of " +
                                 std::to_string(planned) +
                                 ", but in this net samples depend on each other. Fill the batch "
                                 "up, or place the net for another one.");
  if (samples == planned) return run(inputs);

  decltype(run(inputs)) all;
  std::vector<Input> part(sample * planned);
  auto const fill = [&](std::size_t first, std::size_t size, auto from, auto to) {
    for (std::size_t k = 0; k < planned; ++k) {
      auto const s = std::min(first + k, samples - 1);
      std::copy_n(from + static_cast<std::ptrdiff_t>(s * size), size,
                  to + static_cast<std::ptrdiff_t>(k * size));
    }
  };
  for (std::size_t first = 0; first < samples; first += planned) {
    fill(first, of_x, inputs.begin(), part.begin());
    fill(first, of_context, inputs.begin() + static_cast<std::ptrdiff_t>(samples * of_x),
         part.begin() + static_cast<std::ptrdiff_t>(planned * of_x));
    auto const made = run(std::span<Input const>(part));
    auto const wanted = made.size() / planned * std::min(planned, samples - first);
    all.insert(all.end(), made.begin(), made.begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  return all;
}

}  // namespace ashlar::nn::detail
