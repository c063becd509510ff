// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Applies the option --memory-limit, which sets the most bytes that a plan may use on a rank.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ashlar/machine/machine.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/parse_bytes.hpp>

namespace example {

/// Returns the machine with the memory limit `text`, the value of --memory-limit. If the text is
/// empty, returns the machine unchanged. Throws ashlar::error if the text is not a limit.
inline ashlar::machine with_memory_limit(ashlar::machine machine, std::string const& text) {
  if (text.empty()) return machine;
  auto const bytes = text == "none" ? std::optional<std::int64_t>(0) : ashlar::parse_bytes(text);
  if (!bytes || (*bytes == 0 && text != "none"))
    throw ashlar::error(
        "--memory-limit",
        "\"" + text +
            "\" is not a size. Write it as 140GB, 80GiB, in bytes, or none for no limit.");
  machine.memory = *bytes;
  return machine;
}

/// Throws ashlar::error if a plan that needs `bytes` bytes on a rank exceeds the memory limit of
/// the machine (0: no limit). The error names the command line option `option`.
inline void refuse_more_memory(std::string const& option, std::int64_t bytes,
                               ashlar::machine const& machine) {
  if (machine.memory > 0 && bytes > machine.memory)
    throw ashlar::error(
        option, "the plan needs " + ashlar::bytes_text(double(bytes)) +
                    " of memory on a rank, but the limit is " +
                    ashlar::bytes_text(double(machine.memory)) +
                    ". Take another layout, --sync zero3 or auto, raise the limit, or use more "
                    "ranks.");
}

}  // namespace example
