// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What is legal but not what one expects of a mesh. Balanced splits permit any extent over any
// axis, so a mesh of 7 ranks trains a batch of 8: one rank does double. Noted are
//
//   an axis along which no element splits its work    its ranks all do the same
//   an axis that is longer than every dim             some of its ranks have nothing, in any plan
//   work more than 1.25 times an even share           ranks wait for the busiest
//
// A note is no error: the plan runs and its prediction includes this.

#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/search/cost.hpp>

namespace ashlar::search {

namespace detail {

inline bool splits_along(layer_choice const& c, int a) {
  if (c.x[a].is_split() || c.y[a].is_split()) return true;
  for (auto const& p : c.parameters)
    if (p.use[a].is_split()) return true;
  return false;
}

inline std::int64_t longest_dim(layer_spec const& spec) {
  std::int64_t longest = 0;
  auto const look = [&](shape const& s) {
    for (auto const n : s.extent) longest = n > longest ? n : longest;
  };
  look(spec.x);
  look(spec.y);
  for (auto const& p : spec.parameters) look(p.extents);
  return longest;
}

}  // namespace detail

/// Sentences about a plan of this problem; none if there is nothing to say.
template <int N>
std::vector<std::string> notes(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  std::vector<std::string> out;
  topology const& t = chosen.mesh;
  std::int64_t longest = 0;
  for (int i = 0; i < net.size(); ++i) {
    auto const n = detail::longest_dim(net.spec(i));
    longest = n > longest ? n : longest;
  }
  for (int a = 0; a < t.axes(); ++a) {
    if (t.extent(a) == 1 || net.size() == 0) continue;
    std::string const axis = std::string(t.axis[a].name.view()) + "=" + std::to_string(t.extent(a));
    bool used = false;
    for (int i = 0; i < net.size(); ++i) used = used || detail::splits_along(chosen[i], a);
    if (!used)
      out.push_back("nothing is split along " + axis + ": its ranks all do the same work.");
    else if (longest < t.extent(a))
      out.push_back(axis + " is longer than every dim (the longest has " + std::to_string(longest) +
                    "): some of its ranks have nothing to do.");
  }
  double even = 0, busiest = 0;
  for (int i = 0; i < net.size(); ++i) {
    auto const& spec = net.spec(i);
    double const whole = spec.forward_flops + spec.backward_flops;
    even += whole / t.ranks();
    busiest += whole * work_fraction(spec, chosen[i], t);
  }
  if (even > 0 && busiest > 1.25 * even) {
    char text[128];
    std::snprintf(text, sizeof text,
                  "the busiest rank does %.2f times an even share of the multiplications.",
                  busiest / even);
    out.push_back(text);
  }
  return out;
}

}  // namespace ashlar::search
