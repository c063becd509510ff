// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A problem is a flat chain of layers for which the search finds placements. Repeated layers are
// written out. A residual x + f(x) has two elements: residual_begin before the elements of f, and
// residual_end after them. A skip, which concatenates x and f(x) along one dim, has the same two
// elements. These two elements must have the same placements. In a branch, two nets f and g read
// the same x, and their outputs are joined. A branch has three elements: branch_begin before the
// elements of f, branch_turn between the elements of f and those of g, and an end after the
// elements of g, which is a branch_sum, a branch_join or a branch_formula. The turn computes
// nothing: it takes f(x) to the end and passes x to g. The table shows the extents of an element's
// tensors x and y, and what the search chooses for the element:
//
//   kind             x, y                          choices
//   layer            the layer's                   a row per mesh axis, the order of the axes that
//                                                  split one dim, placements of its stored
//                                                  parameters
//   residual_begin   the residual's x (both)       a row of independent_training_rows per axis; for
//                                                  a skip, a row that does not split the dim along
//                                                  which the skip concatenates
//   residual_end     of a residual: its x (both)   the choice of its residual_begin
//                    of a skip: f(x) and the
//                    concatenation
//   branch_begin     the branch's x (both)         a row of independent_training_rows per axis
//   branch_turn      f(x) and the branch's x       none: x and dx have the placements of the end,
//                                                  y and dy those of the begin
//   branch_sum       g(x), and f(x) + g(x)         a row of independent_training_rows per axis
//   branch_join      g(x), and the joined f(x)     a row of the join per axis
//                    and g(x)
//   branch_formula   g(x), and what a formula      a row of the formula per axis
//                    makes of f(x) and g(x)
//
// The cost of a plan is the time of one training step of m micro-batches, if nothing overlaps:
//
//   m · Σ elements (work + exchanges of halos + redistributions of statistics
//                   + gathers of parameters)
//   + m · Σ neighbours i, i+1 ( y_i -> x_{i+1}  and  dx_{i+1} -> dy_i )
//   + Σ parameters (grad -> update  and  update -> store)
//
// Here a -> b is the cost of the redistribution from placement a to b. The first element reads the
// data, which every rank has. The last element's y is the scalar loss.
//
// A segment is a run of consecutive elements that can be recomputed (activation checkpointing),
// such as one copy of the layers in nn::repeat. Segments are numbered along the chain. Only the
// input x of a recomputed segment stays in memory after its forward pass. The forward pass runs a
// second time right before the backward pass. So the forward costs of the segment count twice,
// except the redistribution of its input.
//
// The first `recomputed` segments are recomputed. The backward pass reaches these segments last,
// when the saved values of the other segments have been released. So the recomputed values need no
// additional memory.
//
// Equal layers are stored once, and elements refer to them by index. A tie lets two elements share
// one parameter.

#include <ashlar/mesh/topology.hpp>
#include <ashlar/step/layer_spec.hpp>
#include <ashlar/step/sequence.hpp>

