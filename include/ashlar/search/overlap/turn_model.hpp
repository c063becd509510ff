// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Makes the numbers of turn_chain.hpp from a problem, a mesh and a machine. Each category of prices
// (cost.hpp) is counted as follows:
//
//   work                       on the processor. If a layer computes the weight gradient in a
//                              separate computation, this can run beside the move of dx
//   halo                       on the processor, which waits for the exchange
//   statistic                  a move inside the forward pass
//   activation, gradient       the moves at the boundaries
//   parameter                  The synchronization of a gradient counts once a step, without
//                              latency, because the tensors of a bucket share the latency. With a
//                              memory limit, the gather of a weight counts once a step, because
//                              programs may then keep gathered weights (step/pass_trial.hpp).
//                              Without a limit, it counts in every pass
//
// A choice of a layer is dropped if another one has the same placements at the boundaries and is no
// worse in any of these numbers.

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <ashlar/placement/code.hpp>
#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/overlap/turn_chain.hpp>
#include <ashlar/step/transfer.hpp>

namespace ashlar::search {

class turn_model {
 public:
  /// Makes the turn_chain for net.interleaved micro-batches that take turns. The filter says which
  /// choices are permitted, as in chain_model.hpp.
  template <class Filter>
  turn_model(problem const& net, topology const& t, machine const& m, Filter const& filter)
      : net_(net), model_(net, t, m, filter, pruning::keep_all), machine_(m),
        without_latency_(machine_without_latency(m)) {
    int const turns = turns_at_once(net);
    chain_.turns = turns;
    chain_.groups = net.micro_batches / turns;
    chain_.per_step = static_cast<double>(net.micro_batches) / turns;
    for (int k = 0; k < model_.classes(); ++k) add_class(k);
    for (int i = 0; i < net.size(); ++i) add_element(i);
    for (int i = 0; i + 1 < net.size(); ++i) add_boundary(i);
  }

  turn_chain const& chain() const { return chain_; }

  /// Returns the plan in which element i has choice `choices[i]`. Its predicted seconds and memory
  /// are those of a step without overlap (cost.hpp).
  plan plan_of(std::vector<int> const& choices) {
    scratch<int> list(choices.size());
    for (std::size_t i = 0; i < choices.size(); ++i) list.data()[i] = choices[i];
    return make_plan(model_, list);
  }

 private:
  /// The indices in turn_chain::costs of a class of equal elements. The two ends of a residual
  /// block have separate entries.
  struct of_class {
    int begin, end;
  };

  turn_costs costs_of(layer_spec const& spec, forward_runs runs,
                      std::vector<layer_choice> const& choices) {
    element_prices const prices(net_, spec, runs, model_.paths());
    bool const is_apart = spec.backward == backward_form::halves;
    turn_costs costs;
    for (auto const& c : choices) {
      double forward = 0, backward = 0, first = -1;
      prices.for_each(c, [&](phase when, spent what, move_price const& price) {
        if (what == spent::statistic || what == spent::parameter) return;
        if (when == phase::forward) {
          forward += price.seconds;
        } else {
          // If the weight gradient is computed apart, it is the first action of the backward pass.
          if (first < 0 && when == phase::backward) first = price.seconds;
          backward += price.seconds;
        }
      });
      costs.forward.push_back(forward);
      costs.backward.push_back(backward);
      costs.beside.push_back(is_apart && first > 0 ? first : 0);
      costs.after_weights.push_back(is_apart && first > 0 ? backward - first : 0);
      costs.inside.push_back(statistics_of(spec, c));
      costs.gathers.push_back(of_parameters(spec, c, phase::forward));
      costs.again.push_back(gathered_again(spec, c, costs.gathers.back()));
      costs.synchronize.push_back(of_parameters(spec, c, phase::synchronize));
    }
    return costs;
  }

  int statistics_of(layer_spec const& spec, layer_choice const& c) {
    turn_move all;
    int const size = element_size(net_, moved::statistic, phase::forward);
    for (int k = 0; k < spec.statistics.size(); ++k) {
      int const at = move_of(list_of(spec.statistics[k], size, true), c.statistics[k].from,
                             c.statistics[k].to);
      for (auto const& s : chain_.move(at).steps) all.add(s.link, s.seconds);
    }
    return index_of(all);
  }

