// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Batches and parameters for tests of placed networks, generated from seeds and therefore identical
// on every rank.

#include <random>
#include <vector>

#include <support/worse_gap.hpp>

#include <ashlar/nn/place.hpp>
#include <ashlar/tensor/region.hpp>
#include <ashlar/train/trainer.hpp>

namespace ashlar_test {

/// Draws the data of one step: tokens in [0, vocabulary) or normal deviates, and targets in [0,
/// classes). About one in `ignored` targets is -1, so the loss ignores it. If `ignored` is 0, no
/// target is ignored.
template <class Input, class Batch>
ashlar::train::batch_data<Input> random_batch(Batch const& batch, int vocabulary, int classes,
                                              unsigned seed, int ignored = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  ashlar::train::batch_data<Input> data;
  auto const extents = batch.extents();
  auto const inputs = extents.elements() * batch.micro_batches;
  auto const rows = std::same_as<Batch, ashlar::nn::token_batch> ? inputs
                                                                 : extents[0] * batch.micro_batches;
  for (std::int64_t i = 0; i < inputs; ++i) {
    if constexpr (std::same_as<Input, std::int32_t>)
      data.inputs.push_back(static_cast<Input>(random() % static_cast<unsigned>(vocabulary)));
    else data.inputs.push_back(static_cast<Input>(normal(random)));
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    auto const target = static_cast<std::int32_t>(random() % static_cast<unsigned>(classes));
    bool const ignore = ignored > 0 && random() % static_cast<unsigned>(ignored) == 0;
    data.targets.push_back(ignore ? -1 : target);
  }
  return data;
}

/// Trains a network of five classes by SGD for three steps. Returns the loss and the gradient norm
/// of each step.
template <class Net>
std::vector<double> steps_with(Net const& net, ashlar::nn::feature_batch const& batch,
                               ashlar::mesh const& m, ashlar::search::plan const& plan) {
  auto model = ashlar::nn::place<float>(net, m, plan, 3);
  ashlar::train::trainer trainer(model, ashlar::train::sgd{.lr = 0.1, .momentum = 0.9});
  std::vector<double> all;
  for (unsigned step = 0; step < 3; ++step) {
    auto const report = trainer.step(random_batch<float>(batch, 0, 5, step));
    all.push_back(report.loss);
    all.push_back(report.gradient_norm);
  }
  return all;
}

/// The element type of the targets of a network that computes in double. The targets are class
/// numbers, or real numbers if the network ends in a loss that compares with real numbers.
template <class Net>
struct targets_of {
  using loss = typename ashlar::nn::loss_of<decltype(ashlar::nn::with_loss(
      std::declval<Net const&>()))>::type;
  using type = typename loss::template target<double>;
};

/// Draws the data of one step of `net`, like random_batch. If the targets of the network are real
/// numbers, the function draws normal deviates. If the network has cross-attentions, each
/// micro-batch has a context to which these attend. The values of the context are normal deviates,
/// and follow the inputs of the micro-batch.
template <class Input, class Net, class Batch>
auto data_for(Net const& net, Batch const& batch, int vocabulary, int classes, unsigned seed,
              int ignored = 0) {
  using target = typename targets_of<Net>::type;
  auto const drawn = random_batch<Input>(batch, vocabulary, classes, seed, ignored);
  auto const problem = ashlar::nn::describe<double>(net, batch);
  ashlar::train::batch_data<Input, target> data;
  std::mt19937 random(seed + 1000);
  std::normal_distribution<double> normal;
  auto const context = ashlar::nn::context_extents(problem);
  auto const inputs = batch.extents().elements();
  for (int b = 0; b < batch.micro_batches; ++b) {
    auto const first = drawn.inputs.begin() + b * inputs;
    data.inputs.insert(data.inputs.end(), first, first + inputs);
    if (context.rank() == 0) continue;
    for (std::int64_t i = 0; i < context.elements(); ++i)
      data.inputs.push_back(static_cast<Input>(normal(random)));
  }
  if constexpr (std::is_integral_v<target>) {
    data.targets = drawn.targets;
  } else {
    auto const n = problem.spec(problem.size() - 1).x.elements() * batch.micro_batches;
    for (std::int64_t i = 0; i < n; ++i) data.targets.push_back(normal(random));
  }
  return data;
}

/// Full (unsharded) parameters or gradients, one vector for each, in the order of the network.
using whole_parameters = std::vector<std::vector<double>>;

/// Returns the full parameters. Communicates.
template <class Model>
whole_parameters values_of(Model& model) {
  whole_parameters all;
  using T = ashlar::accumulation_t<typename Model::value_type>;
  model.for_each_parameter([&](auto const& p) {
    auto const full = ashlar::to_full<T>(p.value());
    all.emplace_back(full.begin(), full.end());
  });
  return all;
}
/// Returns the full gradients. Call it after synchronize(). Communicates.
template <class Model>
whole_parameters gradients_of(Model& model) {
  whole_parameters all;
  using T = ashlar::accumulation_t<typename Model::value_type>;
  model.for_each_parameter([&](auto const& p) {
    auto const full = ashlar::to_full<T>(p.gradient());
    all.emplace_back(full.begin(), full.end());
  });
  return all;
}

template <class Model>
void set_values(Model& model, whole_parameters const& all) {
  using T = ashlar::accumulation_t<typename Model::value_type>;
  std::size_t k = 0;
  model.for_each_parameter([&](auto& p) {
    std::vector<T> const full(all[k].begin(), all[k].end());
    ++k;
    auto const& value = p.value();
    auto const& part = value.local_box();
    auto const whole = ashlar::local_box(value.extents(), model.mesh().topology(),
                                         ashlar::placement::all_broadcast(model.mesh().axes()), {});
    std::vector<T> shard(static_cast<std::size_t>(part.elements()));
    ashlar::copy_region(part, whole, full.data(), part, shard.data());
    upload(model.mesh().processor(), shard.data(), part.elements(), value.template data_as<T>());
    p.round();
  });
  model.renew();
}

/// Adds noise to all parameters, so that biases are not zero and gains are not one.
inline void disturb(whole_parameters& all, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, 0.3);
  for (auto& values : all)
    for (auto& v : values) v += noise(random);
}

