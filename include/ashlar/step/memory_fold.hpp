// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the memory of a training step in serial order (build.hpp), on the rank that needs most.
// The input is the memory that each element needs by itself (memory.hpp). An element is a layer, or
// the begin, turn or end of a residual, skip or branch. The result equals the peak that high_water
// computes from the program, or is an upper bound if micro-batches take turns. This fold needs no
// program: a search adds elements one by one, in the order of the chain.
//
// When element i runs, in its forward pass and in its backward pass, the values that the elements
// before i have saved are in memory. So
//
//   memory = lasting bytes of all elements
//          + the largest of max over i of ( saved before i + bytes that i needs in either pass )
//            and            max over i of ( gradients synchronized before i
//                                           + bytes that i needs to synchronize its gradients )
//            and            all synchronized gradients
//                           + max over i of bytes that i needs to renew its stored parameters
//
// Four cases need additional rules:
//
//   residuals              In the forward pass, the input of a residual is in memory from its begin
//                          to its end. In the backward pass, the gradient of its output is in
//                          memory from its end to its begin. A skip counts as a residual, but the
//                          gradient in memory is that of its input.
//   recomputed segments    Between the passes only the input of the first element is in memory,
//                          instead of saved values. During the recomputation, the gradient that
//                          enters the segment is in memory too.
//   branches               In the forward pass, the input of a branch is in memory until its second
//                          net has read it, and the output of its first net until the end of the
//                          branch. In the backward pass, another gradient is kept while each of the
//                          two nets runs (branch_so_far).
//   equal placements       If a reader uses a value without redistribution, the value counts once.
//
// If a recomputed segment begins inside a residual and both keep the same input, this input counts
// once, as part of the segment.

#include <vector>

#include <ashlar/step/memory.hpp>

