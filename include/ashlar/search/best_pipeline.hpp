// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Keeps the fastest pipeline that the search (pipeline_search.hpp) has found so far. A pipeline is
// kept only if it fits in the memory of the machine and has no more micro-batches in flight than
// the options permit.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/search/pipeline_candidate.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>

namespace ashlar::search::detail {

class best_pipeline {
 public:
  /// Both arguments must outlive this object.
  best_pipeline(machine const& m, pipeline_options const& options)
      : machine_(m), options_(options) {}

  bool found() const { return found_; }
  /// Returns the seconds of the fastest pipeline so far, or `unreachable` if there is none.
  double seconds() const { return found_ ? best_.seconds() : unreachable; }

  struct offered {
    double seconds;
    std::int64_t memory;
  };

  /// Prices a pipeline of the chain `net`, and keeps it if it fits and is faster than the best one
  /// so far.
  template <int N>
  offered offer(basic_problem<N> const& net, pipeline_candidate<N> const& c,
                basic_plan<N> const& chosen, std::vector<int> const& limits,
                std::vector<int> const& recomputed, pipelines::schedule const& order) {
    auto p = price_pipeline(net, chosen, limits, recomputed, c.axis, net.micro_batches, machine_,
                            order);
    if (order == pipelines::one_f_one_b(c.parts, net.micro_batches)) p.order = {};
    offered const own{p.seconds(), p.chosen.memory};
    if ((machine_.memory > 0 && own.memory > machine_.memory) || own.seconds >= seconds())
      return own;
    if (exceeds(order)) return own;
    best_ = std::move(p);
    found_ = true;
    return own;
  }

  /// Returns whether a stage has more micro-batches in flight than the options permit. If so, keeps
  /// the reason for the error message of demand().
  bool exceeds(pipelines::schedule const& order) {
    if (options_.in_flight == 0) return false;
    auto const fault = pipelines::in_flight_fault(
        order, std::vector<int>(static_cast<std::size_t>(order.stages()), options_.in_flight));
    if (!fault.empty()) too_many_ = fault;
    return !fault.empty();
  }

  /// Notes why the last pipeline that was tried does not fit in memory.
  void refuse(std::string why) { refused_ = std::move(why); }

  /// Returns the best pipeline, with `least` as the lower bound of the seconds of all pipelines, or
  /// with its own seconds if these are fewer. Throws ashlar::error if there is no pipeline.
  pipeline_plan with_bound(double least) {
    demand();
    best_.lower_bound = std::min(least, best_.seconds());
    best_.chosen.gap = best_.seconds() > 0 ? 1 - best_.lower_bound / best_.seconds() : 0;
    return best_;
  }

  /// Throws the error for a search that has nothing to try.
  [[noreturn]] void refuse_numbers() const {
    refuse_in_flight();
    throw error("search::pipeline",
                "none of the schedules exists for these numbers of stages and micro-batches. Use "
                "other numbers, or the schedule 1f1b.");
  }

  /// Throws ashlar::error if no pipeline was kept.
  void demand() const {
    if (!found_) refuse_in_flight();
    if (!found_)
      throw error(
          "search::pipeline",
          "no number of stages and micro-batches fits in the machine's memory per rank. The "
          "last one tried: " +
              refused_);
  }

 private:
  /// Throws ashlar::error if a schedule exceeds options_.in_flight.
  void refuse_in_flight() const {
    if (!too_many_.empty())
      throw error("search::pipeline", "no schedule stays within the limit: " + too_many_);
  }

  machine const& machine_;
  pipeline_options const& options_;
  pipeline_plan best_;
  bool found_ = false;
  std::string refused_;
  std::string too_many_;  // why the last schedule exceeds options_.in_flight
};

}  // namespace ashlar::search::detail
