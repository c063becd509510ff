// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A lower bound of the weight of all plans within a memory limit, by one price of kept memory:
//
//   bound = max over prices λ >= 0 of   min over plans ( weight + λ · (kept + gathered - limit) )
//
// Each inner minimum is one run of chain_solver. The best λ is found from two plans, one too heavy
// and one that fits: the next λ makes both cost the same, the plan it finds replaces one of them,
// and there is an end when it is no better than they are. Plans on the way that fit are good ones.
// Of the maximum (gathered) only what every plan has is in it: the most, over the elements, of the
// least that one of its choices gathers. That can only lower the bound.

#include <algorithm>

#include <ashlar/plan/text.hpp>
#include <ashlar/search/chain_model.hpp>
#include <ashlar/search/chain_solver.hpp>

namespace ashlar::search::detail {

/// `element`, `name`: the layer that needs most in the plan of least memory, `most` bytes.
[[noreturn]] inline void refuse_memory(std::int64_t limit, std::int64_t least, int element,
                                       char const* name, std::int64_t most, char const* operation) {
  auto const both = [](std::int64_t bytes) {
    return bytes_text(double(bytes)) + " (" + std::to_string(bytes) + " bytes)";
  };
  throw error(operation, "no plan fits in " + both(limit) + " per rank; the least possible is " +
                             both(least) + ", where element " + std::to_string(element) + " (" +
                             name + ") needs most, " + bytes_text(double(most)) +
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

struct memory_dual {
  double bound = 0;           ///< weight of any plan that fits, at least
  double price = 0;           ///< λ, seconds per byte
  scratch<int> light, heavy;  ///< paths on both sides of the limit, of one cost at this price
};

/// Bytes that every plan gathers, at least.
template <int N>
constexpr std::int64_t least_gathered(chain_model<N> const& model) {
  std::int64_t most = 0;
  for (int k = 0; k < model.classes(); ++k) {
    std::int64_t least = -1;
    for (auto const& bytes : model.class_at(k).memory)
      least = least < 0 || bytes.gathered < least ? bytes.gathered : least;
    most = least > most ? least : most;
  }
  return most;
}

/// Expects `lean` to fit the limit. `offer(path)` looks at every plan on the way and returns its
/// path_cost; `more()`: whether to go on.
template <int N, class Offer, class More>
constexpr memory_dual solve_dual(chain_model<N>& model, std::int64_t limit,
                                 scratch<int> const& lean, Offer const& offer, More const& more) {
  limit -= least_gathered(model);  // what is kept must do with the rest
  memory_dual dual;
  dual.light = lean;
  dual.heavy = chain_solver<N>(model).path();
  path_cost light = offer(dual.light), heavy = offer(dual.heavy);
  dual.bound = heavy.weight;
  while (heavy.kept > limit && light.weight > heavy.weight && more()) {
    double const price = (light.weight - heavy.weight) / double(heavy.kept - light.kept);
    scratch<int> const path = chain_solver<N>(model, price).path();
    path_cost const between = offer(path);
    double const bound = between.weight + price * double(between.kept - limit);
    dual.price = price;
    dual.bound = bound > dual.bound ? bound : dual.bound;
    if (bound >= (heavy.weight + price * double(heavy.kept - limit)) * (1 - 1e-12)) break;
    (between.kept > limit ? heavy : light) = between;
    (between.kept > limit ? dual.heavy : dual.light) = path;
  }
  return dual;
}

/// Leaves out choices with which no plan fits, whatever the other elements do.
template <int N>
constexpr void drop_too_large(chain_model<N>& model, std::int64_t limit) {
  scratch<std::int64_t> least(static_cast<std::size_t>(model.classes()));  // kept, per class
  for (int k = 0; k < model.classes(); ++k) {
    std::int64_t& of_class = least.data()[k];
    of_class = -1;
    for (auto const& bytes : model.class_at(k).memory)
      of_class = of_class < 0 || bytes.kept < of_class ? bytes.kept : of_class;
  }
  std::int64_t all = 0;
  for (int i = 0; i < model.size(); ++i)
    if (model.kind(i) != element_kind::residual_end) all += least.data()[model.class_index(i)];
  for (int k = 0; k < model.classes(); ++k) {
    choice_class const& c = model.class_at(k);
    scratch<char> keep(c.memory.size());
    for (int j = 0; j < c.size(); ++j) {
      auto const& bytes = c.memory.data()[j];
      keep.data()[j] = all - least.data()[k] + bytes.kept + bytes.gathered <= limit;
    }
    model.restrict(k, keep);
  }
}

/// Throws: no plan fits. `lean`: the choices of least memory, of `least` bytes.
template <int N>
[[noreturn]] constexpr void refuse_path(chain_model<N> const& model, std::int64_t limit,
                                        std::int64_t least, scratch<int> const& lean,
                                        char const* operation) {
  int element = 0;
  std::int64_t most = -1;
  for (int i = 0; i < model.size(); ++i) {
    auto const& bytes = model.choices(i).memory.data()[lean.data()[i]];
    if (bytes.kept + bytes.gathered > most) most = bytes.kept + bytes.gathered, element = i;
  }
  refuse_memory(limit, least, element, model.net().spec(element).name.text, most, operation);
}

/// Throws if no plan fits; else leaves out choices that cannot be part of one, and returns the
/// choices of least memory. `limit` 0: none.
template <int N>
constexpr scratch<int> demand_room(chain_model<N>& model, std::int64_t limit,
                                   char const* operation) {
  scratch<int> lean(static_cast<std::size_t>(model.size()));
  if (limit == 0) return lean;
  std::int64_t const least = leanest(model, lean);
  if (least <= limit) {
    drop_too_large(model, limit);
    leanest(model, lean);
    return lean;
  }
  refuse_path(model, limit, least, lean, operation);
}

/// Seconds that every plan within the limit takes, but for ties. Expects that one fits.
template <int N>
constexpr double lower_bound(chain_model<N>& model, std::int64_t limit) {
  auto const fastest = make_plan(model, chain_solver<N>(model).path());
  if (limit == 0 || fastest.memory <= limit) return fastest.seconds;
  scratch<int> lean(static_cast<std::size_t>(model.size()));
  leanest(model, lean);
  auto const cost = [&](scratch<int> const& path) { return cost_of_path(model, path); };
  return solve_dual(model, limit, lean, cost, [] { return true; }).bound;
}

}  // namespace ashlar::search::detail
