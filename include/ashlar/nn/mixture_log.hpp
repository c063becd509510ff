// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the mixtures of experts of a placed net tell about their training passes, and the routes that
// they are given. The passes get the log by pass::mixtures.
//
//   mixture_sums   addends of the report of a step. The sums over all ranks are those of the step.
//   route_book     the routes of passes
//   mixture_log    both, and the first token of a step whose router made no finite numbers
//
// A pass that is recomputed tells nothing again.

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

/// A mixture of experts in a training pass: the number of the pass (nn/pass.hpp) and that of the
/// element `dispatch` in the net. Neither depends on mesh or plan.
struct mixture_pass {
  std::int64_t pass = 0;
  int element = 0;
  friend constexpr auto operator<=>(mixture_pass const&, mixture_pass const&) = default;
};

using route_book = std::map<mixture_pass, routes_and_loads>;

/// Every member is summed over all mixtures, micro-batches and ranks.
struct mixture_sums {
  static constexpr std::int64_t count = 7;
  double balance_loss = 0, z_loss = 0;  ///< with their factors, as means over the micro-batches
  double fullest = 0;  ///< rows of the rank that has the most rows of a mixture in a pass
  double mean = 0;     ///< rows of a rank, as a mean over all ranks
  double routes = 0;   ///< chosen experts of all tokens
  double dropped = 0;  ///< those of them that a capacity dropped
  double faults = 0;   ///< passes in which the router's logits are not finite

  std::array<double, count> values() const {
    return {balance_loss, z_loss, fullest, mean, routes, dropped, faults};
  }
  static mixture_sums from(std::span<double const, count> v) {
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
  }
};

struct mixture_log {
  /// The sums of each pass, by the element that tells them. Micro-batches that take turns tell them in
  /// another order than others. So they are added by sums(), whose bits do not depend on this order.
  std::map<mixture_pass, mixture_sums> told;
  /// Whether a pass notes its first token with logits that are not finite, and goes on with gates
  /// that are not finite either. Otherwise it throws.
  bool notes_faults = false;
  /// The first fault of a step, and its token.
  std::optional<std::pair<mixture_pass, std::int64_t>> fault;
  bool records = false;
  route_book recorded;
  route_book given;  ///< routes that take the place of those that the router chooses

  mixture_sums sums() const {
    std::array<double, mixture_sums::count> all{};
    for (auto const& [at, own] : told) {
      auto const values = own.values();
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += values[i];
    }
    return mixture_sums::from(all);
  }
};

/// While an object of this class exists, a log is that of one step: the sums begin at 0, and faults
/// are noted.
class step_of_mixtures {
 public:
  explicit step_of_mixtures(mixture_log& log) : log_(log) {
    log.told.clear();
    log.fault.reset();
    log.notes_faults = true;
  }
  step_of_mixtures(step_of_mixtures const&) = delete;
  step_of_mixtures& operator=(step_of_mixtures const&) = delete;
  ~step_of_mixtures() { log_.notes_faults = false; }

 private:
  mixture_log& log_;
};

}  // namespace ashlar::nn
