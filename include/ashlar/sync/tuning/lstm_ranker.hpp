// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The recurrent ranker of AutoDist on the features of all variables in the order of the net
// (strategy_features.hpp):
//
//   each variable   a multilayer perceptron: 631 - wide - relu - narrow
//   all of them     a bidirectional LSTM of some layers, with `hidden` units in each direction;
//                   each layer reads the outputs of both directions of the layer before
//   score           w · (the last states of both directions) + b
//
// The reference code has wide = 128, narrow = 32, hidden = 128 and 3 layers. The default sizes are
// smaller, so that hundreds of candidates of a net of 400 variables are scored in a second.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ashlar/support/error.hpp>
#include <ashlar/sync/tuning/linear_ranker.hpp>
#include <ashlar/sync/tuning/lstm_layer.hpp>
#include <ashlar/sync/tuning/strategy_features.hpp>

namespace ashlar::sync {

struct lstm_sizes {
  std::size_t wide = 16, narrow = 8, hidden = 8, layers = 1;
};

class lstm_ranker {
 public:
  /// Throws ashlar::error if a size or the number of layers is 0.
  explicit lstm_ranker(std::uint64_t seed, lstm_sizes const& sizes = {}) : sizes_(sizes) {
    if (sizes.wide == 0 || sizes.narrow == 0 || sizes.hidden == 0 || sizes.layers == 0)
      throw error("sync::lstm_ranker", "a size is 0. Write 1 or more for each of lstm_sizes.");
    std::size_t next = sizes.wide * (inputs + 1) + sizes.narrow * (sizes.wide + 1);
    for (std::size_t l = 0; l < sizes.layers; ++l) {
      lstm_layer const layer{l == 0 ? sizes.narrow : 2 * sizes.hidden, sizes.hidden};
      layers_.push_back({layer, next});
      next += 2 * layer.weights();
    }
    last_ = next;
    weights_ = random_weights(next + 2 * sizes.hidden + 1, 0.3, seed);
  }

  std::vector<double>& weights() { return weights_; }

  double score(std::vector<sparse_features> const& variables) const { return run(variables).score; }

  void add_gradient(std::vector<sparse_features> const& variables, double slope,
                    std::vector<double>& gradient) const {
    auto const made = run(variables);
    if (variables.empty()) return;
    std::size_t const n = variables.size(), h = sizes_.hidden;
    auto const zeros = [n](std::size_t size) {
      return vector_sequence(n, std::vector<double>(size, 0));
    };
    // The derivatives with respect to the outputs of the last layer, in both directions.
    vector_sequence there = zeros(h), back = zeros(h);
    auto const& top = made.layers.back();
    for (std::size_t k = 0; k < h; ++k) {
      there[n - 1][k] = slope * weights_[last_ + k];
      back[0][k] = slope * weights_[last_ + h + k];
      gradient[last_ + k] += slope * top.there.outputs[n - 1][k];
      gradient[last_ + h + k] += slope * top.back.outputs[0][k];
    }
    gradient.back() += slope;
    vector_sequence dx;
    for (std::size_t l = sizes_.layers; l-- > 0;) {
      auto const& [layer, first] = layers_[l];
      auto const second = first + layer.weights();
      dx = zeros(layer.inputs);
      auto const& x = made.layers[l].x;
      layer.backward(weights_.data() + first, x, false, made.layers[l].there, there,
                     gradient.data() + first, dx);
      layer.backward(weights_.data() + second, x, true, made.layers[l].back, back,
                     gradient.data() + second, dx);
      if (l == 0) break;
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t k = 0; k < h; ++k) there[t][k] = dx[t][k], back[t][k] = dx[t][h + k];
    }
    for (std::size_t t = 0; t < n; ++t)
      add_of_variable(variables[t], made.wide[t], dx[t], gradient);
  }

 private:
  static constexpr std::size_t inputs = variable_layout::size;

  struct placed_layer {
    lstm_layer layer;
    /// The index of the first weight of the layer's forward direction. The weights of its other
    /// direction follow.
    std::size_t first = 0;
  };
  struct layer_state {
    vector_sequence x;
    lstm_layer::state there, back;
  };
  struct state {
    vector_sequence wide;  ///< the outputs of the relu in the perceptron of each variable
    std::vector<layer_state> layers;
    double score = 0;
  };

  std::size_t narrow_first() const { return sizes_.wide * (inputs + 1); }

  state run(std::vector<sparse_features> const& variables) const {
    state made;
    made.score = weights_.back();
    if (variables.empty()) return made;
    vector_sequence x;
    for (auto const& v : variables) {
      std::vector<double> wide(sizes_.wide), narrow(sizes_.narrow);
      for (std::size_t r = 0; r < sizes_.wide; ++r) {
        double const* const own = weights_.data() + r * (inputs + 1);
        double sum = own[inputs];
        for (auto const& [place, value] : v) sum += own[static_cast<std::size_t>(place)] * value;
        wide[r] = std::max(sum, 0.0);
      }
      for (std::size_t r = 0; r < sizes_.narrow; ++r) {
        double const* const own = weights_.data() + narrow_first() + r * (sizes_.wide + 1);
        narrow[r] = own[sizes_.wide];
        for (std::size_t k = 0; k < sizes_.wide; ++k) narrow[r] += own[k] * wide[k];
      }
      made.wide.push_back(std::move(wide));
      x.push_back(std::move(narrow));
    }
    for (auto const& [layer, first] : layers_) {
      layer_state now;
      now.there = layer.forward(weights_.data() + first, x, false);
      now.back = layer.forward(weights_.data() + first + layer.weights(), x, true);
      vector_sequence next = now.there.outputs;
      for (std::size_t t = 0; t < next.size(); ++t)
        next[t].insert(next[t].end(), now.back.outputs[t].begin(), now.back.outputs[t].end());
      now.x = std::move(x);
      x = std::move(next);
      made.layers.push_back(std::move(now));
    }
    auto const& top = made.layers.back();
    for (std::size_t k = 0; k < sizes_.hidden; ++k)
      made.score += weights_[last_ + k] * top.there.outputs.back()[k] +
                    weights_[last_ + sizes_.hidden + k] * top.back.outputs.front()[k];
    return made;
  }

  /// Adds the derivatives of the score with respect to the weights of the perceptron to `gradient`.
  /// `slope` has the derivatives of the score with respect to the perceptron's outputs.
  void add_of_variable(sparse_features const& v, std::vector<double> const& wide,
                       std::vector<double> const& slope, std::vector<double>& gradient) const {
    std::vector<double> inner(sizes_.wide, 0);
    for (std::size_t r = 0; r < sizes_.narrow; ++r) {
      std::size_t const row = narrow_first() + r * (sizes_.wide + 1);
      for (std::size_t k = 0; k < sizes_.wide; ++k) {
        gradient[row + k] += slope[r] * wide[k];
        inner[k] += slope[r] * weights_[row + k];
      }
      gradient[row + sizes_.wide] += slope[r];
    }
    for (std::size_t r = 0; r < sizes_.wide; ++r) {
      if (wide[r] <= 0) continue;
      double* const row = gradient.data() + r * (inputs + 1);
      for (auto const& [place, value] : v) row[static_cast<std::size_t>(place)] += inner[r] * value;
      row[inputs] += inner[r];
    }
  }

  lstm_sizes sizes_;
  std::vector<placed_layer> layers_;
  std::size_t last_ = 0;  // the index of the first weight of the score
  std::vector<double> weights_;
};

}  // namespace ashlar::sync
