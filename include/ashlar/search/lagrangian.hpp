// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a lower bound of the weight of all plans within a memory limit: the Lagrangian dual, in
// which memory has a price λ in seconds per byte.
//
//   bound = max over prices λ >= 0 of   min over plans ( weight + λ · (counted memory - limit) )
//
// Counted memory is the memory at one moment of the step, a sum over the elements
// (counted_memory.hpp). Each inner minimum is therefore one run of chain_solver. The best λ is
// found by the method of Handler and Zang for constrained shortest paths (LARAC). The method holds
// two plans, one with more memory than the limit and one with less. The next λ is the price at
// which both cost the same. The plan that is optimal at this price replaces one of the two. The
// iteration ends when the new plan is no cheaper than the other two. Every plan found on the way
// that fits is a good candidate for the optimum.

#include <algorithm>

#include <ashlar/plan/text.hpp>
#include <ashlar/search/least_memory.hpp>

namespace ashlar::search::detail {

/// Throws the error for a limit that is too low. `least` is the least memory that was found.
/// `element` and `name` are the index and the name of the layer that needs most memory in the plan
/// of least memory, and `most` is the number of bytes that it needs. The message begins with
/// `operation`.
[[noreturn]] inline void refuse_memory(std::int64_t limit, least_memory_result const& least,
                                       int element, char const* name, std::int64_t most,
                                       char const* operation) {
  auto const both = [](std::int64_t bytes) {
    return bytes_text(double(bytes)) + " (" + std::to_string(bytes) + " bytes)";
  };
  throw error(operation,
              std::string(least.complete ? "no plan fits in " : "found no plan that fits in ") +
                  both(limit) + " per rank; the least " +
                  (least.complete ? "possible is " : "that was found is ") + both(least.bytes) +
                  ", where element " + std::to_string(element) + " (" + name + ") needs most, " +
                  bytes_text(double(most)) + ". Raise the memory limit, or use more ranks.");
}

/// The weight and the counted memory of a path (one choice per element).
struct path_cost {
  double weight = unreachable;
  std::int64_t counted = 0;
};

template <int N>
constexpr path_cost cost_of_path(chain_model<N>& model, counted_memory<N> const& counted,
                                 scratch<int> const& choice) {
  path_cost cost;
  cost.weight = model.from_source().data()[choice.data()[0]];
  for (int i = 0; i < model.size(); ++i) {
    int const c = choice.data()[i];
    if (model.kind(i) != element_kind::residual_end) {
      cost.weight += model.choices(i).weight.data()[c];
      cost.counted += counted.bytes(i, model.memory(i, c));
    }
    if (i + 1 < model.size())
      cost.weight += model.boundary(i)[c * model.choices(i + 1).size() + choice.data()[i + 1]];
  }
  return cost;
}

/// Returns the path of least counted memory.
template <int N>
constexpr scratch<int> path_of_least(chain_model<N> const& model,
                                     counted_memory<N> const& counted) {
  scratch<int> path(static_cast<std::size_t>(model.size()));
  for (int i = 0; i < model.size(); ++i) {
    int& best = path.data()[i];
    if (model.kind(i) == element_kind::residual_end) best = path.data()[model.partner(i)];
    else
      for (int j = 1; j < model.choices(i).size(); ++j)
        if (counted.bytes(i, model.memory(i, j)) < counted.bytes(i, model.memory(i, best)))
          best = j;
  }
  return path;
}

struct memory_dual {
  double bound = 0;  ///< lower bound of the weight of any plan that fits; unreachable: no plan fits
  double price = 0;  ///< λ, seconds per byte
  scratch<int> light, heavy;  ///< paths below and above the limit that cost the same at this price
};

/// Solves the Lagrangian dual for a limit in bytes per rank. Calls `offer(path)` for every path
/// that it finds; offer must return the path_cost of that path. Stops early when `more()` returns
/// false. The bound is then valid too, but may not be the highest possible one.
template <int N, class Offer, class More>
constexpr memory_dual solve_dual(chain_model<N>& model, counted_memory<N> const& counted,
                                 std::int64_t limit, Offer const& offer, More const& more) {
  memory_dual dual;
  dual.light = path_of_least(model, counted);
  path_cost light = offer(dual.light);
  if (light.counted > limit) {
    dual.bound = unreachable;
    return dual;
  }
  dual.heavy = chain_solver<N>(model).path();
  path_cost heavy = offer(dual.heavy);
  dual.bound = heavy.weight;
  while (heavy.counted > limit && light.weight > heavy.weight && more()) {
    double const price = (light.weight - heavy.weight) / double(heavy.counted - light.counted);
    scratch<int> const path = chain_solver<N>(model, price, counted).path();
    path_cost const between = offer(path);
    double const bound = between.weight + price * double(between.counted - limit);
    dual.price = price;
    dual.bound = bound > dual.bound ? bound : dual.bound;
    if (bound >= (heavy.weight + price * double(heavy.counted - limit)) * (1 - 1e-12)) break;
    (between.counted > limit ? heavy : light) = between;
    (between.counted > limit ? dual.heavy : dual.light) = path;
  }
  return dual;
}

/// Drops choices with which every plan needs more than `limit` bytes per rank. Returns false,
/// without dropping any, if this leaves an element without a choice.
template <int N>
constexpr bool drop_too_large(chain_model<N>& model, std::int64_t limit) {
  counted_memory<N> const counted(model);
  scratch<scratch<char>> keep(static_cast<std::size_t>(model.classes()));
  for (int i = 0; i < model.size(); ++i) {
    if (model.kind(i) == element_kind::residual_end) continue;
    auto& own = keep.data()[model.class_index(i)];
    int const n = model.choices(i).size();
    if (own.size() == 0) own = scratch<char>(static_cast<std::size_t>(n));
    bool any = false;
    for (int j = 0; j < n; ++j) {
      bool const fits = counted.least_with(i, model.memory(i, j)) <= limit;
      own.data()[j] = own.data()[j] || fits;
      any = any || fits;
    }
    if (!any) return false;
  }
  for (int k = 0; k < model.classes(); ++k)
    if (keep.data()[k].size() > 0) model.restrict(k, keep.data()[k]);
  return true;
}

/// Throws the error that no plan fits. `lean` is the path of least memory, and `least` states that
/// memory. The message begins with `operation`.
template <int N>
[[noreturn]] constexpr void refuse_path(chain_model<N> const& model, std::int64_t limit,
                                        least_memory_result const& least, scratch<int> const& lean,
                                        char const* operation) {
  int element = 0;
  std::int64_t most = -1;
  for (int i = 0; i < model.size(); ++i) {
    auto const& bytes = model.memory(i, lean.data()[i]);
    std::int64_t const own = bytes.lasting +
                             std::max({bytes.forward, bytes.again, bytes.saved + bytes.backward});
    if (own > most) most = own, element = i;
  }
  refuse_memory(limit, least, element, model.net().spec(element).name.text, most, operation);
}

/// Throws ashlar::error if no plan fits in `limit` bytes per rank. Otherwise drops choices that no
/// such plan can contain, and returns a path that fits. If `limit` is 0, there is no limit: nothing
/// is dropped, and every element takes its first choice in the returned path.
template <int N>
constexpr scratch<int> demand_room(chain_model<N>& model, std::int64_t limit,
                                   char const* operation) {
  scratch<int> lean(static_cast<std::size_t>(model.size()));
  if (limit == 0) return lean;
  chain_model<N> all = model;
  if (drop_too_large(model, limit) && least_memory_path(model, limit, false, lean).bytes >= 0)
    return lean;
  least_memory_result const least = least_memory(all, lean);
  refuse_path(all, limit, least, lean, operation);
}

/// Returns a lower bound of the seconds of every plan of at most `limit` bytes per rank (0: no
/// limit). Tie weights may make it slightly too large. Expects that at least one plan fits.
template <int N>
constexpr double lower_bound(chain_model<N>& model, std::int64_t limit) {
  auto const fastest = make_plan(model, chain_solver<N>(model).path());
  if (limit == 0 || fastest.memory <= limit) return fastest.seconds;
  counted_memory<N> const counted(model);
  auto const cost = [&](scratch<int> const& path) { return cost_of_path(model, counted, path); };
  return solve_dual(model, counted, limit, cost, [] { return true; }).bound;
}

}  // namespace ashlar::search::detail
