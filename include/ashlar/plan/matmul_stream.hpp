// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans of a matrix product that run in panels, for use when memory is short. A panel is a part of
// the operands and the result along one dim of the product. This streamed dim is named by its
// letter. The redistributions of the tensors that have this dim, and the GEMM, run once per panel.
// So only the panels in use are in memory. SUMMA is the case in which the letter is k and both
// operands move.
//
//   letter   streamed          not streamed   result
//   k        a, b              -              summed over the panels, then redistributed once
//   m        a, c              b (first)      redistributed by panels
//   n        b, c              a (first)      redistributed by panels
//   b        a, b, c           -              redistributed by panels
//
// The streamed dim is cut into chunks such that each shard consists of complete chunks. Each chunk
// is cut into `count` balanced slices. Panel i consists of slice i of every chunk. So each rank has
// its part of every panel in its own shard, and a panel has the same placement as its tensor.
// Indices have another order in a panel than in the tensor, but the same order in all tensors with
// the letter.
//
// The placement is the same for this reason: nested balanced splits make parts that differ by at
// most one item, with larger parts first. The ranks' parts of a panel have the same property, so
// they are a balanced split of the panel.
//
// Whether a letter can be streamed depends on the tensors that have this letter. a and b are
// considered at their given placements, and c at its wanted placement. For each of these tensors,
// list the extents of the mesh axes that split the streamed dim, outermost first and without 1s.
// Every two lists must satisfy one of two conditions:
//
//   1. One list is a prefix of the other, as with [2] and [2,3], or [] and [4]. The longer
//      list determines the chunks. The dim may have any extent.
//   2. The extent of the dim is a multiple of the product of each list. Examples are [2] and [4] if
//      4 divides the extent, and [2,3] and [3,2] if 6 divides the extent. The number of chunks is
//      the least common multiple of the two products, which may be at most 2^20.
//
// Two sets of operand panels are in memory, so that the transfers of one panel overlap with the
// GEMM of another. The seconds are
//
//   whole + in + (count - 1) · max(gemm, in + out) + gemm + out + result
//
//   whole    redistributions of an operand that is not streamed
//   in       redistributions of the operands, for the largest panel
//   gemm     the GEMM, for the largest panel
//   out      redistributions of the result, for the largest panel
//   result   redistributions of a result that is not streamed
//
// Copies of slices and packing are not priced. If the panels split evenly, a rank receives as many
// bytes as without panels. Otherwise some ranks receive a few elements more.

#include <ashlar/plan/matmul_memory.hpp>

namespace ashlar {

/// The division of a streamed dim into panels. The dim is cut into chunks, and each chunk is cut
/// into slices. Panel i consists of slice i of every chunk.
struct panel_cuts {
  std::int64_t extent;
  panel_stream const& stream;

