// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The options of one element of a chain. An option is a way to synchronize all parameters of the
// element, that is, one strategy for each parameter. Each option has its costs:
//
//   seconds   of all redistributions of the element's parameters in a step without overlap
//   bytes     the memory of the element (step/memory.hpp); all other placements are fixed. If the
//             plan has plain steps, each kind of memory is the larger one of a plain step and of a
//             later step
//
// The caller gives both uses of a tied parameter one strategy. An element with a tied parameter has
// only options with this strategy.
//
// A strategy of one parameter is dropped if another one dominates it: if the other one takes no
// more seconds and no more of any kind of memory. Options of the element are dropped in the same
// way. No optimum is lost: if one element needs less, neither the seconds nor the memory of the
// step grow, whatever the other elements need (step/memory_fold.hpp).

#include <algorithm>
#include <utility>
#include <vector>

#include <ashlar/search/cost.hpp>
#include <ashlar/sync/strategies.hpp>

namespace ashlar::sync {
namespace detail {

/// Seconds that differ by no more than this fraction count as equal: they differ by rounding only.
inline constexpr double rounding = 1e-12;

constexpr bool at_most(double a, double b) { return a <= b * (1 + rounding); }

/// The costs of one strategy of one parameter. They do not depend on the strategies of the
/// element's other parameters.
struct parameter_option {
  search::parameter_choice placements;
  double seconds = 0;        ///< seconds of the redistributions in a step
  std::int64_t lasting = 0;  ///< bytes that are held for the whole step
  // Entries 0 to 3 are for the phases forward, backward, synchronize and renew. Entries 4 to 7 are
  // for the same phases of a plain step, if the plan has plain steps.
  std::int64_t held[8]{};  ///< bytes that the phase keeps until its end
  std::int64_t most[8]{};  ///< bytes that the phase needs at most

  constexpr bool dominates(parameter_option const& other) const {
    if (!at_most(seconds, other.seconds) || lasting > other.lasting) return false;
    for (int i = 0; i < 8; ++i)
      if (held[i] > other.held[i] || most[i] > other.most[i]) return false;
    return true;
  }
};

/// A way to synchronize all parameters of an element: one strategy for each parameter.
struct element_option {
  inplace_vector<search::parameter_choice, max_parameters> parameters;
  double seconds = 0;
  search::element_bytes bytes;

  constexpr bool dominates(element_option const& other) const {
    return at_most(seconds, other.seconds) && bytes.is_within(other.bytes);
  }
};

/// Adds the option `made` to a list, unless an option of the list dominates it. Drops the options
/// that `made` dominates. So no option of the list dominates another one.
template <class Option>
constexpr void add_undominated(std::vector<Option>& list, Option const& made) {
  for (auto const& it : list)
    if (it.dominates(made)) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!made.dominates(list[i])) {
      if (kept != i) list[kept] = list[i];
      ++kept;
    }
  list.resize(kept);
  list.push_back(made);
}

/// A visitor of an element's actions that adds up the seconds of one parameter's redistributions in
/// a step.
template <int N, search::move_prices Prices>
struct parameter_seconds {
  search::basic_problem<N> const& net;
  Prices& prices;
  int index;
  wire_format wire{};  ///< the wire of the gradient
  double seconds = 0;

  constexpr void compute(search::phase, search::computation, int, int) {}
  constexpr void move(search::phase when, search::moved what, int k, shape const& extents,
                      placement const& from, placement const& to) {
    if (what != search::moved::parameter || k != index || from == to) return;
    bool const is_encoded = when == search::phase::synchronize && !wire.is_exact();
    auto const size = element_size(net, what, when);
    seconds += times_per_step(net, when, what) *
               (is_encoded ? search::encoded_price(extents, size, from, to, wire, prices.mesh(),
                                                   prices.priced_on())
                           : prices.move(extents, size, from, to))
                   .seconds;
  }
};

/// Makes the options of single elements of a net: ways to synchronize their parameters, while all
/// other placements stay as in the plan. All constructor arguments must outlive this object.
template <int N, search::move_prices Prices>
class element_options {
 public:
  constexpr element_options(search::basic_problem<N> const& net,
                            search::basic_plan<N> const& chosen, Prices& prices,
                            wire_list const& wires)
      : net_(net), chosen_(chosen), prices_(prices), wires_(wires) {}

