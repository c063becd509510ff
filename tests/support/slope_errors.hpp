// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares gradients of a model with central differences of a function of its parameters.

#include <algorithm>
#include <cmath>
#include <limits>

#include <support/nets.hpp>
#include <support/placed.hpp>
#include <support/worse_gap.hpp>

namespace ashlar_test {

/// Returns the largest difference between an element of `gradients` and the slope of total() along
/// this element of the parameters `values`. Takes at most `most` elements of each parameter. The
/// model has the parameters `values` before and afterwards. The last call of total() computes with
/// them.
template <class Model, class Total>
double worst_slope_error(Model& model, whole_parameters values, whole_parameters const& gradients,
                         Total const& total,
                         std::size_t most = std::numeric_limits<std::size_t>::max()) {
  double worst = 0;
  for (std::size_t k = 0; k < values.size(); ++k)
    for (std::size_t i = 0; i < std::min(values[k].size(), most); ++i) {
      double const before = values[k][i], h = 1e-5;
      auto const at = [&](double offset) {
        values[k][i] = before + offset;
        set_values(model, values);
        return total();
      };
      double const slope = (at(h) - at(-h)) / (2 * h);
      at(0);
      worst = worse_gap(worst, std::abs(slope - gradients[k][i]));
    }
  return worst;
}

}  // namespace ashlar_test
