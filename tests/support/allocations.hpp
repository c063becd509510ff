// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Counts, for this thread, the calls of operator new, the largest number of bytes that one call
// requested, the bytes in use and their peak. Bytes include the few by which malloc rounds each
// block up. Calls in other threads are not counted, for example those of the watchdog
// (comm/watch/watchdog.hpp). This header defines operator new and delete: include it in exactly one
// translation unit of a program.

#include <cstdint>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace ashlar_test {
inline thread_local int allocations = 0;
inline thread_local std::size_t largest_allocation = 0;
inline thread_local std::int64_t heap_bytes = 0, heap_peak = 0;

inline void* noted(void* block, std::size_t bytes) {
  if (block == nullptr) throw std::bad_alloc();
  ++allocations;
  if (bytes > largest_allocation) largest_allocation = bytes;
  heap_bytes += static_cast<std::int64_t>(::malloc_usable_size(block));
  if (heap_bytes > heap_peak) heap_peak = heap_bytes;
  return block;
}
inline void freed(void* block) {
  heap_bytes -= static_cast<std::int64_t>(::malloc_usable_size(block));
  std::free(block);
}
}  // namespace ashlar_test
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return ashlar_test::noted(std::malloc(bytes > 0 ? bytes : 1), bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  auto const unit = static_cast<std::size_t>(alignment);
  return ashlar_test::noted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit), bytes);
}
// std::stable_sort calls this one. AddressSanitizer would otherwise replace it by its own, whose
// blocks must not be freed by the functions below.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  try {
    return ::operator new(bytes);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
[[gnu::noinline]] void operator delete(void* block) noexcept { ashlar_test::freed(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  ashlar_test::freed(block);
}
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept {
  ashlar_test::freed(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  ashlar_test::freed(block);
}
