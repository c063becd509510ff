// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a planning problem on a mesh by numbers: the costs of each element's choices, and for
// each pair of neighbours a matrix with the costs of their boundary. An element is a layer, an end
// of a residual block, or the begin, turn or end of a branch. Every search algorithm only adds up
// these numbers.
//
// Elements with the same layer and the same permitted choices form a class. Choices, costs and
// matrices are computed once per class or pair of classes, so copies of a block need no more work.
// Dominated choices are dropped when the class is created (choice_class.hpp).
//
// The turn of a branch has no choices of its own: it takes x and dx at the placements of the
// branch's end, and y and dy at the placements of its begin. So the turn has the class of the end,
// and its boundary to the next element is computed from the class of the begin. No choice of a
// branch's begin or end is dropped as dominated.

#include <vector>

#include <ashlar/search/boundary_matrices.hpp>
#include <ashlar/search/check_problem.hpp>
#include <ashlar/search/choice_class.hpp>
#include <ashlar/search/tabulated_moves.hpp>
#include <ashlar/search/tied_storage.hpp>

namespace ashlar::search {

template <int N, tabulated_move_prices Paths = tabulated_moves>
class chain_model {
 public:
  /// Computes the cost tables of a chain. The filter selects the permitted choices and has one of
  /// two forms. A predicate `filter(i, choice)` returns whether element i may take a choice. A
  /// member `filter.choices(i)` returns the list of permitted choices of element i. In this case
  /// elements share their tables only if the member returns references to the same list.
  template <class Filter>
  constexpr chain_model(basic_problem<N> const& net, topology const& t, machine const& m,
                        Filter&& filter, pruning prune)
      : chain_model(net, t, m, filter, prune, {net.recomputed, net.recomputed}) {}

  /// Computes the same cost tables, but for `again` recomputed segments (activation checkpointing)
  /// instead of net.recomputed. Takes the prices of moves from `moves`, unless it is null.
  template <class Filter>
  constexpr chain_model(basic_problem<N> const& net, topology const& t, machine const& m,
                        Filter&& filter, pruning prune, recomputation const& again,
                        shared_moves* moves = nullptr)
      : net_(net), paths_(prices(net, t, m, moves)),
        class_of_(static_cast<std::size_t>(net.size())),
        list_of_(static_cast<std::size_t>(net.size()), -1), prune_(prune) {
    check_problem(net, t, m);
    detail::demand_settled_ties(net);
    if constexpr (Paths::orders != shard_orders::all) paths_.use(net);
    of_layer_ = scratch<std::vector<layer_choice>>(static_cast<std::size_t>(length(net.layers)));
    using filter_type = std::remove_cvref_t<Filter>;
    for (int i = 0; i < net.size(); ++i) {
      if constexpr (std::is_same_v<filter_type, any_choice>) break;
      if (is_determined(i)) continue;
      int& known = list_of_.data()[i];
      known = 0;
      if constexpr (lists<Filter>) {
        auto const* const list = &filter.choices(i);
        while (known < length(listed_) && listed_.data()[known] != list) ++known;
        if (known == length(listed_)) listed_.push_back(list);
      } else if constexpr (!std::is_same_v<filter_type, any_choice>) {
        std::vector<layer_choice> permitted;
        for (auto const& c : all_choices(net[i].layer))
          if (filter(i, c)) permitted.push_back(c);
        while (known < length(permitted_) && permitted_.data()[known] != permitted) ++known;
        if (known == length(permitted_)) permitted_.push_back(permitted);
      }
    }
    recompute(again);
  }

  /// Assigns each element of the chain to its class of equal elements, for `again` recomputed
  /// segments. Adds missing classes. Existing classes stay unchanged.
  constexpr void recompute(recomputation const& again) {
    again_ = again;
    for (int i = 0; i < net_.size(); ++i) {
      element const& e = net_[i];
      int& known = class_of_.data()[i];
      if (e.kind == element_kind::residual_end) known = class_of_.data()[e.partner];
      if (is_determined(i)) continue;
      int const end = e.kind == element_kind::residual_begin ? net_[e.partner].layer : -1;
      // The class of a residual block has the extents of the largest tensor at its ends, which is
      // the block's output. (Only in a skip is the output larger than the other tensors, because a
      // skip concatenates.)
      shape const x = end >= 0 ? net_.layer(end).y : x_extents(net_, i);
      shape const y = end >= 0 ? net_.layer(end).y : y_extents(net_, i);
      bool const plain = !is_of_branch(e.kind) && (end < 0 || sees_itself(i));
      forward_runs const runs = net_.runs(i, again.least);
      saved_part const held = part_held(net_, i, again);
      auto const kind = is_of_branch(e.kind) ? e.kind : element_kind::layer;
      int const list = list_of_.data()[i];
      known = 0;
      while (known < classes() &&
             !(list_of_class_.data()[known] == list &&
               class_at(known).is_of(e.layer, end, x, y, plain, runs, held, kind)))
        ++known;
      if (known == classes())
        add(i, {e.layer, end, x, y, plain, runs, held, kind, {}, {}, {}, {}, {}, {}, {}, {}});
      // The turn of a branch has the class of the branch's end.
      if (ends_branch(e.kind)) class_of_.data()[net_[e.partner].partner] = known;
    }
  }