  /// Returns the strategies of parameter `index` of element i.
  constexpr std::vector<search::parameter_choice> strategies_of(int i, int index) const {
    return strategies(chosen_[i].parameters[index], net_.spec(i).parameters[index].extents,
                      chosen_.mesh, wires_);
  }

  /// Returns whether elements i and k have the same options. Expects elements without tied
  /// parameters.
  constexpr bool alike(int i, int k) const {
    return net_[i].layer == net_[k].layer && net_[i].kind == net_[k].kind &&
           role_of(i).runs == role_of(k).runs && role_of(i).held == role_of(k).held &&
           x_extents(net_, i) == x_extents(net_, k) && y_extents(net_, i) == y_extents(net_, k) &&
           chosen_[i] == chosen_[k];
  }

  /// Returns the strategies of parameter `index` of element i that no other strategy dominates.
  constexpr std::vector<parameter_option> of_parameter(int i, int index) const {
    std::vector<parameter_option> list;
    for (auto const& s : strategies_of(i, index)) add_undominated(list, priced(i, index, s));
    return list;
  }

  /// Returns the costs of the strategy `placements` of parameter `index` of element i.
  constexpr parameter_option priced(int i, int index,
                                    search::parameter_choice const& placements) const {
    auto const& whole = net_.spec(i);
    auto c = chosen_[i];
    c.parameters[index] = placements;
    parameter_seconds<N, Prices> sum{net_, prices_, index, placements.wire};
    auto const role = role_of(i);
    search::for_each_phase(role.runs,
                           [&](search::phase when) { visit_element(when, whole, c, sum); });
    parameter_option made{placements, sum.seconds};
    // The memory of the element as if it had no other parameter.
    auto spec = whole;
    spec.parameters = {};
    spec.parameters.push_back(whole.parameters[index]);
    c.parameters = {};
    c.parameters.push_back(placements);
    made.lasting = memory_of(net_, spec, role, c, chosen_.mesh).lasting;
    search::halo_memory const none;
    int at = 0;
    for (bool const is_plain : {false, true}) {
      if (is_plain && chosen_.plain_steps == 0) break;
      if (is_plain) c.parameters[0].wire = {};
      for (auto const when : {search::phase::forward, search::phase::backward,
                              search::phase::synchronize, search::phase::renew}) {
        search::step_detail::phase_memory run{
            spec, c, chosen_.mesh, none, net_.element_size, net_.accumulation_size, 0, 0};
        visit_element(when, spec, c, run);
        made.held[at] = run.held;
        made.most[at++] = run.most;
      }
    }
    return made;
  }

  /// Combines the strategies of the parameters of element i in every way and returns the
  /// combinations that no other one dominates. The function of(k) returns the strategies that are
  /// permitted for parameter k.
  template <class Of>
  constexpr std::vector<element_option> combined(int i, Of const& of) const {
    std::vector<element_option> list(1);
    for (int k = 0; k < net_.spec(i).parameters.size(); ++k) {
      std::vector<element_option> longer;
      std::vector<parameter_option> const options = of(k);
      for (auto const& some : list)
        for (auto const& next : options) {
          longer.push_back(some);
          longer.back().parameters.push_back(next.placements);
          longer.back().seconds += next.seconds;
        }
      list = std::move(longer);
    }
    std::vector<element_option> kept;
    auto c = chosen_[i];
    for (auto& made : list) {
      c.parameters = made.parameters;
      made.bytes = memory_of(net_, net_.spec(i), role_of(i), c, chosen_.mesh);
      if (chosen_.plain_steps > 0) {
        for (auto& p : c.parameters) p.wire = {};
        auto const plain = memory_of(net_, net_.spec(i), role_of(i), c, chosen_.mesh);
        for (auto which : {&search::element_bytes::lasting, &search::element_bytes::synchronize,
                           &search::element_bytes::gradients})  // others do not depend on wires
          made.bytes.*which = std::max(made.bytes.*which, plain.*which);
      }
      add_undominated(kept, made);
    }
    return kept;
  }

 private:
  constexpr search::element_role role_of(int i) const {
    int const again = chosen_.recomputed;
    return {net_[i].kind, x_extents(net_, i), y_extents(net_, i), net_.runs(i, again),
            part_held(net_, i, again)};
  }

  search::basic_problem<N> const& net_;
  search::basic_plan<N> const& chosen_;
  Prices& prices_;
  wire_list wires_;
};

}  // namespace detail
}  // namespace ashlar::sync
