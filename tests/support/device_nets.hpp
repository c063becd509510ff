// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Nets on ranks with a device each against the same nets on one rank of the host, on a device (tests/cuda)
// and on one that is played on the host (tests/cuda/fake): what they predict, gradients, losses of
// training, and what a step sends. What runs on the device is one rank's part; a failure throws.

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>
#include <support/nets.hpp>
#include <support/plans.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {

namespace nn = ashlar::nn;

/// Ids [batch, 5] of 11 -> [batch, 5, 11], by every layer that runs on a device but flatten.
inline auto every_layer() {
  return nn::chain(nn::embedding(11, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.1)), nn::layer_norm(6),
                   nn::relu(), nn::linear(6, 11, false));
}

/// What a net did.
struct net_trace {
  std::vector<double> predicted;
  whole_parameters gradients;
  std::vector<double> losses;  ///< of training, step by step
  std::string unplanned;       ///< what a step sent and what it should have, where these differ
};

/// The net on a mesh: predictions, then gradients, of the first step's data, then `steps` of training.
template <class T, class Mesh, class Net, class Data>
net_trace trace(Net const& net, Mesh const& m, search::problem const& problem,
                search::plan const& plan, std::vector<Data> const& data, int steps) {
  net_trace made;
  auto model = nn::place<T>(net, m, plan, 7);
  auto const inputs = static_cast<std::size_t>(model.input_extents().elements());
  auto const predicted = model.predict(std::span(data[0].inputs).first(inputs));
  made.predicted.assign(predicted.begin(), predicted.end());

  model.clear_gradients();
  auto const rows = static_cast<std::size_t>(model.rows());
  model.accumulate(std::span(data[0].inputs).first(inputs), std::span(data[0].targets).first(rows),
                   0);
  model.synchronize();
  made.gradients = gradients_of(model);

  ashlar::train::trainer trainer(model, ashlar::train::adam_w{.lr = 3e-3},
                                 {.clip = 1.0, .overlap = ashlar::train::overlap::none});
  for (int i = 0; i < steps; ++i) {
    ashlar::communication_log const log(m);
    made.losses.push_back(trainer.step(data[static_cast<std::size_t>(i) % data.size()]).loss);
    auto const expected = expected_records(problem, plan, m);
    if (made.unplanned.empty() && !(log.records() == expected))
      made.unplanned = "sent\n" + describe(log.records(), m.topology()) + "but planned\n" +
                       describe(expected, m.topology());
  }
  return made;
}

/// How far the values of `made` are from those of `right`, relative to the largest of these.
inline double apart(std::vector<double> const& made, std::vector<double> const& right) {
  return difference({made}, {right});
}

/// How far a net may be from the host's: predictions and gradients relative to the largest, and losses.
struct tolerances {
  double predictions, gradients, losses;
};

/// A net, its data, and what it does on one rank of the host in float. At most one in a program that does
/// not begin MPI itself.
template <class Net, class Batch>
class device_trial {
 public:
  using input = std::conditional_t<nn::takes_tokens<Net>(), std::int32_t, float>;

  device_trial(Net const& net, Batch const& batch, int vocabulary, int classes, int steps)
      : net_(net), batch_(batch), steps_(steps) {
    for (unsigned i = 0; i < 4; ++i)
      data_.push_back(random_batch<input>(batch, vocabulary, classes, i, 5));
    // MPI begins and ends here where nobody has begun it: nothing played needs it.
    int begun = 0, argc = 0;
    char** argv = nullptr;
    MPI_Initialized(&begun);
    std::optional<ashlar::mpi::environment> env;
    if (begun == 0) env.emplace(argc, argv);
    ashlar::mesh const m(MPI_COMM_SELF, {{"gpu", 1}});
    auto const problem = any_length(nn::describe<float>(net, batch));
    host_ = trace<float>(net, m, problem, plan_source(problem, m.topology(), m.machine()).whole(),
                         data_, steps);
  }

  /// Holds the plans that split samples or layers or shard everything, the best, and `drawn` random ones.
  template <class T>
  void hold_all(ashlar::nccl::mesh const& m, int drawn, tolerances const& near) const {
    auto const problem = any_length(nn::describe<T>(net_, batch_));
    std::vector<search::plan> plans{search::data_parallel(problem, m.topology(), m.machine()),
                                    search::tensor_parallel(problem, m.topology(), m.machine()),
                                    search::zero_3(problem, m.topology(), m.machine()),
                                    search::optimal(problem, m.topology(), m.machine())};
    plan_source const source(problem, m.topology(), m.machine());
    std::mt19937 random(3);
    for (int i = 0; i < drawn; ++i) plans.push_back(source.random(random));
    for (auto const& plan : plans) hold<T>(m, problem, plan, near);
  }

 private:
  /// Throws unless a plan gives what the host has.
  template <class T>
  void hold(ashlar::nccl::mesh const& m, search::problem const& problem, search::plan const& plan,
            tolerances const& near) const {
    auto const made = trace<T>(net_, m, problem, plan, data_, steps_);
    std::string wrong = made.unplanned;
    auto const demand = [&](char const* what, double distance, double most) {
      if (!(distance <= most))
        wrong += std::string(what) + " differ by " + std::to_string(distance) + '\n';
    };
    demand("predictions", apart(made.predicted, host_.predicted), near.predictions);
    demand("gradients", difference(made.gradients, host_.gradients), near.gradients);
    double most = 0;
    for (std::size_t i = 0; i < made.losses.size(); ++i)
      most = std::max(most, std::abs(made.losses[i] - host_.losses[i]));
    demand("losses", most, near.losses);
    if (!wrong.empty()) throw std::logic_error(wrong + describe(problem, plan));
  }

  Net net_;
  Batch batch_;
  int steps_;
  std::vector<ashlar::train::batch_data<input>> data_;
  net_trace host_;
};

}  // namespace ashlar_test
