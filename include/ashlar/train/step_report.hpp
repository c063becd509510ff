// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The report of a training step, and its output as one progress line. On the host, the line shows
// the share of communication. If computations hid communication, it also shows the overlap ratio.
// For nets with mixtures of experts, it shows the losses of the routers, the load of the fullest
// rank relative to the mean, and the share of routes that were dropped. In a pipeline on the host,
// it shows the measured and the predicted bubble (step/pipeline/bubble.hpp). If the trainer's
// options have both step_flops and peak_flops, it shows the model flops utilization (MFU):
//
//   MFU = step_flops / (seconds · number of ranks · peak_flops of a rank)
//
// step/model_flops.hpp computes step_flops, the floating-point operations that a step needs.

#include <cstdint>
#include <cstdio>
#include <ostream>

namespace ashlar::train {

/// The report of one step. `loss` and `gradient_norm` are computed over all ranks, and `seconds` is
/// measured on this rank. In a stale training (stale_training.hpp), `loss` is that of this rank's
/// samples (0 if the rank has none), and `gradient_norm` that of their gradient. Both belong to the
/// parameter values that the rank has read.
struct step_report {
  std::int64_t step = 0;  ///< counts from 0
  /// The mean loss over the step's rows, before the update. The losses of routers are not included.
  double loss = 0;
  double gradient_norm = 0;         ///< the norm of all gradients together, before clipping
  double learning_rate_factor = 0;  ///< the factor of the schedule
  double tokens_per_second = 0;     ///< rows per second of all ranks together
  double seconds = 0;
  /// Whether the next three numbers and `bubble` were measured. They are 0 on devices, where
  /// the host only gives transfers to the device and does not see how long they take.
  bool measures_communication = true;
  double communication_share = 0;  ///< the fraction of `seconds` spent communicating or waiting
  /// exposed_seconds: the time in which this rank waited for communication or made copies for it.
  /// hidden_seconds: the time in which a transfer was pending while this rank computed. A transfer
  /// is also pending while it waits for another rank.
  double exposed_seconds = 0, hidden_seconds = 0;
  double model_flops_utilization = 0;  ///< MFU as a fraction; 0 if unknown
  /// In a pipeline: the share of the step's seconds in which a rank waits for other stages, as a
  /// mean over all ranks. It includes the time in which a rank waits for the last rank to finish
  /// the step.
  double bubble = 0;
  double predicted_bubble = 0;  ///< trainer_options.bubble; 0 if unknown
  /// For nets with mixtures of experts: the balance loss and the z-loss of the routers, multiplied
  /// by their factors (nn/moe_options.hpp). Each is summed over the mixtures and averaged over the
  /// micro-batches.
  double balance_loss = 0, z_loss = 0;
  /// The load imbalance of mixtures of experts: the number of rows for the experts of the fullest
  /// rank, divided by the mean over the ranks. Each mixture and micro-batch has its own fullest
  /// rank. 1 means perfect balance. 0 means that the net has no mixture, or that no token has an
  /// expert.
  double fullest_rank = 0;
  /// The fraction of routes (pairs of a token and one of its chosen experts) that lead to no
  /// expert, because the expert's capacity was exhausted or the route was given as -1.
  double dropped_share = 0;
  char const* unit = "tokens";  ///< the plural name of the batch's rows, for the output

  /// Sets the four members about mixtures of experts and their routers from the sums over the net's
  /// mixtures (nn/mixture_log.hpp).
  template <class Sums>
  void set_mixtures(Sums const& of) {
    balance_loss = of.balance_loss;
    z_loss = of.z_loss;
    if (of.mean > 0) fullest_rank = of.fullest / of.mean;
    if (of.routes > 0) dropped_share = of.dropped / of.routes;
  }
  /// Returns the loss that the gradients descend.
  double total_loss() const { return loss + balance_loss + z_loss; }

  /// Returns the overlap ratio: the hidden seconds as a fraction of the computation or of the
  /// communication, whichever takes less time. 1 means that nothing is left to hide.
  double overlap_ratio() const {
    double const work = seconds - exposed_seconds, communication = exposed_seconds + hidden_seconds;
    double const least = work < communication ? work : communication;
    return least > 0 ? hidden_seconds / least : 0;
  }
};

inline std::ostream& operator<<(std::ostream& out, step_report const& r) {
  char line[160];
  std::snprintf(line, sizeof line, "step %5lld   loss %7.4f   grad norm %8.4f   %9.0f %s/s",
                static_cast<long long>(r.step), r.loss, r.gradient_norm, r.tokens_per_second,
                r.unit);
  out << line;
  if (r.measures_communication) {
    std::snprintf(line, sizeof line, "   %4.1f %% communication", 100 * r.communication_share);
    out << line;
  }
  if (r.balance_loss > 0) {
    std::snprintf(line, sizeof line, "   balance loss %.4f", r.balance_loss);
    out << line;
  }
  if (r.z_loss > 0) {
    std::snprintf(line, sizeof line, "   z-loss %.4f", r.z_loss);
    out << line;
  }
  if (r.fullest_rank > 0) {
    std::snprintf(line, sizeof line, "   fullest rank %.2f", r.fullest_rank);
    out << line;
  }
  if (r.dropped_share > 0) {
    std::snprintf(line, sizeof line, "   %4.1f %% dropped", 100 * r.dropped_share);
    out << line;
  }
  if (r.hidden_seconds > 0) {
    std::snprintf(line, sizeof line, "   %4.1f %% overlap", 100 * r.overlap_ratio());
    out << line;
  }
  if (r.model_flops_utilization > 0) {
    std::snprintf(line, sizeof line, "   %4.1f %% MFU", 100 * r.model_flops_utilization);
    out << line;
  }
  if (r.bubble > 0) {
    std::snprintf(line, sizeof line, "   %4.1f %% bubble", 100 * r.bubble);
    out << line;
  }
  if (r.bubble > 0 && r.predicted_bubble > 0) {
    std::snprintf(line, sizeof line, " (%.1f %% predicted)", 100 * r.predicted_bubble);
    out << line;
  }
  return out;
}

}  // namespace ashlar::train
