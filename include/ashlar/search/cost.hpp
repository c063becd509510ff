// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the predicted cost of a step, which the search minimizes. The cost is a sum over all
// actions (computations and moves) that step/visit.hpp visits: the price of the action times how
// often a step performs it. Layers and the boundaries between neighbours are priced separately:
//
//   element_prices    prices the actions of one layer for any of its choices
//   boundary_times    counts how often a step performs the two moves of a boundary
//   for_each_price    prices the actions of a whole plan
//
// A class that satisfies the concept `move_prices` (prices.hpp) provides the prices of moves. Every
// search for the least serial time takes its seconds and weights from here.

#include <ashlar/search/planned_moves.hpp>
#include <ashlar/search/prices.hpp>
#include <ashlar/step/halo.hpp>
#include <ashlar/step/letter_bytes.hpp>
#include <ashlar/step/memory_fold.hpp>
#include <ashlar/step/visit.hpp>

namespace ashlar::search {

/// The categories into which the time of a step is divided.
enum class spent : signed char { work, halo, activation, gradient, parameter, statistic };

/// Returns the category in which the time to move a tensor of kind `what` is counted.
constexpr spent spent_on(moved what) {
  switch (what) {
    case moved::activation: return spent::activation;
    case moved::gradient: return spent::gradient;
    case moved::parameter: return spent::parameter;
    case moved::statistic: break;
  }
  return spent::statistic;
}

/// Prices the actions (computations and moves) of one layer in a step, for any of its choices. All
/// constructor arguments must outlive this object.
template <int N, move_prices Prices>
class element_prices {
 public:
  constexpr element_prices(basic_problem<N> const& described, layer_spec const& spec,
                           forward_runs runs, Prices& prices)
      : net_(described), spec_(spec), prices_(prices), runs_(runs) {
    int const value = element_size(net_, moved::parameter);
    int const gradient = element_size(net_, moved::parameter, phase::synchronize);
    for (auto const& p : spec.parameters) {
      int const of_value = prices.table(p.extents, value);
      tables_.push_back(
          {of_value, gradient == value ? of_value : prices.table(p.extents, gradient)});
    }
  }

  /// Calls take(phase, category, price) for every action (computation or move) of the layer with
  /// choice c. `price` is for one execution of the action.
  template <class Take>
  constexpr void for_each(layer_choice const& c, Take&& take) const {
    visitor<Take> visit{*this, c, take, factors_of(spec_, c, prices_.mesh(), prices_.priced_on())};
    if (spec_.halo.dim >= 0)
      visit.halo = halo_seconds(spec_, c, prices_.mesh(), prices_.priced_on(), net_.element_size);
    for_each_phase(runs_, [&](phase when) { visit_element(when, spec_, c, visit); });
  }

  /// Returns the weight (seconds, plus a tiny amount per collective) of the layer with choice c in
  /// one step. It is a sum over the layer's actions (computations and moves): the weight of one
  /// execution times the number of executions.
  constexpr double weight(layer_choice const& c) const {
    double each = 0, gathers = 0, once = 0;  // weights per micro-batch, per gather, per step
    for_each(c, [&](phase when, spent what, move_price const& price) {
      bool const is_gather = net_.interleaved > 1 && what == spent::parameter;
      (!repeats(when) ? once : is_gather ? gathers : each) += price.weight;
    });
    return net_.micro_batches * each + once +
           times_per_step(net_, phase::forward, moved::parameter) * gathers;
  }

 private:
  struct parameter_table {
    int value = 0, gradient = 0;
  };

  template <class Take>
  struct visitor {
    element_prices const& of;
    layer_choice const& choice;
    Take& take;
    work_factors factors;
    halo_cost halo{};
    inplace_vector<move_price, max_parameters> gathered{};

