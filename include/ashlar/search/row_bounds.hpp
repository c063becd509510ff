// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the choices of each layer that can be part of a plan of at most a given weight (seconds,
// plus a tiny amount per collective). Shard order is ignored. by_roles.hpp needs these choices to
// prove that a plan is optimal. A choice c of an element is found if F(c) + B(c) is at most the
// given weight:
//
//   F(c)   the least weight of the chain up to and including this element, if it takes choice c
//   B(c)   the least weight of all later elements, if this element takes choice c
//
// If c is inside a residual block, the ends of the block may take different choices in F(c) and
// B(c). The other elements take only undominated choices (choice_class.hpp). But c itself may be
// any choice, because a choice that is dominated without shard order may be needed with shard
// order.
//
// Equal residual blocks with equal neighbours share one result, computed from the least F and the
// least B of all these blocks. F grows and B shrinks along the chain. So the least F at the begin
// of each block is first subtracted from all F of the block and added to all its B. This makes the
// blocks comparable.

#include <ashlar/search/bounded_choices.hpp>
#include <ashlar/search/role_moves.hpp>

namespace ashlar::search {

template <int N>
class row_bounds {
 public:
  using model_type = chain_model<N, role_moves>;

  /// Finds the choices that can be part of a plan whose weight (seconds, plus a tiny amount per
  /// collective) is at most `upper`. `all` is a model of the chain that still has all choices.
  constexpr row_bounds(model_type& all, basic_problem<N> const& chain, topology const& t,
                       machine const& m, double upper)
      : all_(all), model_(chain, t, m, any_choice{}, pruning::by_time), bounds_(model_),
        upper_(upper * (1 + 1e-9)), keep_(static_cast<std::size_t>(all.classes())) {
    bounds_.restrict(upper_);
    for (int k = 0; k < all.classes(); ++k)
      keep_.data()[k] = scratch<char>(all.class_at(k).weight.size());
    find();
  }

  /// Returns an entry for each choice of class k (a set of equal elements) of the constructor's
  /// model `all`. The entry is 1 if, according to F and B, a plan of at most the given weight can
  /// contain the choice, and otherwise 0.
  constexpr scratch<char> const& keep(int k) const { return keep_.data()[k]; }

 private:
  using values = scratch<scratch<double>>;

  /// A residual block, or several equal blocks with equal neighbours, which share one result. F and
  /// B are those of the head of this file, for each choice. F grows along the chain and B shrinks,
  /// so `level` is subtracted from all F of a block and added to all its B. The members have the
  /// least F and the least B over the blocks.
  struct place {
    int begin;
    scratch<double> before, after;  ///< F of the begin and B of the end, per choice
    values around{2};  ///< F of the element before the block, B of the one after it, per choice
    double level = unreachable;  ///< the least F of the begin
  };

  constexpr void find() {
    chain_solver<N, role_moves> solver(model_);
    int const last = model_.size() - 1;
    auto const size = static_cast<std::size_t>(model_.size());
    values before(size), after(size);
    solver.forward(0, last, model_.from_source(), &before);
    solver.backward(0, last, scratch<double>(model_.choices(last).weight.size()), after);
    std::vector<place> places;
    for (int i = 0; i <= last; ++i) {
      if (model_.kind(i) == element_kind::layer) {
        mark(i, before, after);
        continue;
      }
      int const end = model_.partner(i);
      place here{i, before.data()[i], after.data()[end]};
      if (i > 0) here.around.data()[0] = before.data()[i - 1];
      if (end < last) here.around.data()[1] = after.data()[end + 1];
      for (double const v : here.before) here.level = std::min(here.level, v);
      for (auto* list : {&here.before, &here.around.data()[0]})
        for (double& v : *list) v -= here.level;
      for (auto* list : {&here.after, &here.around.data()[1]})
        for (double& v : *list) v += here.level;
      add(places, here);
      i = end;
    }
    for (place const& it : places) {
      mark_ends(it);
      mark_inside(solver, it);
    }
  }

  /// Returns whether the residual blocks that begin at a and b are equal and have equal neighbours.
  constexpr bool alike(int a, int b) const {
    if (!model_.alike(a, b) || (a == 0) != (b == 0)) return false;
    int const end_a = model_.partner(a) + 1, end_b = model_.partner(b) + 1;
    if ((end_a == model_.size()) != (end_b == model_.size())) return false;
    return (a == 0 || same(a - 1, b - 1)) && (end_a == model_.size() || same(end_a, end_b));
  }
  constexpr bool same(int i, int j) const {
    return model_.class_index(i) == model_.class_index(j) && model_.kind(i) == model_.kind(j);
  }