  /// Returns a copy of this model with only the classes (of equal elements) that the chain uses
  /// now. The copy has no lists of permitted choices, so recompute() must not be called on it.
  constexpr chain_model in_use() const { return chain_model(*this, 0); }

  constexpr basic_problem<N> const& net() const { return net_; }
  constexpr Paths& paths() { return paths_; }
  constexpr topology const& mesh() const { return paths_.mesh(); }
  constexpr recomputation const& again() const { return again_; }
  /// Returns the number of recomputed segments that prices assume.
  constexpr int recomputed() const { return again_.least; }
  constexpr int size() const { return net_.size(); }
  constexpr element_kind kind(int i) const { return net_[i].kind; }
  constexpr int partner(int i) const { return net_[i].partner; }
  /// Returns the end of the residual or branch that begins with element i, or i if none begins
  /// there.
  constexpr int end(int i) const { return end_of(net_, i); }
  /// Returns whether the choices of other elements determine the placements of element i.
  constexpr bool is_determined(int i) const {
    return kind(i) == element_kind::residual_end || kind(i) == element_kind::branch_turn;
  }
  /// Returns the element whose choice determines y and dy at the boundary between elements i and
  /// i + 1. This is the branch's begin if i is the turn of a branch, otherwise i.
  constexpr int left_of(int i) const {
    return kind(i) == element_kind::branch_turn ? partner(partner(i)) : i;
  }
  constexpr int class_index(int i) const { return class_of_.data()[i]; }
  constexpr int classes() const { return static_cast<int>(classes_.size()); }
  constexpr choice_class const& class_at(int k) const { return classes_.data()[k]; }
  constexpr choice_class const& choices(int i) const {
    return classes_.data()[class_of_.data()[i]];
  }

  /// Returns whether the residual blocks or branches that begin at elements a and b are equal: they
  /// consist of equal elements with the same permitted choices.
  constexpr bool alike(int a, int b) const {
    int const n = end(a) - a;
    if (end(b) - b != n) return false;
    for (int i = 0; i <= n; ++i)
      if (class_index(a + i) != class_index(b + i) || kind(a + i) != kind(b + i)) return false;
    return true;
  }

  /// Returns, for each choice of the first layer, the weight of moving the replicated input data to
  /// the choice's placement of x.
  constexpr scratch<double> from_source() {
    choice_class const& c = choices(0);
    scratch<double> start(static_cast<std::size_t>(c.size()));
    int const table = paths_.table(net_.spec(0).x, net_.element_size);
    double const* const way = paths_.weight_from(
        table, paths_.state(table, placement::all_broadcast(paths_.mesh().axes())));
    double const times = times_from_source(net_);
    for (int j = 0; j < c.size(); ++j) start.data()[j] = times * way[c.x.data()[j]];
    return start;
  }

  /// Returns the weights of the moves between elements i and i + 1 of the chain, for all pairs of
  /// their choices: [choice of the left element][choice of the right element].
  constexpr double const* boundary(int i) { return matrix(i).weight.data(); }

  /// Returns boundary(i) transposed, as [choice of the right element][choice of the left element].
  constexpr double const* boundary_from_right(int i) {
    return matrix(i).from_right(choices(left_of(i)).size(), choices(i + 1).size());
  }

  /// Translates a path (one choice index per element) from another model of the same chain to this
  /// one. This model must contain the choices of that path.
  constexpr scratch<int> path_from(chain_model const& other, scratch<int> const& path) const {
    scratch<int> own(path.size());
    for (int i = 0; i < size(); ++i) {
      layer_choice const& choice = other.choices(i).choices.data()[path.data()[i]];
      while (!(choices(i).choices.data()[own.data()[i]] == choice)) ++own.data()[i];
    }
    return own;
  }

  /// Returns the memory that element i of the chain needs with its choice number `own`. The memory
  /// of a branch's turn depends on both ends of the branch (chain_memory::turn_of), so here it
  /// counts as 0 bytes.
  constexpr element_bytes const& memory(int i, int own) const {
    if (kind(i) == element_kind::branch_turn) return nothing_;
    bool const end = kind(i) == element_kind::residual_end;
    return (end ? choices(i).end_memory : choices(i).memory).data()[own];
  }

  /// Returns the plan with choice number choice[i] for element i, without predicted time and
  /// memory.
  constexpr basic_plan<N> plan_of(scratch<int> const& choice) const {
    basic_plan<N> chosen;
    chosen.mesh = mesh();
    chosen.recomputed = recomputed();
    for (int i = 0; i < size(); ++i) {
      auto const& own = choices(i).choices.data()[choice.data()[i]];
      chosen.choices.push_back(left_of(i) == i ? own : turn_between(chosen[left_of(i)], own));
    }
    return chosen;
  }