    constexpr void compute(phase when, computation what, int part, int) {
      if (part > 0) return;
      double const seconds = work_seconds(work_of(of.spec_, what), of.prices_.priced_on(),
                                          of.net_.element_size, factors);
      take(when, spent::work, move_price{seconds, seconds});
      if (of.spec_.halo.dim < 0) return;
      double const exchange = halo_with(what, halo);
      take(when, spent::halo, move_price{exchange, exchange});
    }
    constexpr void exchange_rows(int k) {
      topology const& t = of.prices_.mesh();
      double const seconds = price_of_rows(
                                 row_exchange_of(of.spec_, choice, k, t, of.net_.micro_batches),
                                 of.net_.accumulation_size, t, of.prices_.priced_on())
                                 .seconds;
      take(phase::synchronize, spent::parameter, move_price{seconds, seconds});
    }
    constexpr void move(phase when, moved what, int index, shape const& extents,
                        placement const& from, placement const& to) {
      Prices& prices = of.prices_;
      if (what != moved::parameter) {
        take(when, spent_on(what),
             prices.move(extents, element_size(of.net_, what, when), from, to));
      } else if (when == phase::synchronize) {
        auto const& wire = choice.parameters.items[index].wire;
        take(when, spent::parameter,
             wire.is_exact() ? prices.move(of.tables_.items[index].gradient, from, to)
                             : encoded_price(extents, of.net_.accumulation_size, from, to, wire,
                                             prices.mesh(), prices.priced_on()));
      } else if (when == phase::renew) {
        take(when, spent::parameter, prices.move(of.tables_.items[index].value, from, to));
      } else {  // store -> use: priced in phase forward, and the same in the other phases
        if (when == phase::forward)
          gathered.push_back(prices.move(of.tables_.items[index].value, from, to));
        take(when, spent::parameter, gathered.items[index]);
      }
    }
  };

  basic_problem<N> const& net_;
  layer_spec const& spec_;
  Prices& prices_;
  forward_runs runs_;
  inplace_vector<parameter_table, max_parameters> tables_;
};

/// Says how often a step performs the two moves at the boundary of two neighbouring layers:
/// - `activation`: from the left layer's y to the right layer's x
/// - `gradient`: from the right layer's dx to the left layer's dy
struct boundary_times {
  double activation = 0, gradient = 0;

