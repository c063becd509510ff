// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts the calls of operator new in this thread, and notes the most bytes that one asked for.
// Calls in other threads are not counted, for example those of the watchdog
// (comm/watch/watchdog.hpp). This header defines operator new and delete: include it in exactly one
// translation unit of a program.

#include <cstdlib>
#include <new>

namespace ashlar_test {
inline thread_local int allocations = 0;
inline thread_local std::size_t largest_allocation = 0;

inline void note_allocation(std::size_t bytes) {
  ++allocations;
  if (bytes > largest_allocation) largest_allocation = bytes;
}
}  // namespace ashlar_test
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ashlar_test::note_allocation(bytes);
  if (void* const block = std::malloc(bytes > 0 ? bytes : 1)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ashlar_test::note_allocation(bytes);
  auto const unit = static_cast<std::size_t>(alignment);
  if (void* const block = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
