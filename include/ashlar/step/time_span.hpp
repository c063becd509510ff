// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The times at which one action of a program starts and ends. The timeline predicts these times
// (timeline.hpp), and the executor of a model measures them (nn/executor.hpp).

namespace ashlar::search {
inline namespace step {

struct time_span {
  double start = 0, end = 0;  ///< seconds since the beginning of the step
  friend constexpr bool operator==(time_span const&, time_span const&) = default;
};

}  // namespace step
}  // namespace ashlar::search
