// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a plan as a list of lines, from which all reports are made. Each element (layer, or end
// of a residual block) has a name, indented inside residual blocks. Each collective has a line.
// Repeated sequences of elements are marked (fold.hpp). The collectives of an element form four
// groups:
//
//   enter    the move of x into the element
//   back     the move of dy into the element
//   inside   the moves of its parameters and statistics in the forward pass, and the exchange of
//            the halo of x (halo.hpp)
//   rest     all its other moves, such as those of its parameters in the backward pass and at the
//            end of the step, and the exchange of the halo of dx
//
// Parameters of one element that move by equal steps share a line. Seconds and bytes are for one
// training step with all micro-batches.

#include <iterator>

#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/fold.hpp>
#include <ashlar/search/text.hpp>

namespace ashlar::search {

constexpr char const* to_string(phase p) {
  constexpr char const* names[] = {"forward", "recompute", "backward", "synchronize", "renew"};
  static_assert(std::size(names) == static_cast<std::size_t>(phase::renew) + 1);
  return names[static_cast<int>(p)];
}

/// One collective of a training step.
struct move_line {
  phase when = phase::forward;
  std::string what;  ///< the moved tensors, such as "x" or "d weight, bias"
  collective kind = collective::all_gather;
  std::string axes;
  double bytes = 0, seconds = 0;
  friend bool operator==(move_line const&, move_line const&) = default;
};

struct outlined_element {
  /// The name is indented inside residual blocks and branches. It begins with "+ " for the end of a
  /// block or branch, and with "| " for the turn of a branch.
  std::string name;
  std::vector<move_line> enter, inside, back, rest;
};

struct outline {
  std::vector<outlined_element> elements;
  std::vector<fold> folds;
};

namespace detail {

/// Returns the name of the tensor that is moved: "x", "dy", "weight", "d weight", "statistic 1".
inline std::string moved_name(scheduled_move const& move, layer_spec const& spec) {
  switch (move.what) {
    case moved::activation: return "x";
    case moved::gradient: return "dy";
    case moved::statistic: return "statistic " + std::to_string(move.index);
    default: break;
  }
  std::string const name = spec.parameters[move.index].name.text;
  return move.phase == phase::synchronize ? "d " + name
         : move.phase == phase::renew     ? "new " + name
                                          : name;
}

/// Returns the placements of a layer's tensors as pieces of text. wrapped() (text.hpp) joins them
/// into lines.
inline std::vector<std::string> placement_pieces(layer_spec const& spec, layer_choice const& c) {
  std::vector<std::string> pieces{"x " + to_string(c.x) + " -> y " + to_string(c.y)};
  if (!(c.dy == c.y && c.dx == c.x))
    pieces.push_back("dy " + to_string(c.dy) + " -> dx " + to_string(c.dx));
  for (int k = 0, next = 0; k < c.parameters.size(); k = next) {
    auto const& p = c.parameters[k];
    std::string text = spec.parameters[k].name.text;
    for (next = k + 1; next < c.parameters.size() && c.parameters[next] == p; ++next)
      text += std::string(", ") + spec.parameters[next].name.text;
    text += " " + to_string(p.store);
    if (p.is_updated_apart()) text += ", updated " + to_string(p.update);
    if (!(p.use == p.store)) text += ", used " + to_string(p.use);
    if (!(p.grad == p.store)) text += ", grad " + to_string(p.grad);
    if (p.in_rows) text += " in rows";
    if (!p.wire.is_exact()) text += ", grad sent as " + to_string(p.wire);
    if (p.delay > 0) text += ", grad delayed by " + std::to_string(p.delay);
    pieces.push_back(text);
  }
  return pieces;
}

/// Returns one line per collective of the given moves. All moves must belong to one layer.
template <int N>
std::vector<move_line> lines_of(basic_problem<N> const& net,
                                std::vector<scheduled_move const*> const& moves, topology const& t,
                                machine const& m) {
  std::vector<move_line> lines;
  for (std::size_t i = 0, next = 0; i < moves.size(); i = next) {
    auto const& path = moves[i]->plan;
    auto const& spec = net.spec(moves[i]->element);
    std::string name = moved_name(*moves[i], spec);
    for (next = i + 1; next < moves.size() && moves[next]->phase == moves[i]->phase &&
                       moves[next]->what == moved::parameter && moves[next]->plan == path;
         ++next)
      name += std::string(", ") + spec.parameters[moves[next]->index].name.text;
    double const times = double(next - i) * times_per_step(net, *moves[i]);
    for (auto const& s : path.steps)
      if (communicates(s.kind))
        lines.push_back({moves[i]->phase, name, s.carried_by(), to_string(s.axes, t),
                         times * double(received_bytes(path, s, t)),
                         times * step_seconds(s, path.extents, path.element_size, t, m)});
  }
  return lines;
}

/// If element i exchanges halos in the pass `when`, inserts a line for this exchange at the front
/// of `lines`.
template <int N>
void add_halo(std::vector<move_line>& lines, basic_problem<N> const& net, int i,
              basic_plan<N> const& chosen, machine const& m, phase when) {
  bool const back = when == phase::backward;
  auto const halo = halo_exchange_of(net, chosen, i, m, back);
  if (halo.times == 0) return;
  lines.insert(lines.begin(),
               {when, back ? "halo of dx" : "halo of x", collective::permute,
                to_string(halo_axes(net.spec(i), chosen[i].x, chosen.mesh), chosen.mesh),
                halo.times * net.element_size * double(halo.load.elements),
                halo.times * halo.seconds});
}

/// Returns the index of `item` in the list `seen`. If the list does not contain `item`, appends it.
template <class Item>
int number_of(std::vector<Item>& seen, Item const& item) {
  std::size_t i = 0;
  while (i < seen.size() && !(seen[i] == item)) ++i;
  if (i == seen.size()) seen.push_back(item);
  return static_cast<int>(i);
}

}  // namespace detail

/// Returns the lines of a report of a plan. `parts` are the seconds and bytes of the plan on
/// machine `m`, element by element.
template <int N>
outline outline_of(basic_problem<N> const& net, basic_plan<N> const& chosen,
                   plan_breakdown const& parts, machine const& m) {
  struct moves_of {
    std::vector<scheduled_move const*> enter, inside, back, rest;
  };
  struct inner {
    std::string name;
    int layer;
    layer_choice choice;
    forward_runs runs;
    std::vector<move_line> inside, rest;
    bool operator==(inner const&) const = default;
  };
  auto const size = static_cast<std::size_t>(net.size());
  std::vector<moves_of> moves(size);
  for (auto const& move : parts.moves) {
    auto& own = moves[static_cast<std::size_t>(move.element)];
    (move.what == moved::gradient     ? own.back
     : move.what == moved::activation ? own.enter
     : move.phase == phase::forward   ? own.inside
                                      : own.rest)
        .push_back(&move);
  }
  outline o;
  std::vector<foldable> list(size);
  std::vector<inner> inners;
  std::vector<std::vector<move_line>> boundaries;
  for (int i = 0, level = 0; i < net.size(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    bool const turn = net[i].kind == element_kind::branch_turn;
    bool const end = turn || net[i].kind == element_kind::residual_end || ends_branch(net[i].kind);
    list[at].level = level;
    level -= end;
    auto const lines = [&](auto const& some) {
      return detail::lines_of(net, some, chosen.mesh, m);
    };
    o.elements.push_back({std::string(static_cast<std::size_t>(2 * level), ' ') +
                              (turn  ? "| "
                               : end ? "+ "
                                     : "") +
                              net.spec(i).name.text,
                          lines(moves[at].enter), lines(moves[at].inside), lines(moves[at].back),
                          lines(moves[at].rest)});
    level += begins_block(net[i].kind) || turn;
    auto& e = o.elements.back();
    auto const runs = net.runs(i, chosen.recomputed);
    detail::add_halo(e.inside, net, i, chosen, m, phase::forward);
    detail::add_halo(e.rest, net, i, chosen, m, phase::backward);
    list[at].own = detail::number_of(
        inners, inner{e.name, net[i].layer, chosen[i], runs, e.inside, e.rest});
    list[at].enter = detail::number_of(boundaries, e.enter);
    list[at].back = detail::number_of(boundaries, e.back);
  }
  o.folds = folds(list);
  return o;
}

/// An element of a repeated sequence. Reports print only the first copy of the sequence. The copies
/// are equal with two exceptions: the move of x into the first copy may differ, and so may the move
/// of dy into the last copy.
struct folded_element {
  outline const& in;
  std::size_t at, typical, final;
  bool begins = false;  ///< whether x moves into the first copy differently than into the others
  bool ends = false;    ///< whether dy moves into the last copy differently than into the others

  folded_element(outline const& o, fold const& f, int i)
      : in(o), at(static_cast<std::size_t>(i)), typical(at),
        final(static_cast<std::size_t>(i + f.period * (f.times - 1))) {
    bool const first = f.times > 1 && i == f.first;
    if (first) typical = static_cast<std::size_t>(i + f.period);
    begins = first && own().enter != usual().enter;
    ends = f.times > 1 && i + 1 == f.first + f.period && own().back != end().back;
  }
  outlined_element const& own() const { return in.elements[at]; }
  outlined_element const& usual() const { return in.elements[typical]; }
  outlined_element const& end() const { return in.elements[final]; }
};

}  // namespace ashlar::search
