// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The longer kernels of the host work in blocks and call between_blocks() between two of them: whoever has
// transfers under way lets them go on there, since nothing on a host moves by itself (comm/operation_queue.hpp).
// The blocks are the same whether or not anybody listens, so that results do not depend on it.
//
//   kernel                         a block
//   products of layers             512 rows of the result
//   attention, both passes         one head of one sequence
//   convolution, both passes       one strip of im2col, one group of Winograd's tiles

#include <cstdint>
#include <utility>

namespace ashlar::device::host {

/// Rows of a product between two calls.
inline constexpr std::int64_t block_rows = 512;

namespace detail {

/// Who is called between blocks on this thread.
struct block_listener {
  void (*call)(void const*) = nullptr;
  void const* with = nullptr;
};
inline block_listener& current_listener() {
  thread_local block_listener one;
  return one;
}

}  // namespace detail

inline void between_blocks() {
  auto const& one = detail::current_listener();
  if (one.call != nullptr) one.call(one.with);
}

/// Calls f() between blocks for as long as this object lives. `f` must live as long.
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
