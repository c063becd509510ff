// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/optimal.hpp>

#include "layout.hpp"

namespace search = ashlar::search;

namespace example {

std::optional<search::plan> search_layout(std::string const& layout, search::problem const& problem,
                                          ashlar::topology const& mesh,
                                          ashlar::machine const& machine) {
  if (layout == "auto") return search::optimal(problem, mesh, machine);
  // The baselines get no memory limit here. choose_layout refuses a plan that exceeds
  // --memory-limit, with an error that states how much memory the plan needs.
  auto unlimited = machine;
  unlimited.memory = 0;
  if (layout == "data") return search::data_parallel(problem, mesh, unlimited);
  if (layout == "tensor") return search::tensor_parallel(problem, mesh, unlimited);
  return {};
}

}  // namespace example
