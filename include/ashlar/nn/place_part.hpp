// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Places any part of a net on a mesh. A single layer becomes one node (node.hpp). A composite, such
// as a chain, places its members one after the other. The executor needs only the list of nodes
// (executor.hpp).

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/nn/node.hpp>
#include <ashlar/nn/usual_layers.hpp>

namespace ashlar::nn {

/// The mesh, the random streams and the nodes of a net while it is being placed. The nodes are in
/// the order of the plan.
///
/// `path` is the position of the current part in the net, such as "1.3." for part 3 of part 1. The
/// names of parameters begin with it. So names depend on the net only, not on the mesh or the plan.
template <class Processor>
struct net_builder {
  basic_mesh<Processor> mesh;
  stream_counter streams;
  std::vector<std::unique_ptr<element_node<Processor>>> nodes;
  std::string path;
  bool names_next = true;  ///< if false, the path leaves out the next composite
  /// In a pipeline, for each stage: the part of the mesh that has the stage, and the number of the
  /// first element after the stage.
  std::vector<std::pair<basic_mesh<Processor>, int>> stages{};
  inplace_vector<step::tie, step::max_ties> ties{};  ///< the same ties as in problem::ties
  /// If the same net was placed before and the new elements read the parameters of that placement,
  /// this points to the elements of that placement. Otherwise it is null.
  std::vector<std::unique_ptr<element_node<Processor>>> const* before = nullptr;

  /// Returns which parameters element number `element` reads from other elements instead of having
  /// its own.
  tied_parameter<Processor> tied_of(int element) const {
    if (before != nullptr) return {nullptr, 0, (*before)[static_cast<std::size_t>(element)].get()};
    for (auto const& t : ties)
      if (t.later == element)
        return {&nodes[static_cast<std::size_t>(t.first)]
                     ->parameters()[static_cast<std::size_t>(t.first_index)],
                t.later_index};
    return {};
  }

  /// Returns the mesh of an element. In a pipeline, every rank has a node for each element. On
  /// ranks outside of an element's mesh, the shards of its parameters are empty.
  basic_mesh<Processor> const& mesh_of(int element) const {
    for (auto const& [part, end] : stages)
      if (element < end) return part;
    return mesh;
  }

  /// Returns the mesh on which this rank computes: the part with its pipeline stages, or the whole
  /// mesh without a pipeline.
  basic_mesh<Processor> const& here() const {
    for (auto const& [part, end] : stages)
      if (part.is_here()) return part;
    return mesh;
  }

  /// Calls place(), which places part number `index` of a composite. During the call, `path` is the
  /// position of this part, without `index` if names_next was false.
  template <class Place>
  void inside(std::size_t index, Place place) {
    auto const outside = path.size();
    bool const names = std::exchange(names_next, true);
    if (names) path += std::to_string(index) + '.';
    place();
    path.resize(outside);
    names_next = names;
  }
};

/// Places a layer, which is the element at the position `cursor` of the plan.
template <class T, int XRank, class Layer, class Cursor, class Processor>
void place_layer(Layer const& layer, net_builder<Processor>& net, shape const& x,
                 Cursor const& cursor) {
  auto const at = cursor.choice();
  using node = layer_node<Layer, T, XRank, std::remove_const_t<decltype(at)>>;
  net.nodes.push_back(std::make_unique<node>(layer, cursor.index, net.mesh_of(cursor.index), x, at,
                                             net.streams, net.path, net.tied_of(cursor.index)));
}

#if !ASHLAR_DEFINES(LAYERS)
ASHLAR_USUAL_LAYERS(ASHLAR_PLACED_LAYER, float)
ASHLAR_USUAL_LAYERS(ASHLAR_PLACED_LAYER, double)
#endif

/// Places a layer or composite. `cursor`, a position in the plan, must be at the first element of
/// `layer`.
template <class T, int XRank, class Layer, class Cursor, class Processor>
void place_part(Layer const& layer, net_builder<Processor>& net, shape const& x,
                Cursor const& cursor) {
  if constexpr (blueprint<Layer>) {
    place_layer<T, XRank>(layer, net, x, cursor);
  } else {
    layer.template place_part<T, XRank>(net, x, cursor);
  }
}

/// Returns a cursor (a position in the plan) that is after all elements of `layer`. The argument
/// `cursor` must be at the first element of `layer`.
template <class Layer, class Cursor>
auto advance_past(Layer const& layer, Cursor const& cursor) {
  if constexpr (Cursor::is_static) return cursor.template advance<element_count<Layer>()>();
  else return cursor.advance(nn::run_time_elements(layer));
}

}  // namespace ashlar::nn
