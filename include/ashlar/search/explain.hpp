// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan for people to read, 100 columns wide: what it costs, where every tensor lies, what moves.
//
//   std::cout << search::explain(problem, plan, machine);
//
//   plan for node=2,gpu=2 (4 ranks): 1.93 ms a step, 12.1 % of it communication
//     3.20 MiB of memory per rank; it receives 1.25 MiB
//             work   activations     gradients    parameters
//          1.70 ms      106.9 us             -      123.4 us
//
//     element       work      moves      memory  placements
//      0  linear 500.1 us  106.9 us  512.00 KiB  x [S(0),B] -> y [S(0),S(1)]
//         forward     x            all-gather along gpu              512.00 KiB   106.9 us
//
// All figures are of one step on the busiest rank, bytes the most that a rank receives. Gradients lie
// as their activations, uses and gradients of parameters as these are stored, unless a line says
// more. Blocks that repeat are written once; what only their first or last copy moves is marked.
// Steps that stay inside a rank (slices and zero-pads) are not listed.

#include <ostream>
#include <string>
#include <vector>

#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/fold.hpp>
#include <ashlar/search/notes.hpp>
#include <ashlar/search/text.hpp>

namespace ashlar::search {

constexpr char const* to_string(phase p) {
  constexpr char const* names[] = {"forward", "backward", "synchronize"};
  return names[static_cast<int>(p)];
}

/// The text of a plan, ready to print.
struct explanation {
  std::string text;
  friend std::ostream& operator<<(std::ostream& out, explanation const& e) { return out << e.text; }
};

namespace detail {

/// "weight", "x", "dy", "statistic 1": the tensor that a move is about.
inline std::string moved_name(scheduled_move const& move, layer_spec const& spec) {
  switch (move.what) {
    case moved::activation: return "x";
    case moved::gradient: return "dy";
    case moved::statistic: return "statistic " + std::to_string(move.index);
    default: break;
  }
  std::string const name = spec.parameters[move.index].name.text;
  return move.phase == phase::synchronize ? "d " + name : name;
}

/// Where the tensors of an element lie, in pieces that belong on one line each if they must.
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
    if (!(p.use == p.store)) text += ", used " + to_string(p.use);
    if (!(p.grad == p.store)) text += ", grad " + to_string(p.grad);
    pieces.push_back(text);
  }
  return pieces;
}

/// The collectives of some moves, one line each. Moves of several parameters that take the same
/// steps are written together.
template <int N>
std::string moves_text(basic_problem<N> const& net, std::vector<scheduled_move const*> const& moves,
                       topology const& t, machine const& m, std::string const& remark = {}) {
  std::string text;
  for (std::size_t i = 0, next = 0; i < moves.size(); i = next) {
    auto const& plan = moves[i]->plan;
    auto const& spec = net.spec(moves[i]->element);
    std::string name = moved_name(*moves[i], spec);
    for (next = i + 1; next < moves.size() && moves[next]->phase == moves[i]->phase &&
                       moves[next]->what == moved::parameter && moves[next]->plan == plan;
         ++next)
      name += std::string(", ") + spec.parameters[moves[next]->index].name.text;
    double const times = double(next - i) * times_per_step(net, *moves[i]);
    for (auto const& s : plan.steps) {
      if (!communicates(s.kind)) continue;
      text += "      " + padded(to_string(moves[i]->phase), 12) + padded(name, 13) +
              padded(std::string(ashlar::to_string(s.kind)) + " along " + to_string(s.axes, t),
                     32) +
              right(bytes_text(times * double(received_bytes(plan, s, t))), 12) +
              right(seconds_text(times * step_seconds(s, plan.extents, plan.element_size, t, m)),
                    11) +
              remark + "\n";
    }
  }
  return text;
}

/// The moves of an element by where they come from.
struct element_moves {
  std::vector<scheduled_move const*> enter, inside, back, rest;
};

/// Numbers a text among those seen before.
inline int number_of(std::vector<std::string>& seen, std::string const& text) {
  int const n = static_cast<int>(seen.size());
  for (int i = 0; i < n; ++i)
    if (seen[static_cast<std::size_t>(i)] == text) return i;
  seen.push_back(text);
  return n;
}

/// The seconds of a plan by kind, under their names.
inline std::string kinds_text(cost_breakdown const& c) {
  std::string text;
  for (char const* name : {"work", "activations", "gradients", "parameters"})
    text += right(name, 14);
  text += "\n";
  for (double s : {c.work, c.activations, c.gradients, c.parameters})
    text += right(seconds_or_dash(s), 14);
  return text + "\n";
}

