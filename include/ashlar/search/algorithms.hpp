// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The algorithms by name, for programs that let their user choose or compare:
//
//   exact                  dynamic programming; under a memory limit the dual and labels (optimal.hpp)
//   exhaustive             every plan
//   random_search          random plans
//   metropolis_hastings    changes one layer at a time, and accepts dearer plans with some chance
//   coordinate_descent     gives one layer at a time its best choice, and restarts

#include <array>
#include <string_view>

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/coordinate_descent.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/metropolis_hastings.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/random_search.hpp>

namespace ashlar::search {

/// optimal() behind the interface of all algorithms. An evaluation is one run over the chain. The result is
/// its own certificate; options.seed and options.whole_space change nothing.
/// The optimum, or the best plan that a budget permits. Throws ashlar::error as optimal() does, and
/// if it was cancelled before the first plan.
template <int N>
basic_result<N> exact(basic_problem<N> const& net, topology const& t, machine const& m,
                      options const& o = {}) {
  detail::watch run("exact", o);
  if (!run.go_on()) run.refuse();
  return run.finish(o.permits ? detail::optimal_plan(net, t, m, o.permits, run)
                              : detail::optimal_plan(net, t, m, any_choice{}, run));
}

struct algorithm {
  char const* name;
  search_result (*run)(problem const&, topology const&, machine const&, options const&);
  bool endless;  ///< it ends only by its budget or by a certificate
};

/// All search algorithms, by the names that programs take.
inline std::array<algorithm, 5> algorithms() {
  auto const exactly = [](problem const& p, topology const& t, machine const& m, options const& o) {
    return exact(p, t, m, o);
  };
  auto const all = [](problem const& p, topology const& t, machine const& m, options const& o) {
    return exhaustive(p, t, m, o);
  };
  auto const walk = [](problem const& p, topology const& t, machine const& m, options const& o) {
    return metropolis_hastings(p, t, m, o);
  };
  return {{{"exact", exactly, false},
           {"exhaustive", all, false},
           {"random_search", random_search<dynamic_size>, true},
           {"metropolis_hastings", walk, true},
           {"coordinate_descent", coordinate_descent<dynamic_size>, true}}};
}

/// The algorithm of that name. Throws ashlar::error for another, listing them.
inline algorithm algorithm_named(std::string_view name) {
  std::string names;
  for (auto const& a : algorithms()) {
    if (a.name == name) return a;
    names += (names.empty() ? "" : ", ") + std::string(a.name);
  }
  throw error("search::algorithm_named",
              "there is no algorithm \"" + std::string(name) + "\". Use one of: " + names + ".");
}

}  // namespace ashlar::search
