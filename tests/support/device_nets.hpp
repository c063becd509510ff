// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs networks on several ranks with one device each. Their predictions, gradients and losses of
// training steps must agree with the results of the same networks on one rank of the host. The
// collectives that each step records must agree with the planned ones. The cases run on a real
// device (tests/cuda) and on the fake device (tests/cuda/fake). All ranks must call each function
// that takes a device mesh. A failure throws.

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>
#include <support/device_instances.hpp>
#include <support/nets.hpp>
#include <support/plans.hpp>
#include <support/worse_gap.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/nn/formula.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/rms_norm.hpp>
#include <ashlar/nn/skip.hpp>
#include <ashlar/nn/swiglu.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

namespace ashlar_test {

namespace nn = ashlar::nn;

/// Returns a network that maps token ids in [0, 11) of shape [batch, 5] to logits [batch, 5, 11].
/// Its layers are those of a GPT with dropout, a skip and relu.
inline auto every_layer() {
  return nn::chain(nn::embedding(11, 6), nn::repeat(2, nn::gpt_block(6, 3, 0.1)), nn::layer_norm(6),
                   nn::skip<2>(nn::relu()), nn::linear(12, 11, false));
}

/// Returns a network with the same extents, in which every layer except the embedding is a formula.
/// Together these layers have every kind of operator of formulas that runs on a device.
inline auto every_operator() {
  auto const smooth = nn::formula(
      "smooth",
      [](auto x, auto w, auto b) {
        auto const u = matmul(x, w) + b;
        auto const wide = log(pow(u, 2) + 2) - rsqrt(1 + exp(tanh(u))) + sqrt(u * u + 1);
        return wide * erf(u) / (abs(u) + 1) + silu(u) * sigmoid(b) - gelu(-u) / 2;
      },
      nn::weight("w", {6, 6}), nn::weight("b", {6}, nn::all_equal(0.25)));
  auto const cornered = nn::formula(
      "cornered",
      [](auto x, auto w) {
        auto const u = einsum<"bsd,ed->bse">(x, w);
        auto const v = where(relu(u), softmax(u), 2 - abs(u));
        auto const apart = max(u, -1) - min(u, -1) + 1;
        return permute<0, 2, 1>(permute<0, 2, 1>(v) * 0.5) + (1 + u) / apart + 1 / apart;
      },
      nn::weight("w", {6, 6}));
  auto const doubled = nn::formula("doubled", [](auto x) {
    auto const turned = concat<2>(slice<2>(x, 3, 3), slice<2>(x, 0, 3));
    auto const sums = cumulative_sum<2>(flatten<2, 3>(split_dim(x, 2, {2, 3})));
    return concat<2>(turned, sums * 0.25);
  });
  auto const logits = nn::formula(
      "logits", [](auto x, auto w) { return 3 * matmul(x, w); }, nn::weight("w", {12, 11}));
  return nn::chain(nn::embedding(11, 6), nn::rms_norm(6), nn::swiglu(6, 5), smooth, cornered,
                   doubled, logits);
}

/// The results of running a network.
struct net_trace {
  std::vector<double> predicted;
  whole_parameters gradients;
  std::vector<double> losses;  ///< the loss of each training step
  std::string unplanned;       ///< how recorded transfers differ from planned ones; empty if equal
};

/// Runs the network under `plan` on a mesh. Records the predictions and gradients of the first
/// batch in `data`, and then the losses of `steps` training steps.
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

/// Returns the largest difference between `made` and `right`, divided by the largest magnitude in
/// `made`, or by 1e-3 if that magnitude is smaller.
inline double apart(std::vector<double> const& made, std::vector<double> const& right) {
  return difference({made}, {right});
}

/// The largest allowed differences from the host's results. Differences of predictions and
/// gradients are relative to the largest value. Differences of losses are absolute.
struct tolerances {
  double predictions, gradients, losses;
};

/// Holds a network, its data, and its results in float on one rank of the host. If the program has
/// not initialized MPI, the constructor initializes and finalizes MPI. Such a program may construct
/// only one object of this class, because MPI can be initialized only once.
template <class Net, class Batch>
class device_trial {
 public:
  using input = std::conditional_t<nn::takes_tokens<Net>(), std::int32_t, float>;

  device_trial(Net const& net, Batch const& batch, int vocabulary, int classes, int steps)
      : net_(net), batch_(batch), steps_(steps) {
    for (unsigned i = 0; i < 4; ++i)
      data_.push_back(random_batch<input>(batch, vocabulary, classes, i, 5));
    // Programs that use the fake device do not initialize MPI, but this reference run needs MPI.
    int begun = 0, argc = 0;
    char** argv = nullptr;
    MPI_Initialized(&begun);
    std::optional<ashlar::mpi::environment> env;
    if (begun == 0) env.emplace(argc, argv);
    ashlar::mesh const m(MPI_COMM_SELF, {{"gpu", 1}});
    auto const problem = any_length(nn::describe<float>(net, batch));
    host_ = trace<float>(net, m, problem, plan_source(problem, m).whole(), data_, steps);
  }

  /// Checks the results of four named plans (data-parallel, tensor-parallel, ZeRO-3, optimal) and
  /// of `drawn` random plans. Throws if a result differs from the host's result by more than
  /// `near`, or if the recorded transfers are not the planned ones.
  template <class T>
  void hold_all(ashlar::nccl::mesh const& m, int drawn, tolerances const& near) const {
    auto const problem = any_length(nn::describe<T>(net_, batch_));
    std::vector<search::plan> plans{search::data_parallel(problem, m.topology(), m.machine()),
                                    search::tensor_parallel(problem, m.topology(), m.machine()),
                                    search::zero_3(problem, m.topology(), m.machine()),
                                    search::optimal(problem, m.topology(), m.machine())};
    plan_source const source(problem, m);
    std::mt19937 random(3);
    for (int i = 0; i < drawn; ++i) plans.push_back(source.random(random));
    for (auto const& plan : plans) hold<T>(m, problem, plan, near);
  }

 private:
  /// Throws unless the results of a plan agree with the host's results.
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
      most = worse_gap(most, std::abs(made.losses[i] - host_.losses[i]));
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
