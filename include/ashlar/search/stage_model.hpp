// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes what the stages of a chain cost, under a plan of the chain on the mesh of one part. A
// stage is any range of elements. The seconds of a stage are the sums over its elements. A stage
// moves tensors in two ways:
//
//   between two of its own elements     by redistributions of the plan, which take time of the
//                                       stage
//   from and to stages on other parts   by planned crossings, which run while the stage computes.
//                                       Skips between two stages cross in the same way
//
// If the two uses of a tied parameter are on two parts, the parameter crosses to the part of the
// later use, and the gradient of the later use crosses back. The stage of the later use counts both
// crossings as part of the end of a step, although the crossing of the parameter can hide behind
// the passes of other stages.
//
// A split backward pass leaves a part W for later: the parameter gradients of layers that can
// compute them alone (backward_form::halves and gradients_only). All else belongs to the gradient
// of the input: recomputation, redistributions, and gathers of parameters.

#include <algorithm>
#include <map>
#include <utility>

#include <ashlar/search/cost.hpp>
#include <ashlar/search/crossing_prices.hpp>
#include <ashlar/search/pipeline_memory.hpp>
#include <ashlar/search/pipeline_plan.hpp>
#include <ashlar/search/planned_moves.hpp>

namespace ashlar::search {

/// The seconds of one element for one micro-batch. Only `synchronize` is per step: it is the time
/// for the moves before and after the update of the parameters. `again` is the forward pass of a
/// recomputation. The last three members are moves between the element and its neighbours. The
/// other members do not include these moves.
struct element_seconds {
  double forward = 0, again = 0, backward = 0, synchronize = 0;
  double weights = 0;  ///< part of `backward`
  double work = 0;     ///< part of the seconds of all passes spent computing
  /// The move from y of the previous element to x of this element, in the forward pass (enter) and
  /// in a recomputation (reenter).
  double enter = 0, reenter = 0;
  double leave = 0;  ///< the move from dx of the next element to dy of this element
};

/// The prices of the two crossings between a stage and the stage before it: from y to x, and from
/// dx to dy.
struct cut_prices {
  crossing_prices::price forward, backward;
};

template <int N>
class stage_model {
 public:
  /// `chain`, `whole` and `crossings` must outlive this object. `chain` is a net, or a net with
  /// renumbered segments (in_stages). `whole` is a plan of `chain`. It recomputes the first
  /// whole.recomputed segments of `chain`.
  stage_model(basic_problem<N> const& chain, basic_plan<N> const& whole, machine const& m,
              crossing_prices& crossings)
      : chain_(chain), whole_(whole), crossings_(crossings), moves_(whole.mesh, m),
        elements_(static_cast<std::size_t>(chain.size())) {
    for_each_price(chain, whole, moves_, [&](int i, phase when, spent what, move_price const& p) {
      auto& e = elements_[static_cast<std::size_t>(i)];
      if (what == spent::work) e.work += p.seconds;
      bool const enters = what == spent::activation && i > 0;
      (!repeats(when)             ? e.synchronize
       : what == spent::gradient  ? e.leave
       : when == phase::forward   ? (enters ? e.enter : e.forward)
       : when == phase::recompute ? (enters ? e.reenter : e.again)
                                  : e.backward) += p.seconds;
    });
    for (int i = 0; i < chain.size(); ++i) {
      auto const& spec = chain.spec(i);
      if (!has_own_weight_gradient(spec.backward)) continue;
      elements_[static_cast<std::size_t>(i)].weights = work_seconds(
          work_of(spec, computation::weight_gradient), m, chain.element_size,
          factors_of(spec, whole[i], whole.mesh, m));
    }
  }

  element_seconds const& operator[](int i) const { return elements_[static_cast<std::size_t>(i)]; }

  /// Returns the stage of the elements first .. last - 1, without its transfers and its memory.
  /// `joined` says whether the stage before it is on the same part, so that its input does not
  /// cross.
  pipeline_stage stage(int first, int last, bool joined = false) const {
    pipeline_stage s;
    s.first = first;
    s.last = last;
    for (int i = first; i < last; ++i) {
      auto const& e = (*this)[i];
      bool const inside = i > first || (joined && first > 0);
      double const forward = e.forward + (inside ? e.enter : 0);
      double const backward = e.backward + (i + 1 < last ? e.leave : 0) +
                              (i == first && inside ? (*this)[i - 1].leave : 0);
      s.seconds += forward + backward + e.again + (i > first ? e.reenter : 0);
      s.forward += forward;
      s.weights += e.weights;
      s.work += e.work;
      s.synchronize += e.synchronize;
    }
    return s;
  }

  /// Returns the prices of two crossings between the elements first - 1 and `first`: that of the
  /// activation, and that of its gradient. Assumes that the elements are on different parts.
  cut_prices cut(int first) const {
    shape const& extents = boundary_extents(chain_, first - 1);
    auto const price = [&](moved what, phase when, placement const& from, placement const& to) {
      return crossings_(extents, element_size(chain_, what, when), from, to);
    };
    return {price(moved::activation, phase::forward, whole_[first - 1].y, whole_[first].x),
            price(moved::gradient, phase::backward, whole_[first].dx, whole_[first - 1].dy)};
  }

  /// Returns the bytes of the tensors between neighbouring stages.
  std::vector<boundary_bytes> boundaries(std::vector<int> const& limits) const {
    std::vector<boundary_bytes> list;
    for (std::size_t k = 1; k + 1 < limits.size(); ++k) {
      auto const [forward, backward] = cut(limits[k]);
      list.push_back({forward.bytes, backward.bytes});
    }
    return list;
  }

