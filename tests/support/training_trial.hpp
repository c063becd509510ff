// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks three training steps of a network under a plan. The losses must agree to 1e-9 with the
// losses of the fully replicated plan. The collectives of each step and their bytes must equal the
// plan's prediction.

#include <support/nets.hpp>
#include <support/plans.hpp>

#include <ashlar/comm/communication_log.hpp>

namespace ashlar_test {

/// Holds a network, its data, and the losses of the fully replicated plan. Compares the losses of
/// another plan with these losses, and the collectives of its steps with the collectives that the
/// plan predicts.
template <class Net, class Batch>
class training_trial {
 public:
  using input = std::conditional_t<ashlar::nn::takes_tokens<Net>(), std::int32_t, double>;

  training_trial(Net const& net, Batch const& batch, ashlar::mesh const& m, int vocabulary,
                 int classes)
      : net_(net), mesh_(m), problem_(any_length(ashlar::nn::describe<double>(net, batch))),
        plans_(problem_, m) {
    for (unsigned step = 0; step < 3; ++step)
      data_.push_back(data_for<input>(net, batch, vocabulary, classes, step, 5));
    losses_ = run(plans_.whole());
  }

  search::problem const& problem() const { return problem_; }
  plan_source const& plans() const { return plans_; }

  std::string wrong_with(search::plan const& plan) {
    auto const losses = run(plan);
    std::string text;
    for (std::size_t i = 0; i < losses.size(); ++i)
      if (!near(losses[i], losses_[i], 1e-9))
        text += "loss " + std::to_string(losses[i]) + " at step " + std::to_string(i) + ", not " +
                std::to_string(losses_[i]) + '\n';
    auto const expected = expected_records(problem_, plan, mesh_);
    for (auto const& records : records_)
      if (!(records == expected)) {
        text += "sent\n" + describe(records, mesh_.topology()) + "but planned\n" +
                describe(expected, mesh_.topology());
        break;
      }
    return text.empty() ? text : text + describe(problem_, plan);
  }

 private:
  std::vector<double> run(search::plan const& plan) {
    auto model = ashlar::nn::place<double>(net_, mesh_, plan, 7);
    ashlar::train::trainer trainer(
        model, ashlar::train::sgd{.lr = 0.3, .momentum = 0.5, .weight_decay = 0.01},
        {.clip = 0.8, .overlap = ashlar::train::overlap::none});
    std::vector<double> losses;
    records_.clear();
    for (auto const& data : data_) {
      ashlar::communication_log const log(mesh_);
      losses.push_back(trainer.step(data).loss);
      records_.push_back(log.records());
    }
    return losses;
  }

  Net net_;
  ashlar::mesh mesh_;
  search::problem problem_;
  plan_source plans_;
  std::vector<ashlar::train::batch_data<input, typename targets_of<Net>::type>> data_;
  std::vector<double> losses_;
  std::vector<std::vector<ashlar::collective_record>> records_;
};

}  // namespace ashlar_test
