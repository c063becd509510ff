// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cheapest plan that fits a memory limit, exactly. Memory is a sum (kept) and a maximum
// (gathered; memory.hpp).
//
//   1. the least possible memory: the minimum, over the values g of the maximum, of g + Σ elements
//      the least kept by choices that gather at most g
//   2. the Lagrangian dual in one price of kept memory: a lower bound of the seconds, and plans that
//      fit on the way
//   3. labels (label_search) of the plans that are at most so much dearer than the bound, for a
//      growing margin, until there is one: the cheapest of them is the optimum
//
// Where the labels become too many (deep nets of nearly equal blocks, tight limits) the plan says by
// how much it may miss the optimum: basic_plan::gap.

#include <ashlar/plan/text.hpp>
#include <ashlar/search/label_search.hpp>
#include <ashlar/search/make_plan.hpp>

namespace ashlar::search {
namespace detail {

inline constexpr int label_width = 400;
inline constexpr int label_beam = 4;
inline constexpr std::int64_t label_effort = 20'000'000;  ///< about half a second

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

/// The choices of least memory, and that memory.
template <int N>
constexpr std::int64_t leanest(chain_model<N> const& model, scratch<int>& choice) {
  std::vector<std::int64_t> values;
  for (int k = 0; k < model.classes(); ++k)
    for (auto const& bytes : model.class_at(k).memory) values.push_back(bytes.gathered);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::int64_t least = -1;
  scratch<int> now(choice.size());
  for (std::int64_t const g : values) {
    std::int64_t sum = g;
    for (int i = 0; i < model.size() && sum >= 0; ++i) {
      if (model.kind(i) == element_kind::residual_end) {
        now.data()[i] = now.data()[model.partner(i)];
        continue;
      }
      choice_class const& c = model.choices(i);
      int best = -1;
      for (int j = 0; j < c.size(); ++j)
        if (c.memory.data()[j].gathered <= g &&
            (best < 0 || c.memory.data()[j].kept < c.memory.data()[best].kept))
          best = j;
      now.data()[i] = best;
      sum = best < 0 ? -1 : sum + c.memory.data()[best].kept;
    }
    if (sum >= 0 && (least < 0 || sum < least)) {
      least = sum;
      choice = now;
    }
  }
  return least;
}

/// Steps 2 and 3.
template <int N>
class memory_search {
 public:
  /// Expects `lean` to fit the limit.
  constexpr memory_search(chain_model<N>& model, std::int64_t limit, scratch<int> const& lean)
      : model_(model), limit_(limit), best_(lean) {
    scratch<int> light_path = lean, heavy_path = chain_solver<N>(model).path();
    path_cost light = offer(light_path), heavy = offer(heavy_path);
    double price = 0, bound = heavy.weight;
    while (heavy.kept > limit && light.weight > heavy.weight) {
      price = (light.weight - heavy.weight) / double(heavy.kept - light.kept);
      scratch<int> const path = chain_solver<N>(model, price).path();
      path_cost const between = offer(path);
      bound = between.weight + price * double(between.kept - limit);
      if (bound >= (heavy.weight + price * double(heavy.kept - limit)) * (1 - 1e-12)) break;
      (between.kept > limit ? heavy : light) = between;
      (between.kept > limit ? heavy_path : light_path) = path;
    }
    offer_mixtures(heavy_path, light_path);
    offer_mixtures(light_path, heavy_path);
    chain_solver<N> priced(model, price);
    int width = label_width, failures = 0;
    for (double margin = 1e-5;; margin *= 4) {
      double const most = known_ * (1 - 1e-13);  // anything less is better
      if (bound >= most) return;
      double const wanted = bound * (1 + margin);
      double const target = bound > 0 && wanted < most ? wanted : most;
      label_search<N> labels(model, priced, price, limit, target, width, label_effort);
      scratch<int> choice(best_.size());
      double const found = labels.improve(choice);
      if (found < target) {
        known_ = found;
        best_ = choice;
      }
      if (labels.complete()) {  // every plan below the target was looked at
        if (found < target || target == most) return;
        bound = target;
      } else {
        if (found < target || target == most || ++failures == 3) break;
        width = label_beam;  // from here on, any good plan will do
      }
    }
    gap_ = bound < known_ ? 1 - bound / known_ : 0;
  }

  constexpr scratch<int> const& best() const { return best_; }
  constexpr double gap() const { return gap_; }

 private:
  /// Takes note of a path if it fits and is better.
  constexpr path_cost offer(scratch<int> const& choice) {
    path_cost const cost = cost_of_path(model_, choice);
    if (cost.kept + cost.gathered <= limit_ && cost.weight < known_) {
      known_ = cost.weight;
      best_ = choice;
    }
    return cost;
  }

  /// The first elements as in one path, the others as in the other, for every place between.
  /// Equal blocks change sides all at once with the price; between them lies the optimum.
  constexpr void offer_mixtures(scratch<int> const& first, scratch<int> const& others) {
    scratch<int> mixed = others;
    for (int i = 0; i < model_.size(); ++i) {
      int const end = model_.kind(i) == element_kind::residual_begin ? model_.partner(i) : i;
      for (; i < end; ++i) mixed.data()[i] = first.data()[i];
      mixed.data()[i] = first.data()[i];
      offer(mixed);
    }
  }

  chain_model<N>& model_;
  std::int64_t limit_;
  double known_ = unreachable;
  double gap_ = 0;
  scratch<int> best_;
};

}  // namespace detail

/// The plan of least predicted seconds among those of at most machine.memory bytes per rank.
/// Throws ashlar::error if there is none, saying the least possible. Arguments as of `optimal`.
template <int N, class Filter>
constexpr basic_plan<N> within_memory(basic_problem<N> const& net, topology const& t,
                                      machine const& m, Filter const& filter) {
  chain_model<N> model(net, t, m, filter, pruning::by_time_and_memory);
  scratch<int> lean(static_cast<std::size_t>(net.size()));
  std::int64_t const least = detail::leanest(model, lean);
  if (least > m.memory) detail::refuse_memory(m.memory, least);
  detail::memory_search<N> const search(model, m.memory, lean);
  auto chosen = make_plan(model, search.best());
  chosen.gap = search.gap();
  return chosen;
}

}  // namespace ashlar::search
