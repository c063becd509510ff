// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One direction of one layer of a long short-term memory (Hochreiter and Schmidhuber, 1997), with
// its forward pass and its backward pass (through time), in double:
//
//   i, f, o = sigmoid(W x + U h' + b),   g = tanh(W x + U h' + b)
//   c = f c' + i g,                      h = o tanh(c)
//
// h' and c' are those of the step before, and 0 before the first one. The weights are a part of the
// caller's array. They have 4 · `hidden` rows. A row has `inputs` weights of W, `hidden` weights of
// U and one of b.

#include <cmath>
#include <cstddef>
#include <vector>

namespace ashlar::sync {

using vector_sequence = std::vector<std::vector<double>>;

struct lstm_layer {
  std::size_t inputs = 0, hidden = 0;

  std::size_t weights() const { return 4 * hidden * row(); }

  /// What the backward pass needs of a forward pass.
  struct state {
    vector_sequence gates;  ///< i, f, g, o of each step
    vector_sequence cells, outputs;
  };

  /// Runs over x in its order or, if `reversed`, from its last entry to its first one. Entry k of
  /// the result belongs to x[k].
  state forward(double const* w, vector_sequence const& x, bool reversed) const {
    state made{vector_sequence(x.size()), vector_sequence(x.size()), vector_sequence(x.size())};
    std::vector<double> const none(hidden, 0);
    for (std::size_t step = 0; step < x.size(); ++step) {
      auto const t = at(step, x.size(), reversed);
      auto const& h = step == 0 ? none : made.outputs[at(step - 1, x.size(), reversed)];
      auto const& c = step == 0 ? none : made.cells[at(step - 1, x.size(), reversed)];
      auto& gates = made.gates[t];
      gates.resize(4 * hidden);
      for (std::size_t r = 0; r < 4 * hidden; ++r) {
        double const* const own = w + r * row();
        double sum = own[inputs + hidden];
        for (std::size_t k = 0; k < inputs; ++k) sum += own[k] * x[t][k];
        for (std::size_t k = 0; k < hidden; ++k) sum += own[inputs + k] * h[k];
        gates[r] = r / hidden == 2 ? std::tanh(sum) : 1 / (1 + std::exp(-sum));
      }
      made.cells[t].resize(hidden);
      made.outputs[t].resize(hidden);
      for (std::size_t k = 0; k < hidden; ++k) {
        made.cells[t][k] = gates[hidden + k] * c[k] + gates[k] * gates[2 * hidden + k];
        made.outputs[t][k] = gates[3 * hidden + k] * std::tanh(made.cells[t][k]);
      }
    }
    return made;
  }

  /// Adds the derivatives of the score with respect to the weights to `dw`, and those with respect
  /// to x to `dx`. `dh` has the derivatives of the score with respect to the outputs.
  void backward(double const* w, vector_sequence const& x, bool reversed, state const& s,
                vector_sequence const& dh, double* dw, vector_sequence& dx) const {
    std::vector<double> const none(hidden, 0);
    std::vector<double> dh_next(hidden, 0), dc_next(hidden, 0), sums(4 * hidden);
    for (std::size_t step = x.size(); step-- > 0;) {
      auto const t = at(step, x.size(), reversed);
      auto const& h = step == 0 ? none : s.outputs[at(step - 1, x.size(), reversed)];
      auto const& c = step == 0 ? none : s.cells[at(step - 1, x.size(), reversed)];
      auto const& gates = s.gates[t];
      for (std::size_t k = 0; k < hidden; ++k) {
        double const i = gates[k], f = gates[hidden + k], g = gates[2 * hidden + k],
                     o = gates[3 * hidden + k], squashed = std::tanh(s.cells[t][k]);
        double const whole = dh[t][k] + dh_next[k];
        double const dc = dc_next[k] + whole * o * (1 - squashed * squashed);
        sums[k] = dc * g * i * (1 - i);
        sums[hidden + k] = dc * c[k] * f * (1 - f);
        sums[2 * hidden + k] = dc * i * (1 - g * g);
        sums[3 * hidden + k] = whole * squashed * o * (1 - o);
        dc_next[k] = dc * f;
      }
      dh_next.assign(hidden, 0);
      for (std::size_t r = 0; r < 4 * hidden; ++r) {
        double const* const own = w + r * row();
        double* const slope = dw + r * row();
        for (std::size_t k = 0; k < inputs; ++k) {
          slope[k] += sums[r] * x[t][k];
          dx[t][k] += sums[r] * own[k];
        }
        for (std::size_t k = 0; k < hidden; ++k) {
          slope[inputs + k] += sums[r] * h[k];
          dh_next[k] += sums[r] * own[inputs + k];
        }
        slope[inputs + hidden] += sums[r];
      }
    }
  }

 private:
  std::size_t row() const { return inputs + hidden + 1; }
  static std::size_t at(std::size_t step, std::size_t steps, bool reversed) {
    return reversed ? steps - 1 - step : step;
  }
};

}  // namespace ashlar::sync