  /// Returns the prices of the two crossings of a skip whose ends are on different parts: one
  /// carries the input of the skip, the other the gradient of this input.
  cut_prices cut(cut_skip const& skip) const {
    shape const& extents = chain_.spec(skip.begin).x;
    auto const price = [&](placement const& from, placement const& to) {
      return crossings_(extents, chain_.element_size, from, to);
    };
    return {price(whole_[skip.begin].y, whole_[skip.end].x),
            price(whole_[skip.end].dx, whole_[skip.begin].dy)};
  }
  /// Returns the skips whose begin and end are on different stages.
  std::vector<cut_skip> skips_between(std::vector<int> const& limits) const {
    return cut_skips(chain_, limits);
  }
  /// Returns the skips between stages, with the seconds of their crossings between parts.
  pipelines::skip_transfers skips(std::vector<int> const& limits,
                                  pipelines::schedule const& order) const {
    pipelines::skip_transfers list;
    for (auto const& it : skips_between(limits)) {
      list.push_back({it.from, it.to});
      if (order.position_of(it.from) == order.position_of(it.to)) continue;
      auto const [forward, backward] = cut(it);
      list.back().forward = forward.seconds;
      list.back().backward = backward.seconds;
    }
    return list;
  }
  /// Returns the skips between stages, with their bytes.
  std::vector<skip_bytes> bytes_of_skips(std::vector<int> const& limits) const {
    return search::bytes_of_skips(chain_, whole_, limits);
  }
  /// Returns the seconds per step in which a tied parameter and the gradient of its later use cross
  /// between the parts of its two uses. If one rank owns the parameter or the gradient, these
  /// seconds include the moves before and after the crossing. They are computed as if the receiving
  /// part replicated the tensor before the owner gets it.
  double tie_seconds(tie const& t) {
    auto const& extents = chain_.spec(t.first).parameters[t.first_index].extents;
    auto const& own = whole_[t.first].parameters[t.first_index];
    double seconds = 0;
    for (auto const when : {phase::forward, phase::synchronize}) {
      auto const& lies = when == phase::forward ? own.store : own.updated_at();
      auto const at = crosses_at(lies);
      int const size = element_size(chain_, moved::parameter, when);
      seconds += moves_.move(extents, size, lies, at).seconds +
                 crossings_(extents, size, at, at).seconds +
                 moves_.move(extents, size, at, lies).seconds;
    }
    return seconds;
  }
  /// Adds tie_seconds of each tied parameter to the stage of its later use, if its uses are on two
  /// parts.
  void add_ties(std::vector<pipeline_stage>& stages, std::vector<int> const& limits,
                pipelines::schedule const& order) {
    for (auto const& t : chain_.ties) {
      int const later = stage_of_element(limits, t.later);
      if (order.position_of(stage_of_element(limits, t.first)) != order.position_of(later))
        stages[static_cast<std::size_t>(later)].synchronize += tie_seconds(t);
    }
  }
  basic_problem<N> const& chain() const { return chain_; }
  basic_plan<N> const& whole() const { return whole_; }

  /// Returns the bytes of the stage of the elements first .. last - 1. The bytes of each stage are
  /// computed only once.
  stage_bytes const& bytes(int first, int last) {
    auto [it, is_new] = bytes_.try_emplace({first, last});
    if (is_new) {
      auto const part = stage_of(chain_, first, last, 1);
      it->second = bytes_of_stage(part, plan_of_range<N>(whole_, first, last, part.recomputed));
    }
    return it->second;
  }

 private:
  basic_problem<N> const& chain_;
  basic_plan<N> const& whole_;
  crossing_prices& crossings_;
  planned_moves moves_;  // not tables, since tables have no prices of owned parameters
  std::vector<element_seconds> elements_;
  std::map<std::pair<int, int>, stage_bytes> bytes_;
};

/// Returns the stages between `limits`, with their transfers and their memory. `order` says which
/// part of the mesh has which stages.
template <int N>
std::vector<pipeline_stage> priced_stages(stage_model<N>& model, std::vector<int> const& limits,
                                          pipelines::schedule const& order) {
  std::vector<pipeline_stage> stages;
  std::vector<stage_bytes> bytes;
  for (std::size_t k = 0; k + 1 < limits.size(); ++k) {
    int const at = static_cast<int>(k);
    bool const joined = k > 0 && order.position_of(at) == order.position_of(at - 1);
    stages.push_back(model.stage(limits[k], limits[k + 1], joined));
    bytes.push_back(model.bytes(limits[k], limits[k + 1]));
    if (k == 0 || joined) continue;
    auto const [forward, backward] = model.cut(limits[k]);
    stages[k - 1].sending += forward.seconds;
    stages[k - 1].sent += forward.sent;
    stages[k].sending += backward.seconds;
    stages[k].sending_back = backward.seconds;
    stages[k].sent += backward.sent;
  }
  for (auto const& it : model.skips_between(limits)) {
    if (order.position_of(it.from) == order.position_of(it.to)) continue;
    auto const [forward, backward] = model.cut(it);
    stages[static_cast<std::size_t>(it.from)].sent += forward.sent;
    stages[static_cast<std::size_t>(it.to)].sent += backward.sent;
  }
  model.add_ties(stages, limits, order);
  pipeline_memory const memories(order, model.boundaries(limits), model.bytes_of_skips(limits));
  for (int p = 0; p < order.positions; ++p) {
    auto const memory = memories.of_part(p, bytes);
    for (int c = 0; c < order.chunks; ++c)
      stages[static_cast<std::size_t>(order.stage_of(p, c))].memory = memory;
  }
  return stages;
}

}  // namespace ashlar::search
