// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The memory of the fullest rank over a step in serial order (build.hpp), from what its elements need on
// their own (memory.hpp). It equals high_water of the program, but needs no program: the elements are
// added one by one in the order of the chain, as a search does it.
//
//   what is saved in front of element i is there when i runs forward and when it runs backward, so
//
//   memory = lasting of all + max over elements i of  ( saved in front of i + what i needs )
//                         and max over elements i of  ( gradients synchronized before i + what i needs )
//
// Three things hold more than that while other elements run:
//
//   residuals              the input from their begin to their end, and backward the gradient from their
//                          end to their begin
//   recomputed segments    the input of their first element between the passes, in place of what they
//                          save; while they are recomputed also the gradient that waits behind them
//   values not moved       one that its reader takes as it was made is counted once
//
// Where a recomputed segment begins inside a residual, with its very input, that input is counted as the
// segment's.

#include <vector>

#include <ashlar/step/memory.hpp>

namespace ashlar::search {
inline namespace step {

/// Whether the two tensors of a boundary move.
struct crossing {
  bool activation = false, gradient = false;
};

/// Bytes that the residuals hold which an element is inside of: while it runs forward, backward, and once
/// more forward.
struct held_by_residuals {
  std::int64_t forward = 0, backward = 0, again = 0;
};

/// The memory of a step whose elements are known up to one of them. Bytes; all but `y` and `y_own` grow
/// with what later elements keep for the whole step.
struct memory_so_far {
  std::int64_t forward = 0;      ///< held when the next element runs forward
  std::int64_t backward = 0;     ///< held when the last one has run backward
  std::int64_t again = -1;       ///< the most while an open segment is recomputed; -1: none is open
  std::int64_t synchronize = 0;  ///< held when the next element synchronizes its gradients
  std::int64_t peak = 0;
  std::int64_t y = 0;      ///< of what the last element hands on
  std::int64_t y_own = 0;  ///< of that, what nobody else holds
  held_by_residuals residuals;

  /// Whether any later elements need no more memory after this than after `other`. Both must end with the
  /// same choice, inside of residuals of the same choices. `least` is a lower bound of the memory of a step
  /// that begins as `other` does, without what later elements keep for the whole step; `later` is an upper
  /// bound of what later elements need while they synchronize their gradients.
  constexpr bool is_within(memory_so_far const& other, std::int64_t least,
                           std::int64_t later) const {
    return backward <= other.backward && forward <= other.forward && peak <= least &&
           again <= other.again &&
           (synchronize <= other.synchronize || synchronize + later <= least);
  }
};

/// Adds elements to a memory_so_far. The problem has to outlive this.
template <int N>
class memory_fold {
 public:
  /// For plans that recompute the first `again` segments, on so many ranks.
  constexpr memory_fold(basic_problem<N> const& described, int again, int ranks)
      : net_(described), again_(again), ranks_(ranks) {}

  /// Adds element i. `before`: the one in front of it, if there is one; `moves`: across the boundary
  /// between them, or of the batch. `gradient`: of a residual's begin, what its end holds (held_gradient);
  /// `outside`: of a residual's end, what was held in front of its begin.
  constexpr memory_so_far next(memory_so_far m, int i, element_bytes const* before,
                               element_bytes const& own, crossing moves, std::int64_t gradient,
                               held_by_residuals const& outside) const {
    bool const begin = net_[i].kind == element_kind::residual_begin,
               end = net_[i].kind == element_kind::residual_end;
    for (auto* bytes : {&m.forward, &m.backward, &m.synchronize, &m.peak}) *bytes += own.lasting;
    if (m.again >= 0) m.again += own.lasting;
    if (before != nullptr)
      go_back(m, i, *before, end ? held_gradient(i, own, false) : own.dx, end, moves.gradient);
    auto const x = go_forward(m, i, own, moves.activation || (i == 0 && net_.stages_before));
    m.y = begin ? x.bytes : own.y;
    m.y_own = begin ? 0 : own.y;
    if (begin) {
      m.residuals.forward += x.own;
      m.residuals.backward += gradient;
      m.residuals.again += x.again;
    } else if (end) {
      std::int64_t const forward = m.residuals.forward;
      m.residuals = outside;
      if (outside.forward < 0) m.residuals.forward = forward;
    }
    raise(m, m.synchronize + own.synchronize);
    m.synchronize += own.gradients;
    return m;
  }

  /// The memory of the whole step, after its last element.
  constexpr std::int64_t whole(memory_so_far m, element_bytes const& last) const {
    std::int64_t const base = m.backward + m.residuals.backward;
    std::int64_t dy = 0;
    if (net_.stages_after) {
      raise(m, base + most_of_move(0, last.dy, ranks_));
      dy = last.dy;
    }
    bool const hands_on = net_.stages_after &&
                          net_[net_.size() - 1].kind == element_kind::residual_end;
    raise(m, base + dy + (hands_on ? 0 : last.backward));
    if (m.again >= 0) raise(m, m.again + dy);
    return m.peak;
  }

  /// What the residual's end is given as `outside`, from what was held before and behind its begin. Where
  /// the begin holds nothing of its own forward, its end leaves that as it is: forward is -1.
  static constexpr held_by_residuals outside_of(held_by_residuals before,
                                                held_by_residuals const& behind) {
    if (behind.forward <= before.forward) before.forward = -1;
    return before;
  }

  /// The bytes of the gradient that the residual's end i holds for its begin. `shared`: an outer residual
  /// that ends right behind it holds that very gradient.
  constexpr std::int64_t held_gradient(int i, element_bytes const& end, bool shared) const {
    bool const last = i + 1 == net_.size() && !net_.stages_after;
    return shared ? 0 : last ? end.dx : end.dy;
  }

 private:
  static constexpr void raise(memory_so_far& m, std::int64_t bytes) {
    m.peak = bytes > m.peak ? bytes : m.peak;
  }
  static constexpr void raise_again(memory_so_far& m, std::int64_t bytes) {
    m.again = bytes > m.again ? bytes : m.again;
  }

  /// What element i reads: its bytes, and those of them that nobody else holds while it runs forward, and
  /// once more forward.
  struct input {
    std::int64_t bytes, own, again;
  };

  /// The forward pass of element i, and its second one. `moves`: its x comes by a move.
  constexpr input go_forward(memory_so_far& m, int i, element_bytes const& own, bool moves) const {
    forward_runs const runs = net_.runs(i, again_);
    std::int64_t const moving = moves ? m.y_own + most_of_move(m.y, own.x, ranks_) : 0;
    raise(m, m.forward + m.residuals.forward + moving);
    if (runs == forward_runs::twice) raise_again(m, m.backward + m.residuals.again + moving);
    input x{moves ? own.x : m.y, moves ? own.x : m.y_own, moves ? own.x : m.y_own};
    if (runs == forward_runs::twice_from_here) {  // x is held until this runs again
      m.residuals.forward -= x.bytes - x.own;
      m.residuals.again = m.residuals.backward;
      m.again = m.backward;
      m.forward += x.bytes;
      x.own = 0;
      x.again = x.bytes;
    }
    raise(m, m.forward + m.residuals.forward + x.own + own.forward);
    if (runs == forward_runs::once) m.forward += own.saved;
    else raise_again(m, m.backward + m.residuals.again + x.again + own.again);
    m.backward += own.saved;
    return x;
  }

  /// The backward pass of the element in front of i, to which i hands on a gradient of so many bytes;
  /// `held`: somebody else holds it.
  constexpr void go_back(memory_so_far& m, int i, element_bytes const& before, std::int64_t dx,
                         bool held, bool moves) const {
    std::int64_t const base = m.backward + m.residuals.backward, waiting = held ? 0 : dx;
    if (moves) raise(m, base + waiting + most_of_move(dx, before.dy, ranks_));
    if (net_[i - 1].kind != element_kind::residual_end)
      raise(m, base + (moves ? before.dy : waiting) + before.backward);
    if (!ends_recomputed_segment(net_, i - 1, again_)) return;
    raise(m, m.again + waiting);
    m.again = -1;
    m.backward = m.forward;
  }

  basic_problem<N> const& net_;
  int again_, ranks_;
};

/// The memory of a whole chain. `bytes(i)`: of element i; `moves(i)`: across the boundary in front of it.
template <int N, class Bytes, class Moves>
constexpr std::int64_t fold_memory(basic_problem<N> const& net, int again, int ranks,
                                   Bytes const& bytes, Moves const& moves) {
  memory_fold<N> const fold(net, again, ranks);
  memory_so_far m;
  std::vector<held_by_residuals> outside;
  int const n = net.size();
  for (int i = 0; i < n; ++i) {
    std::int64_t gradient = 0;
    held_by_residuals around = m.residuals;
    if (net[i].kind == element_kind::residual_begin) {
      int const end = net[i].partner;
      bool const shared = end + 1 < n && net[end + 1].kind == element_kind::residual_end &&
                          !moves(end + 1).gradient;
      gradient = fold.held_gradient(end, bytes(end), shared);
    } else if (net[i].kind == element_kind::residual_end) {
      around = outside.back();
      outside.pop_back();
    }
    if (i == 0) m = fold.next(m, i, nullptr, bytes(i), moves(i), gradient, around);
    else {
      auto const& before = bytes(i - 1);
      m = fold.next(m, i, &before, bytes(i), moves(i), gradient, around);
    }
    if (net[i].kind == element_kind::residual_begin)
      outside.push_back(fold.outside_of(around, m.residuals));
  }
  return fold.whole(m, bytes(n - 1));
}

/// What element i does to the memory under a plan.
template <int N>
constexpr element_bytes memory_of(basic_problem<N> const& net, basic_plan<N> const& chosen, int i) {
  int const again = chosen.recomputed;
  element_role const role{net[i].kind, x_extents(net, i), y_extents(net, i), net.runs(i, again),
                          part_held(net, i, again)};
  return memory_of(net, net.spec(i), role, chosen[i], chosen.mesh);
}

/// Whether the tensors of the boundary in front of element i move.
template <int N>
constexpr crossing crossing_of(basic_plan<N> const& chosen, int i) {
  if (i == 0) return {!(chosen[0].x == placement::all_broadcast(chosen.mesh.axes())), false};
  return {!(chosen[i - 1].y == chosen[i].x), !(chosen[i].dx == chosen[i - 1].dy)};
}

/// Bytes per rank of a plan's choices.
template <int N>
constexpr std::int64_t memory_per_rank(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  std::vector<element_bytes> list;
  for (int i = 0; i < net.size(); ++i) list.push_back(memory_of(net, chosen, i));
  return fold_memory(
      net, chosen.recomputed, chosen.mesh.ranks(),
      [&](int i) -> element_bytes const& { return list.data()[i]; },
      [&](int i) { return crossing_of(chosen, i); });
}

}  // namespace step
}  // namespace ashlar::search
