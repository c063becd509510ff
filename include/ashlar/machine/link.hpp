// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The α and β that one rank of a group sees, given that every group of the mesh along the same
// axes communicates at the same time (r ranks per node, g of them in one group, p in the group; of a
// rank's p - 1 messages f = (p - g) / (p - 1) leave the node):
//
//   group inside a node                  intra
//   across nodes                         α intra (1 - f) + inter f, β max(intra, inter · r f)
//     each rank exchanges its own parts with every other member (comm/mpi/pairwise_exchange.hpp),
//     also in a gather or a reduction: all but those for the node's other members leave the node
//   across nodes, permute of axes of     α inter, β max(intra, inter · r · (p - g) / p),
//     one extent e, p = e²: one partner  and inter · r where both axes are between nodes
//     a rank
//
// So a gather along a node axis and a GPU axis at once is dearer than one after the other: a ring
// would cross a node's link once, pairs cross it g times. Plans of several steps avoid that.
//
// AutoDDL section 4.2 takes the inter-node α and β for any group that leaves the node; sharing the
// node's link among its ranks, without which a mesh of fat nodes is underpriced, and α intra for the
// messages that stay in the node are our additions.
//
// intra and inter are those of the collective where the machine gives them (intra_of, inter_of). A
// permute that is no exchange between pairs takes those of an all-to-all, which it is.

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
  // Of a node's ranks, those on the diagonal of the two axes are their own partners. Between nodes
  // they have nodes of their own, so that the other nodes' ranks all send out.
  int const others = pairs && inside > 1 ? size : size - 1;
  double const share = double(t.ranks_per_node()) * (size - inside) / others;
  double const leaving = pairs ? 1 : double(size - inside) / (size - 1);
  double const shared_beta = inter.beta * share;
  double const inside_beta = inside > 1 ? intra.beta : 0;
  return {intra.alpha * (1 - leaving) + inter.alpha * leaving,
          shared_beta > inside_beta ? shared_beta : inside_beta};
}

/// No group has a β below this one.
constexpr double least_beta(machine const& m) {
  double least = m.intra.beta < m.inter.beta ? m.intra.beta : m.inter.beta;
  for (auto const* links : {&m.intra_of, &m.inter_of})
    for (int k = 0; k < collective_links::kinds; ++k)
      if (links->has(static_cast<collective>(k)) && links->of[k].beta < least)
        least = links->of[k].beta;
  return least;
}

/// Seconds of one move: α · messages + β · bytes. The one cost formula of the library.
constexpr double seconds(link const& l, traffic const& load, int element_size) {
  return l.alpha * double(load.messages) + l.beta * double(load.elements) * element_size;
}

/// The same for a group of the mesh.
constexpr double seconds(machine const& m, topology const& t, axis_list const& axes,
                         collective kind, traffic const& load, int element_size) {
  return load.messages == 0 ? 0 : seconds(group_link(m, t, axes, kind), load, element_size);
}

}  // namespace ashlar
