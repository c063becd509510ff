// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Memory for small objects that are created and destroyed with every transfer, such as the handle
// of a pending transfer. Block sizes are rounded up to multiples of 64 bytes. A freed block of at
// most 4032 bytes is put into a list of free blocks of its size, from which it is reused. So
// training steps after the first one allocate nothing from the system for such objects. Larger
// blocks are returned to the system. Each thread has its own lists, which are freed when the thread
// ends.
//
//   class my_class : public recycled                           new and delete of a class
//   std::shared_ptr<T>(p, deleter, recycling_allocator<T>())   a shared pointer's control block
//   recycled_vector<T>                                         a short vector

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include <ashlar/config.hpp>

namespace ashlar {

class recycled {
 public:
  static void* operator new(std::size_t bytes) {
    auto const list = (bytes + grain - 1) / grain;
    if (list >= lists || free_[list] == nullptr)
      return ::operator new(list < lists ? list * grain : bytes);
    auto* const block = free_[list];
    ASHLAR_UNPOISON(block + 1, list * grain - sizeof(free_block));
    free_[list] = block->next;
    return block;
  }
  static void operator delete(void* p, std::size_t bytes) {
    auto const list = (bytes + grain - 1) / grain;
    if (list >= lists || ended_) return ::operator delete(p);
    if (free_[list] == nullptr) at_end_.is_needed = true;
    free_[list] = ::new (p) free_block{free_[list]};
    // For AddressSanitizer, a freed block is poisoned, except for the free_block at its start,
    // which links the blocks of the free list.
    ASHLAR_POISON(free_[list] + 1, list * grain - sizeof(free_block));
  }

 private:
  static constexpr std::size_t grain = 64, lists = 64;
  struct free_block {
    free_block* next;
  };
  /// Frees a thread's lists when the thread ends. A thread_local object is constructed only at its
  /// first use. Therefore the code that adds a block to an empty list sets `is_needed`, which
  /// counts as a use.
  struct end_of_thread {
    bool is_needed;
    ~end_of_thread() {
      ended_ = true;
      for (auto*& list : free_)
        while (list != nullptr) ::operator delete(std::exchange(list, list->next));
    }
  };
  static inline thread_local free_block* free_[lists] = {};
  static inline thread_local bool ended_ = false;
  static inline thread_local end_of_thread at_end_{};
};

template <class T>
struct recycling_allocator {
  using value_type = T;
  recycling_allocator() = default;
  template <class Other>
  recycling_allocator(recycling_allocator<Other> const&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(recycled::operator new(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { recycled::operator delete(p, n * sizeof(T)); }
  friend bool operator==(recycling_allocator, recycling_allocator) { return true; }
};

template <class T>
using recycled_vector = std::vector<T, recycling_allocator<T>>;

}  // namespace ashlar
