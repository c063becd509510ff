// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A training step that a device replays as one graph (trainer_options.graph):
//
//   steps 1, 2    run eagerly, while libraries choose and load their kernels and the allocations
//                 settle
//   step 3        is captured (mesh::capture) and then performed by the first replay
//   later steps   copy the data to their fixed addresses and replay the graph once
//
// The data of each micro-batch stay at fixed addresses. Work of the host happens before a replay
// (copying the data) or after it (reading the sums, updates). Between steps the model may be
// evaluated, but other code must not compute or clear its gradients, since the graph stores them at
// fixed addresses. Dropout is refused, because a replay would use the same mask again.

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
  /// Whether the meshes of the model can capture graphs.
  static constexpr bool exists = !std::is_same_v<graph, no_graph>;
  static constexpr int warm_up = 2;

  /// Copies the data of a step to their fixed addresses. Throws as Model::check does.
  void set(Model const& model, std::span<input const> inputs, std::span<target const> targets) {
    auto const parts = static_cast<std::size_t>(model.micro_batches());
    while (places_.size() < parts) places_.push_back(model.make_place());
    for (std::size_t i = 0; i < parts; ++i)
      model.put(inputs.subspan(i * (inputs.size() / parts), inputs.size() / parts),
                targets.subspan(i * (targets.size() / parts), targets.size() / parts), places_[i]);
  }
  /// Returns the places of the data, one for each micro-batch.
  std::span<typename Model::data_place const> places() const { return places_; }

  /// Performs `work` on the data at their fixed addresses. `work` must be the same at each call.
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
