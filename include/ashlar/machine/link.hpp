// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the α and β that one rank observes when all groups of the mesh along the same axes
// communicate at the same time. Let r be the number of ranks per node, p the number of ranks in the
// group, and g the number of ranks of the group in one node. Of a rank's p - 1 messages, the
// fraction f = (p - g) / (p - 1) leaves the node. In a formula for α or β, intra and inter stand
// for the α or β of the links inside a node and between nodes.
//
//   group inside a node   the link `intra`
//   group across nodes    α = intra (1 - f) + inter f,   β = max(intra, inter · r f, flow · f),
//                         where `intra` counts only if g > 1
//                         Each rank exchanges its own parts with every other member, also in a
//                         gather or a reduction (comm/mpi/pairwise_exchange.hpp). So all messages
//                         leave the node except those to members in the same node.
//   permute across nodes  α = inter,   β = max(intra, inter · r · (p - g) / p, flow)
//                         This row is for two axes of the same extent, where each rank has one
//                         partner. If both axes are between nodes, β = max(inter · r, flow).
//
// In the pairwise exchange, the same data crosses a node's link g times; in a ring, it would cross
// the link once. So one gather along a node axis and a GPU axis together costs more than two
// gathers, one along each axis. Plans with several steps avoid this cost.
//
// AutoDDL section 4.2 uses the inter-node α and β for any group that leaves the node. We add two
// refinements. The ranks of a node share its link; otherwise costs on meshes of large nodes would
// be underestimated. Messages that stay in the node have the α of `intra`.
//
// If a machine limits flows (machine::flow), the bytes that leave a rank's node count as one flow.
// This is so in a ring, where a rank sends to one other rank. So the r ranks of a node together
// send at most r / flow bytes per second to other nodes. A tensor that is divided among the ranks
// of a node leaves the node faster than a tensor that a single rank sends. The pairwise exchange
// sends to all members at once, in several flows, so it may take less time than predicted.
// Crossings between parts of a mesh (plan/cross_mesh.hpp) do not count the limit.
//
// If the machine has separate links for a collective (intra_of, inter_of), these replace intra and
// inter. A permute whose axes differ in extent is really an all-to-all and uses the links of an
// all-to-all.

#include <ashlar/machine/collective.hpp>
#include <ashlar/machine/machine.hpp>
#include <ashlar/mesh/topology.hpp>

namespace ashlar {

constexpr link group_link(machine const& m, topology const& t, axis_list const& axes,
                          collective kind) {
  bool leaves_node = false;
  int inside = 1;
  int size = 1;
  for (int i = 0; i < axes.size(); ++i) {
    mesh_axis const& a = t.axis[axes[i]];
    size *= a.extent;
    if (a.tier == link_tier::inter_node) leaves_node = leaves_node || a.extent > 1;
    else inside *= a.extent;
  }
  bool const pairs = kind == collective::permute && t.extent(axes[0]) == t.extent(axes[1]);
  if (kind == collective::permute && !pairs) kind = collective::all_to_all;
  link const& intra = m.intra_of.has(kind) ? m.intra_of[kind] : m.intra;
  if (!leaves_node) return intra;
  link const& inter = m.inter_of.has(kind) ? m.inter_of[kind] : m.inter;
  // A permute sends each rank's shard to the rank that has the same two coordinates in exchanged
  // order. A rank whose two coordinates are equal sends nothing. If one axis is inside a node,
  // every node has such ranks. If both axes are between nodes, all ranks of a node have the same
  // two coordinates, so all or none of them send.
  int const others = pairs && inside > 1 ? size : size - 1;
  double const share = double(t.ranks_per_node()) * (size - inside) / others;
  double const leaving = pairs ? 1 : double(size - inside) / (size - 1);
  double const shared_beta = inter.beta * share;
  double const flow_beta = m.flow * leaving;
  double const leaving_beta = shared_beta > flow_beta ? shared_beta : flow_beta;
  double const inside_beta = inside > 1 ? intra.beta : 0;
  return {intra.alpha * (1 - leaving) + inter.alpha * leaving,
          leaving_beta > inside_beta ? leaving_beta : inside_beta};
}

/// Returns the smallest β (seconds per byte) of the machine. No group of ranks has a smaller one.
constexpr double least_beta(machine const& m) {
  double least = m.intra.beta < m.inter.beta ? m.intra.beta : m.inter.beta;
  for (auto const* links : {&m.intra_of, &m.inter_of})
    for (int k = 0; k < collective_links::kinds; ++k)
      if (links->has(static_cast<collective>(k)) && links->of[k].beta < least)
        least = links->of[k].beta;
  return least;
}

/// Returns the seconds of one move: α · messages + β · bytes. The cost of a redistribution is the
/// sum of these seconds over its moves.
constexpr double seconds(link const& l, traffic const& load, int element_size) {
  return l.alpha * double(load.messages) + l.beta * double(load.elements) * element_size;
}

/// Returns the seconds of one move of a tensor, by a collective of this kind, in the groups of
/// ranks along `axes`, which all communicate at the same time.
constexpr double seconds(machine const& m, topology const& t, axis_list const& axes,
                         collective kind, traffic const& load, int element_size) {
  return load.messages == 0 ? 0 : seconds(group_link(m, t, axes, kind), load, element_size);
}

}  // namespace ashlar