  /// Returns the seconds, on each link, of all gathers of a layer's weights in a step except the
  /// first gather of each weight. The first gathers take `first` seconds. With a memory limit, the
  /// result is 0, since all other gathers count as 0 seconds (top of this file).
  std::array<double, turn_links> gathered_again(layer_spec const& spec, layer_choice const& c,
                                                std::array<double, turn_links> const& first) {
    std::array<double, turn_links> seconds{};
    if (machine_.memory > 0) return seconds;
    auto const backward = of_parameters(spec, c, phase::backward);
    double const passes = times_per_step(net_, phase::forward, moved::parameter);
    for (std::size_t on = 0; on < turn_links; ++on)
      seconds[on] = (passes - 1) * first[on] + passes * backward[on];
    return seconds;
  }

  /// Returns the seconds, on each link, of the moves of a layer's weights in phase `when`: their
  /// gathers in the forward or in the backward pass, or the synchronization of their gradients.
  std::array<double, turn_links> of_parameters(layer_spec const& spec, layer_choice const& c,
                                               phase when) {
    std::array<double, turn_links> seconds{};
    bool const gathers = when != phase::synchronize;
    for (int k = 0; k < spec.parameters.size(); ++k) {
      if (when == phase::backward && !spec.parameters[k].in_backward) continue;
      auto const& at = c.parameters[k];
      int const list = list_of(spec.parameters[k].extents,
                               element_size(net_, moved::parameter, when), gathers);
      int const move = move_of(list, gathers ? at.store : at.grad, gathers ? at.use : at.store);
      for (int on = 0; on < turn_links; ++on)
        seconds[static_cast<std::size_t>(on)] += chain_.move(move).on(on);
    }
    return seconds;
  }

  /// Returns the index in planned_ of the list for tensors with these extents and bytes per
  /// element. `latency` says whether the list prices messages with their latency.
  int list_of(shape const& extents, int size, bool latency) {
    for (std::size_t k = 0; k < planned_.size(); ++k)
      if (planned_[k].extents == extents && planned_[k].size == size &&
          planned_[k].latency == latency)
        return static_cast<int>(k);
    planned_.push_back({extents, size, latency, {}});
    return static_cast<int>(planned_.size()) - 1;
  }

  /// Returns the index in turn_chain::moves of the redistribution from `from` to `to`. `list` is an
  /// index into planned_. Each redistribution is planned only once.
  int move_of(int list, placement const& from, placement const& to) {
    if (from == to) return 0;
    auto& of = planned_[static_cast<std::size_t>(list)];
    auto const [it, is_new] = of.moves.try_emplace({code_of(from), code_of(to)}, 0);
    if (!is_new) return it->second;
    auto const path = plan_redistribution(of.extents, of.size, from, to, model_.mesh(), machine_);
    auto const& m = of.latency ? machine_ : without_latency_;
    turn_move move;
    for (auto const& s : path.steps)
      if (communicates(s.kind))
        move.add(static_cast<int>(tier_of(s, model_.mesh())),
                 step_seconds(s, of.extents, of.size, model_.mesh(), m));
    return it->second = index_of(move);
  }

  int index_of(turn_move const& m) {
    std::vector<double> key;
    if (m.steps.empty()) return 0;
    for (auto const& s : m.steps) key.insert(key.end(), {static_cast<double>(s.link), s.seconds});
    auto const [it, is_new] = index_.try_emplace(key, static_cast<int>(chain_.moves.size()));
    if (is_new) chain_.moves.push_back(m);
    return it->second;
  }

  static bool is_no_worse(turn_costs const& c, std::size_t a, std::size_t b) {
    for (std::size_t on = 0; on < turn_links; ++on)
      if (c.gathers[a][on] > c.gathers[b][on] || c.again[a][on] > c.again[b][on] ||
          c.synchronize[a][on] > c.synchronize[b][on])
        return false;
    // Besides all work of the backward pass, two parts of it count: the work that runs beside no
    // move, and the work that cannot follow the gradients of weights. Each of the three amounts of
    // choice a must be at most that of choice b.
    double const more = c.backward[a] - c.backward[b];
    return c.forward[a] <= c.forward[b] && more <= 0 && more <= c.beside[a] - c.beside[b] &&
           more <= c.after_weights[a] - c.after_weights[b] &&
           (c.inside[a] == c.inside[b] || c.inside[a] == 0);
  }

