// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Prints a program as a table, 100 columns wide.
//
//   std::cout << search::print(problem, program, machine);
//
//   program for gpu=2 (2 ranks): 34 actions, 1 micro-batch, 5 moves
//     1.93 ms, in serial order 2.10 ms; 0.31 ms of communication, 0.17 ms of it hidden
//     at most 3.20 MiB of memory per rank, in action 12
//
//     no. batch element         action                              bytes      start    seconds   waits
//       3     0   0 linear    begin weight                     512.00 KiB    0.0 us  106.9 us         -
//                             [S(0)] -> [B]: all-gather along gpu
//       5     0   0 linear    forward                           64.00 KiB  106.9 us  500.1 us         -
//
//   bytes     for a computation, the bytes of its results; for a begin_move or an exchange of halos
//             or rows, the bytes that the cost model counts, which are the most that any rank
//             receives if shards are equal; for a release, the bytes that it frees
//   seconds   for a begin_move, the time of its transfers; the first move of a bucket has the time
//             of the whole bucket
//   waits     the time of an end_move or of an exchange of halos or rows, during which the
//             processor computes nothing
//
// If a program is long, its middle is left out.

#include <algorithm>
#include <ostream>
#include <string>

#include <ashlar/placement/text.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/timeline.hpp>

namespace ashlar::search {
inline namespace step {

struct print_options {
  int most_actions = 200;  ///< if there are more actions, the middle is left out; 0: no limit
  bool releases = false;   ///< whether releases are printed
};

struct program_text {
  std::string text;
  friend std::ostream& operator<<(std::ostream& out, program_text const& t) {
    return out << t.text;
  }
};

/// Returns the name of the tensor of a move (a redistribution), such as "x", "dy", "weight",
/// "d weight" for its gradient, "new weight" or "statistic 0".
inline std::string name_of(program_move const& m, layer_spec const& spec) {
  switch (m.what) {
    case moved::activation: return "x";
    case moved::gradient: return "dy";
    case moved::statistic: return "statistic " + std::to_string(m.index);
    case moved::parameter: break;
  }
  return (m.phase == phase::synchronize ? "d "
          : m.phase == phase::renew     ? "new "
                                        : "") +
         std::string(spec.parameters[m.index].name.text);
}

namespace step_detail {

inline std::string left_set(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}
inline std::string right_set(std::string const& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}
inline std::string time_or_dash(double s) { return s == 0 ? "-" : seconds_text(s); }

/// Formats the table lines of one action.
template <int N>
class action_text {
 public:
  action_text(basic_problem<N> const& net, program const& p, timeline const& when)
      : net_(net), p_(p), when_(when) {
    for (int i = 0; i < net.size(); ++i) {
      std::size_t const size = std::string(net.spec(i).name.text).size();
      widest_ = size > widest_ ? size : widest_;
    }
  }

  std::string header() const {
    return "   no. batch " + left_set("element", widest_ + 5) + left_set("action", action_width()) +
           right_set("bytes", 11) + right_set("start", 10) + right_set("seconds", 10) +
           right_set("waits", 10) + "\n";
  }

  std::string operator()(int i) const {
    action const& a = p_.actions[static_cast<std::size_t>(i)];
    auto const& span = when_.actions[static_cast<std::size_t>(i)];
    std::string what = to_string(a.kind), more;
    double bytes = 0, seconds = a.seconds, waits = a.halo_seconds + a.rows_seconds;
    if (a.move >= 0) {
      program_move const& m = p_.move_of(a);
      bool const begins = a.kind == action_kind::begin_move;
      what = (begins ? "begin " : "end ") + name_of(m, net_.spec(m.element));
      if (begins) {
        bytes = moves(m, more);
        seconds = when_.moves[static_cast<std::size_t>(a.move)].busy;
      } else {
        waits = span.end - span.start;
      }
    } else {
      if (a.halo >= 0 || a.rows >= 0) bytes = double(a.halo_bytes + a.rows_bytes);
      if (a.kind == action_kind::update || a.kind == action_kind::add_gradient || a.rows >= 0)
        what += std::string(" ") + net_.spec(a.element).parameters[a.part].name.text;
      for (int const v : a.kind == action_kind::release ? a.reads : a.makes)
        if (a.halo < 0 && a.rows < 0) bytes += double(p_.value_of(v).bytes);
    }
    std::string line = right_set(std::to_string(i), 6) +
                       right_set(std::to_string(a.micro_batch), 6) + ' ' +
                       right_set(std::to_string(a.element), 3) + ' ' +
                       left_set(net_.spec(a.element).name.text, widest_ + 1) +
                       left_set(what, action_width());
    return line + right_set(bytes == 0 ? "-" : bytes_text(bytes), 11) +
           right_set(seconds_text(span.start), 10) + right_set(time_or_dash(seconds), 10) +
           right_set(time_or_dash(waits), 10) + "\n" + more;
  }

 private:
  std::size_t action_width() const { return widest_ < 14 ? 41 - widest_ : 27; }

  /// Appends the placements and collectives of a redistribution to `more`. Returns the bytes that
  /// the cost model counts for it.
  double moves(program_move const& m, std::string& more) const {
    auto const& path = p_.path_of(m);
    std::size_t const indent = widest_ + 20;
    std::string line(indent, ' ');
    line += to_string(path.from) + " -> " + to_string(path.to);
    if (m.bucket >= 0) line += " in bucket " + std::to_string(m.bucket);
    double bytes = 0;
    for (auto const& s : path.steps) {
      bytes += double(transfer_traffic(path, s, p_.mesh).elements) *
               s.unit_bytes(path.element_size);
      auto const piece = std::string(to_string(s.kind)) + " along " + to_string(s.axes, p_.mesh);
      line += &s == path.steps.begin() ? ":" : ",";
      if (line.size() + 1 + piece.size() > 100) {
        more += line + "\n";
        line = std::string(indent + 1, ' ');
      }
      line += ' ' + piece;
    }
    more += line + "\n";
    return bytes;
  }

  basic_problem<N> const& net_;
  program const& p_;
  timeline const& when_;
  std::size_t widest_ = 7;
};

}  // namespace step_detail

/// Returns the table of a program's actions with their times on machine `m`. Expects a program of
/// this problem that `check` accepts.
template <int N>
program_text print(basic_problem<N> const& net, program const& p, machine const& m,
                   print_options const& options = {}) {
  auto const when = timeline_of(p, m);
  auto const most = high_water(p);
  auto const counted = [](std::size_t n, char const* name) {
    return std::to_string(n) + " " + name + (n == 1 ? "" : "s");
  };
  std::string text = "program for " + to_string(p.mesh) + " (" +
                     counted(static_cast<std::size_t>(p.mesh.ranks()), "rank") +
                     "): " + counted(p.actions.size(), "action") + ", " +
                     std::to_string(p.micro_batches) +
                     (p.micro_batches == 1 ? " micro-batch, " : " micro-batches, ") +
                     counted(p.moves.size(), "move") + "\n  " + seconds_text(when.seconds) +
                     ", in serial order " + seconds_text(serial_seconds(p, m).seconds()) + "; " +
                     seconds_text(when.communication) + " of communication, " +
                     seconds_text(std::max(0.0, when.hidden())) + " of it hidden\n  at most " +
                     bytes_text(double(most.peak)) + " of memory per rank, in action " +
                     std::to_string(most.fullest) + "\n\n";
  step_detail::action_text const line(net, p, when);
  text += line.header();
  std::vector<int> shown;
  for (int i = 0; i < static_cast<int>(p.actions.size()); ++i)
    if (options.releases || p.actions[static_cast<std::size_t>(i)].kind != action_kind::release)
      shown.push_back(i);
  int const all = static_cast<int>(shown.size());
  bool const cut = options.most_actions > 0 && all > options.most_actions;
  int const head = cut ? (options.most_actions + 1) / 2 : all;
  int const tail = cut ? options.most_actions - head : 0;
  for (int k = 0; k < head; ++k) text += line(shown[static_cast<std::size_t>(k)]);
  if (cut)
    text += "   ... " + counted(static_cast<std::size_t>(all - head - tail), "action") + " more\n";
  for (int k = all - tail; k < all; ++k) text += line(shown[static_cast<std::size_t>(k)]);
  return {text};
}

}  // namespace step
}  // namespace ashlar::search
