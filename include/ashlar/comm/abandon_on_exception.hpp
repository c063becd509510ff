// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// If an exception leaves a scope in which a rank takes part in a redistribution, the redistribution
// never ends. An object of this class in the scope then abandons the mesh: all later transfers of
// this rank on the mesh throw (operation_queue.hpp). Ranks that wait for this rank in shared memory
// throw, too (shared/handshake.hpp).

#include <ashlar/comm/operation_queue.hpp>
#include <ashlar/support/exception_watch.hpp>

namespace ashlar {

class abandon_on_exception {
 public:
  /// Watches for an exception from now on, or from arm() on if `armed` is false.
  explicit abandon_on_exception(operation_queue& of, bool armed = true)
      : operations_(of), armed_(armed) {}
  abandon_on_exception(abandon_on_exception const&) = delete;
  abandon_on_exception& operator=(abandon_on_exception const&) = delete;
  ~abandon_on_exception() {
    if (armed_ && watch_.is_passing()) operations_.abandon();
  }

  void arm() { armed_ = true; }

 private:
  operation_queue& operations_;
  bool armed_;
  exception_watch watch_;
};

}  // namespace ashlar
