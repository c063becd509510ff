// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lets transfers progress while a long kernel computes. On the host, transfers make no progress by
// themselves (comm/operation_queue.hpp). Therefore long kernels divide their work into blocks and
// call between_blocks() between two blocks. Most kernels also call it before the first block. A
// caller that has transfers in progress registers a callback, which between_blocks() calls. The
// division into blocks is the same with and without a callback, so results are the same too.
//
//   kernel                         work of one block
//   products of layers             512 rows of the result
//   attention, both passes         one head of one sequence
//   convolution, both passes       one strip of im2col, or one group of Winograd tiles
//   group norm, both passes        one group of channels of one image

#include <cstdint>
#include <utility>

namespace ashlar::device::host {

/// The number of rows of a matrix product that are computed between two calls of between_blocks(),
/// in which transfers progress.
inline constexpr std::int64_t block_rows = 512;

namespace detail {

/// The callback of this thread. `call` is null if no callback is registered.
struct block_listener {
  void (*call)(void const*) = nullptr;
  void const* with = nullptr;
};
inline block_listener& current_listener() {
  thread_local block_listener one;
  return one;
}

}  // namespace detail

/// Lets transfers progress: calls the callback of this thread, if one is registered.
inline void between_blocks() {
  auto const& one = detail::current_listener();
  if (one.call != nullptr) one.call(one.with);
}

/// Registers f as this thread's callback for the lifetime of this object. Kernels call f between
/// two blocks of work, so that transfers progress. f must outlive this object. The destructor
/// restores the previous callback.
template <class F>
class listening {
 public:
  explicit listening(F const& f)
      : before_(std::exchange(detail::current_listener(),
                              {[](void const* with) { (*static_cast<F const*>(with))(); }, &f})) {}
  listening(listening const&) = delete;
  listening& operator=(listening const&) = delete;
  ~listening() { detail::current_listener() = before_; }

 private:
  detail::block_listener before_;
};

}  // namespace ashlar::device::host
