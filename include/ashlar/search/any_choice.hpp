// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines a filter for searches. It permits every choice of every element.

#include <ashlar/step/plan.hpp>

namespace ashlar::search {

struct any_choice {
  constexpr bool operator()(int, layer_choice const&) const { return true; }
};

}  // namespace ashlar::search