  constexpr int chunks() const {
    int n = 1;
    for (int const e : stream.chunks) n *= e;
    return n;
  }
  constexpr interval chunk(int index) const {
    interval all{0, extent};
    int below = chunks();
    for (int const e : stream.chunks) {
      below /= e;
      all = balanced_part(all, e, index / below);
      index %= below;
    }
    return all;
  }
  constexpr interval slice(int index, int panel) const {
    return balanced_part(chunk(index), stream.count, panel);
  }
  /// Returns the extent of panel number `panel` along the streamed dim.
  constexpr std::int64_t panel_extent(int panel) const {
    std::int64_t n = 0;
    for (int i = 0; i < chunks(); ++i) n += slice(i, panel).size;
    return n;
  }
};

namespace detail {

/// Returns the extents of the mesh axes that split `dim`, outermost first, without axes of extent
/// 1.
constexpr inplace_vector<int, max_axes> split_extents(placement const& p, int dim,
                                                      topology const& t) {
  inplace_vector<int, max_axes> list;
  for (auto const a : p.axes_of(dim))
    if (t.extent(a) > 1) list.push_back(t.extent(a));
  return list;
}

constexpr std::int64_t product_of(inplace_vector<int, max_axes> const& list) {
  std::int64_t n = 1;
  for (int const e : list) n *= e;
  return n;
}

/// Adapts the division of the streamed dim into chunks (panel_stream) to one more tensor.
/// Afterwards the shards of that tensor consist of complete chunks, too. `list` contains the
/// extents of the mesh axes that split the streamed dim of that tensor. Returns false if no
/// division suits all tensors.
constexpr bool join_chunks(inplace_vector<int, max_axes>& chunks,
                           inplace_vector<int, max_axes> const& list, std::int64_t extent) {
  auto const& longer = list.size() > chunks.size() ? list : chunks;
  bool continues = true;
  for (int i = 0; i < list.size() && i < chunks.size(); ++i)
    continues = continues && list[i] == chunks[i];
  if (continues) {
    chunks = inplace_vector<int, max_axes>(longer);
    return true;
  }
  std::int64_t const x = product_of(chunks), y = product_of(list);
  std::int64_t common = x;
  while (common % y != 0) common += x;
  if (extent % common != 0 || common > (1 << 20)) return false;
  chunks = {static_cast<int>(common)};
  return true;
}

/// One tensor of a product that runs in panels: its redistribution plan, and the placement `end` at
/// which it is cut into panels. `end` is the given placement of an operand or the wanted placement
/// of the result.
struct streamed_tensor {
  redistribution_plan const* plan;
  placement const* end;
  int dim;  ///< index of the streamed dim, or -1 if the tensor does not have it
};

constexpr inplace_vector<streamed_tensor, 3> tensors_of(matmul_plan const& plan, char letter) {
  auto const names = plan.letters();
  return {{&plan.a, &plan.a.from, names.dim_of(names.a, letter)},
          {&plan.b, &plan.b.from, names.dim_of(names.b, letter)},
          {&plan.c, &plan.c.to, names.dim_of(names.c, letter)}};
}

}  // namespace detail

/// Chooses how `plan.panels` cuts the streamed dim into chunks (panel_stream). Returns false if no
/// division suits all tensors, or if the first chunk has fewer indices than there are panels.
constexpr bool choose_chunks(matmul_plan& plan, topology const& t) {
  auto& panels = plan.panels;
  panels.chunks.clear();
  std::int64_t extent = 0;
  for (auto const& x : detail::tensors_of(plan, panels.letter)) {
    if (x.dim < 0) continue;
    extent = x.plan->extents[x.dim];
    if (!detail::join_chunks(panels.chunks, detail::split_extents(*x.end, x.dim, t), extent))
      return false;
  }
  return panel_cuts{extent, panels}.chunk(0).size >= panels.count;
}

/// Returns the redistribution plan of panel `i` of a tensor, whose dim `dim` is streamed. If dim is
/// negative, returns the plan of the whole tensor.
constexpr redistribution_plan panel_plan(redistribution_plan plan, panel_stream const& panels,
                                         int dim, int i, topology const& t, machine const& m) {
  if (dim < 0) return plan;
  plan.extents[dim] = panel_cuts{plan.extents[dim], panels}.panel_extent(i);
  detail::finish(plan, t, m);
  return plan;
}

/// Returns whether each shard of a tensor at placement `end` is exactly one chunk (see
/// panel_stream).
constexpr bool shards_are_chunks(panel_stream const& panels, placement const& end, int dim,
                                 topology const& t) {
  return detail::product_of(detail::split_extents(end, dim, t)) ==
         detail::product_of(panels.chunks);
}

/// Returns whether the GEMM can read or write each panel inside the tensor's shard, without copies
/// or redistributions.
constexpr bool panels_in_place(matmul_plan const& plan, redistribution_plan const& of,
                               placement const& end, int dim, topology const& t) {
  return of.steps.empty() && shards_are_chunks(plan.panels, end, dim, t);
}

/// Returns whether an operand is redistributed and, for every panel, a rank's part of the panel is
/// contiguous in the rank's shard. Such parts can be sent without a copy.
constexpr bool slices_are_runs(panel_stream const& panels, redistribution_plan const& of, int dim,
                               topology const& t) {
  box const shard = local_box(of.extents, t, of.from, {});
  for (int d = 0; d < dim; ++d)
    if (shard[d].size > 1) return false;
  return !of.steps.empty() && shards_are_chunks(panels, of.from, dim, t);
}

namespace detail {

/// Returns the seconds of the local GEMM of one panel.
constexpr double panel_gemm_seconds(matmul_plan const& plan, machine const& on) {
  gemm_extents const& whole = plan.gemm;
  gemm_extents panel = whole;
  char const letter = plan.panels.letter;
  int const count = plan.panels.count;
  if (letter == 'm') panel.m = (whole.m + count - 1) / count;
  if (letter == 'n') panel.n = (whole.n + count - 1) / count;
  if (letter == 'k') panel.k = (whole.k + count - 1) / count;
  return plan.gemm_seconds / count * gemm_stretch(on, panel.m, panel.n, panel.k) /
         gemm_stretch(on, whole.m, whole.n, whole.k);
}

}  // namespace detail

/// Computes the seconds and the peak memory of a plan that runs in panels. A streamed operand has
/// two panels in memory: one in use and one in transit. A streamed result has two as well. A tensor
/// whose panels are in place (panels_in_place) has none.
constexpr void finish_stream(matmul_plan& plan, topology const& t, machine const& m) {
  std::int64_t const given = bytes_of(plan.a, t, plan.a.from) + bytes_of(plan.b, t, plan.b.from);
  // All numbers are bytes of a rank:
  //
  //   before     the peak while an operand that is not streamed moves
  //   whole      the copy of this operand
  //   resident   the panels of operands that are in use
  //   making     the panels of operands that are in transit
  //   result     the result while panels run
  //   after      the peak while the result moves, after the last panel
  std::int64_t before = 0, whole = 0;
  std::int64_t resident = 0, making = 0;
  std::int64_t result = 0, after = 0;
  double whole_seconds = 0, in = 0, out = 0, after_seconds = 0;
  auto const tensors = detail::tensors_of(plan, plan.panels.letter);
  for (int i = 0; i < 2; ++i) {
    auto const& x = tensors[i];
    if (x.dim < 0) {
      before = moving_bytes(*x.plan, t, false);
      whole = made_bytes(*x.plan, t);
      whole_seconds = x.plan->seconds;
    } else if (!panels_in_place(plan, *x.plan, *x.end, x.dim, t)) {
      auto const panel = panel_plan(*x.plan, plan.panels, x.dim, 0, t, m);
      bool const copied = !slices_are_runs(plan.panels, *x.plan, x.dim, t);
      making += moving_bytes(panel, t, copied);
      resident += bytes_of(panel, t, panel.to);
      in += panel.seconds;
    }
  }
  auto const& c = tensors[2];
  if (c.dim < 0) {
    result = bytes_of(plan.c, t, plan.c.from);
    after = moving_bytes(plan.c, t, true);
    after_seconds = plan.c.seconds;
  } else {
    result = bytes_of(plan.c, t, plan.c.to);
    if (!panels_in_place(plan, plan.c, *c.end, c.dim, t)) {
      auto const panel = panel_plan(plan.c, plan.panels, c.dim, 0, t, m);
      result += bytes_of(panel, t, panel.from) + moving_bytes(panel, t, true);
      out = panel.seconds;
    }
  }
  std::int64_t most = whole + resident + making + result;
  if (before > most) most = before;
  if (after > most) most = after;
  plan.peak_bytes = given + most;
  double const gemm = detail::panel_gemm_seconds(plan, m);
  double const stage = gemm > in + out ? gemm : in + out;
  plan.seconds = whole_seconds + in + (plan.panels.count - 1) * stage + gemm + out + after_seconds;
}

/// Returns the bytes that the rank at coordinates `c` receives while the plan runs.
constexpr std::int64_t received_bytes(matmul_plan const& plan, topology const& t,
                                      coordinates const& c) {
  std::int64_t bytes = 0;
  for (auto const& x : detail::tensors_of(plan, plan.panels.letter)) {
    int const panels = plan.panels.letter == 0 || x.dim < 0 ? 1 : plan.panels.count;
    for (int i = 0; i < panels; ++i)
      bytes += (panels == 1 ? *x.plan : panel_plan(*x.plan, plan.panels, x.dim, i, t, {}))
                   .received_bytes(t, c);
  }
  return bytes;
}

}  // namespace ashlar
