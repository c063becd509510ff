// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest plan by trying all of them, every choice of every element: what `optimal` is tested
// against, and a baseline. It knows no dominance and no dynamic programming; it only leaves a
// branch that already costs (or keeps) more than is allowed, as costs never sink. Exponential: for
// nets of a few layers.
//
// With options (algorithm.hpp) it can be limited and looked at. An evaluation is then an element's
// choice added to a partial plan. Once every plan was tried the result is its own lower bound.

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/lagrangian.hpp>
#include <ashlar/search/within_memory.hpp>

namespace ashlar::search {
namespace detail {

template <int N, class Watch>
class enumeration {
 public:
  constexpr enumeration(chain_model<N>& model, std::int64_t limit, Watch& watch)
      : model_(model), limit_(limit), watch_(watch), start_(model.from_source()),
        now_(static_cast<std::size_t>(model.size())), best_(now_) {}

  constexpr void extend(int i, double weight, std::int64_t kept, std::int64_t gathered) {
    if (weight >= least_ || (limit_ > 0 && kept + gathered > limit_)) return;
    if (i == model_.size()) {
      least_ = weight;
      best_ = now_;
      watch_.improves(weight);
      return;
    }
    choice_class const& c = model_.choices(i);
    bool const end = model_.kind(i) == element_kind::residual_end;
    int const tied = end ? now_[static_cast<std::size_t>(model_.partner(i))] : -1;
    for (int k = end ? tied : 0; k < (end ? tied + 1 : c.size()); ++k) {
      if (!watch_.go_on()) return;
      now_.data()[i] = k;
      double const way = i == 0 ? start_.data()[k]
                                : model_.boundary(i - 1)[now_.data()[i - 1] * c.size() + k];
      auto const& bytes = c.memory.data()[k];
      extend(i + 1, weight + way + (end ? 0 : c.weight.data()[k]), kept + (end ? 0 : bytes.kept),
             bytes.gathered > gathered ? bytes.gathered : gathered);
    }
  }

  constexpr bool found() const { return least_ < unreachable; }
  constexpr scratch<int> const& best() const { return best_; }

 private:
  chain_model<N>& model_;
  std::int64_t limit_;
  Watch& watch_;
  scratch<double> start_;
  scratch<int> now_, best_;
  double least_ = unreachable;
};

}  // namespace detail

/// A plan that costs as much as that of `optimal`, found by enumeration. Arguments and errors as there.
template <int N, class Filter = any_choice>
requires std::is_invocable_v<Filter, int, layer_choice const&>
constexpr basic_plan<N> exhaustive(basic_problem<N> const& net, topology const& t, machine const& m,
                                   Filter const& filter = {}) {
  chain_model<N> model(net, t, m, filter, pruning::keep_all);
  detail::unwatched alone;
  detail::enumeration all(model, m.memory, alone);
  all.extend(0, 0, 0, 0);
  if (!all.found())
    throw error("search::exhaustive", "no plan fits in the machine's memory per rank.");
  return make_plan(model, all.best());
}

/// The best plan that enumeration finds within a budget. Throws ashlar::error if no plan fits, or if none was found in time.
template <int N>
basic_result<N> exhaustive(basic_problem<N> const& net, topology const& t, machine const& m,
                           options o) {
  detail::watch run("exhaustive", o);
  o.whole_space = true;
  chain_model<N> model = detail::model_of(net, t, m, o);
  detail::demand_room(model, m.memory, "search::exhaustive");
  for (int i = 0; i + 1 < model.size(); ++i) model.boundary(i);
  run.tables_made();
  detail::enumeration all(model, m.memory, run);
  all.extend(0, 0, 0, 0);
  if (!all.found()) run.refuse();
  auto const chosen = make_plan(model, all.best());
  if (!run.over()) run.raise_bound(chosen.seconds);
  else run.bound_by([&] { return detail::lower_bound(model, m.memory); });
  return run.finish(chosen);
}

}  // namespace ashlar::search
