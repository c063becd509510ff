// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn::place: parameters of the constexpr plan are stale, but ranks also wait for each other along the axis of its mesh.

#include <ashlar/nn.hpp>
#include <ashlar/search/in_compiler.hpp>
#include <ashlar/search/optimal.hpp>

namespace nn = ashlar::nn;

#ifdef ASHLAR_CONTROL
constexpr int staleness = ashlar::search::synchronous;
#else
constexpr int staleness = 1;
#endif

constexpr auto net = nn::chain(nn::linear(8, 8));
constexpr auto plan = [] {
  auto made = ashlar::search::optimal(nn::describe(net, nn::feature_batch{16, 8}),
                                      ashlar::topology{{"gpu", 2}}, ashlar::machines::workstation);
  made.staleness = staleness;
  return made;
}();

void place(ashlar::mesh const& m) { nn::place<float>(net, m, nn::constant<plan>); }