  /// Drops each choice j with keep[j] == 0 from class k, which is a set of equal elements of the
  /// chain.
  constexpr void restrict(int k, scratch<char> const& keep) {
    if (classes_.data()[k].restrict(keep)) boundaries_.forget(k);
  }

  /// Drops dominated choices (choice_class.hpp). Here a choice dominates another one only if it
  /// also adds no more to the sum of counted_memory.hpp. That sum is a lower bound of a plan's
  /// memory.
  constexpr void keep_counted() {
    for (int k = 0; k < classes(); ++k)
      if (class_at(k).plain) restrict(k, undominated(class_at(k), paths_, net_, true));
  }

  /// Replaces class k (a set of equal elements of the chain) and drops its boundary matrices.
  constexpr void replace(int k, choice_class&& c) {
    classes_.data()[k] = static_cast<choice_class&&>(c);
    boundaries_.forget(k);
  }

 private:
  constexpr chain_model(chain_model const& all, int)
      : net_(all.net_), paths_(all.paths_), class_of_(all.class_of_), prune_(all.prune_),
        again_(all.again_) {
    scratch<int> number(all.classes_.size(), -1);
    for (int& k : class_of_) {
      int& now = number.data()[k];
      if (now < 0) {
        now = classes();
        classes_.push_back(all.class_at(k));
      }
      k = now;
    }
  }

  static constexpr Paths prices(basic_problem<N> const& net, topology const& t, machine const& m,
                                shared_moves* moves) {
    double const tie = tie_weight(net, t, m);
    if constexpr (std::is_constructible_v<Paths, topology const&, machine const&, double,
                                          shared_moves*>)
      return Paths(t, m, tie, moves);
    else return Paths(t, m, tie);
  }

  /// Returns all choices of a layer. They are computed at the first call for that layer.
  constexpr std::vector<layer_choice> const& all_choices(int layer) {
    auto& list = of_layer_.data()[layer];
    if (list.empty())
      list = layer_choices(net_.layer(layer), paths_.mesh(), trivial_axes::one_row, Paths::orders,
                           net_.updates_apart ? update_places::also_apart
                                              : update_places::as_stored);
    return list;
  }

  constexpr boundary_matrix& matrix(int i) {
    shape const& extents = boundary_extents(net_, i);
    boundary_times const times = times_between(net_, net_.runs(i + 1, again_.least));
    int const left = left_of(i);
    return boundaries_.find(class_index(left), class_index(i + 1), times, extents, [&] {
      return boundary_weights(choices(left), choices(i + 1), extents, net_, times, paths_);
    });
  }

  template <class Filter>
  static constexpr bool lists = requires(std::remove_cvref_t<Filter>& filter) {
    filter.choices(0);
  };

  [[noreturn]] void refuse(int i) const {
    detail::refuse_problem("no placement of layer " + std::to_string(i) + " (" +
                           net_.spec(i).name.text + ") is permitted on this mesh.");
  }

  /// Returns whether the tensors at the boundaries of both ends of a residual block have the
  /// extents that the specs of these ends give.
  constexpr bool sees_itself(int begin) const {
    for (int const i : {begin, net_[begin].partner})
      if (!(x_extents(net_, i) == net_.spec(i).x) || !(y_extents(net_, i) == net_.spec(i).y))
        return false;
    return true;
  }

  constexpr void add(int i, choice_class&& c) {
    int const list = list_of_.data()[i];
    auto const& all = list < 0           ? all_choices(c.layer)
                      : !listed_.empty() ? *listed_.data()[list]
                                         : permitted_.data()[list];
    if (all.empty()) refuse(i);
    fill_class(c, net_, all, paths_, prune_);
    classes_.push_back(static_cast<choice_class&&>(c));
    list_of_class_.push_back(list);
  }

  static constexpr element_bytes nothing_{};

  basic_problem<N> const& net_;
  Paths paths_;
  scratch<int> class_of_;
  /// For each element of the chain, the index of its permitted choices in listed_ or permitted_, or
  /// -1 if all choices are permitted.
  scratch<int> list_of_;
  pruning prune_;
  recomputation again_;
  scratch<std::vector<layer_choice>> of_layer_;       ///< per layer: all its choices
  std::vector<std::vector<layer_choice>> permitted_;  ///< the choices that a predicate permits
  /// The lists that a filter's choices(i) returned. With such a filter, recompute() must not be
  /// called again after the constructor, because the lists may no longer exist.
  std::vector<std::vector<layer_choice> const*> listed_;
  std::vector<choice_class> classes_;
  std::vector<int> list_of_class_;  ///< per class: the list_of_ entry of its elements
  boundary_matrices boundaries_;
};

/// Returns the plan that takes choice number choice[i] for element i, with time and memory
/// predicted from the tables of the model.
template <int N>
constexpr basic_plan<N> make_plan(chain_model<N>& model, scratch<int> const& choice) {
  basic_plan<N> chosen = model.plan_of(choice);
  predict(chosen, model.net(), model.paths());
  return chosen;
}

}  // namespace ashlar::search