/// Names indented by residuals, "+ " before the end of one; levels for `folds`.
template <int N>
void name_elements(basic_problem<N> const& net, std::vector<std::string>& names,
                   std::vector<foldable>& list) {
  for (int i = 0, level = 0; i < net.size(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    bool const end = net[i].kind == element_kind::residual_end;
    list[at].level = level;
    if (end) --level;
    names.push_back(std::string(static_cast<std::size_t>(2 * level), ' ') + (end ? "+ " : "") +
                    net.spec(i).name.text);
    if (net[i].kind == element_kind::residual_begin) ++level;
  }
}

}  // namespace detail

/// What `explain` prints, as text. `chosen` must be a plan of this problem. No communication.
template <int N>
explanation explain(basic_problem<N> const& net, basic_plan<N> const& chosen, machine const& m) {
  using namespace detail;
  auto const size = static_cast<std::size_t>(net.size());
  auto const parts = breakdown(net, chosen, m);
  auto const& t = chosen.mesh;
  std::vector<element_moves> moves(size);
  for (auto const& move : parts.moves) {
    auto& own = moves[static_cast<std::size_t>(move.element)];
    (move.what == moved::gradient     ? own.back
     : move.what == moved::activation ? own.enter
     : move.phase == phase::forward   ? own.inside
                                      : own.rest)
        .push_back(&move);
  }
  std::vector<std::string> names, seen;
  std::vector<foldable> list(size);
  name_elements(net, names, list);
  std::size_t widest = 7;
  for (std::size_t i = 0; i < size; ++i) {
    std::string own = names[i] + wrapped(placement_pieces(net.spec(int(i)), chosen[int(i)]), 0) +
                      moves_text(net, moves[i].inside, t, m) + moves_text(net, moves[i].rest, t, m);
    own += std::to_string(parts.elements[i].work);
    list[i].own = number_of(seen, own);
    list[i].enter = number_of(seen, moves_text(net, moves[i].enter, t, m));
    list[i].back = number_of(seen, moves_text(net, moves[i].back, t, m));
    widest = names[i].size() > widest ? names[i].size() : widest;
  }

  auto const& total = parts.total;
  std::string text = "plan for " + to_string(t) + " (" + std::to_string(t.ranks()) +
                     " ranks): " + seconds_text(total.seconds()) + " a step";
  if (net.micro_batches > 1) text += " of " + std::to_string(net.micro_batches) + " micro-batches";
  text += ", " + percent_text(total.seconds() > 0 ? total.communication() / total.seconds() : 0) +
          " of it communication\n  " + bytes_text(double(parts.memory())) +
          " of memory per rank; it receives " + bytes_text(double(total.received)) + "\n";
  if (chosen.gap > 0)
    text += "  the fastest plan within the memory limit is at most " + percent_text(chosen.gap, 3) +
            " faster\n";
  text += kinds_text(total);
  for (auto const& note : notes(net, chosen)) text += "  note: " + note + "\n";
  text += "\n  " + padded("element", widest + 3) + right("work", 10) + right("moves", 11) +
          right("memory", 12) + "  placements\n";

  for (auto const& f : folds(list)) {
    if (f.times > 1)
      text += std::to_string(f.times) + " x: elements " + std::to_string(f.first) + " to " +
              std::to_string(f.first + f.period - 1) + ", and alike up to " +
              std::to_string(f.end() - 1) + "\n";
    for (int k = 0; k < f.period; ++k) {
      int const i = f.first + k;
      // Of copies that differ at their ends: what enters all but the first, comes back to all but
      // the last.
      bool const first = f.times > 1 && k == 0, last = f.times > 1 && k + 1 == f.period;
      auto const typical = static_cast<std::size_t>(first ? i + f.period : i);
      auto const final = static_cast<std::size_t>(i + f.period * (f.times - 1));
      auto const at = static_cast<std::size_t>(i);
      auto const& cost = parts.elements[typical];
      text += right(std::to_string(i), 4) + (f.times > 1 ? "| " : "  ") +
              padded(names[at], widest) + right(seconds_or_dash(cost.work), 9) +
              right(seconds_or_dash(cost.communication()), 11) +
              right(bytes_text(double(cost.memory.kept + cost.memory.gathered)), 12) + "  " +
              wrapped(placement_pieces(net.spec(i), chosen[i]), widest + 40) + "\n";
      bool const begins = first && list[at].enter != list[typical].enter;
      bool const ends = last && list[at].back != list[final].back;
      if (begins) text += moves_text(net, moves[at].enter, t, m, "  (first)");
      text += moves_text(net, moves[typical].enter, t, m, begins ? "  (others)" : "");
      text += moves_text(net, moves[at].inside, t, m);
      text += moves_text(net, moves[at].back, t, m, ends ? "  (others)" : "");
      if (ends) text += moves_text(net, moves[final].back, t, m, "  (last)");
      text += moves_text(net, moves[at].rest, t, m);
    }
  }
  return {text};
}

}  // namespace ashlar::search
