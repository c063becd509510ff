// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks a pipeline schedule (schedule.hpp, which also explains F, B, I and W):
//
//   complete     each part runs, for each of its chunks and each micro-batch, F once, and either B
//                once or I and W once each
//   in order     each stage runs its forward passes in the order of the micro-batches, and its
//                gradients too, so that every schedule adds gradients in the same order
//   possible     the graph of waiting has no cycle. Its nodes are the passes and the transfers. A
//                pass waits for the pass before it on its part and for the transfers of the tensors
//                that it reads, and a transfer waits for the pass that makes its tensor
//
// A transfer is a single node, which both its sender and its receiver run. If the graph has no
// cycle, the parts can begin their passes and transfers in one common order. In this order the
// parts of the first unfinished node are always ready for it. So no part waits for ever, even if
// every send waits for its receive. If the graph has a cycle, some parts wait for ever.

#include <string>

#include <ashlar/step/pipeline/replay.hpp>
#include <ashlar/step/pipeline/text.hpp>

namespace ashlar::pipelines {

namespace detail {

/// Returns what is wrong with the passes of one position, or an empty text.
inline std::string fault_of(schedule const& s, int position) {
  std::string const where = "position " + std::to_string(position) + ": ";
  auto const& order = s.order[static_cast<std::size_t>(position)];
  // A schedule that was read from a text may name a micro-batch with a huge number, and below,
  // memory is allocated for each micro-batch. So schedules with far too few passes are refused
  // first. A complete schedule has at least 2 passes for each micro-batch and chunk. The limit is
  // far from that, so that a schedule that lacks a few passes is refused below, with the name of
  // what it lacks.
  if (double(s.micro_batches) * s.chunks > 1000 + 16 * double(order.size()))
    return where + std::to_string(order.size()) + " passes are too few for " +
           std::to_string(s.micro_batches) + " micro-batches and " + std::to_string(s.chunks) +
           " chunks.";
  auto const micro_batches = static_cast<std::size_t>(s.micro_batches);
  struct state {
    std::vector<bool> forward, input, weight;
    int last_forward = -1, last_input = -1, last_weight = -1;
  };
  std::vector<state> states(static_cast<std::size_t>(s.chunks),
                            {std::vector<bool>(micro_batches), std::vector<bool>(micro_batches),
                             std::vector<bool>(micro_batches)});
  for (auto const& a : order) {
    auto const name = to_string(a);
    if (a.chunk < 0 || a.chunk >= s.chunks)
      return where + name + " is of chunk " + std::to_string(a.chunk) + ", but there are " +
             std::to_string(s.chunks) + ".";
    if (a.micro_batch < 0 || a.micro_batch >= s.micro_batches)
      return where + name + " is of micro-batch " + std::to_string(a.micro_batch) +
             ", but there are " + std::to_string(s.micro_batches) + ".";
    auto& c = states[static_cast<std::size_t>(a.chunk)];
    auto const m = static_cast<std::size_t>(a.micro_batch);
    auto const take = [&](std::vector<bool>& done, int& last, char const* what) -> std::string {
      if (done[m]) return where + name + " repeats " + what + ".";
      if (a.micro_batch < last)
        return where + name + " comes after that of micro-batch " + std::to_string(last) +
               ". Each stage takes the micro-batches in their order.";
      done[m] = true;
      last = a.micro_batch;
      return {};
    };
    std::string fault;
    if (a.what == pass::forward) {
      fault = take(c.forward, c.last_forward, "a forward pass");
    } else {
      if (!c.forward[m]) return where + name + " comes before its forward pass.";
      if (a.what == pass::weight_gradient && !c.input[m])
        return where + name + " comes before the gradient of the input.";
      if (makes_input_gradient(a.what))
        fault = take(c.input, c.last_input, "the gradient of the input");
      if (fault.empty() && makes_weight_gradient(a.what))
        fault = take(c.weight, c.last_weight, "the gradients of the parameters");
    }
    if (!fault.empty()) return fault;
  }
  for (int k = 0; k < s.chunks; ++k) {
    auto const& c = states[static_cast<std::size_t>(k)];
    for (int m = 0; m < s.micro_batches; ++m) {
      auto const at = static_cast<std::size_t>(m);
      if (c.forward[at] && c.input[at] && c.weight[at]) continue;
      return where + "micro-batch " + std::to_string(m) + " of chunk " + std::to_string(k) +
             " has no " +
             (!c.forward[at] ? "forward pass."
              : !c.input[at] ? "gradient of the input."
                             : "gradients of the parameters.");
    }
  }
  return {};
}

}  // namespace detail

/// Returns a message that says what is wrong with a schedule and names the first wrong pass, or an
/// empty text if nothing is wrong.
inline std::string fault_of(schedule const& s) {
  if (s.positions < 1 || s.micro_batches < 1 || s.chunks < 1)
    return "a schedule needs at least one position, micro-batch and chunk.";
  if (static_cast<int>(s.order.size()) != s.positions)
    return "the schedule has the passes of " + std::to_string(s.order.size()) +
           " positions, not of " + std::to_string(s.positions) + ".";
  for (int p = 0; p < s.positions; ++p)
    if (auto fault = detail::fault_of(s, p); !fault.empty()) return fault;
  auto const t = replay(s, equal_costs(s.stages(), 0));
  if (t.complete) return {};
  std::string text = "the positions wait for each other in a circle: ";
  bool first = true;
  for (int p = 0; p < s.positions; ++p) {
    auto const& own = s.order[static_cast<std::size_t>(p)];
    auto const at = static_cast<std::size_t>(t.stopped_at[static_cast<std::size_t>(p)]);
    if (at == own.size()) continue;
    text += std::string(first ? "" : ", ") + "position " + std::to_string(p) + " at its pass " +
            std::to_string(at) + ", " + to_string(own[at]);
    first = false;
  }
  return text + ".";
}

}  // namespace ashlar::pipelines
