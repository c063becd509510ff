// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The ranks of a mesh by node. Inside a node, the ranks are numbered from 0 in ascending order.
// port(rank) returns this number.
//
// A topology converts to this class, so the functions that plan a crossing also accept a topology.
// A caller that plans many crossings should make the object only once.

#include <algorithm>
#include <vector>

#include <ashlar/mesh/mesh_part.hpp>
#include <ashlar/support/scratch.hpp>

namespace ashlar {

class nodes_of_mesh {
 public:
  constexpr nodes_of_mesh(topology const& whole)
      : ranks_(static_cast<std::size_t>(whole.ranks() / whole.ranks_per_node())),
        node_(static_cast<std::size_t>(whole.ranks())), port_(node_) {
    for (int r = 0; r < whole.ranks(); ++r) {
      int const node = node_of(whole, r);
      node_.data()[r] = node;
      port_.data()[r] = static_cast<int>(ranks_.data()[node].size());
      ranks_.data()[node].push_back(r);
    }
  }
  constexpr int ranks() const { return static_cast<int>(node_.size()); }
  constexpr int nodes() const { return static_cast<int>(ranks_.size()); }
  constexpr int node(int rank) const { return node_.data()[rank]; }
  constexpr int port(int rank) const { return port_.data()[rank]; }
  constexpr int rank(int node, int port) const { return ranks_.data()[node].data()[port]; }
  constexpr int ranks_in(int node) const { return static_cast<int>(ranks_.data()[node].size()); }

  /// Returns those of `ranks` that are in node number `node`.
  constexpr std::vector<int> in_node(std::vector<int> const& ranks, int node) const {
    std::vector<int> own;
    for (int const r : ranks)
      if (node_.data()[r] == node) own.push_back(r);
    return own;
  }
  /// Returns for each of `ranks` its number within its node.
  constexpr std::vector<int> ports(std::vector<int> ranks) const {
    for (int& r : ranks) r = port(r);
    return ranks;
  }
  /// Returns the nodes that have at least one of `ranks`, in ascending order, each once.
  constexpr std::vector<int> of(std::vector<int> const& ranks) const {
    std::vector<int> nodes;
    for (int const r : ranks) nodes.push_back(node(r));
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

 private:
  scratch<std::vector<int>> ranks_;
  scratch<int> node_, port_;
};

}  // namespace ashlar
