// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The sends and receives of a program that are under way: crossings to and from other parts of a
// pipeline's mesh. Each running crossing holds the tensor that it sends or receives.

#include <memory>
#include <utility>
#include <vector>

#include <ashlar/comm/prepared_crossing.hpp>
#include <ashlar/step/program.hpp>
#include <ashlar/support/stopwatch.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::nn {

template <class Processor>
class running_crossings {
 public:
  /// The program must outlive this object.
  running_crossings(basic_mesh<Processor> const& m, step::program const& p)
      : program_(&p), running_(p.crossings.size()) {
    for (auto const& plan : p.crossing_plans)
      plans_.push_back(prepared_for(plan, m.whole(), m.rank_of_whole()));
  }

  /// Begins the crossing of an action. `sent` is the tensor to be sent. If the crossing receives a
  /// tensor, `sent` is null, and `type` is the type of the received elements.
  void begin(basic_mesh<Processor> const& m, step::action const& a,
             any_tensor<Processor> const* sent, element_type type) {
    m.refuse_forbidden_crossing();
    auto const& c = program_->crossing_of(a);
    auto const& crossing = plans_[static_cast<std::size_t>(c.plan)];
    auto const& after = crossing.plan.after;
    auto& run = running_[static_cast<std::size_t>(a.crossing)];
    run.tensor = sent != nullptr ? *sent
                                 : any_tensor<Processor>(m, after.extents, after.from, type);
    // The crossings of a program have even numbers. Crossings outside of programs have odd ones
    // (mesh::next_crossing), so no two crossings under way have the same number.
    run.under_way = m.start_crossing(crossing, run.tensor.local_box(), run.tensor.data(),
                                     static_cast<std::size_t>(size_of(run.tensor.type())),
                                     2 * c.number);
  }
  /// Waits for the crossing of an action, and returns its tensor. Adds the seconds of the wait to
  /// `waited`.
  any_tensor<Processor> end(basic_mesh<Processor> const& m, step::action const& a, double& waited) {
    auto& run = running_[static_cast<std::size_t>(a.crossing)];
    stopwatch const time;
    m.wait(*run.under_way);
    waited += time.seconds();
    return std::exchange(run, {}).tensor;
  }

  void wait_for_all(basic_mesh<Processor> const& m) const {
    for (auto const& run : running_)
      if (run.under_way != nullptr) m.wait(*run.under_way);
  }
  void forget() {
    for (auto& run : running_) {
      run.under_way.reset();  // before the tensor, whose memory its messages may still use
      run.tensor = {};
    }
  }

 private:
  struct crossing_run {
    any_tensor<Processor> tensor;
    std::unique_ptr<pending_operation> under_way;  // destroyed before the tensor
  };
  step::program const* program_;
  std::vector<prepared_crossing> plans_;  // in the order of program::crossing_plans
  std::vector<crossing_run> running_;     // one per crossing of the program
};

}  // namespace ashlar::nn
