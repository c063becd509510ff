// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// All GPU ranks of a program, as a mesh takes them: where this one stands, its device, and the communicator
// of all, from which those of a mesh's groups are split. A cheap handle; made by nccl::environment.

#include <memory>

#include <ashlar/comm/nccl/handle.hpp>
#include <ashlar/comm/nccl/launch.hpp>

namespace ashlar::nccl {

struct world {
  launch here;
  int device = 0;  ///< selected, as CUDA numbers those that this process sees
  std::chrono::milliseconds deadline{0};
  std::shared_ptr<handle> all;
  /// Ends this process, and with it the job, with a message. From any thread; does not return.
  void (*end_process)(char const*) = nullptr;

  int rank() const { return here.rank; }
  int size() const { return here.size; }
};

}  // namespace ashlar::nccl
