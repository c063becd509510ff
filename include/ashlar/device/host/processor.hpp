// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The type that stands for the host processor. The type of a mesh or tensor has a processor type as
// parameter, which says in which memory the data is and where kernels run. The host's type has no
// state. A device's type holds the queue (stream) to which work is submitted.

namespace ashlar::device::host {

struct processor {
  /// Whether the program's own loops may read and write this processor's memory.
  static constexpr bool is_host = true;
};

}  // namespace ashlar::device::host
