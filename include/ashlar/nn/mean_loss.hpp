// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The mean loss of a batch with any number of samples. The net runs on parts of n samples
// (sample_parts.hpp). If the last part has r < n samples, it is filled up with n - r copies of its
// last sample. The net then also runs on n copies of this sample. The loss of these n copies says
// what the n - r copies add to the loss, and this is subtracted:
//
//   r == n   the sum of the losses of all parts
//   r < n    this sum, minus (n - r) / n times the loss of n copies of the last sample
//
// This works for every loss that is a sum over samples, and the loss layer needs no support for it.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ashlar/comm/operation_label.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/sample_parts.hpp>

namespace ashlar::nn::detail {

/// Returns the mean loss of a batch. `targets` has the targets of all samples. `in_mean` is the
/// number of targets in the mean: all of them, unless the loss leaves some out. `rows` is the
/// number of targets in a part. run(inputs, targets, total) adds this rank's share of the summed
/// loss of a part to *total, which is in the memory of the mesh. Throws ashlar::error if there is
/// no sample, no target in the mean, or not as many targets as the samples have. Communicates: what
/// `run` does, and one all-reduce of 16 bytes.
template <class Processor, class Input, class Target, class Run>
double mean_loss(basic_mesh<Processor> const& mesh, sample_parts<Input> parts,
                 std::span<Target const> targets, std::int64_t rows, std::int64_t in_mean,
                 Run run) {
  auto const n = parts.planned(), samples = parts.samples();
  auto const of_part = static_cast<std::size_t>(rows);
  if (samples == 0)
    throw error("model", "evaluate got no samples, which have no mean loss. Pass at least one.");
  if (targets.size() * n != samples * of_part)
    throw error("model", "evaluate got " + std::to_string(targets.size()) + " targets for " +
                             std::to_string(samples) + " samples. The loss has " +
                             (of_part % n == 0 ? std::to_string(of_part / n) + " for each sample"
                                               : std::to_string(of_part) + " for " +
                                                     std::to_string(n) + " samples") +
                             ", so pass " + std::to_string(samples * of_part / n) + ".");
  if (in_mean == 0)
    throw error("model",
                "evaluate got targets that are all left out of the mean of the loss, which "
                "has no value then. Pass at least one that is not negative.");
  kept<double> const totals(mesh, 2);  // the loss of all parts, and of copies of the last sample
  fill(mesh.processor(), 0.0, 2, totals.data());
  std::vector<Target> filled_up;
  auto const run_from = [&](std::size_t first, double* total) {
    if (first + n <= samples)
      return run(parts.from(first), targets.subspan(first / n * of_part, of_part), total);
    filled_up.resize(of_part);
    copy_samples(targets, samples, first, n, std::span(filled_up));
    run(parts.from(first), std::span<Target const>(filled_up), total);
  };
  for (std::size_t first = 0; first < samples; first += n) run_from(first, totals.data());
  auto const missing = (n - samples % n) % n;
  if (missing > 0) run_from(samples - 1, totals.data() + 1);

  std::array<double, 2> sums{};
  operation_label const named(mesh, "mean loss");
  mesh.all_reduce(static_cast<double const*>(totals.data()), std::span<double>(sums));
  double const copies = static_cast<double>(missing) / static_cast<double>(n);
  double const sum = missing > 0 ? sums[0] - copies * sums[1] : sums[0];
  return sum / static_cast<double>(in_mean);
}

}  // namespace ashlar::nn::detail
