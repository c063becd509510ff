// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A net placed on a mesh by a plan (nn/place.hpp): what a trainer trains.
//
// Every redistribution that the model makes is in search::schedule(problem, plan), in that order.
// The mesh is any basic_mesh: what the net computes on follows from it. Inputs are [batch, seq] token
// ids where the net begins with an embedding, images [batch, channels, height, width] where it begins
// with convolution or pooling, else [rows, features]. Targets are one per row of the logits: they have
// the extents of the net's output but its last dim.

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ashlar/nn/cross_entropy.hpp>
#include <ashlar/support/accumulation.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar::nn {

template <class T, class Processor, class Input, int InputRank, int TargetRank, class Placed,
          class Loss>
class model {
 public:
  using value_type = T;
  using mesh_type = basic_mesh<Processor>;
  /// What its users hold in the host's memory: token ids, or numbers.
  using input_type = Input;

  /// `extents`, `targets`: of the inputs and targets of one micro-batch.
  model(mesh_type const& m, shape const& extents, shape const& targets, int micro_batches,
        std::uint64_t seed, Placed placed, Loss loss)
      : mesh_(m), extents_(extents), targets_(targets), micro_batches_(micro_batches), seed_(seed),
        placed_(std::move(placed)), loss_(std::move(loss)) {}

  mesh_type const& mesh() const { return mesh_; }
  shape const& input_extents() const { return extents_; }
  int micro_batches() const { return micro_batches_; }
  /// Rows of one micro-batch: as many targets.
  std::int64_t rows() const { return targets_.elements(); }

  /// Forward and backward on one micro-batch; gradients add up in the parameters.
  /// `inputs` and `targets`: the whole micro-batch, row-major, the same on every rank; targets < 0
  /// are ignored. `number`: of the pass, for dropout. This rank's share of the summed loss is added to
  /// *total, in the memory of the mesh: a device is not waited for. Gradients are those of the mean
  /// over the rows of a step. Communicates: the schedule's forward and backward moves.
  /// Throws ashlar::error on every rank, before anything moves, for ids and targets that there are not.
  void accumulate(std::span<Input const> inputs, std::span<std::int32_t const> targets,
                  std::int64_t number, double* total) {
    double const scale = 1.0 / (static_cast<double>(rows()) * micro_batches_);
    train([&] { run(inputs, targets, pass{true, seed_, number}, scale, total); });
  }
  /// Where the data of a micro-batch are that does not come anew from the host.
  struct data_place {
    tensor<std::conditional_t<std::is_integral_v<Input>, Input, T>, InputRank, dynamic, Processor>
        inputs;
    tensor<std::int32_t, TargetRank, dynamic, Processor> targets;
  };
  data_place make_place() const {
    auto const everywhere = placement::all_broadcast(mesh_.axes());
    return {{mesh_, extents_, everywhere}, {mesh_, targets_, everywhere}};
  }
  /// Puts a micro-batch there. Throws ashlar::error for ids and targets that there are not.
  void put(std::span<Input const> inputs, std::span<std::int32_t const> targets,
           data_place& to) const {
    loss_.check_targets(targets);
    write(inputs, to.inputs);
    upload(mesh_.processor(), targets.data(), static_cast<std::int64_t>(targets.size()),
           to.targets.data());
  }
  /// As accumulate above, on the data in their place.
  void accumulate(data_place const& from, std::int64_t number, double* total) {
    double const scale = 1.0 / (static_cast<double>(rows()) * micro_batches_);
    train([&] {
      loss_.forward(placed_.forward(from.inputs, pass{true, seed_, number}), from.targets, scale,
                    total);
    });
  }
  /// The same, and returns this rank's share: waits for a device.
  loss_share accumulate(std::span<Input const> inputs, std::span<std::int32_t const> targets,
                        std::int64_t number) {
    return read([&](double* total) { accumulate(inputs, targets, number, total); });
  }

  /// The output of the net for a batch, whole on every rank, without training.
  std::vector<accumulation_t<T>> predict(std::span<Input const> inputs) {
    auto values = to_full(placed_.forward(input(inputs), pass{false, seed_, 0}));
    if constexpr (std::is_same_v<T, accumulation_t<T>>) return values;
    else return {values.begin(), values.end()};
  }

  /// This rank's share of the summed loss of a batch, without training.
  loss_share evaluate(std::span<Input const> inputs, std::span<std::int32_t const> targets) {
    return read([&](double* total) { run(inputs, targets, pass{false, seed_, 0}, 1, total); });
  }

  /// Makes the gradients of all parameters whole (as stored). Communicates: the schedule's
  /// synchronizations, parameter by parameter.
  void synchronize() {
    placed_.for_each_parameter([](auto& p) { p.synchronize(); });
  }
  void clear_gradients() {
    placed_.for_each_parameter([](auto& p) { p.clear(); });
  }
  /// Calls f(parameter) for each, in the order of the net.
  template <class F>
  void for_each_parameter(F f) {
    placed_.for_each_parameter(f);
  }

  /// Elements of all parameters, each counted once.
  std::int64_t parameter_count() {
    std::int64_t n = 0;
    for_each_parameter([&](auto& p) { n += p.value().extents().elements(); });
    return n;
  }

 private:
  template <class Forward>
  void train(Forward const& forward) {
    auto const& on = mesh_.processor();
    {
      [[maybe_unused]] auto const scope = range(on, "forward");
      forward();
    }
    [[maybe_unused]] auto const scope = range(on, "backward");
    backward_first(placed_, loss_.backward());
  }
  void run(std::span<Input const> inputs, std::span<std::int32_t const> targets, pass const& p,
           double scale, double* total) {
    loss_.check_targets(targets);
    loss_.forward(placed_.forward(input(inputs), p), target(targets), scale, total);
  }
  template <class Run>
  loss_share read(Run add_to) {
    kept<double> const total(mesh_, 1);
    fill(mesh_.processor(), 0.0, 1, total.data());
    add_to(total.data());
    loss_share share;
    download(mesh_.processor(), static_cast<double const*>(total.data()), 1, &share.sum);
    return share;
  }
  /// The whole input on every rank, in the type that the net computes with.
  auto input(std::span<Input const> values) const {
    decltype(data_place::inputs) made(mesh_, extents_, placement::all_broadcast(mesh_.axes()));
    write(values, made);
    return made;
  }
  void write(std::span<Input const> values, decltype(data_place::inputs) const& to) const {
    placed_.check_input(values);
    if (static_cast<std::int64_t>(values.size()) != extents_.elements())
      throw error("model", std::to_string(values.size()) + " inputs for a micro-batch of " +
                               to_string(extents_) + ".");
    auto const& on = mesh_.processor();
    if constexpr (std::is_same_v<Input, T> || std::is_integral_v<Input>) {
      upload(on, values.data(), extents_.elements(), to.data());
    } else {
      std::vector<T> const rounded(values.begin(), values.end());
      upload(on, rounded.data(), extents_.elements(), to.data());
    }
  }
  auto target(std::span<std::int32_t const> values) const {
    return from_full<TargetRank>(mesh_, targets_, placement::all_broadcast(mesh_.axes()), values);
  }

  mesh_type mesh_;
  shape extents_, targets_;
  int micro_batches_;
  std::uint64_t seed_;
  Placed placed_;
  Loss loss_;
};

}  // namespace ashlar::nn
