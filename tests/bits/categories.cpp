// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Nets whose inputs are categories: embedding tables, the interaction layer with and without the
// first vector in its output, and a small DLRM.

#include <ashlar/nn/dlrm.hpp>

#include "suite.hpp"

namespace ashlar_bits {

void run_categories(suite& all) {
  all.run<double>("tables and interaction",
                  nn::chain(nn::embedding_tables(3, 5, 3), nn::interaction(), nn::linear(3, 4)),
                  nn::category_batch{3, 3, 2}, 5, 4);
  all.run<double>("interaction that keeps the first",
                  nn::chain(nn::embedding_tables(2, 3, 5),
                            nn::interaction(nn::interaction::first::kept), nn::linear(6, 3)),
                  nn::category_batch{5, 2}, 3, 3);
  auto const dlrm = nn::dlrm({.tables = 3, .rows = 7, .features = 4, .top = {5, 4, 3, 3}});
  all.run<double>("dlrm, double", dlrm, nn::category_batch{5, 3, 2}, 7, 2);
  all.run<float>("dlrm, float", dlrm, nn::category_batch{5, 3, 2}, 7, 2);
}

}  // namespace ashlar_bits
