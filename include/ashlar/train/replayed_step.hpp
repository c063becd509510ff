// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A step of training that a device does again and again as one graph (trainer_options.graph):
//
//   steps 1, 2   as ever: libraries choose and load what they need, and the memory comes to rest
//   step 3       written down (mesh::capture), then done by its first replay
//   from then    the data to their places, one replay
//
// The data of each micro-batch have places that stay. What is the host's comes before a replay (data) or
// after it (sums, updates). The model may be evaluated between steps, not trained by hand: its gradients are
// where the graph leaves them. Dropout is refused: a replay would draw the same again.

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
  /// Whether the meshes of the model are captured at all.
  static constexpr bool exists = !std::is_same_v<graph, no_graph>;
  static constexpr int warm_up = 2;

  /// Puts the data of a step into their places. Throws as Model::check does.
  void set(Model const& model, std::span<input const> inputs, std::span<target const> targets) {
    auto const parts = static_cast<std::size_t>(model.micro_batches());
    while (places_.size() < parts) places_.push_back(model.make_place());
    for (std::size_t i = 0; i < parts; ++i)
      model.put(inputs.subspan(i * (inputs.size() / parts), inputs.size() / parts),
                targets.subspan(i * (targets.size() / parts), targets.size() / parts), places_[i]);
  }
  /// One for each micro-batch.
  std::span<typename Model::data_place const> places() const { return places_; }

  /// Does `work`, the same at each call, on the data in their places.
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
