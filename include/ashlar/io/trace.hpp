// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes training steps as a trace file that Perfetto (ui.perfetto.dev) and chrome://tracing can
// open. Each traced_step, such as the measured times of one rank or the predicted times, becomes a
// group of tracks:
//
//   track       shows
//   work        computations except parameter updates, and waits for redistributions
//   transfers   each redistribution from begin to end, concurrent redistributions one above another
//
// The file is in the "Trace Event Format". Computations and waits are complete events (X), and each
// redistribution is a pair of asynchronous events (b, e). Times are in microseconds from the
// beginning of the step.

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <ashlar/step/text.hpp>
#include <ashlar/step/timeline.hpp>

namespace ashlar::io {

/// The content of one group of tracks: its name, and when each action of the program began and
/// ended.
struct traced_step {
  std::string name;                      ///< for example "rank 0" or "predicted"
  std::vector<step::time_span> actions;  ///< one per action of the program
};

namespace detail {

class trace_writer {
 public:
  trace_writer(std::ostream& out, step::problem const& net, step::program const& p)
      : out_(out), net_(net), p_(p) {}

  void write(std::span<traced_step const> steps) {
    out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (std::size_t group = 0; group < steps.size(); ++group) {
      name_group(static_cast<int>(group), steps[group].name);
      for (std::size_t i = 0; i < p_.actions.size(); ++i)
        write_action(static_cast<int>(group), p_.actions[i], steps[group].actions[i]);
    }
    out_ << "\n]}\n";
  }

 private:
  void next() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
  }
  void name_group(int group, std::string const& name) {
    next();
    out_ << R"({"ph":"M","name":"process_name","pid":)" << group << R"(,"args":{"name":")" << name
         << "\"}}";
    next();
    out_ << R"({"ph":"M","name":"thread_name","pid":)" << group
         << R"(,"tid":0,"args":{"name":"work"}})";
  }
  std::string element_name(int element) const {
    return std::to_string(element) + '.' + net_.spec(element).name.text;
  }
  void event(char const* phase, int group, std::string const& name, char const* category,
             double at) {
    next();
    out_ << R"({"ph":")" << phase << R"(","pid":)" << group << R"(,"tid":0,"name":")" << name
         << R"(","cat":")" << category << R"(","ts":)" << 1e6 * at;
  }

  void write_action(int group, step::action const& a, step::time_span const& when) {
    if (a.kind == step::action_kind::release || a.kind == step::action_kind::update) return;
    if (a.kind == step::action_kind::begin_move) return write_move("b", group, a, when.start);
    if (a.kind == step::action_kind::end_move) {
      if (when.end > when.start) complete(group, "wait for " + move_name(a), "wait", a, when);
      return write_move("e", group, a, when.end);
    }
    complete(group, element_name(a.element) + ' ' + to_string(a.kind), "work", a, when);
  }
  void complete(int group, std::string const& name, char const* category, step::action const& a,
                step::time_span const& when) {
    event("X", group, name, category, when.start);
    out_ << R"(,"dur":)" << 1e6 * (when.end - when.start) << R"(,"args":{"micro_batch":)"
         << a.micro_batch << "}}";
  }
  std::string move_name(step::action const& a) const {
    auto const& m = p_.move_of(a);
    return element_name(m.element) + ' ' + step::name_of(m, net_.spec(m.element));
  }
  void write_move(char const* phase, int group, step::action const& a, double at) {
    auto const& path = p_.path_of(p_.move_of(a));
    event(phase, group, move_name(a), "transfer", at);
    out_ << R"(,"id":)" << a.move << R"(,"args":{"from":")" << to_string(path.from) << R"(","to":")"
         << to_string(path.to) << "\"}}";
  }

  std::ostream& out_;
  step::problem const& net_;
  step::program const& p_;
  bool first_ = true;
};

}  // namespace detail

/// Writes steps of the program `p` of `net` as a trace. Each step must have one time span per
/// action of the program.
inline void write_trace(std::ostream& out, step::problem const& net, step::program const& p,
                        std::span<traced_step const> steps) {
  detail::trace_writer(out, net, p).write(steps);
}

}  // namespace ashlar::io
