// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The part of a micro-batch that one rank reads. The part follows from the rank's program and the
// placements of the plan:
//
//   input     the box of the input that remains on the rank after the program's slices of the
//             input (redistributions without communication). If the program also reads the
//             input in another way, for example to send it, this box is the whole input.
//   context   the samples (indices of dim 0) whose context the rank's layers read. A context is
//             a part of the batch beside the input (layer_spec::context).
//   target    the box of the targets that belong to the rank's part of the loss's input
//
// In a pipeline, a rank's box is empty if none of the rank's stages reads these data.

#include <algorithm>

#include <ashlar/nn/describe.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::nn {

/// The boxes of a micro-batch's input, context and targets that one rank reads. The context is a
/// part of the batch beside the input, such as captions (layer_spec::context). Its box is empty if
/// no layer reads one.
struct batch_part {
  box input, context, target;
  bool counts_targets = false;  ///< whether no rank before this one has the same box of targets
  friend bool operator==(batch_part const&, batch_part const&) = default;
};

namespace detail {

/// Replaces `a` by the smallest box that contains `a` and `b`.
inline void add_box(box& a, box const& b) {
  if (b.elements() == 0) return;
  if (a.elements() == 0) a = b;
  for (int d = 0; d < a.rank(); ++d) {
    auto const end = std::max(a[d].end(), b[d].end());
    a.dim[d].begin = std::min(a[d].begin, b[d].begin);
    a.dim[d].size = end - a[d].begin;
  }
}

}  // namespace detail

/// Returns the part of each micro-batch that the rank at coordinates `at` of the program's mesh
/// reads. `input` and `targets` are the extents of a micro-batch. Communicates nothing.
inline batch_part part_of_batch(search::step::program const& p, search::problem const& net,
                                search::plan const& plan, shape const& input, shape const& targets,
                                coordinates const& at) {
  auto const context = context_extents(net);
  auto const everywhere = placement::all_broadcast(p.mesh.axes());
  batch_part made{empty_box(input.rank()), empty_box(context.rank()), empty_box(targets.rank())};
  for (auto const& a : p.actions) {
    using enum search::step::action_kind;
    if (a.kind == end_move || a.kind == end_send || a.kind == release) continue;
    for (int const v : a.reads) {
      if (p.value_of(v).kind != search::step::value_kind::data) continue;
      bool const moves = a.kind == begin_move && p.path_of(p.move_of(a)).is_local();
      detail::add_box(made.input, local_box(input, p.mesh,
                                            moves ? p.path_of(p.move_of(a)).to : everywhere, at));
    }
    if (a.kind != forward && a.kind != recompute) continue;
    auto const& x = plan[a.element].x;
    if (a.element + 1 == p.elements) {
      auto const like_x = search::step::split_like_x(x, targets.rank());
      detail::add_box(made.target, local_box(targets, p.mesh, like_x, at));
      made.counts_targets = is_representative(like_x, at);
    }
    if (context.rank() > 0 && net[a.element].kind == search::element_kind::layer &&
        net.spec(a.element).context.rank() > 0)
      detail::add_box(made.context,
                      local_box(context, p.mesh, search::step::split_like_x(x, 1), at));
  }
  return made;
}

}  // namespace ashlar::nn
