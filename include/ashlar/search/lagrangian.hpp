// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a lower bound of the weight of all plans within a memory limit. It is the Lagrangian
// dual, in which memory has a price λ in seconds per byte:
//
//   bound = max over prices λ >= 0 of   min over plans ( weight + λ · (counted memory - limit) )
//
// Counted memory is a lower bound of a plan's memory that is a sum over the elements of the chain
// (counted_memory.hpp). So each inner minimum is one run of chain_solver. The best λ is found by
// the method of Handler and Zang for constrained shortest paths (LARAC):
//
//   1. Hold two plans, one with more counted memory than the limit and one within the limit.
//   2. The next λ is the price at which the two held plans cost the same.
//   3. The plan that is optimal at this price replaces the held plan on the same side of the limit.
//   4. Stop when the new plan is no cheaper at this price than the two held plans. Also stop if
//      rounding errors keep it from being better than the plan that it would replace: it has no
//      less counted memory if both exceed the limit, or no less weight if both are within it.
//
// Every plan that is found on the way and fits the limit is a candidate for the optimum.

#include <algorithm>

#include <ashlar/plan/text.hpp>
#include <ashlar/search/least_memory.hpp>
#include <ashlar/search/unproven_refusal.hpp>

namespace ashlar::search::detail {

/// Throws the error for a memory limit that is too low.
///   least       the least memory of a plan that a search found
///   element     the index of the layer that needs most memory in that plan
///   name        the name of that layer
///   most        the bytes that this layer needs
///   operation   the first words of the message
///   bound       a lower bound of the seconds of all plans, for an unproven_refusal
[[noreturn]] inline void refuse_memory(std::int64_t limit, least_memory_result const& least,
                                       int element, char const* name, std::int64_t most,
                                       char const* operation, double bound) {
  auto const both = [](std::int64_t bytes) {
    return bytes_text(double(bytes)) + " (" + std::to_string(bytes) + " bytes)";
  };
  error const text(
      operation, std::string(least.complete ? "no plan fits in " : "found no plan that fits in ") +
                     both(limit) + " per rank; the least " +
                     (least.complete ? "possible is " : "that was found is ") + both(least.bytes) +
                     ", where element " + std::to_string(element) + " (" + name + ") needs most, " +
                     bytes_text(double(most)) + ". Raise the memory limit, or use more ranks.");
  if (least.complete) throw error(text);
  throw unproven_refusal(text, bound);
}

/// The weight (seconds, plus a tiny amount per collective) and the counted memory (bytes) of a path
/// (one choice per element). Counted memory (counted_memory.hpp) is a lower bound of the memory of
/// the path.
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
    if (!model.is_determined(i)) {
      cost.weight += model.choices(i).weight.data()[c];
      cost.counted += counted.bytes(i, model.memory(i, c));
    }
    if (i + 1 < model.size())
      cost.weight += model.boundary(
          i)[choice.data()[model.left_of(i)] * model.choices(i + 1).size() + choice.data()[i + 1]];
  }
  return cost;
}

/// Returns the path (one choice per element) of least counted memory. Counted memory
/// (counted_memory.hpp) is a lower bound of the memory of a path.
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
    // The turn of a branch has the choice of the branch's end.
    if (ends_branch(model.kind(i))) path.data()[model.partner(model.partner(i))] = best;
  }
  return path;
}

struct memory_dual {
  /// Lower bound of the weight of all plans that fit; `unreachable` if the counted memory of every
  /// plan exceeds the limit.
  double bound = 0;
  double price = 0;           ///< λ, seconds per byte
  scratch<int> light, heavy;  ///< the two plans that the method holds (step 1 above)
};

/// Solves the Lagrangian dual for a limit in bytes per rank. Calls `offer(path)` for every path
/// (one choice per element) that it finds; offer must return the path_cost of that path. Stops
/// early when `more()` returns false. Even then the bound is valid, but a longer search might find
/// a higher one.
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
    if (between.counted > limit ? between.counted >= heavy.counted : between.weight >= light.weight)
      break;
    (between.counted > limit ? heavy : light) = between;
    (between.counted > limit ? dual.heavy : dual.light) = path;
  }
  return dual;
}

/// Drops choices that no plan of at most `limit` bytes per rank can contain. Returns false and
/// drops nothing if an element would have no choice left.
template <int N>
constexpr bool drop_too_large(chain_model<N>& model, std::int64_t limit) {
  counted_memory<N> const counted(model);
  scratch<scratch<char>> keep(static_cast<std::size_t>(model.classes()));
  for (int i = 0; i < model.size(); ++i) {
    if (model.is_determined(i)) continue;
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

/// Throws the error that no plan fits, or that none was found that fits. `lean` is the path (one
/// choice per element) of least memory that was found, and `least` is its memory. `operation` are
/// the first words of the message. `bound` is a lower bound of the seconds of all plans.
template <int N>
[[noreturn]] constexpr void refuse_path(chain_model<N> const& model, std::int64_t limit,
                                        least_memory_result const& least, scratch<int> const& lean,
                                        char const* operation, double bound = 0) {
  int element = 0;
  std::int64_t most = -1;
  for (int i = 0; i < model.size(); ++i) {
    auto const& bytes = model.memory(i, lean.data()[i]);
    std::int64_t const own = bytes.lasting +
                             std::max({bytes.forward, bytes.again, bytes.saved + bytes.backward});
    if (own > most) most = own, element = i;
  }
  refuse_memory(limit, least, element, model.net().spec(element).name.text, most, operation, bound);
}

/// Drops choices that no plan of at most `limit` bytes per rank can contain. Returns a path (one
/// choice per element) that fits. Throws ashlar::error if none is found. If `limit` is 0, there is
/// no limit: nothing is dropped, and every element takes its first choice.
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
/// limit). It may be slightly too large, because a tiny tie-breaking weight is added per
/// collective. Expects that at least one plan fits.
template <int N>
constexpr double lower_bound(chain_model<N>& model, std::int64_t limit) {
  auto const fastest = make_plan(model, chain_solver<N>(model).path());
  if (limit == 0 || fastest.memory <= limit) return fastest.seconds;
  counted_memory<N> const counted(model);
  auto const cost = [&](scratch<int> const& path) { return cost_of_path(model, counted, path); };
  return solve_dual(model, counted, limit, cost, [] { return true; }).bound;
}

}  // namespace ashlar::search::detail
