// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The part of a mesh's state that does not depend on the backend (comm/backend.hpp).

#include <memory>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/comm/plan_cache.hpp>
#include <ashlar/comm/watch/watchdog.hpp>

namespace ashlar {

struct mesh_core {
  topology shape;
  int rank = 0;
  coordinates here{};
  machine priced_on;
  std::shared_ptr<communicator> plain;      ///< the transport without decorators, such as counters
  std::shared_ptr<communicator> transport;  ///< `plain`, perhaps inside decorators
  plan_cache plans;
  double seconds = 0;      ///< time spent in transfers
  bool is_timed = false;   ///< whether a transfer_timer is running
  bool forbidden = false;  ///< whether every transfer throws
  /// Whether ranks compare transfers before they begin (checked_mode.hpp).
  bool is_checked = false;
  char const* label = nullptr;  ///< names what later transfers move (operation_label.hpp)
  std::shared_ptr<watch::watchdog> watching;  ///< null if this mesh is not watched
};

}  // namespace ashlar
