// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Gives single parameters of a plan another strategy, by name:
//
//   plan = sync::pinned(problem, plan, machine, "embedding.table", sync::owners{});
//
// A name is ELEMENT.PARAMETER. ELEMENT is written as in pins of the search (search/pin.hpp): a
// number, a range such as 3..9, a name, or a pattern such as l*. The strategy changes in all
// elements that ELEMENT names and that have the parameter. A tied parameter can be named by its
// first or by its later use.

#include <string>
#include <string_view>
#include <vector>

#include <ashlar/search/pin.hpp>
#include <ashlar/sync/changed_plan.hpp>

namespace ashlar::sync {
namespace detail {

/// Returns the parameters that a name stands for: flag [i][k] says whether parameter k of element i
/// is one of them. For the later use of a tied parameter, the flag of its first use is set.
template <int N>
std::vector<std::vector<bool>> named_parameters(search::basic_problem<N> const& net,
                                                std::string_view name) {
  auto const dot = name.rfind('.');
  auto const refuse = [&](std::string const& why) {
    throw error("sync::pinned", "\"" + std::string(name) + "\": " + why);
  };
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size())
    refuse("write ELEMENT.PARAMETER, such as embedding.table, 3.weight or 2..9.weight.");
  search::pin const wanted{std::string(name),
                           std::string(name.substr(0, dot)),
                           std::string(name.substr(dot + 1)),
                           {},
                           {}};
  std::vector<std::vector<bool>> flags;
  for (int i = 0; i < net.size(); ++i)
    flags.emplace_back(static_cast<std::size_t>(net.spec(i).parameters.size()), false);
  bool any = false;
  std::string known;
  for (int const i : search::detail::elements_of(net, wanted))
    for (int k = 0; k < net.spec(i).parameters.size(); ++k) {
      std::string const own = net.spec(i).parameters[k].name.text;
      if ((", " + known + ", ").find(", " + own + ", ") == std::string::npos)
        known += (known.empty() ? "" : ", ") + own;
      if (own != wanted.tensor) continue;
      any = true;
      int first = i, index = k;
      for (auto const& t : net.ties)
        if (t.later == i && t.later_index == k) first = t.first, index = t.first_index;
      flags[static_cast<std::size_t>(first)][static_cast<std::size_t>(index)] = true;
    }
  if (!any)
    refuse(
        "there is no parameter " + wanted.tensor + " there. " +
        (known.empty() ? "These elements have no parameters." : "Parameters are " + known + "."));
  return flags;
}

}  // namespace detail

/// Returns the plan `chosen` of `net` in which the parameters with this name have the strategy of a
/// builder such as zero<1>{}, priced on machine `m`. Communicates nothing. Throws ashlar::error if
/// no parameter has the name, if `chosen` or the builder has a staleness, or if both have wires but
/// different numbers of plain steps. Other errors are those of the builder and of search/pin.hpp.
template <int N, class Builder>
search::basic_plan<N> pinned(search::basic_problem<N> const& net, search::basic_plan<N> chosen,
                             machine const& m, std::string_view name, Builder const& builder) {
  check_plan_of("sync::pinned", net, chosen);
  auto const flags = detail::named_parameters(net, name);
  search::basic_plan<N> const built = builder(net, chosen, m);
  if (is_stale(built) || is_stale(chosen))
    throw error("sync::pinned", "\"" + std::string(name) +
                                    "\": the staleness belongs to the whole plan, whose parameters "
                                    "all have owners. Apply sync::owners to all of them.");
  if (has_wires(built) && built.plain_steps != chosen.plain_steps) {
    if (has_wires(chosen))
      throw error("sync::pinned",
                  "\"" + std::string(name) + "\": the plan has " +
                      std::to_string(chosen.plain_steps) + " plain steps, but the builder " +
                      std::to_string(built.plain_steps) +
                      ". They belong to the whole plan: give both the same number.");
    chosen.plain_steps = built.plain_steps;
  }
  // The choices in the order in which changed_plan asks for them.
  std::vector<search::parameter_choice> made;
  for (int i = 0; i < net.size(); ++i)
    for (int k = 0; k < chosen[i].parameters.size(); ++k) {
      if (net.spec(i).parameters[k].tie == search::tie_role::later) continue;
      bool const is_named = flags[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
      if constexpr (requires {
                      Builder::fault(chosen[i].parameters[k], net.spec(i).parameters[k]);
                    })
        if (char const* const wrong = is_named ? Builder::fault(chosen[i].parameters[k],
                                                                net.spec(i).parameters[k])
                                               : nullptr)
          throw error("sync::pinned", "\"" + std::string(name) + "\": " + wrong);
      made.push_back((is_named ? built : chosen)[i].parameters[k]);
    }
  // changed_plan gives the later use of a tied parameter the strategy of the first use, but not
  // always the wire. So here the later use gets the wire that the builder has given it.
  for (auto const& t : net.ties)
    if (flags[static_cast<std::size_t>(t.first)][static_cast<std::size_t>(t.first_index)])
      (chosen.choices.begin() + t.later)->parameters[t.later_index].wire =
          built[t.later].parameters[t.later_index].wire;
  std::size_t next = 0;
  return changed_plan("sync::pinned", net, chosen, m,
                      [&](search::parameter_choice& p, shape const&) { p = made[next++]; });
}

}  // namespace ashlar::sync
