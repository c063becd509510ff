// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The log of the mixtures of experts of a placed net. It has the numbers that training passes
// report, the routes that are recorded, and the routes that passes replay. A pass reaches the log
// by pass::mixtures.
//
//   mixture_sums   numbers that one rank reports; the report of a step has the sums over all ranks
//   route_book     the routes of passes
//   mixture_log    the sums and the books; the first token of a step for which the logits of a
//                  router were not finite; the loads of experts, from which a balance loss over
//                  several micro-batches is computed
//
// A recomputed pass does not report a second time.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ashlar/layout/routing.hpp>
#include <ashlar/nn/pass.hpp>

namespace ashlar::nn {

/// The routes of a micro-batch, and how many tokens chose each expert before tokens were dropped.
struct routes_and_loads {
  std::shared_ptr<routing const> routes;
  std::vector<std::int64_t> chosen_by;
};

/// Identifies one training pass of one element of a mixture of experts, by the number of the pass
/// (nn/pass.hpp) and the number of the element in the net. A mixture has several elements; for its
/// routes, `element` is the number of the mixture's `dispatch` (nn/dispatch.hpp). Neither number
/// depends on the mesh or the plan.
struct mixture_pass {
  std::int64_t pass = 0;
  int element = 0;
  friend constexpr auto operator<=>(mixture_pass const&, mixture_pass const&) = default;
};

using route_book = std::map<mixture_pass, routes_and_loads>;

/// The numbers that this rank reports. The report of a step has the sum of each number over all
/// mixtures, micro-batches and ranks.
struct mixture_sums {
  static constexpr std::int64_t count = 7;
  double balance_loss = 0, z_loss = 0;  ///< each times its factor / (number of micro-batches)
  double fullest = 0;                   ///< the number of rows of the fullest rank
  double mean = 0;                      ///< the mean number of rows of a rank
  double routes = 0;   ///< the number of pairs of a token and an expert that it chose
  double dropped = 0;  ///< the number of routes that a capacity dropped
  double faults = 0;   ///< the number of passes in which the router's logits are not finite

  std::array<double, count> values() const {
    return {balance_loss, z_loss, fullest, mean, routes, dropped, faults};
  }
  static mixture_sums from(std::span<double const, count> v) {
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
  }
};

struct mixture_log {
  /// The numbers that each pass of each element reported. Interleaved micro-batches report in
  /// another order than serial ones. sums() adds in the order of the map's keys, so the bits of its
  /// result do not depend on the order of the reports.
  std::map<mixture_pass, mixture_sums> told;
  /// Says what a pass does if the router of its mixture makes logits that are not finite. If
  /// `notes_faults` is true, the pass stores the fault in `fault` and goes on. If it is false, the
  /// pass throws an error, except in a pipeline, where the pass goes on silently.
  bool notes_faults = false;
  /// The first pass of a step in which the router's logits are not finite, and the number of the
  /// first token in this pass with such logits.
  std::optional<std::pair<mixture_pass, std::int64_t>> fault;
  /// How many tokens chose each expert in the passes of this step, for balance losses over several
  /// micro-batches (moe_options::balance_over).
  std::map<mixture_pass, std::vector<std::int64_t>> loads;
  bool records = false;
  route_book recorded;
  route_book given;  ///< routes that take the place of those that the router chooses

  /// Forgets what the passes of a step have reported. Keeps the books of routes.
  void forget_step() {
    told.clear();
    loads.clear();
    fault.reset();
  }
  mixture_sums sums() const {
    std::array<double, mixture_sums::count> all{};
    for (auto const& [at, own] : told) {
      auto const values = own.values();
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += values[i];
    }
    return mixture_sums::from(all);
  }
};

/// Prepares a log for one step. The constructor clears the log's sums, loads and fault. While the
/// object exists, passes store faults in the log instead of throwing.
class step_of_mixtures {
 public:
  explicit step_of_mixtures(mixture_log& log) : log_(log) {
    log.forget_step();
    log.notes_faults = true;
  }
  step_of_mixtures(step_of_mixtures const&) = delete;
  step_of_mixtures& operator=(step_of_mixtures const&) = delete;
  ~step_of_mixtures() {
    log_.loads.clear();
    log_.notes_faults = false;
  }

 private:
  mixture_log& log_;
};

}  // namespace ashlar::nn
