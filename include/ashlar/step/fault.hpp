// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes a fault of a step's program and makes the error message for it. check.hpp and
// check_order.hpp find such faults.

#include <string>

#include <ashlar/step/program.hpp>

namespace ashlar::search {
inline namespace step {

/// The first wrong action of a program. `action` is the index of this action, or -1 if there is no
/// fault. If something is missing at the end of the step, `action` is the number of actions.
struct fault {
  int action = -1;
  char const* what = "";  ///< the error message
  int value = -1;         ///< index of a value that the message names, or -1
  int move = -1;

  constexpr bool found() const { return action >= 0; }
};

/// Returns a text such as "action 12 (forward of element 3, micro-batch 0) reads a value that
/// nothing has made yet: x 0 of element 3, micro-batch 0", or an empty text if there is no fault.
inline std::string to_string(fault const& f, program const& p) {
  if (!f.found()) return {};
  std::string text = "the step";
  if (f.action < static_cast<int>(p.actions.size())) {
    action const& a = p.actions[static_cast<std::size_t>(f.action)];
    text = "action " + std::to_string(f.action) + " (" + to_string(a.kind) + " of element " +
           std::to_string(a.element) + ", micro-batch " + std::to_string(a.micro_batch) + ")";
  }
  text += std::string(" ") + f.what;
  if (f.value >= 0) {
    value const& v = p.value_of(f.value);
    text += std::string(": ") + to_string(v.kind) + ' ' + std::to_string(v.index) + " of element " +
            std::to_string(v.element) + ", micro-batch " + std::to_string(v.micro_batch);
  }
  if (f.move >= 0) text += ": move " + std::to_string(f.move);
  return text;
}

}  // namespace step
}  // namespace ashlar::search