/// Computes the loss and the gradients of a step without updating the parameters. If `share_only`
/// is false, synchronizes the gradients and returns the mean loss. If `share_only` is true, leaves
/// the gradients unsynchronized and returns only this rank's share of the mean loss.
template <class Model, class Data>
double accumulate_step(Model& model, Data const& data, bool share_only = false) {
  auto const n = static_cast<std::size_t>(model.micro_batches());
  auto const inputs = data.inputs.size() / n, rows = data.targets.size() / n;
  double sum = 0;
  model.clear_gradients();
  for (std::size_t i = 0; i < n; ++i)
    sum += model
               .accumulate(std::span(data.inputs).subspan(i * inputs, inputs),
                           std::span(data.targets).subspan(i * rows, rows),
                           static_cast<std::int64_t>(i))
               .sum;
  if (!share_only) {
    model.synchronize();
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return sum / static_cast<double>(data.targets.size());
}

/// Returns the largest difference between two lists of tensors, where each difference is divided by
/// the largest magnitude in the tensor of `a`, or by 1e-3 if that magnitude is smaller. Returns
/// 1e300 if numbers of tensors or of elements differ.
inline double difference(whole_parameters const& a, whole_parameters const& b) {
  if (a.size() != b.size()) return 1e300;
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (a[k].size() != b[k].size()) return 1e300;
    double largest = 1e-3, apart = 0;
    for (std::size_t i = 0; i < a[k].size(); ++i) {
      largest = std::max(largest, std::abs(a[k][i]));
      double const d = std::abs(a[k][i] - b[k][i]);
      apart = worse_gap(apart, d);
    }
    worst = worse_gap(worst, apart / largest);
  }
  return worst;
}

inline bool near(double a, double b, double relative) {
  return std::abs(a - b) <= relative * std::max({std::abs(a), std::abs(b), 1e-12});
}

}  // namespace ashlar_test
