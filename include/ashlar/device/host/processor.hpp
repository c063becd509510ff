// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The host processor as a type. A mesh or tensor has a processor type, which says whose memory
// holds its data. The host's type has no state. Processors that work through a queue hold that
// queue.

namespace ashlar::device::host {

struct processor {
  /// Whether the program's own loops may read and write this processor's memory.
  static constexpr bool is_host = true;
};

}  // namespace ashlar::device::host
