// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The processor that runs the program, as a type: meshes and tensors say by it whose memory they
// are in. It has no state; one that works through a queue has that queue.

namespace ashlar::device::host {

struct processor {
  /// Whether the program's own loops may read and write the memory.
  static constexpr bool is_host = true;
};

}  // namespace ashlar::device::host
