// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A plan for people to read: what it costs, where every tensor lies, what moves.
//
//   std::cout << search::explain(problem, plan, machine);
//
//   plan for node=2,gpu=2 (4 ranks): 1.93 ms a step, 12.1 % of it communication; 3.20 MiB per rank
//    0  linear  x [S(0),B] -> y [S(0),S(1)]  dy [S(0),S(1)] -> dx [S(0),P]  weight [B,S(1)], grad [P,S(1)]
//                 forward   x        all-gather along gpu        512.00 KiB   106.9 us
//
// Bytes are the most that a rank receives. Lines of forward and backward are per micro-batch, those of
// synchronize per step. Runs of equal blocks are written once. Steps that stay inside a rank (slices
// and zero-pads) are not listed.

#include <ostream>
#include <string>
#include <vector>

#include <ashlar/plan/text.hpp>
#include <ashlar/search/cost.hpp>

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

inline std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

inline std::string right(std::string const& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

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

/// "weight [B,S(1)], grad [P,S(1)]": where parameters lie, and what differs from that.
inline std::string parameters_text(layer_spec const& spec, layer_choice const& c) {
  std::string text;
  for (int k = 0; k < c.parameters.size(); ++k) {
    auto const& p = c.parameters[k];
    text += (k ? "; " : "") + std::string(spec.parameters[k].name.text) + " " + to_string(p.store);
    if (!(p.use == p.store)) text += ", used " + to_string(p.use);
    if (!(p.grad == p.store)) text += ", grad " + to_string(p.grad);
  }
  return text;
}

/// One line per collective of a move.
inline std::string moves_text(scheduled_move const& move, layer_spec const& spec, topology const& t,
                              machine const& m) {
  std::string text;
  auto const& plan = move.plan;
  for (auto const& s : plan.steps) {
    if (!communicates(s.kind)) continue;
    auto const load = priced_traffic(s, t, shards_of(plan.extents, t, s.from),
                                     shards_of(plan.extents, t, s.to));
    text += "       " + padded(to_string(move.phase), 12) + padded(moved_name(move, spec), 12) +
            padded(std::string(ashlar::to_string(s.kind)) + " along " + to_string(s.axes, t), 32) +
            right(bytes_text(double(load.elements) * plan.element_size), 12) +
            right(seconds_text(step_seconds(s, plan.extents, plan.element_size, t, m)), 11) + "\n";
  }
  return text;
}

/// How many elements from `first` on repeat with the given period, whole residuals only.
inline int repeats(std::vector<std::string> const& part, std::vector<int> const& depth, int first,
                   int period) {
  int const n = static_cast<int>(part.size());
  auto const at = [](auto const& list, int i) { return list[static_cast<std::size_t>(i)]; };
  for (int i = first; i < first + period; ++i)
    if (at(depth, i) < at(depth, first)) return 0;
  if (first + period < n && at(depth, first + period) != at(depth, first)) return 0;
  int same = 0;
  while (first + period + same < n && at(part, first + same) == at(part, first + period + same))
    ++same;
  return same / period;
}

}  // namespace detail

/// What `explain` prints, as text. `chosen` must be a plan of this problem. No communication.
template <int N>
explanation explain(basic_problem<N> const& net, basic_plan<N> const& chosen, machine const& m) {
  int const n = net.size();
  auto const at = [](int i) { return static_cast<std::size_t>(i); };
  std::vector<std::string> name(at(n)), forth(at(n)), back(at(n)), part(at(n));
  std::vector<int> depth(at(n));
  std::size_t widest[3]{};
  for (int i = 0, level = 0; i < n; ++i) {
    auto const kind = net[i].kind;
    if (kind == element_kind::residual_end) --level;
    depth[at(i)] = level;
    name[at(i)] = std::string(static_cast<std::size_t>(2 * level), ' ') +
                  (kind == element_kind::residual_end ? "+ " : "") + net.spec(i).name.text;
    if (kind == element_kind::residual_begin) ++level;
    forth[at(i)] = "x " + to_string(chosen[i].x) + " -> y " + to_string(chosen[i].y);
    back[at(i)] = "dy " + to_string(chosen[i].dy) + " -> dx " + to_string(chosen[i].dx);
    std::size_t const width[] = {name[at(i)].size(), forth[at(i)].size(), back[at(i)].size()};
    for (int k = 0; k < 3; ++k) widest[k] = width[k] > widest[k] ? width[k] : widest[k];
  }
  for (int i = 0; i < n; ++i) {
    part[at(i)] = "  " + detail::padded(name[at(i)], widest[0]) + "  " +
                  detail::padded(forth[at(i)], widest[1]) + "  " +
                  detail::padded(back[at(i)], widest[2]) + "  " +
                  detail::parameters_text(net.spec(i), chosen[i]);
    part[at(i)].erase(part[at(i)].find_last_not_of(' ') + 1);
    part[at(i)] += '\n';
  }
  for (auto const& move : schedule(net, chosen, m))
    part[at(move.element)] += detail::moves_text(move, net.spec(move.element), chosen.mesh, m);

  auto const cost = total_cost(net, chosen, m);
  char share[32];
  std::snprintf(share, sizeof share, "%.1f %%",
                cost.seconds() > 0 ? 100 * cost.communication / cost.seconds() : 0.0);
  std::string text = "plan for " + to_string(chosen.mesh) + " (" +
                     std::to_string(chosen.mesh.ranks()) +
                     " ranks): " + seconds_text(cost.seconds()) + " a step";
  if (net.micro_batches > 1) text += " of " + std::to_string(net.micro_batches) + " micro-batches";
  text += ", " + std::string(share) + " of it communication; " +
          bytes_text(double(memory_per_rank(net, chosen))) + " per rank\n";
  if (chosen.gap > 0) {
    std::snprintf(share, sizeof share, "%.3f %%", 100 * chosen.gap);
    text += "  the fastest plan within the memory limit is at most " + std::string(share) +
            " faster\n";
  }
  for (int i = 0; i < n;) {
    int period = 1, times = 0;
    for (int p = 1; i + 2 * p <= n; ++p)
      if (int const r = detail::repeats(part, depth, i, p); r * p > times * period)
        period = p, times = r;
    if (times * period < 2) times = 0, period = 1;
    for (int k = i; k < i + period; ++k) text += detail::right(std::to_string(k), 3) + part[at(k)];
    if (times > 0)
      text += "     … the same for " + std::to_string(times) + " more (" +
              std::to_string(i + period) + " to " + std::to_string(i + period * (times + 1) - 1) +
              ")\n";
    i += period * (times + 1);
  }
  return {text};
}

}  // namespace ashlar::search
