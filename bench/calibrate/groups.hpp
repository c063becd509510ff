// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Lists the groups of ranks whose collectives bench/calibrate measures, and the redistribution
// steps that it measures on each group. There are two link tiers: "intra", within a node, and
// "inter", between nodes. Each tier has its own α (seconds per message) and β (seconds per byte).
// On N nodes of R ranks the groups are as follows. The column "axes" says along which axes of the
// mesh the ranks of a group differ.
//
//   group of                       mesh                   axes         used to fit
//   m ranks of a node              N (nodes) x R/m x m    the last     α and β of the tier intra
//   m nodes, one rank of each      N/m x m (nodes) x R    the second   α and β of the tier inter
//   all ranks                      N (nodes) x R          both         nothing, only to check the
//                                  fit
//
// All groups of a mesh run at once, as in a redistribution. So in the second row, R groups share
// the link of a node to other nodes. In the first row every divisor m >= 2 of R is measured, and in
// the second row every divisor m >= 2 of N. A permute needs two axes of the same extent, so it is
// only measured if m is a square.

#include <algorithm>
#include <vector>

#include <ashlar/machine/fit_link.hpp>
#include <ashlar/plan/redistribution_step.hpp>

namespace ashlar_bench {

enum class reach { intra, inter, both };

inline char const* to_string(reach r) {
  constexpr char const* names[] = {"intra", "inter", "both"};
  return names[static_cast<int>(r)];
}

/// A redistribution step of a float tensor, and the extents of that tensor.
struct measured_step {
  ashlar::redistribution_step step;
  ashlar::shape extents;
};

struct group {
  reach where = reach::intra;
  int members = 1;
  ashlar::topology mesh;
  ashlar::axis_list axes;
};

namespace detail {

/// Makes a group along new axes, which follow the axes of `mesh`.
///
///   members   the number of ranks of the group, which has one axis of this extent
///   square    if positive, the group has two axes of this extent instead; members = square *
///             square
///   tier      the links that the group's axes use
///   inner     if above 1, one more axis of this extent follows, within nodes and not in the group
inline group make_group(reach where, ashlar::topology mesh, ashlar::link_tier tier, int members,
                        int square, int inner) {
  int const axis = mesh.axes();
  group g{where, members, mesh, {}};
  for (int i = 0; i < (square > 0 ? 2 : 1); ++i) {
    g.mesh.axis.push_back({i == 0 ? "group" : "second", square > 0 ? square : members, tier});
    g.axes.push_back(static_cast<signed char>(axis + i));
  }
  if (inner > 1) g.mesh.axis.push_back({"inner", inner, ashlar::link_tier::intra_node});
  return g;
}

inline int root_of(int n) {
  int e = 1;
  while (e * e < n) ++e;
  return e * e == n && n > 1 ? e : 0;
}

}  // namespace detail

/// Returns every group of the table in the file comment, in the order of the table, for `nodes`
/// nodes of `per_node` ranks.
inline std::vector<group> groups_on(int nodes, int per_node) {
  auto const within = ashlar::link_tier::intra_node, between = ashlar::link_tier::inter_node;
  std::vector<group> all;
  auto const add = [&](reach where, ashlar::topology const& before, ashlar::link_tier tier, int m,
                       int inner) {
    all.push_back(detail::make_group(where, before, tier, m, 0, inner));
    if (int const e = detail::root_of(m); e > 0)
      all.push_back(detail::make_group(where, before, tier, m, e, inner));
  };
  for (int m = 2; m <= per_node; ++m)
    if (per_node % m == 0)
      add(reach::intra, {{"nodes", nodes, between}, {"outer", per_node / m, within}}, within, m, 1);
  for (int m = 2; m <= nodes; ++m)
    if (nodes % m == 0) add(reach::inter, {{"outer", nodes / m, between}}, between, m, per_node);
  if (nodes > 1 && per_node > 1)
    all.push_back({reach::both,
                   nodes * per_node,
                   {{"nodes", nodes, between}, {"inner", per_node, within}},
                   {0, 1}});
  return all;
}

/// Returns the steps to measure on a group of m ranks, with tensors of about `bytes` bytes, but of
/// m x m elements or more:
///
/// - For a group along two axes of one link tier, only a permute.
/// - For any other group, all-gathers, reduce-scatters, all-to-alls and an all-reduce. All but the
///   all-reduce are measured along dimension 0 and along dimension 1, since plans contain both
///   cases.
inline std::vector<measured_step> steps_on(group const& g, std::int64_t bytes) {
  using ashlar::collective;
  auto const whole = ashlar::placement::all_broadcast(g.mesh.axes());
  auto const split = [&](int dim) {
    auto p = whole;
    for (auto const a : g.axes) p = p.with_split(a, dim);
    return p;
  };
  auto sums = whole;
  for (auto const a : g.axes) sums = sums.with(a, ashlar::partial());
  // The number of ranks in the group divides both extents. Unless the tensor is very small, there
  // are one to four times as many columns as rows.
  std::int64_t const m = g.members, elements = bytes / std::int64_t(sizeof(float));
  std::int64_t rows = m;
  while (4 * rows * rows <= elements) rows *= 2;
  ashlar::shape const extents{rows, std::max(m, elements / rows / m * m)};
  std::vector<measured_step> all;
  auto const add = [&](collective kind, ashlar::placement const& from,
                       ashlar::placement const& to) {
    all.push_back({{kind, g.axes, from, to}, extents});
  };
  if (g.axes.size() == 2 && g.where != reach::both) {
    add(collective::permute, whole.with_split(g.axes[0], 0), whole.with_split(g.axes[1], 0));
    return all;
  }
  for (int const d : {0, 1}) {
    add(collective::all_gather, split(d), whole);
    add(collective::reduce_scatter, sums, split(d));
    add(collective::all_to_all, split(d), split(1 - d));
  }
  add(collective::all_reduce, sums, whole);
  return all;
}

/// Returns a sample for the fit: the seconds that a step took, and the messages and bytes that the
/// cost model counts for it on the links of the group's tier. The counts are obtained by evaluating
/// the model for two artificial machines. On one machine a message takes one second and a byte
/// none. On the other machine a byte takes one second and a message none.
inline ashlar::link_sample sample_of(group const& g, measured_step const& s, double seconds) {
  auto const counted = [&](ashlar::link const& unit) {
    ashlar::machine m;
    m.intra = g.where == reach::intra ? unit : ashlar::link{};
    m.inter = g.where == reach::inter ? unit : ashlar::link{};
    return step_seconds(s.step, s.extents, int(sizeof(float)), g.mesh, m);
  };
  return {counted({1, 0}), counted({0, 1}), seconds};
}

}  // namespace ashlar_bench
