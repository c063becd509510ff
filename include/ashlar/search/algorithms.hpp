// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the search algorithms by name, for programs in which the user chooses an algorithm or
// compares several:
//
//   exact                  dynamic programming; below a memory limit, the Lagrangian dual and label
//                          setting (optimal.hpp)
//   exhaustive             enumeration of every plan
//   random_search          random plans
//   metropolis_hastings    random changes of one layer at a time; slower plans are accepted with a
//                          certain probability
//   coordinate_descent     the best choice for one layer at a time, with restarts

#include <array>
#include <string_view>

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/coordinate_descent.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/metropolis_hastings.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/optimal_plan.hpp>
#include <ashlar/search/random_search.hpp>

namespace ashlar::search {

/// Runs optimal() behind the common interface of search algorithms. One evaluation is one run of
/// dynamic programming or label setting, or one priced plan if problem::overlap is set. If the
/// search finishes, the result is what optimal() returns, which is the optimum if its gap is 0. If
/// the search ends early, the result is the best plan found so far. options.seed and
/// options.whole_space have no effect. Throws ashlar::error like optimal(), and if the search is
/// cancelled before it finds a plan.
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
  bool endless;  ///< never runs out of plans to try, so it needs a budget or a stop token
};

/// Returns all search algorithms with the names that programs accept.
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

/// Returns the algorithm with this name. If there is none, throws ashlar::error with a list of all
/// names.
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