  static void keep_only(turn_costs& c, scratch<char> const& keep) {
    auto const drop = [&](auto& list) {
      std::size_t n = 0;
      for (std::size_t k = 0; k < list.size(); ++k)
        if (keep.data()[k]) list[n++] = list[k];
      list.resize(n);
    };
    drop(c.forward), drop(c.backward), drop(c.beside), drop(c.after_weights);
    drop(c.inside), drop(c.gathers), drop(c.again), drop(c.synchronize);
  }

  void add_class(int k) {
    auto const& c = model_.class_at(k);
    auto begin = costs_of(net_.layer(c.layer), c.runs, c.choices);
    turn_costs end;
    if (c.end >= 0) end = costs_of(net_.layer(c.end), c.runs, c.choices);
    auto const n = static_cast<std::size_t>(c.size());
    scratch<char> keep(n, 1);
    auto const replaces = [&](std::size_t a, std::size_t b) {
      return c.x.data()[a] == c.x.data()[b] && c.y.data()[a] == c.y.data()[b] &&
             c.dy.data()[a] == c.dy.data()[b] && c.dx.data()[a] == c.dx.data()[b] &&
             is_no_worse(begin, a, b) && (c.end < 0 || is_no_worse(end, a, b));
    };
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t a = 0; a < n && keep.data()[b]; ++a)
        if (a != b && keep.data()[a] && replaces(a, b) && (a < b || !replaces(b, a)))
          keep.data()[b] = 0;
    keep_only(begin, keep);
    if (c.end >= 0) keep_only(end, keep);
    model_.restrict(k, keep);
    int const index = static_cast<int>(chain_.costs.size());
    chain_.costs.push_back(std::move(begin));
    if (c.end >= 0) chain_.costs.push_back(std::move(end));
    classes_.push_back({index, index + 1});
  }

  void add_element(int i) {
    auto const& own = classes_[static_cast<std::size_t>(model_.class_index(i))];
    bool const is_end = model_.kind(i) == element_kind::residual_end;
    chain_.elements.push_back({is_end ? own.end : own.begin, model_.partner(i)});
  }

  void add_boundary(int i) {
    shape const& extents = boundary_extents(net_, i);
    int const left = model_.class_index(i), right = model_.class_index(i + 1);
    for (auto const& it : boundaries_)
      if (it.left == left && it.right == right && it.extents == extents)
        return chain_.boundary_after.push_back(it.index);
    auto const &before = model_.choices(i), &behind = model_.choices(i + 1);
    turn_boundary moves;
    int const list = list_of(extents, net_.element_size, true);
    for (auto const& a : before.choices)
      for (auto const& b : behind.choices) {
        moves.forward.push_back(move_of(list, a.y, b.x));
        moves.backward.push_back(move_of(list, b.dx, a.dy));
      }
    int const index = static_cast<int>(chain_.boundaries.size());
    chain_.boundaries.push_back(std::move(moves));
    boundaries_.push_back({left, right, extents, index});
    chain_.boundary_after.push_back(index);
  }

  static machine machine_without_latency(machine m) {
    m.intra.alpha = m.inter.alpha = 0;
    for (auto* links : {&m.intra_of, &m.inter_of})
      for (auto& l : links->of) l.alpha = 0;
    return m;
  }

  struct known_boundary {
    int left, right;  ///< the classes of the two neighbours
    shape extents;
    int index;  ///< index into turn_chain::boundaries
  };

  problem const& net_;
  chain_model<dynamic_size> model_;
  machine machine_, without_latency_;
  struct planned_list {
    shape extents;
    int size;      ///< bytes of an element
    bool latency;  ///< whether messages have a latency
    std::map<std::pair<std::uint64_t, std::uint64_t>, int> moves;
  };
  std::vector<planned_list> planned_;
  std::map<std::vector<double>, int> index_;
  turn_chain chain_;
  std::vector<of_class> classes_;
  std::vector<known_boundary> boundaries_;
};

}  // namespace ashlar::search
