// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What every mesh knows and does not depend on what its ranks compute with.

#include <memory>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/plan_cache.hpp>

namespace ashlar {

struct mesh_core {
  topology shape;
  int rank = 0;
  coordinates here{};
  machine priced_on;
  std::shared_ptr<communicator> plain;      ///< without decorators
  std::shared_ptr<communicator> transport;  ///< the same, perhaps decorated
  plan_cache plans;
  double seconds = 0;     ///< in transfers
  bool is_timed = false;  ///< already, by a caller
  bool forbidden = false;
};

}  // namespace ashlar