namespace ashlar::search {
inline namespace step {

/// Describes which of the two tensors that cross the boundary between two elements of the layer
/// chain must be redistributed.
struct crossing {
  bool activation = false, gradient = false;
};

/// Bytes that the residuals around an element of the layer chain keep in memory: during its forward
/// pass, its backward pass and its recomputation.
struct held_by_residuals {
  std::int64_t forward = 0, backward = 0, again = 0;

  constexpr bool operator==(held_by_residuals const&) const = default;
};

/// The memory that the first elements of a layer chain need, in bytes. memory_fold::next adds one
/// more element. It adds the lasting bytes of this element to all members but `renew`, `y`,
/// `y_own`, `y_again` and `residuals`. "Last element" means the last one that was added, and "next
/// element" the one after it.
struct memory_so_far {
  /// The bytes in memory when the next element's forward pass begins, without `residuals` and
  /// `y_own`.
  std::int64_t forward = 0;
  /// The bytes in memory when the last element's backward pass begins, without `residuals` and its
  /// dy.
  std::int64_t backward = 0;
  std::int64_t again = -1;  ///< peak of an unfinished recomputation, or -1 if there is none
  /// The bytes in memory when the next element synchronizes gradients.
  std::int64_t synchronize = 0;
  std::int64_t renew = 0;  ///< most bytes that an element needs to renew its parameters
  std::int64_t peak = 0;
  std::int64_t y = 0;        ///< bytes of the last element's output
  std::int64_t y_own = 0;    ///< y, or 0 if these bytes are already counted elsewhere
  std::int64_t y_again = 0;  ///< in a recomputation: y, or 0 if these bytes are already counted
  held_by_residuals residuals;

  /// Returns true if a step that begins like this state needs at most as much memory as one that
  /// begins like `other`, for every continuation of the layer chain. Both states must end with the
  /// same choice and be inside residuals with the same choices. Then only `residuals.forward` can
  /// differ in `residuals`: where a recomputed segment holds the input of a residual, this input
  /// counts in `forward` instead.
  ///
  ///   least   lower bound of the memory of any step that begins like `other`, without the lasting
  ///           bytes of later elements
  ///   later   upper bound of the bytes that later elements need to synchronize their gradients and
  ///           to renew their parameters
  constexpr bool is_within(memory_so_far const& other, std::int64_t least,
                           std::int64_t later) const {
    return backward <= other.backward && forward <= other.forward &&
           forward + residuals.forward <= other.forward + other.residuals.forward &&
           peak <= least && again <= other.again && renew <= other.renew &&
           (synchronize <= other.synchronize || synchronize + renew + later <= least);
  }
};

/// The bytes of an element's input x. `own` excludes bytes that the forward pass already counts
/// with another tensor. `again` excludes bytes that the recomputation already counts in this way.
struct input_bytes {
  std::int64_t bytes = 0, own = 0, again = 0;
};

/// What the fold knows of a branch while it adds the elements of the two nets: the input x of the
/// branch, the bytes that residuals around the branch hold, and the bytes of two gradients of the
/// backward pass. `of_second` is the gradient of x from the second net; it is kept while the first
/// net runs. `of_first` is the gradient of the first net's output; it is kept while the second net
/// runs. `is_shared` says that a residual around the branch keeps and counts the gradient
/// `of_first`.
struct branch_so_far {
  input_bytes x;
  held_by_residuals around;
  std::int64_t of_second = 0, of_first = 0;
  bool is_shared = false;
};

/// Adds the elements of a chain to a memory_so_far, one by one. The problem must outlive this
/// object.
template <int N>
class memory_fold {
 public:
  /// Makes an object for plans that use `ranks` ranks and recompute the first `again` segments. A
  /// segment is a part of the layer chain, such as one copy of the layers in nn::repeat.
  constexpr memory_fold(basic_problem<N> const& described, int again, int ranks)
      : net_(described), again_(again), ranks_(ranks) {}

  /// Adds element i of the layer chain to the memory m of the elements before it.
  ///
  ///   before     the memory of element i - 1; null for i = 0
  ///   own        the memory of element i
  ///   moves      which tensors are redistributed at the boundary before i (for i = 0: whether the
  ///              batch is redistributed)
  ///   gradient   if i begins a residual: the bytes of the gradient that the residual's end keeps
  ///              (held_gradient)
  ///   outside    if i ends a residual: the result of outside_of for the residual's begin
  constexpr memory_so_far next(memory_so_far m, int i, element_bytes const* before,
                               element_bytes const& own, crossing moves, std::int64_t gradient,
                               held_by_residuals const& outside) const {
    bool const begin = net_[i].kind == element_kind::residual_begin,
               end = net_[i].kind == element_kind::residual_end, sum = ends_in_sum(net_, i);
    auto const x = enter(m, i, before, own, moves, sum ? held_gradient(i, own, false) : own.dx,
                         sum);
    m.y = begin ? x.bytes : own.y;
    m.y_own = m.y_again = begin ? 0 : own.y;
    if (begin) {
      m.residuals.forward += x.own;
      m.residuals.backward += gradient;
      m.residuals.again += x.again;
    } else if (end) {
      std::int64_t const forward = m.residuals.forward;
      m.residuals = outside;
      if (outside.forward < 0) m.residuals.forward = forward;
    }
    synchronize(m, own);
    return m;
  }

  /// Adds element i of a branch: its begin, its end, or its turn, which is the element between its
  /// first and its second net. The arguments are as for `next`.
  /// When this function adds the begin, it sets `branch.x` and `branch.around`. The caller sets the
  /// other members of `branch` before it adds the begin.
  constexpr memory_so_far next_of_branch(memory_so_far m, int i, element_bytes const* before,
                                         element_bytes const& own, crossing moves,
                                         branch_so_far& branch) const {
    bool const begin = net_[i].kind == element_kind::branch_begin,
               turn = net_[i].kind == element_kind::branch_turn, sum = ends_in_sum(net_, i);
    auto const x = enter(m, i, before, own, moves,
                         turn  ? branch.of_first
                         : sum ? held_gradient(i, own, false)
                               : own.dx,
                         turn ? branch.is_shared : sum);
    if (begin) {
      branch.x = x;
      branch.around = m.residuals;
    }
    held_by_residuals const& around = branch.around;
    m.y = begin ? x.bytes : turn ? branch.x.bytes : own.y;
    m.y_own = begin ? 0 : turn ? branch.x.own : own.y;
    m.y_again = begin ? 0 : turn ? branch.x.again : own.y;
    if (begin) m.residuals.backward = around.backward + branch.of_second;
    else if (turn)
      m.residuals.backward = around.backward + (branch.is_shared ? 0 : branch.of_first);
    else m.residuals = around;
    if (begin || turn) {
      m.residuals.forward = around.forward + x.own;
      m.residuals.again = around.again + x.again;
    }
    synchronize(m, own);
    return m;
  }

  /// Returns the memory of the whole step, in bytes, after `next` has added the last element.
  constexpr std::int64_t whole(memory_so_far m, element_bytes const& last) const {
    std::int64_t const base = m.backward + m.residuals.backward;
    std::int64_t dy = 0;
    if (net_.stages_after) {
      raise(m, base + most_of_move(0, last.dy, ranks_));
      dy = last.dy;
    }
    bool const hands_on = net_.stages_after && ends_in_sum(net_, net_.size() - 1);
    raise(m, base + dy + (hands_on ? 0 : last.backward));
    if (m.again >= 0) raise(m, m.again + dy);
    raise(m, m.synchronize + m.renew);
    return m.peak;
  }

  /// Returns what `next` takes as `outside` for the end of a residual: the bytes that the residuals
  /// around it kept in memory before it began.
  ///
  /// - before: m.residuals before the begin of the residual was added
  /// - behind: m.residuals afterwards
  ///
  /// If the begin adds no bytes of the forward pass, `forward` of the result is -1. This value
  /// tells `next` not to change m.residuals.forward.
  static constexpr held_by_residuals outside_of(held_by_residuals before,
                                                held_by_residuals const& behind) {
    if (behind.forward <= before.forward) before.forward = -1;
    return before;
  }

  /// Element i ends a residual or a branch. Returns the bytes of the gradient that it keeps in
  /// memory until the backward pass reaches the residual's begin or the branch's turn. If `shared`,
  /// an outer residual or branch keeps the same gradient and counts it, so the result is 0. An end
  /// that makes two gradients, such as that of a skip, keeps one of its own, which is never shared.
  constexpr std::int64_t held_gradient(int i, element_bytes const& end, bool shared) const {
    if (makes_two_gradients(net_, i)) return end.skipped;
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

  static constexpr void synchronize(memory_so_far& m, element_bytes const& own) {
    raise(m, m.synchronize + own.synchronize);
    m.synchronize += own.gradients;
    m.renew = own.renew > m.renew ? own.renew : m.renew;
  }

  /// Adds to `m` what every kind of element adds: the lasting bytes and the forward pass of element
  /// i, and the backward pass of element i - 1. This pass receives a gradient of `dx` bytes from
  /// element i. If `held`, this gradient is already counted elsewhere.
  constexpr input_bytes enter(memory_so_far& m, int i, element_bytes const* before,
                              element_bytes const& own, crossing moves, std::int64_t dx,
                              bool held) const {
    m.forward += own.lasting;
    m.backward += own.lasting;
    m.synchronize += own.lasting;
    m.peak += own.lasting;
    if (m.again >= 0) m.again += own.lasting;
    if (before != nullptr) go_back(m, i, *before, dx, held, moves.gradient);
    return go_forward(m, i, own, moves.activation || (i == 0 && net_.stages_before));
  }

  /// Adds the memory of element i of the layer chain to `m`: for its forward pass, and for its
  /// recomputation if there is one. `moves` says whether the input x of element i is the result of
  /// a redistribution.
  constexpr input_bytes go_forward(memory_so_far& m, int i, element_bytes const& own,
                                   bool moves) const {
    forward_runs const runs = net_.runs(i, again_);
    std::int64_t const moving = moves ? most_of_move(m.y, own.x, ranks_) : 0;
    raise(m, m.forward + m.residuals.forward + (moves ? m.y_own + moving : 0));
    if (runs == forward_runs::twice)
      raise_again(m, m.backward + m.residuals.again + (moves ? m.y_again + moving : 0));
    input_bytes x{moves ? own.x : m.y, moves ? own.x : m.y_own, moves ? own.x : m.y_again};
    if (runs == forward_runs::twice_from_here) {  // x is held until this element runs again
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

  /// Adds the memory of the backward pass of element i - 1 of the layer chain to `m`. This pass
  /// receives a gradient of `dx` bytes from element i. If `held`, this gradient is already counted
  /// elsewhere. If `moves`, the gradient is redistributed first.
  constexpr void go_back(memory_so_far& m, int i, element_bytes const& before, std::int64_t dx,
                         bool held, bool moves) const {
    std::int64_t const base = m.backward + m.residuals.backward, waiting = held ? 0 : dx;
    if (moves) raise(m, base + waiting + most_of_move(dx, before.dy, ranks_));
    if (!ends_in_sum(net_, i - 1)) raise(m, base + (moves ? before.dy : waiting) + before.backward);
    if (!ends_recomputed_segment(net_, i - 1, again_)) return;
    raise(m, m.again + waiting);
    m.again = -1;
    m.backward = m.forward;
  }

  basic_problem<N> const& net_;
  int again_, ranks_;
};

/// Element `end` ends a residual or a branch and keeps a gradient in memory. Returns whether an
/// outer residual or branch keeps and counts the same gradient. `moves(i)` returns which tensors
/// are redistributed at the boundary before element i.
template <int N, class Moves>
constexpr bool shares_gradient(basic_problem<N> const& net, int end, Moves const& moves) {
  int const next = end + 1;
  if (!ends_in_sum(net, end) || next == net.size() || moves(next).gradient) return false;
  if (ends_in_sum(net, next)) return true;
  return net[next].kind == element_kind::branch_turn &&
         shares_gradient(net, net[next].partner, moves);
}

/// Returns the memory of a whole layer chain, in bytes. `bytes(i)` returns the memory of element i,
/// and `moves(i)` returns which tensors are redistributed at the boundary before element i.
template <int N, class Bytes, class Moves>
constexpr std::int64_t fold_memory(basic_problem<N> const& net, int again, int ranks,
                                   Bytes const& bytes, Moves const& moves) {
  memory_fold<N> const fold(net, again, ranks);
  memory_so_far m;
  std::vector<held_by_residuals> outside;
  std::vector<branch_so_far> branches;
  int const n = net.size();
  for (int i = 0; i < n; ++i) {
    if (is_of_branch(net[i].kind)) {
      if (net[i].kind == element_kind::branch_begin) {
        int const turn = net[i].partner, end = net[turn].partner;
        branches.push_back({{},
                            {},
                            bytes(turn).dy,
                            fold.held_gradient(end, bytes(end), false),
                            shares_gradient(net, end, moves)});
      }
      auto& own = branches.back();
      m = fold.next_of_branch(m, i, i == 0 ? nullptr : &bytes(i - 1), bytes(i), moves(i), own);
      if (ends_branch(net[i].kind)) branches.pop_back();
      continue;
    }
    std::int64_t gradient = 0;
    held_by_residuals around = m.residuals;
    if (net[i].kind == element_kind::residual_begin) {
      int const end = net[i].partner;
      gradient = fold.held_gradient(end, bytes(end), shares_gradient(net, end, moves));
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

/// Returns the memory that element i of the layer chain needs under a plan.
template <int N>
constexpr element_bytes memory_of(basic_problem<N> const& net, basic_plan<N> const& chosen, int i) {
  int const again = chosen.recomputed;
  element_role const role{net[i].kind, x_extents(net, i), y_extents(net, i), net.runs(i, again),
                          part_held(net, i, again)};
  return memory_of(net, net.spec(i), role, chosen[i], chosen.mesh);
}

/// Returns which tensors are redistributed at the boundary before element i of the layer chain.
template <int N>
constexpr crossing crossing_of(basic_plan<N> const& chosen, int i) {
  if (i == 0) return {!(chosen[0].x == placement::all_broadcast(chosen.mesh.axes())), false};
  return {!(chosen[i - 1].y == chosen[i].x), !(chosen[i].dx == chosen[i - 1].dy)};
}

/// Returns the bytes of memory that a plan needs, also in its plain steps, on the rank that needs
/// most.
template <int N>
constexpr std::int64_t memory_per_rank(basic_problem<N> const& net, basic_plan<N> const& chosen) {
  std::vector<element_bytes> list;
  for (int i = 0; i < net.size(); ++i) list.push_back(memory_of(net, chosen, i));
  std::int64_t const bytes = fold_memory(
      net, chosen.recomputed, chosen.mesh.ranks(),
      [&](int i) -> element_bytes const& { return list.data()[i]; },
      [&](int i) { return crossing_of(chosen, i); });
  if (!is_plain_step(chosen, 0)) return bytes;
  std::int64_t const plain = memory_per_rank(net, without_wires(chosen));
  return bytes > plain ? bytes : plain;
}

}  // namespace step
}  // namespace ashlar::search
