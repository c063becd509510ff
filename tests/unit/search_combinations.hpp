// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the plans that an exhaustive search of a network on a mesh would have to evaluate.

#include <ashlar/search/choices.hpp>

#include "search_nets.hpp"

namespace ashlar_test {

inline double combinations(search::problem const& net, ashlar::topology const& t) {
  double n = 1;
  for (int i = 0; i < net.size(); ++i)
    if (net[i].kind != search::element_kind::residual_end)
      n *= static_cast<double>(search::layer_choices(net.spec(i), t).size());
  return n;
}

}  // namespace ashlar_test