  constexpr void add(std::vector<place>& places, place const& here) const {
    auto const lower = [](scratch<double>& list, scratch<double> const& other) {
      for (std::size_t c = 0; c < list.size(); ++c)
        list.data()[c] = std::min(list.data()[c], other.data()[c]);
    };
    for (place& it : places) {
      if (!alike(it.begin, here.begin)) continue;
      lower(it.before, here.before);
      lower(it.after, here.after);
      for (int side : {0, 1}) lower(it.around.data()[side], here.around.data()[side]);
      return;
    }
    places.push_back(here);
  }

  constexpr void mark_inside(chain_solver<N, role_moves>& solver, place const& it) {
    int const end = model_.partner(it.begin);
    if (end == it.begin + 1) return;
    auto const size = static_cast<std::size_t>(model_.size());
    values before(size), after(size);
    before.data()[it.begin] = it.before;
    after.data()[end] = it.after;
    solver.forward(it.begin + 1, end - 1, solver.advance(it.begin, it.before), &before);
    solver.backward(it.begin + 1, end - 1, solver.retreat(end - 1, it.after), after);
    for (int i = it.begin + 1; i < end; i = solver.skip_inside(i) + 1) {
      if (model_.kind(i) == element_kind::layer) {
        mark(i, before, after);
        continue;
      }
      for (int j = i; j < model_.partner(i); ++j)
        if (model_.kind(j) != element_kind::residual_end)
          for (char& kept : keep_.data()[all_.class_index(j)]) kept = 1;
    }
  }

  constexpr void mark(int i, values const& before, values const& after) {
    auto const to = i == 0 ? all_.from_source() : reach(i, before.data()[i - 1]);
    auto const& own = all_.choices(i).weight;
    mark(i, to, own,
         i + 1 == model_.size() ? scratch<double>(own.size()) : leave(i, after.data()[i + 1]));
  }

  constexpr void mark_ends(place const& it) {
    int const end = model_.partner(it.begin);
    auto const& between = bounds_.ends(it.begin);
    auto to = it.begin == 0 ? all_.from_source() : reach(it.begin, it.around.data()[0]);
    if (it.begin == 0)
      for (double& v : to) v -= it.level;
    mark(it.begin, to, between,
         end + 1 == model_.size() ? scratch<double>(between.size(), it.level)
                                  : leave(end, it.around.data()[1]));
  }

  constexpr void mark(int i, scratch<double> const& to, scratch<double> const& at,
                      scratch<double> const& from) {
    char* const keep = keep_.data()[all_.class_index(i)].data();
    for (std::size_t k = 0; k < at.size(); ++k)
      keep[k] |= to.data()[k] + at.data()[k] + from.data()[k] <= upper_;
  }

  /// Returns the least weight of everything before element i, for each choice of element i of the
  /// model all_. The result includes the moves from element i - 1. before[j] is the least weight up
  /// to and including choice j of element i - 1.
  constexpr scratch<double> reach(int i, scratch<double> const& before) {
    choice_class const &left = model_.choices(i - 1), &c = all_.choices(i);
    auto const ways = boundary(i - 1, left, c);
    scratch<double> value(c.weight.size(), unreachable);
    double const* way = ways.data();
    for (int j = 0; j < left.size(); ++j)
      for (double& v : value) v = std::min(v, before.data()[j] + *way++);
    return value;
  }

  /// Returns the least weight of everything after element i, for each choice of element i of the
  /// model all_. The result includes the moves to element i + 1. after[j] is the least weight after
  /// choice j of element i + 1.
  constexpr scratch<double> leave(int i, scratch<double> const& after) {
    choice_class const &c = all_.choices(i), &right = model_.choices(i + 1);
    auto const ways = boundary(i, c, right);
    bool const counted = model_.kind(i + 1) == element_kind::residual_end;
    scratch<double> value(c.weight.size(), unreachable);
    double const* way = ways.data();
    for (double& v : value)
      for (int j = 0; j < right.size(); ++j)
        v = std::min(v, after.data()[j] + (counted ? 0 : right.weight.data()[j]) + *way++);
    return value;
  }

  /// Returns the weights of the moves between elements i (choices `left`) and i + 1 (choices
  /// `right`) for all pairs of choices. One of the two classes belongs to the model all_, the other
  /// one to model_.
  constexpr scratch<double> boundary(int i, choice_class const& left, choice_class const& right) {
    auto const& net = model_.net();
    return boundary_weights(left, right, boundary_extents(net, i), net,
                            times_between(net, net.runs(i + 1, net.recomputed)), model_.paths());
  }

  model_type& all_;
  model_type model_;
  bounded_choices<N, role_moves> bounds_;
  double upper_;
  scratch<scratch<char>> keep_;  ///< the result: for each class of all_, a flag per choice
};

}  // namespace ashlar::search
