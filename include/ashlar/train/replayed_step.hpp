// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs the training steps of a model on a device as replays of one CUDA graph
// (trainer_options.graph). The host then launches one graph per step instead of every kernel:
//
//   steps 1, 2    run without a graph: libraries choose and load their kernels, and memory is
//                 allocated that later steps use again
//   step 3        is captured as a graph (mesh::capture), which is then replayed for the first time
//   later steps   replay the graph once
//
// Before each step the host copies the data of each micro-batch to fixed device addresses, from
// which the graph reads the data. After the step the host reads the loss and the norms and updates
// the parameters. Between steps the model may be evaluated. No other code may compute or clear the
// gradients of the model, because the graph stores them at fixed addresses. Models with dropout are
// refused, because every replay would use the same mask. So are models in pipeline stages, because
// crossings between parts of a mesh cannot be captured.

#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ashlar/nn/model.hpp>

namespace ashlar::train {

template <class Model>
class replayed_step {
  using mesh_type = typename Model::mesh_type;
  using input = typename Model::input_type;
  using target = typename Model::target_type;
  struct nothing {
    void operator()() const {}
  };
  struct no_graph {
    void replay() {}
  };
  template <class Mesh>
  static auto graph_of(Mesh const& m) {
    if constexpr (requires { m.capture(nothing{}); })
      return std::type_identity<decltype(m.capture(nothing{}))>();
    else return std::type_identity<no_graph>();
  }
  using graph = typename decltype(graph_of(std::declval<mesh_type const&>()))::type;

 public:
  /// Says whether the model's type of mesh can capture graphs.
  static constexpr bool exists = !std::is_same_v<graph, no_graph>;
  static constexpr int warm_up = 2;

  /// Throws ashlar::error if the steps of `model` cannot be replayed.
  static void check(Model& model) {
    if (!exists)
      throw error("trainer",
                  "CUDA graphs need a device, but the model is in the host's memory. Leave "
                  "trainer_options.graph off, or place it on a mesh of nccl::environment.");
    if (model.pipeline() != nullptr)
      throw error("trainer",
                  "a step of a pipeline cannot be one CUDA graph. Leave trainer_options.graph off, "
                  "or place the net without stages.");
    if (model.leaves_out_targets())
      throw error("trainer",
                  "a CUDA graph divides every loss by the same number, but the mean of this net's "
                  "loss is over those targets that are not left out, whose number differs from "
                  "step to step. Leave trainer_options.graph off, or count ignored rows.");
    if (search::has_delays(model.plan()))
      throw error("trainer",
                  "a CUDA graph computes gradients at fixed addresses, which delayed gradients do "
                  "not have. Leave trainer_options.graph off, or give a plan without delays.");
    model.for_each_parameter([](auto const& p) {
      if (p.is_updated_apart())
        throw error("trainer",
                    "a CUDA graph reads parameters at fixed addresses, but " + p.path() +
                        " is updated apart from its storage and gets a new one in every step. "
                        "Leave trainer_options.graph off, or let the plan update parameters "
                        "where it stores them.");
    });
  }

  /// Copies the data of all micro-batches of a step to fixed device addresses, from which the graph
  /// reads the data. Throws as Model::check does.
  void set(Model const& model, std::span<input const> inputs, std::span<target const> targets) {
    auto const parts = static_cast<std::size_t>(model.micro_batches());
    while (places_.size() < parts) places_.push_back(model.make_place());
    for (std::size_t i = 0; i < parts; ++i)
      model.put(inputs.subspan(i * (inputs.size() / parts), inputs.size() / parts),
                targets.subspan(i * (targets.size() / parts), targets.size() / parts), places_[i]);
  }
  /// Returns one data_place for each micro-batch: the device memory that holds the data of this
  /// micro-batch.
  std::span<typename Model::data_place const> places() const { return places_; }

  /// Runs work(), which computes a step on the data of set(). The first two calls run work()
  /// directly. The third call captures work() as a graph. The third and later calls replay this
  /// graph. So `work` must submit the same operations at each call.
  template <class Work>
  void run(mesh_type const& m, Work const& work) {
    if constexpr (exists) {
      if (!graph_ && done_ >= warm_up) graph_.emplace(m.capture(work));
      if (graph_) return graph_->replay();
    }
    work();
    ++done_;
  }

 private:
  std::vector<typename Model::data_place> places_;
  std::optional<graph> graph_;
  int done_ = 0;
};

}  // namespace ashlar::train
