// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory that a training with stale parameters (staleness.hpp) needs for the letters between
// its ranks (comm/stale_exchange.hpp), beside the memory of a synchronous step:
//
//   letters in the memory of a rank         bytes
//   gradients that it sends                 G a
//   gradients that it receives              p g a, and twice this with a staleness of 0
//   values that it receives                 2 V s
//   values that it sends                    p v s
//
// There are p ranks. G is the number of elements of all gradients, and V that of all parameters. Of
// these, the rank owns g and v elements. An element takes a bytes in a gradient and s bytes in a
// parameter that is sent.

#include <ashlar/layout/layout.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {
inline namespace step {

/// Returns the bytes of the letters of a training with staleness, without their headers, on the
/// rank that needs most. Returns 0 for synchronous plans.
template <int N>
constexpr std::int64_t letter_bytes(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  if (!is_stale(chosen)) return 0;
  auto const& t = chosen.mesh;
  std::int64_t const a = net.accumulation_size, s = net.element_size;
  std::int64_t all = 0, most = 0;
  for (int r = 0; r < t.ranks(); ++r) {
    std::int64_t gradients = 0, values = 0;
    for (int i = 0; i < net.size(); ++i)
      for (int k = 0; k < chosen[i].parameters.size(); ++k) {
        auto const& spec = net.spec(i).parameters[k];
        auto const& at = chosen[i].parameters[k].updated_at();
        std::int64_t const n = local_box(spec.extents, t, at, t.coordinates_of(r)).elements();
        gradients += n;
        if (spec.tie != tie_role::later) values += n;
      }
    all += gradients * a + 2 * values * s;
    std::int64_t const copies = chosen.staleness == 0 ? 2 : 1;
    std::int64_t const own = t.ranks() * (copies * gradients * a + values * s);
    if (own > most) most = own;
  }
  return all + most;
}

}  // namespace step
}  // namespace ashlar::search
