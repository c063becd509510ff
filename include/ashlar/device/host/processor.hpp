// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The type that stands for the host processor. The types of meshes and tensors have a processor
// type as a parameter. The processor type determines in which memory the data is and where kernels
// run. The host's type has no state, while a device's type holds the stream to which work is
// submitted.

namespace ashlar::device::host {

struct processor {
  /// Says whether host code may read and write this processor's memory directly.
  static constexpr bool is_host = true;
};

}  // namespace ashlar::device::host
