// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the lower bound of pipelines below a memory limit.

#include <ashlar/search/memory_price.hpp>
#include <ashlar/search/memory_price_search.hpp>

namespace ashlar::search::detail {

double least_at_memory_price_at_run_time(problem const& net, priced_parts const& pipeline,
                                         topology const& t, machine const& m, double& price,
                                         shared_moves& moves) {
  return priced_pieces<dynamic_size>(net, pipeline, t, m, moves).least(price);
}

}  // namespace ashlar::search::detail
