// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the cheapest plan by depth-first enumeration of all plans. This enumeration is a baseline,
// and the reference that `optimal` is tested against, so it uses neither dominance nor dynamic
// programming. It abandons a partial plan in two cases only: the partial plan already costs at
// least as much as the best complete plan, or it already exceeds the memory limit. This is safe,
// because the remaining layers can decrease neither the cost nor the memory. The time is
// exponential in the number of layers, so the method suits nets of a few layers. The recursion is
// as deep as the chain is long, so chains of more than most_enumerated_elements are refused.
//
// Options (algorithm.hpp) can limit and observe the search. One evaluation adds one layer to a
// partial plan. If every plan has been tried, the result is certified to be optimal.

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/chain_memory.hpp>
#include <ashlar/search/lagrangian.hpp>
#include <ashlar/search/within_memory.hpp>

namespace ashlar::search {

/// The most elements of a chain that `exhaustive` takes.
inline constexpr int most_enumerated_elements = 1024;

namespace detail {

template <int N>
constexpr void demand_short(basic_problem<N> const& net) {
  if (net.size() > most_enumerated_elements)
    throw error("search::exhaustive",
                "the chain has " + std::to_string(net.size()) +
                    " elements, but all plans are tried only for chains of at most " +
                    std::to_string(most_enumerated_elements) + ". Use search::optimal.");
}

template <int N, class Watch>
class enumeration {
 public:
  constexpr enumeration(chain_model<N>& model, std::int64_t limit, Watch& watch)
      : model_(model), memory_(model), limit_(limit), branches_(has_branches(model.net())),
        watch_(watch), start_(model.from_source()), now_(static_cast<std::size_t>(model.size())),
        best_(now_), outside_(static_cast<std::size_t>(model.size())) {}

  /// Tries all choices of element i and of all later elements of the chain. `weight` and `memory`
  /// belong to the partial plan, which consists of the earlier elements.
  constexpr void extend(int i, double weight, memory_so_far const& memory) {
    if (weight >= least_ || (limit_ > 0 && memory.peak > limit_)) return;
    if (i == model_.size()) {
      // The memory of a net with branches is computed from the complete plan only.
      if (limit_ > 0 &&
          (branches_ ? memory_.of(now_) : memory_.whole(memory, now_.data()[i - 1])) > limit_)
        return;
      least_ = weight;
      best_ = now_;
      watch_.improves(weight);
      return;
    }
    choice_class const& c = model_.choices(i);
    // The turn of a branch decides the choice of the branch's end.
    bool const end = model_.kind(i) == element_kind::residual_end,
               turn = model_.kind(i) == element_kind::branch_turn,
               joins = ends_branch(model_.kind(i)), fixed = end || joins;
    int const other = model_.partner(i);
    int const tied = fixed ? now_.data()[joins ? model_.partner(other) : other] : -1;
    for (int k = fixed ? tied : 0; k < (fixed ? tied + 1 : c.size()); ++k) {
      if (!watch_.go_on()) return;
      now_.data()[i] = k;
      double const way = i == 0 ? start_.data()[k]
                                : model_.boundary(
                                      i - 1)[now_.data()[model_.left_of(i - 1)] * c.size() + k];
      extend(i + 1, weight + way + (end || turn ? 0 : c.weight.data()[k]),
             limit_ > 0 && !branches_ ? memory_with(i, k, memory) : memory);
    }
  }

  constexpr bool found() const { return least_ < unreachable; }
  constexpr scratch<int> const& best() const { return best_; }

 private:
  /// Returns the memory of the partial plan up to element i if element i takes choice k. `before`
  /// is the memory without element i.
  constexpr memory_so_far memory_with(int i, int k, memory_so_far const& before) {
    bool const end = model_.kind(i) == element_kind::residual_end;
    int const other = model_.partner(i), left = i > 0 ? now_.data()[i - 1] : 0;
    bool const begin = model_.kind(i) == element_kind::residual_begin;
    // If element i begins a residual block, `outer` describes the outer block that ends right after
    // this block, if there is one.
    enclosing outer;
    if (begin && other + 1 < model_.size() && model_.kind(other + 1) == element_kind::residual_end)
      outer = {now_.data()[model_.partner(other + 1)], ends_in_sum(model_.net(), other + 1)};
    auto const next = memory_.next(before, i, memory_.at(i - 1, left), k, outer,
                                   end ? outside_.data()[other] : held_by_residuals{});
    if (begin) outside_.data()[i] = memory_.outside_of(before.residuals, next.residuals);
    return next;
  }

  chain_model<N>& model_;
  chain_memory<N> memory_;
  std::int64_t limit_;
  bool branches_;  ///< whether the net has branches
  Watch& watch_;
  scratch<double> start_;
  scratch<int> now_, best_;
  scratch<held_by_residuals> outside_;  ///< per begin of a residual block: its outside_of()
  double least_ = unreachable;          ///< weight of the best plan so far
};

}  // namespace detail

/// Returns a plan of least predicted seconds, found by trying all plans. A step of this plan takes
/// as many seconds as with the plan that `optimal` returns, unless `optimal` recomputes more
/// segments to meet a memory limit. Arguments and errors are those of `optimal`. Also throws
/// ashlar::error if the chain has more than most_enumerated_elements.
template <int N, class Filter = any_choice>
  requires std::is_invocable_v<Filter, int, layer_choice const&>
constexpr basic_plan<N> exhaustive(basic_problem<N> const& net, topology const& t, machine const& m,
                                   Filter const& filter = {}) {
  detail::demand_short(net);
  return detail::best_storage(net, t, true, [&](basic_problem<N> const& one) {
    chain_model<N> model(one, t, m, filter, pruning::keep_all);
    detail::no_watch alone;
    detail::enumeration all(model, m.memory, alone);
    all.extend(0, 0, {});
    if (!all.found())
      throw error("search::exhaustive", "no plan fits in the machine's memory per rank.");
    return make_plan(model, all.best());
  });
}

/// Returns the best plan found by trying plans until the budget in `o` is used up. For a net with
/// tied parameters, the budget is ignored and all plans are tried. Throws ashlar::error if no plan
/// fits in memory, if none was found before the budget was used up or the search was cancelled, if
/// the chain has more than most_enumerated_elements, or if the mesh has more than four axes.
template <int N>
basic_result<N> exhaustive(basic_problem<N> const& net, topology const& t, machine const& m,
                           options o) {
  detail::demand_short(net);
  detail::watch run("exhaustive", o);
  o.whole_space = true;
  if (!detail::has_settled_ties(net)) {
    if (!is_exact_on(t)) detail::refuse_axes("search", "this search");
    if (!run.go_on()) run.refuse();
    auto const permits = [&](int i, layer_choice const& c) {
      return !o.permits || o.permits(i, c);
    };
    auto chosen = exhaustive(net, t, m, permits);
    run.raise_bound(chosen.seconds);
    return run.finish(std::move(chosen));
  }
  chain_model<N> model = detail::model_of(net, t, m, o);
  detail::demand_room(model, m.memory, "search::exhaustive");
  for (int i = 0; i + 1 < model.size(); ++i) model.boundary(i);
  run.tables_made();
  detail::enumeration all(model, m.memory, run);
  all.extend(0, 0, {});
  if (!all.found()) run.refuse();
  auto const chosen = make_plan(model, all.best());
  if (!run.over()) run.raise_bound(chosen.seconds);
  else run.bound_by([&] { return detail::lower_bound(model, m.memory); });
  return run.finish(chosen);
}

}  // namespace ashlar::search
