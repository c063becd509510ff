// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The GPU ranks of a program, on which a mesh is created: rank and size of this process, its
// device, and the NCCL communicator of all ranks. The communicators of groups are split from it.
// The object is a cheap handle, made by nccl::environment.

#include <memory>

#include <ashlar/comm/nccl/handle.hpp>
#include <ashlar/comm/nccl/launch.hpp>
#include <ashlar/comm/watch/settings.hpp>

namespace ashlar::nccl {

struct world {
  launch here;
  int device = 0;  ///< number of the selected device among the devices visible to this process
  std::chrono::milliseconds deadline{0};  ///< time limit for the ranks to meet
  watch::settings watching;               ///< settings of the watchdog of transfers
  std::shared_ptr<handle> all;
  /// Prints a message and ends this process, and with it the job. Thread-safe; does not return.
  void (*end_process)(char const*) = nullptr;

  int rank() const { return here.rank; }
  int size() const { return here.size; }
};

}  // namespace ashlar::nccl
