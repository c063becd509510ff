// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Holds the state of the algorithms that walk from plan to plan: the current plan, the best plan so
// far, and random starting plans. A variable is a layer or residual block with a choice of its own.
//
//   random start   Every variable gets a random choice, all with equal probability. If this plan
//                  exceeds the memory limit, its variables are changed in random order until it
//                  fits. A changed variable gets its choice from a plan that is known to fit.

#include <string>

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/assignment.hpp>
#include <ashlar/search/branch_limits.hpp>
#include <ashlar/search/draws.hpp>
#include <ashlar/search/lagrangian.hpp>

namespace ashlar::search::detail {

template <int N>
class explorer {
 public:
  /// `limit` is the most memory that a rank may use, in bytes; 0 means no limit. `lean` is a plan
  /// that fits, as one choice per element of the chain.
  explorer(chain_model<N>& model, std::int64_t limit, scratch<int> const& lean, std::uint64_t seed,
           watch& running)
      : run(running), draw(seed), now(model, limit), lean_(model, limit) {
    for (int i = 0, v = 0; i < model.size(); ++i)
      if (model.kind(i) != element_kind::residual_end) lean_.set(v++, lean.data()[i]);
    for (int v = 0; v < now.variables(); ++v) {
      order_.push_back(v);
      if (now.choices(v) > 1) movable.push_back(v);
    }
  }

  /// Gives every layer and residual block a random choice. The plan need not fit in memory.
  void draw_all() {
    for (int v = 0; v < now.variables(); ++v) now.set(v, draw.below(now.choices(v)));
    now.settle();
  }

  /// Replaces the current plan by a random one that fits the memory limit.
  void start() {
    draw_all();
    if (now.fits()) return;
    for (int i = now.variables() - 1; i >= 0 && !now.fits(); --i) {
      std::swap(order_[at(i)], order_[at(draw.below(i + 1))]);
      now.choose(order_[at(i)], lean_.choice(order_[at(i)]));
    }
  }

  /// Stores the current plan as the best one if it fits and is better than all plans stored so far.
  void keep() {
    if (!now.fits() || now.weight() >= run.best()) return;
    now.settle();
    if (run.improves(now.weight())) best_ = now.path();
  }

  scratch<int> const& best() const { return best_; }

  watch& run;
  draws draw;
  assignment<N> now;
  std::vector<int> movable;  ///< layers and residual blocks with more than one choice

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  assignment<N> lean_;
  std::vector<int> order_;
  scratch<int> best_;
};

/// Runs `walk(explorer)`, and returns the best of the plans for which `walk` called
/// explorer::keep(). Throws ashlar::error if no plan fits in memory, if `walk` kept none, if the
/// net has branches or a tied parameter without prescribed storage, if the mesh has more than four
/// axes, or if nothing in the options can end the search.
template <int N, class Walk>
basic_result<N> explore(char const* name, basic_problem<N> const& net, topology const& t,
                        machine const& m, options const& o, Walk const& walk) {
  watch run(name, o);
  run.demand_end();
  std::string const operation = std::string("search::") + name;
  demand_no_branches(net, operation.c_str());
  chain_model<N> model = model_of(net, t, m, o);
  auto const lean = demand_room(model, m.memory, operation.c_str());
  run.bound_by([&] { return lower_bound(model, m.memory); });
  explorer<N> e(model, m.memory, lean, o.seed, run);
  run.tables_made();
  walk(e);
  if (!run.found()) run.refuse();
  return run.finish(make_plan(model, e.best()));
}

}  // namespace ashlar::search::detail
