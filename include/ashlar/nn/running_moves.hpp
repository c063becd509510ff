// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The redistributions of a program that are under way. A redistribution without a wire whose end
// follows its begin directly is done at once. Every other one proceeds in the background. On the
// host, the redistributions of a bucket form one transfer (step/transfer.hpp). On a device, each
// redistribution has transfers of its own.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/comm/operation_label.hpp>
#include <ashlar/nn/errors_of_moves.hpp>
#include <ashlar/nn/execution.hpp>
#include <ashlar/nn/move_names.hpp>
#include <ashlar/nn/parameter_slots.hpp>
#include <ashlar/step/program.hpp>
#include <ashlar/step/transfer.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/running_plan.hpp>

namespace ashlar::nn {

template <class Processor>
class running_moves {
 public:
  /// The program must outlive this object.
  running_moves(std::vector<std::unique_ptr<element_node<Processor>>> const& elements,
                step::program const& p)
      : program_(&p), names_(move_names(elements, p)), errors_(p), running_(p.moves.size()),
        plans_(p.paths.size()), buckets_(p.moves.size()) {}

  /// Returns the errors of encoded gradients, which later steps add to their gradients (error
  /// feedback), and the averages that wires with momentum send.
  errors_of_moves& errors() { return errors_; }

  /// Begins the redistribution of action i, which is a begin_move. Its tensor must be in its slot.
  /// Also performs some of the next actions: the end_move of an exact redistribution if it follows
  /// directly, otherwise the other actions of the bucket. Returns the number of these actions.
  int begin(basic_mesh<Processor> const& m, int i, execution<Processor>& on,
            parameter_slots<Processor> const& parameters) {
    auto const& all = program_->actions;
    auto const& a = all[static_cast<std::size_t>(i)];
    operation_label const named(m, names_[static_cast<std::size_t>(a.move)].c_str());
    auto const next = static_cast<std::size_t>(i) + 1;
    bool const ends = next < all.size() && all[next].kind == step::action_kind::end_move &&
                      all[next].move == a.move;
    auto const& own = program_->move_of(a);
    if (ends && program_->path_of(own).wire.is_exact()) {
      parameters.put(on, own.to, ashlar::detail::run_plan(on.tensor(own.from), *plan_of(m, own)));
      return 1;
    }
    auto const d = Processor::is_host ? step::departure::at(*program_, i)
                                      : step::departure{i, i + 1};
    recycled_vector<any_tensor<Processor>> tensors;
    recycled_vector<int> moves;
    d.for_each_move(*program_, [&](int k) {
      tensors.push_back(errors_.averaged(k, on));
      moves.push_back(k);
    });
    auto& plans = buckets_[static_cast<std::size_t>(moves.front())];
    if (plans == nullptr) plans = bucket_of(m, moves);
    auto const run = std::make_shared<ashlar::detail::running_plan<Processor>>(
        std::move(tensors), plans, nullptr, errors_.of(moves));
    for (std::size_t k = 0; k < moves.size(); ++k)
      running_[static_cast<std::size_t>(moves[k])] = {run, k};
    for (int k = d.first; k < d.end; ++k)
      if (auto const& among = all[static_cast<std::size_t>(k)];
          among.kind == step::action_kind::release)
        on.release(among);
    return d.end - d.first - 1;
  }
  /// Waits for the redistribution of an action, and stores its result in its slot.
  void end(basic_mesh<Processor> const& m, step::action const& a, execution<Processor>& on,
           parameter_slots<Processor> const& parameters) {
    auto& run = running_[static_cast<std::size_t>(a.move)];
    m.wait(*run.plan);
    parameters.put(on, program_->move_of(a).to,
                   errors_.received(a.move, run.plan->result(run.place)));
    run = {};
  }
  void forget() {
    for (auto& run : running_) run = {};
  }

 private:
  /// A redistribution under way: the transfer of its bucket, and its position in the bucket.
  struct move_run {
    std::shared_ptr<ashlar::detail::running_plan<Processor>> plan;
    std::size_t place = 0;
  };

  /// Returns the program's plan of a redistribution. It stays if the mesh gets another machine.
  std::shared_ptr<prepared_plan const> const& plan_of(basic_mesh<Processor> const& m,
                                                      step::program_move const& move) {
    auto& plan = plans_[static_cast<std::size_t>(move.path)];
    if (plan == nullptr) plan = ashlar::detail::prepared_as(program_->path_of(move), m);
    return plan;
  }
  std::shared_ptr<ashlar::detail::bucket const> bucket_of(basic_mesh<Processor> const& m,
                                                          recycled_vector<int> const& moves) {
    recycled_vector<ashlar::detail::bucket::plan> plans;
    for (int const k : moves)
      plans.push_back(plan_of(m, program_->moves[static_cast<std::size_t>(k)]));
    return std::make_shared<ashlar::detail::bucket const>(std::move(plans), m.topology(),
                                                          m.coordinate());
  }

  step::program const* program_;
  std::vector<std::string> names_;                           // one per move of the program
  errors_of_moves errors_;                                   // running moves refer to it
  std::vector<move_run> running_;                            // one per move of the program
  std::vector<std::shared_ptr<prepared_plan const>> plans_;  // one per path; null before its use
  // Indexed by the first move of each bucket.
  std::vector<std::shared_ptr<ashlar::detail::bucket const>> buckets_;
};

}  // namespace ashlar::nn