namespace ashlar::search {
inline namespace step {

enum class element_kind : signed char {
  layer,
  residual_begin,
  residual_end,
  branch_begin,
  branch_turn,
  branch_sum,   ///< the end of a branch that adds: its dy is the gradient of both inputs
  branch_join,  ///< the end of a branch that makes a gradient for each of its two inputs
  /// The end of a branch whose two outputs a formula joins. This element makes a gradient for each
  /// of its two inputs, which have equal extents. Its output may have any extents.
  branch_formula
};

/// Returns whether an element ends a branch.
constexpr bool ends_branch(element_kind kind) { return kind >= element_kind::branch_sum; }
/// Returns whether an element is the begin, the turn or the end of a branch.
constexpr bool is_of_branch(element_kind kind) { return kind >= element_kind::branch_begin; }
/// Returns whether an element begins a residual, a skip or a branch.
constexpr bool begins_block(element_kind kind) {
  return kind == element_kind::residual_begin || kind == element_kind::branch_begin;
}

struct element {
  element_kind kind = element_kind::layer;
  int layer = 0;  ///< index into problem::layers, where residuals have a layer_spec too
  /// Index of the other end of a residual or skip, or -1 for a layer. The begin of a branch names
  /// its turn, the turn names the end, and the end names the begin.
  int partner = -1;
  int segment = -1;  ///< number of the segment that contains this element, or -1
  friend constexpr bool operator==(element const&, element const&) = default;
};

/// Two elements that read the same parameter, which is stored once: parameter `first_index` of
/// element `first` is parameter `later_index` of the later element `later`. Both uses have the same
/// placement `store`. Each use has a gradient sum of its own. At the end of a step, the gradient of
/// the later use is added to that of the first use.
struct tie {
  int first = 0, first_index = 0;
  int later = 0, later_index = 0;
  friend constexpr bool operator==(tie const&, tie const&) = default;
};

inline constexpr int max_ties = 4;

/// Says how often the forward pass of an element of the layer chain runs: once, or twice because
/// the element's segment is recomputed. `twice_from_here` marks the first element of such a
/// segment, whose input x stays in memory.
enum class forward_runs : signed char { once, twice_from_here, twice };

/// The number of recomputed segments. If least < most, only this range is known. Then costs are
/// lower bounds for every number in the range: seconds are computed for `least`, and memory is
/// computed for `most`.
struct recomputation {
  int least = 0, most = 0;
  constexpr bool is_range() const { return least < most; }
};

template <int Capacity = dynamic_size>
struct basic_problem {
  sequence<layer_spec, Capacity> layers;
  sequence<element, Capacity> elements;
  inplace_vector<tie, max_ties> ties;
  int element_size = 4;       ///< bytes per element of activations and of parameters in use
  int accumulation_size = 4;  ///< bytes per element of stored parameters and their gradients
  int micro_batches = 1;      ///< number per step; gradients are synchronized once per step
  /// Number of micro-batches that take turns (turns.hpp): while one micro-batch is redistributed,
  /// the others compute. With 1, each micro-batch ends before the next one begins. With 0, a search
  /// chooses the number.
  int interleaved = 1;
  bool overlap = false;  ///< whether a search minimizes the seconds with overlap (timeline.hpp)
  /// Whether a search may choose different placements for a parameter's update and its storage.
  bool updates_apart = false;
  int in_flight = 1;  ///< micro-batches in flight at a time; above 1 in a pipeline stage
  /// Says whether an earlier pipeline stage sends x to this chain, and whether a later stage sends
  /// dy to it.
  bool stages_before = false, stages_after = false;
  int optimizer_states = 2;  ///< state values per element of a parameter
  int segments = 0;
  int recomputed = 0;  ///< number of recomputed segments; a search may increase it to save memory

  /// Adds an element to the chain. Equal layers are stored once.
  constexpr void add(layer_spec const& spec, element_kind kind = element_kind::layer,
                     int partner = -1) {
    if (spec.x.is_routed() && kind != element_kind::layer) refuse_rows(spec.name.text);
    int index = -1;
    for (int i = 0; i < length(layers) && index < 0; ++i)
      if (layer(i) == spec) index = i;
    if (index < 0) {
      index = length(layers);
      layers.push_back(spec);
    }
    elements.push_back({kind, index, partner});
  }

  /// Replaces the spec of element i. Other elements of the same layer keep theirs.
  constexpr void replace(int i, layer_spec const& spec) {
    int const before = (*this)[i].layer;
    bool is_shared = false;
    for (int k = 0; k < size(); ++k)
      is_shared = is_shared || (k != i && (*this)[k].layer == before);
    if (is_shared) {
      (*this)[i].layer = length(layers);
      layers.push_back(spec);
    } else {
      *(layers.begin() + before) = spec;
    }
  }

  /// Ties two parameters: the later element reads the parameter of the first element. Throws
  /// ashlar::error if one of the two parameters does not exist or is tied already, if their extents
  /// differ, or if the problem already has max_ties ties.
  constexpr void add_tie(tie const& t) {
    auto first = spec(t.first), later = spec(t.later);
    auto const name = [&](layer_spec const& s, int k) {
      return k < s.parameters.size()
                 ? std::string(s.name.text) + "'s " + s.parameters[k].name.text + " " +
                       to_string(s.parameters[k].extents)
                 : std::string(s.name.text) + ", which has no parameters,";
    };
    auto const refuse = [&](std::string const& why) {
      throw error("nn::tied", name(first, t.first_index) + " and " + name(later, t.later_index) +
                                  " cannot be one parameter: " + why);
    };
    if (t.first_index >= first.parameters.size() || t.later_index >= later.parameters.size())
      refuse("the first and the last part must be layers with parameters.");
    auto &one = first.parameters[t.first_index], &other = later.parameters[t.later_index];
    if (!(one.extents == other.extents))
      refuse("their extents differ. Tie an embedding(vocabulary, features) to an "
             "output_embedding(features, vocabulary).");
    if (one.tie != tie_role::none || other.tie != tie_role::none || ties.size() == max_ties)
      refuse("each parameter is in one tie only, and a net has at most " +
             std::to_string(max_ties) + " ties.");
    one.tie = tie_role::first;
    other.tie = tie_role::later;
    replace(t.first, first);
    replace(t.later, later);
    ties.push_back(t);
  }

  /// Makes one segment of the elements of the layer chain from index `first` to the last one. A
  /// segment can be recomputed in the backward pass. The new segment replaces all segments inside
  /// this range.
  constexpr void add_segment(int first) {
    int number = segments;
    for (int i = size() - 1; i >= first; --i)
      if ((*this)[i].segment >= 0) number = (*this)[i].segment;
    for (int i = first; i < size(); ++i) (*this)[i].segment = number;
    if (first < size()) segments = number + 1;
  }

  /// Returns how often the forward pass of element i of the layer chain runs, if the first `again`
  /// segments are recomputed in the backward pass.
  constexpr forward_runs runs(int i, int again) const {
    int const own = (*this)[i].segment;
    if (own < 0 || own >= again) return forward_runs::once;
    return i > 0 && (*this)[i - 1].segment == own ? forward_runs::twice
                                                  : forward_runs::twice_from_here;
  }

  constexpr int size() const { return length(elements); }
  constexpr element const& operator[](int i) const {
    if constexpr (Capacity == dynamic_size) return elements[static_cast<std::size_t>(i)];
    else return elements[i];
  }
  constexpr element& operator[](int i) {
    if constexpr (Capacity == dynamic_size) return elements[static_cast<std::size_t>(i)];
    else return elements[i];
  }
  constexpr layer_spec const& layer(int i) const {
    if constexpr (Capacity == dynamic_size) return layers[static_cast<std::size_t>(i)];
    else return layers[i];
  }
  constexpr layer_spec const& spec(int i) const { return layer((*this)[i].layer); }
};

using problem = basic_problem<>;

/// Returns how many micro-batches of a step take turns at most (turns.hpp).
template <int N>
constexpr int turns_at_once(basic_problem<N> const& net) {
  return net.interleaved < net.micro_batches ? net.interleaved : net.micro_batches;
}

/// Returns whether the problem has a branch.
template <int N>
constexpr bool has_branches(basic_problem<N> const& net) {
  for (auto const& e : net.elements)
    if (is_of_branch(e.kind)) return true;
  return false;
}
/// Returns whether the problem has a mixture of experts.
template <int N>
constexpr bool has_experts(basic_problem<N> const& net) {
  for (int i = 0; i < net.size(); ++i)
    if (routes_tokens(net.spec(i))) return true;
  return false;
}
/// Returns the index of the element that ends the residual, the skip or the branch that begins with
/// element i of the layer chain. Returns i if none of these begins there.
template <int N>
constexpr int end_of(basic_problem<N> const& net, int i) {
  return net[i].kind == element_kind::residual_begin ? net[i].partner
         : net[i].kind == element_kind::branch_begin ? net[net[i].partner].partner
                                                     : i;
}

/// Returns whether an element of the layer chain has two inputs and makes a gradient for each of
/// them. Two kinds of elements do: the end of a skip, and the end of a branch that does not add.
/// The end of a skip concatenates its inputs, so its x and its y have different extents in one dim.
constexpr bool makes_two_gradients(element_kind kind, layer_spec const& spec) {
  return kind >= element_kind::branch_join ||
         (kind == element_kind::residual_end && !(spec.x == spec.y));
}
template <int N>
constexpr bool makes_two_gradients(basic_problem<N> const& net, int i) {
  return makes_two_gradients(net[i].kind, net.spec(i));
}
/// Returns whether element i of the layer chain ends a residual or a branch and adds its two
/// inputs. The dy of such an element is the gradient of both inputs.
template <int N>
constexpr bool ends_in_sum(basic_problem<N> const& net, int i) {
  return net[i].kind == element_kind::branch_sum ||
         (net[i].kind == element_kind::residual_end && !makes_two_gradients(net, i));
}
/// Returns the extents of the first of the two tensors that an element joins: the input x of a
/// skip, or the output of a branch's first net. `end` is the spec of the element.
constexpr shape skipped_extents(element_kind kind, layer_spec const& end) {
  shape skipped = end.x;
  if (kind == element_kind::branch_formula) return skipped;
  for (int d = 0; d < end.x.rank(); ++d)
    if (end.y[d] != end.x[d]) skipped[d] = end.y[d] - end.x[d];
  return skipped;
}

/// Returns the extents of the tensor that element i of the layer chain passes to element i + 1. One
/// of these two elements may treat a dim of this tensor as two dims, such as heads and features of
/// attention. Then the result is the extents with fewer dims.
template <int N>
constexpr shape const& boundary_extents(basic_problem<N> const& net, int i) {
  shape const &y = net.spec(i).y, &x = net.spec(i + 1).x;
  return x.rank() < y.rank() ? x : y;
}

/// Returns the extents of the input x of element i of the layer chain: the result of
/// boundary_extents for the elements i - 1 and i, or the extents in the spec if i is 0. y_extents
/// does the same for the output y.
template <int N>
constexpr shape const& x_extents(basic_problem<N> const& net, int i) {
  return i == 0 ? net.spec(i).x : boundary_extents(net, i - 1);
}
template <int N>
constexpr shape const& y_extents(basic_problem<N> const& net, int i) {
  return i + 1 == net.size() ? net.spec(i).y : boundary_extents(net, i);
}

/// Returns the index of the first element of the segment that contains element i of the layer
/// chain.
template <int N>
constexpr int first_of_segment(basic_problem<N> const& net, int i) {
  while (i > 0 && net[i - 1].segment == net[i].segment) --i;
  return i;
}

/// Returns whether element i of the layer chain is the last one of a recomputed segment, if the
/// first `again` segments are recomputed. The recomputation runs right before the backward pass of
/// element i.
template <int N>
constexpr bool ends_recomputed_segment(basic_problem<N> const& net, int i, int again) {
  return net.runs(i, again) != forward_runs::once &&
         (i + 1 == net.size() || net[i + 1].segment != net[i].segment);
}

/// Returns a copy of the problem whose lists have dynamic capacity.
template <int N>
problem any_length(basic_problem<N> const& fixed) {
  problem net;
  net.layers.assign(fixed.layers.begin(), fixed.layers.end());
  net.elements.assign(fixed.elements.begin(), fixed.elements.end());
  net.ties = fixed.ties;
  net.element_size = fixed.element_size;
  net.accumulation_size = fixed.accumulation_size;
  net.micro_batches = fixed.micro_batches;
  net.interleaved = fixed.interleaved;
  net.overlap = fixed.overlap;
  net.updates_apart = fixed.updates_apart;
  net.in_flight = fixed.in_flight;
  net.stages_before = fixed.stages_before;
  net.stages_after = fixed.stages_after;
  net.optimizer_states = fixed.optimizer_states;
  net.segments = fixed.segments;
  net.recomputed = fixed.recomputed;
  return net;
}

}  // namespace step
}  // namespace ashlar::search
