// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Compares the gradients that a layer's backward pass makes with finite differences of its forward
// pass, for nn::verify. Both passes run in one process. The differentiated function is the summed
// loss of a loss layer. For any other layer, it is the sum of all y · dy, plus the losses if the
// layer is a router. A difference uses points at distances h and 2 h on both sides. Its error is
// about h^4 + ε / h, where ε is the rounding error of the forward pass.

#include <ashlar/nn/trial/judge.hpp>
#include <ashlar/nn/trial/simulated_layer.hpp>

namespace ashlar::nn::detail {

/// Computes the function to be differentiated (see above) from the results of a forward pass.
/// Trials pass their results to a judge, which compares them (judge.hpp). An objective has the
/// interface of a judge, but compares nothing.
struct objective {
  whole_values const& dy;
  double value = 0;
  whole_values last{};

  whole_values const& operator()(std::string const&, std::string const& what,
                                 std::vector<host_tensor> const& shards, placement const&) {
    last = {shards[0].extents(), shard_values(shards[0])};
    if (what == "y")
      for (std::size_t i = 0; i < last.values.size(); ++i) value += last.values[i] * dy.values[i];
    return last;
  }
  void total(double sum) { value += sum; }
};

/// Compares dx and the gradient of every parameter, if a pass made them, with finite differences.
/// Checks only every `parts`-th element, beginning with number `part`, so that several ranks can
/// divide the work.
inline void check_differences(simulated_layer& simulated, trial_layer const& layer, trial_data data,
                              truth& known, std::string const& where, int part, int parts) {
  bool const exact = layer.values == element_type::f64;
  double const h = exact ? 1e-4 : 1e-2, tolerance = exact ? 1e-6 : 2e-2;
  int turn = 0;
  auto const compare_with = [&](std::string const& what, whole_values& moved) {
    auto const found = known.known().find(what);
    if (found == known.known().end()) return;
    auto const& gradient = found->second;
    double const scale = scale_of(gradient);
    for (std::size_t i = 0; i < moved.values.size(); ++i) {
      if (turn++ % parts != part) continue;
      double const before = moved.values[i];
      auto const at = [&](double offset) {
        moved.values[i] = before + offset;
        simulated.give(data);
        objective o{data.dy};
        simulated.forward(o);
        return o.value;
      };
      double const slope = (at(-2 * h) - 8 * at(-h) + 8 * at(h) - at(2 * h)) / (12 * h);
      moved.values[i] = before;
      double const made = gradient.values[i];
      if (is_near(made, slope, tolerance, scale)) continue;
      std::string text = where + ": " + what + " is wrong: " + what +
                         index_text(gradient.extents, static_cast<std::int64_t>(i)) + " is " +
                         number_text(made) + ", but finite differences of the forward pass give " +
                         number_text(slope) + ".";
      if (what != "dx" && is_near(made + held_before, slope, tolerance, scale))
        text += " The pass must add to the gradient, not replace what the sum held.";
      if (layer.is_loss) text += " A loss has the gradient of its sum times call.scale().";
      throw error("nn::verify", text);
    }
  };
  compare_with("dx", data.x);
  for (int k = 0; k < layer.spec.parameters.size(); ++k)
    compare_with(simulated_layer::gradient_name(layer.spec, k),
                 data.parameters[static_cast<std::size_t>(k)]);
}

}  // namespace ashlar::nn::detail
