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
  auto unlimited = machine;  // a plan beyond --memory-limit is refused later, with its bytes
  unlimited.memory = 0;
  if (layout == "data") return search::data_parallel(problem, mesh, unlimited);
  if (layout == "tensor") return search::tensor_parallel(problem, mesh, unlimited);
  return {};
}

}  // namespace example
