// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest plan that fits a memory limit, exactly. Memory is a sum (kept) and a maximum
// (gathered), so for each value g that the maximum can take:
//
//   only choices that gather at most g, kept within limit - g
//     1. a lower bound from the best price of memory so far; skip g if the best plan known is as good
//     2. the Lagrangian dual in one price, whose plans that fit become the best plan known
//     3. labels between that bound and that plan (label_search) settle the rest: first a few of
//        them, for a better plan, then many. Where even they do not suffice (deep nets of equal
//        blocks) the plan says by how much it might miss the optimum: basic_plan::gap
//
// The least possible memory of a net is the minimum over g of g + Σ elements least kept.

#include <ashlar/plan/text.hpp>
#include <ashlar/search/label_search.hpp>
#include <ashlar/search/make_plan.hpp>

namespace ashlar::search {
namespace detail {

inline constexpr int few_labels = 8;
inline constexpr int many_labels = 200;

[[noreturn]] inline void refuse_memory(std::int64_t limit, std::int64_t least) {
  auto const both = [](std::int64_t bytes) {
    return bytes_text(double(bytes)) + " (" + std::to_string(bytes) + " bytes)";
  };
  throw error("search::optimal", "no plan fits in " + both(limit) +
                                     " per rank; the least possible is " + both(least) +
                                     ". Raise the memory limit, or use more ranks.");
}

/// A path's weight and memory.
struct path_cost {
  double weight = unreachable;
  std::int64_t kept = 0;
  std::int64_t gathered = 0;
};

template <int N>
constexpr path_cost cost_of_path(chain_model<N>& model, scratch<int> const& choice) {
  path_cost cost;
  cost.weight = model.from_source().data()[choice.data()[0]];
  for (int i = 0; i < model.size(); ++i) {
    int const c = choice.data()[i];
    if (model.kind(i) != element_kind::residual_end) {
      auto const& bytes = model.choices(i).memory.data()[c];
      cost.weight += model.choices(i).weight.data()[c];
      cost.kept += bytes.kept;
      if (bytes.gathered > cost.gathered) cost.gathered = bytes.gathered;
    }
    if (i + 1 < model.size())
      cost.weight += model.boundary(i)[c * model.choices(i + 1).size() + choice.data()[i + 1]];
  }
  return cost;
}

/// The values that the gathered memory of a choice can take, largest first.
template <int N>
constexpr std::vector<std::int64_t> gathered_values(chain_model<N> const& model) {
  std::vector<std::int64_t> values;
  for (int k = 0; k < model.classes(); ++k)
    for (auto const& bytes : model.class_at(k).memory) values.push_back(bytes.gathered);
  std::sort(values.begin(), values.end(), [](auto a, auto b) { return a > b; });
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// The choices that keep least while gathering at most `gathered`; false if an element has none.
template <int N>
constexpr bool leanest(chain_model<N> const& model, std::int64_t gathered, scratch<int>& choice) {
  for (int i = 0; i < model.size(); ++i) {
    if (model.kind(i) == element_kind::residual_end)
      choice.data()[i] = choice.data()[model.partner(i)];
    else if (label_search<N>::least_kept(model, i, gathered, choice.data() + i) < 0) return false;
  }
  return true;
}

/// Steps 1 to 3 for one value of the maximum.
template <int N>
class budget_search {
 public:
  constexpr budget_search(chain_model<N>& model, std::int64_t limit)
      : model_(model), limit_(limit), best_(static_cast<std::size_t>(model.size())) {}

  constexpr scratch<int> const& best() const { return best_; }

  /// How much less than the best plan's the optimal weight may be, as a share; 0: it is optimal.
  constexpr double gap() const { return least_ < known_ ? 1 - least_ / known_ : 0; }

  /// Expects `lean`, the choices that keep least, to fit.
  constexpr void consider(std::int64_t gathered, scratch<int> const& lean) {
    std::int64_t const budget = limit_ - gathered;
    if (known_ < unreachable && bound(price_, gathered) >= known_) return;
    path_cost light = offer(lean), heavy;
    {
      chain_solver<N> fastest(model_, 0, gathered);
      heavy = offer(fastest.path());
    }
    if (heavy.kept <= budget) return;  // nothing of this g is faster
    while (light.weight > heavy.weight) {
      price_ = (light.weight - heavy.weight) / double(heavy.kept - light.kept);
      chain_solver<N> priced(model_, price_, gathered);
      path_cost const between = offer(priced.path());
      double const value = between.weight + price_ * double(between.kept);
      if (value >= (heavy.weight + price_ * double(heavy.kept)) * (1 - 1e-12)) break;
      (between.kept > budget ? heavy : light) = between;
    }
    chain_solver<N> priced(model_, price_, gathered);
    double const least = priced.solve() - price_ * double(budget);
    for (int const width : {few_labels, many_labels}) {
      if (least >= known_ * (1 - 1e-12)) return;
      label_search<N> labels(model_, priced, price_, gathered, budget, known_ * (1 - 1e-13), width);
      scratch<int> choice(best_.size());
      double const found = labels.improve(choice);
      if (found < known_ * (1 - 1e-13)) {
        known_ = found;
        best_ = choice;
      }
      if (labels.complete()) return;
    }
    if (least < least_) least_ = least;
  }

 private:
  constexpr double bound(double price, std::int64_t gathered) {
    chain_solver<N> priced(model_, price, gathered);
    return priced.solve() - price * double(limit_ - gathered);
  }

  /// Takes note of a path if it fits and is better.
  constexpr path_cost offer(scratch<int> const& choice) {
    path_cost const cost = cost_of_path(model_, choice);
    if (cost.kept + cost.gathered <= limit_ && cost.weight < known_) {
      known_ = cost.weight;
      best_ = choice;
    }
    return cost;
  }

  chain_model<N>& model_;
  std::int64_t limit_;
  double known_ = unreachable;
  double least_ = unreachable;  ///< bound of what was not searched to the end
  double price_ = 0;
  scratch<int> best_;
};

}  // namespace detail

/// The plan of least predicted seconds among those of at most machine.memory bytes per rank.
/// Throws ashlar::error if there is none, saying the least possible. Arguments as of `optimal`.
template <int N, class Filter>
constexpr basic_plan<N> within_memory(basic_problem<N> const& net, topology const& t,
                                      machine const& m, Filter const& filter) {
  chain_model<N> model(net, t, m, filter, pruning::by_time_and_memory);
  detail::budget_search<N> search(model, m.memory);
  scratch<int> lean(static_cast<std::size_t>(net.size()));
  std::int64_t least = -1;
  for (auto const gathered : detail::gathered_values(model)) {
    if (!detail::leanest(model, gathered, lean)) continue;
    std::int64_t const bytes = detail::cost_of_path(model, lean).kept + gathered;
    if (least < 0 || bytes < least) least = bytes;
    if (bytes <= m.memory) search.consider(gathered, lean);
  }
  if (least > m.memory) detail::refuse_memory(m.memory, least);
  auto chosen = make_plan(model, search.best());
  chosen.gap = search.gap();
  return chosen;
}

}  // namespace ashlar::search
