// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes training steps as a trace file that Perfetto (ui.perfetto.dev) and chrome://tracing can
// open. Each traced_step, such as the measured times of one rank or the predicted times, becomes a
// group of tracks:
//
//   track       shows
//   work        computations except parameter updates, and waits for transfers
//   transfers   each transfer from begin to end, concurrent transfers one above another. A transfer
//               is a redistribution, or in a pipeline a send or a receive
//
// The file is in the "Trace Event Format". Computations and waits are complete events (X), and each
// transfer is a pair of asynchronous events (b, e). Times are in microseconds from the beginning of
// the step. In a pipeline ranks have different programs, so each group of tracks is written by
// itself (trace_events) and then joined with the others.

#include <ios>
#include <locale>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <ashlar/step/text.hpp>
#include <ashlar/step/timeline.hpp>
#include <ashlar/support/json_text.hpp>

namespace ashlar::io {

/// The content of one group of tracks: its name, and when each action of the program began and
/// ended.
struct traced_step {
  std::string name;                      ///< the name, for example "rank 0" or "predicted"
  std::vector<step::time_span> actions;  ///< one per action of the program
};

namespace detail {

class trace_writer {
 public:
  trace_writer(step::problem const& net, step::program const& p) : net_(net), p_(p) {
    out_.imbue(std::locale::classic());  // JSON has a decimal point
    out_.setf(std::ios::fixed, std::ios::floatfield);
    out_.precision(3);
  }

  std::string written(traced_step const& step, int group) {
    name_group(group, step.name);
    for (std::size_t i = 0; i < p_.actions.size(); ++i)
      write_action(group, p_.actions[i], step.actions[i]);
    return out_.str();
  }

 private:
  void next() {
    if (!first_) out_ << ",\n";
    first_ = false;
  }
  void name_group(int group, std::string const& name) {
    next();
    out_ << R"({"ph":"M","name":"process_name","pid":)" << group << R"(,"args":{"name":)"
         << json_text(name) << "}}";
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
    out_ << R"({"ph":")" << phase << R"(","pid":)" << group << R"(,"tid":0,"name":)"
         << json_text(name) << R"(,"cat":")" << category << R"(","ts":)" << 1e6 * at;
  }

  void write_action(int group, step::action const& a, step::time_span const& when) {
    if (a.kind == step::action_kind::release || a.kind == step::action_kind::update) return;
    if (a.move >= 0) {
      bool const begins = a.kind == step::action_kind::begin_move;
      return write_transfer(group, a, when, begins, move_name(a), a.move, move_arguments(a));
    }
    if (a.crossing >= 0) {
      bool const begins = a.kind == step::action_kind::begin_send ||
                          a.kind == step::action_kind::begin_receive;
      return write_transfer(group, a, when, begins, crossing_name(a),
                            static_cast<int>(p_.moves.size()) + a.crossing,
                            "\"micro_batch\":" + std::to_string(a.micro_batch));
    }
    complete(group, element_name(a.element) + ' ' + to_string(a.kind),
             a.halo >= 0 || a.rows >= 0 ? "wait" : "work", a, when);
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
  std::string move_arguments(step::action const& a) const {
    auto const& path = p_.path_of(p_.move_of(a));
    return R"("from":")" + to_string(path.from) + R"(","to":")" + to_string(path.to) + '"';
  }
  std::string crossing_name(step::action const& a) const {
    auto const& c = p_.crossing_of(a);
    if (c.what == step::moved::parameter) {
      auto const& name = net_.spec(c.element).parameters[p_.value_of(c.value).index].name;
      return element_name(c.element) + (c.is_send ? " send " : " receive ") +
             (c.phase == step::phase::synchronize ? "d " : "") + name.text;
    }
    bool const forward = c.what == step::moved::activation;
    return element_name(c.element) + (c.is_send ? " send" : " receive") +
           (forward ? (c.is_send ? " y" : " x") : (c.is_send ? " dx" : " dy"));
  }
  /// Writes the start or the end of a transfer, and the wait for its end. `id` is different for all
  /// transfers of the program.
  void write_transfer(int group, step::action const& a, step::time_span const& when, bool begins,
                      std::string const& name, int id, std::string const& arguments) {
    if (!begins && when.end > when.start) complete(group, "wait for " + name, "wait", a, when);
    event(begins ? "b" : "e", group, name, "transfer", begins ? when.start : when.end);
    out_ << R"(,"id":)" << id << R"(,"args":{)" << arguments << "}}";
  }

  std::ostringstream out_;
  step::problem const& net_;
  step::program const& p_;
  bool first_ = true;
};

}  // namespace detail

/// Returns one group of tracks: a step of the program `p` of `net`. The step must have one time
/// span per action of the program. Each group of a trace must have its own number `group`. Viewers
/// show the groups in the order of these numbers.
inline std::string trace_events(step::problem const& net, step::program const& p,
                                traced_step const& step, int group) {
  return detail::trace_writer(net, p).written(step, group);
}
/// Writes a trace of groups that trace_events has made.
inline void write_trace(std::ostream& out, std::span<std::string const> groups) {
  out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  for (std::size_t k = 0; k < groups.size(); ++k) out << (k == 0 ? "\n" : ",\n") << groups[k];
  out << "\n]}\n";
}
/// Writes steps of the program `p` of `net` as a trace.
inline void write_trace(std::ostream& out, step::problem const& net, step::program const& p,
                        std::span<traced_step const> steps) {
  std::vector<std::string> groups;
  for (auto const& step : steps)
    groups.push_back(trace_events(net, p, step, static_cast<int>(groups.size())));
  write_trace(out, groups);
}

}  // namespace ashlar::io
