// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds a wire by its name, for options of programs and for plan files.

#include <string>

#include <ashlar/plan/wire.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

/// Returns the wire whose to_string is `name`. Throws an ashlar::error that names `operation` if
/// there is no such wire.
inline wire_format wire_named(std::string const& operation, std::string const& name) {
  auto const found = parse_wire(name);
  if (!found.is_valid)
    throw error(operation, "there is no wire \"" + name +
                               "\". Wires are exact, bf16, half, int8, one-bit, top-k/100 and "
                               "power-sgd/4, each but exact also with +feedback or +momentum.");
  return found.wire;
}

}  // namespace ashlar
