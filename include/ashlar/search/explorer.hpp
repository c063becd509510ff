// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the algorithms that walk from plan to plan share: the plan at hand, the best so far, and
// where walks begin.
//
//   random start   every variable draws a choice evenly. Where that is over the memory limit,
//                  variables in random order take what a plan that fits has, until it fits.
//
// Draws come from std::mt19937_64 as they are: the standard's distributions differ from one library
// to the next.

#include <random>

#include <ashlar/search/algorithm.hpp>
#include <ashlar/search/assignment.hpp>
#include <ashlar/search/lagrangian.hpp>

namespace ashlar::search::detail {

class draws {
 public:
  explicit draws(std::uint64_t seed) : generator_(seed) {}

  /// 0 .. n - 1
  int below(int n) { return static_cast<int>(generator_() % static_cast<std::uint64_t>(n)); }
  /// [0, 1)
  double uniform() { return double(generator_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 generator_;
};

template <int N>
class explorer {
 public:
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

  /// Draws all variables, whether the plan fits or not.
  void draw_all() {
    for (int v = 0; v < now.variables(); ++v) now.set(v, draw.below(now.choices(v)));
    now.settle();
  }

  /// A random start, as above.
  void start() {
    draw_all();
    if (now.fits()) return;
    for (int i = now.variables() - 1; i >= 0 && !now.fits(); --i) {
      std::swap(order_[at(i)], order_[at(draw.below(i + 1))]);
      now.choose(order_[at(i)], lean_.choice(order_[at(i)]));
    }
  }

  /// Takes note of the plan at hand if it fits and is the best so far.
  void keep() {
    if (!now.fits() || now.weight() >= run.best()) return;
    now.settle();
    if (run.improves(now.weight())) best_ = now.path();
  }

  scratch<int> const& best() const { return best_; }

  watch& run;
  draws draw;
  assignment<N> now;
  std::vector<int> movable;  ///< variables with more than one choice

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  assignment<N> lean_;
  std::vector<int> order_;
  scratch<int> best_;
};

/// Runs `walk(explorer)` and returns the best plan it kept.
template <int N, class Walk>
basic_result<N> explore(char const* name, basic_problem<N> const& net, topology const& t,
                        machine const& m, options const& o, Walk const& walk) {
  watch run(name, o);
  run.demand_end();
  chain_model<N> model = model_of(net, t, m, o);
  auto const lean = demand_room(model, m.memory, name);
  run.bound_by([&] { return lower_bound(model, m.memory); });
  explorer<N> e(model, m.memory, lean, o.seed, run);
  run.tables_made();
  walk(e);
  if (!run.found()) run.refuse();
  return run.finish(make_plan(model, e.best()));
}

}  // namespace ashlar::search::detail
