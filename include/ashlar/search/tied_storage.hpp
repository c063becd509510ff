// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Searches a chain with tied parameters (step/problem.hpp). The two uses of such a parameter may be
// far apart in the chain, but have one storage. If the storage is prescribed, the search is that of
// a chain without ties. So the chain is searched with one storage after another, and the best of
// these plans is returned:
//
//   storages tried     those that one of the two layers could have without the tie (choices.hpp)
//   left out           for the first tie, if there is no filter: storages that differ from another
//                      one only by an exchange of interchangeable axes (equal extent and network
//                      tier)
//
// With a prescribed storage, each of the two layers may still take any of its signature rows. There
// are about 3^k storages on k axes, and more where several axes split one dim. If the budget of the
// search ends after a plan was found, the other storages are left out, and no bound is known.

#include <algorithm>
#include <utility>
#include <vector>

#include <ashlar/search/any_choice.hpp>
#include <ashlar/search/choices.hpp>
#include <ashlar/search/search_effort.hpp>
#include <ashlar/search/stages.hpp>
#include <ashlar/search/unproven_refusal.hpp>

namespace ashlar::search {
namespace detail {

/// Returns whether the storage of a tied parameter is prescribed.
template <int N>
constexpr bool is_settled(basic_problem<N> const& net, tie const& t) {
  return net.spec(t.first).parameters[t.first_index].store.axes() > 0;
}

/// Returns whether the storage of every tied parameter is prescribed.
template <int N>
constexpr bool has_settled_ties(basic_problem<N> const& net) {
  for (auto const& t : net.ties)
    if (!is_settled(net, t)) return false;
  return true;
}

/// Throws ashlar::error if the storage of a tied parameter is not prescribed.
template <int N>
constexpr void demand_settled_ties(basic_problem<N> const& net) {
  for (auto const& t : net.ties)
    if (!is_settled(net, t))
      throw error("search",
                  "elements " + std::to_string(t.first) + " and " + std::to_string(t.later) +
                      " share a parameter, and this search cannot choose where it is "
                      "stored. Use search::optimal, search::exact or search::exhaustive.");
}

/// An exchange of interchangeable axes (equal extent and network tier) turns a storage into an
/// equally good one. Of the storages that such exchanges turn into each other, it is enough to try
/// one: the one whose splits and depths ascend along such axes. Returns whether p is such a
/// storage.
constexpr bool stands_for_others(placement const& p, topology const& t) {
  auto const key = [&](int a) {
    return p[a].is_split() ? 1 + p[a].dim * (max_axes + 1) + p[a].depth : 0;
  };
  for (int a = 0; a < t.axes(); ++a)
    if (int const b = interchangeable_before(t, a); b >= 0 && key(b) > key(a)) return false;
  return true;
}

/// Returns the storages to try for a tie. `all` says whether the list also has the storages that
/// differ from another one only by an exchange of interchangeable axes.
template <int N>
constexpr std::vector<placement> storages(basic_problem<N> const& net, tie const& t,
                                          topology const& mesh, bool all) {
  std::vector<placement> list;
  auto const add = [&](layer_spec const& spec, int k) {
    for (auto const& c : layer_choices(spec, mesh)) {
      auto const& store = c.parameters[k].store;
      if ((all || stands_for_others(store, mesh)) &&
          std::find(list.begin(), list.end(), store) == list.end())
        list.push_back(store);
    }
  };
  add(net.spec(t.first), t.first_index);
  add(net.spec(t.later), t.later_index);
  return list;
}

/// The best plan of several searches, and a lower bound of all plans. A plan without choices
/// (search_effort::known) counts only if no search found another one.
template <int N>
struct best_plan {
  basic_plan<N> plan;
  double bound = unreachable;
  bool is_found = false;

  constexpr void cover(double least) { bound = least < bound ? least : bound; }
  constexpr void take(basic_plan<N>&& other) {
    cover(other.seconds * (1 - other.gap));
    if (!is_found || ((other.seconds < plan.seconds || plan.size() == 0) && other.size() > 0))
      plan = static_cast<basic_plan<N>&&>(other);
    is_found = true;
  }
};

template <int N, class Search, class HasTime>
constexpr void try_storages(basic_problem<N> const& net, topology const& t, bool all, int number,
                            Search const& search, HasTime const& has_time, best_plan<N>& best,
                            error const*& refused, std::vector<error>& errors) {
  if (number == net.ties.size()) {
    if (ASHLAR_IN_COMPILER) {
      best.take(search(net));
      return;
    }
    if (best.plan.size() > 0 && !has_time()) return best.cover(0);
    try {
      best.take(search(net));
    } catch (error const& e) {
      if (auto const* it = dynamic_cast<unproven_refusal const*>(&e)) best.cover(it->bound());
      errors.assign(1, e);
      refused = errors.data();
    }
    return;
  }
  // A prescribed storage of the first tie may treat interchangeable axes differently, so that they
  // are no longer interchangeable. So all storages are tried for each further tie.
  for (auto const& store : storages(net, net.ties[number], t, all || number > 0))
    try_storages(with_storage(net, net.ties[number], store), t, all, number + 1, search, has_time,
                 best, refused, errors);
}

/// Calls search(problem) for each storage of the tied parameters, and returns the fastest plan. If
/// the storage of every tied parameter is prescribed, returns search(net). Throws the last error if
/// every search throws. At run time, stops after a plan was found if `has_time()` returns false.
template <int N, class Search, class HasTime = bool (*)()>
constexpr basic_plan<N> best_storage(
    basic_problem<N> const& net, topology const& t, bool all, Search const& search,
    HasTime const& has_time = [] { return true; }) {
  if (has_settled_ties(net)) return search(net);
  best_plan<N> best;
  error const* refused = nullptr;
  std::vector<error> errors;
  try_storages(net, t, all, 0, search, has_time, best, refused, errors);
  if (!best.is_found && refused == nullptr)
    throw error("search", "no signature row of the layers that share a parameter fits the mesh.");
  if (!best.is_found && best.bound < unreachable) throw unproven_refusal(*refused, best.bound);
  if (!best.is_found) throw error(*refused);
  if (best.plan.size() == 0) best.plan.seconds = best.bound;
  best.plan.gap = best.bound < best.plan.seconds * (1 - 1e-13) ? 1 - best.bound / best.plan.seconds
                                                               : 0;
  return best.plan;
}

}  // namespace detail
}  // namespace ashlar::search