  /// Returns the cost of the boundary in a step. The arguments are the costs of one execution of
  /// each move, in seconds or as weights.
  constexpr double operator()(double y_to_x, double dx_to_dy) const {
    return activation * y_to_x + gradient * dx_to_dy;
  }
  friend constexpr bool operator==(boundary_times const&, boundary_times const&) = default;
};

/// Counts how often a step performs the moves between two neighbouring layers. `runs` is the number
/// of forward runs of the right layer.
template <int N>
constexpr boundary_times times_between(basic_problem<N> const& net, forward_runs runs) {
  boundary_times times;
  struct counter {
    basic_problem<N> const& net;
    boundary_times& times;
    constexpr void move(phase when, moved what, int, shape const&, placement const&,
                        placement const&) {
      (what == moved::gradient ? times.gradient : times.activation) += times_per_step(net, when);
    }
  };
  shape const any;
  placement const anywhere;
  for_each_crossing(runs, [&](phase when) {
    visit_boundary(when, any, anywhere, anywhere, counter{net, times});
  });
  return times;
}

/// Returns how often a step moves the input data from replicated to the first layer's placement of
/// x. The gradient of the input data is not moved.
template <int N>
constexpr double times_from_source(basic_problem<N> const& net) {
  return times_per_step(net, phase::forward);
}

/// Calls take(element, phase, category, price) for every action (computation or move) of a step
/// with this plan. `price` is for one execution. A move between layers belongs to the layer that
/// receives the tensor.
template <int N, move_prices Prices, class Take>
constexpr void for_each_price(basic_problem<N> const& net, basic_plan<N> const& chosen,
                              Prices& prices, Take&& take) {
  struct crossing {
    basic_problem<N> const& net;
    Prices& prices;
    Take& take;
    int element;
    constexpr void move(phase when, moved what, int, shape const& extents, placement const& from,
                        placement const& to) {
      take(element, when, spent_on(what),
           prices.move(extents, element_size(net, what, when), from, to));
    }
  };
  for (int i = 0; i < net.size(); ++i) {
    forward_runs const runs = net.runs(i, chosen.recomputed);
    if (i == 0)
      visit_boundary(phase::forward, net.spec(0).x, placement::all_broadcast(prices.mesh().axes()),
                     chosen[0].x, crossing{net, prices, take, 0});
    else
      for_each_crossing(runs, [&](phase when) {
        bool const back = when == phase::backward;
        visit_boundary(when, boundary_extents(net, i - 1), back ? chosen[i].dx : chosen[i - 1].y,
                       back ? chosen[i - 1].dy : chosen[i].x,
                       crossing{net, prices, take, back ? i - 1 : i});
      });
    element_prices<N, Prices>(net, net.spec(i), runs, prices)
        .for_each(chosen[i], [&](phase when, spent what, move_price const& price) {
          take(i, when, what, price);
        });
  }
}

/// Returns how often a step performs an action of a category in a phase.
template <int N>
constexpr int times_per_step(basic_problem<N> const& net, phase when, spent what) {
  return times_per_step(net, when, what == spent::parameter ? moved::parameter : moved::activation);
}

/// The predicted seconds of a training step.
struct step_cost {
  double work = 0;           ///< computation on the busiest rank
  double communication = 0;  ///< all communication
  constexpr double seconds() const { return work + communication; }
};

/// Returns the predicted cost of a step with this plan, for all micro-batches.
template <int N, move_prices Prices>
constexpr step_cost total_cost(basic_problem<N> const& net, basic_plan<N> const& chosen,
                               Prices& prices) {
  step_cost cost;
  for_each_price(net, chosen, prices, [&](int, phase when, spent what, move_price const& price) {
    (what == spent::work ? cost.work : cost.communication) += times_per_step(net, when, what) *
                                                              price.seconds;
  });
  return cost;
}
template <int N>
constexpr step_cost total_cost(basic_problem<N> const& net, basic_plan<N> const& chosen,
                               machine const& m) {
  planned_moves prices(chosen.mesh, m);
  return total_cost(net, chosen, prices);
}

/// Fills in a plan's predicted seconds and memory, and its description of the problem.
template <int N, move_prices Prices>
constexpr void predict(basic_plan<N>& chosen, basic_problem<N> const& net, Prices& prices) {
  step_cost const cost = total_cost(net, chosen, prices);
  chosen.seconds = cost.seconds();
  chosen.communication_seconds = cost.communication;
  chosen.memory = memory_per_rank(net, chosen) + letter_bytes(net, chosen);
  chosen.micro_batches = net.micro_batches;
  chosen.interleaved = net.interleaved;
  chosen.input = net.size() > 0 ? net.spec(0).x : shape{};
  chosen.problem_hash = hash(net);
}

template <int N>
constexpr void predict(basic_plan<N>& chosen, basic_problem<N> const& net, machine const& m) {
  planned_moves prices(chosen.mesh, m);
  predict(chosen, net, prices);
}

/// Returns the plan with choice(i) for element i and with the first `recomputed` segments
/// recomputed. Fills in its predicted seconds and memory.
template <int N, move_prices Prices, class Choice>
constexpr basic_plan<N> make_plan(basic_problem<N> const& net, Prices& prices, int recomputed,
                                  Choice const& choice) {
  basic_plan<N> chosen;
  chosen.mesh = prices.mesh();
  chosen.recomputed = recomputed;
  for (int i = 0; i < net.size(); ++i) chosen.choices.push_back(choice(i));
  predict(chosen, net, prices);
  return chosen;
}

}  // namespace ashlar::search
