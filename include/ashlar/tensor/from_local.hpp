// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// from_local: a tensor from the shards that the ranks already have.

#include <ashlar/tensor/factory.hpp>

namespace ashlar {

/// Makes a tensor from its shards: each rank passes the values of its own shard, row-major.
/// `extents` are those of the whole tensor. Ranks that hold the same part must pass the same
/// values. If the placement is partial, a rank passes its addends. Communicates nothing. Throws
/// ashlar::error if the number of values is not that of the rank's shard.
template <int Rank, values_in_memory Values, placement_argument Placement, class Processor>
auto from_local(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
                Values const& own) {
  std::span const values(own);
  using value = std::remove_cv_t<typename decltype(values)::value_type>;
  tensor_for<value, Rank, Placement, Processor> made(m, extents, as_value(p));
  if (static_cast<std::int64_t>(values.size()) != made.local_elements())
    throw error("from_local", std::to_string(values.size()) + " values do not fill rank " +
                                  std::to_string(m.rank()) + "'s shard " +
                                  to_string(made.local_extents()) + " of " + describe(made) +
                                  ". Pass this rank's part only, or the whole to from_full.");
  detail::write_from_host(made,
                          [&](value* shard) { std::copy(values.begin(), values.end(), shard); });
  return made;
}

}  // namespace ashlar
