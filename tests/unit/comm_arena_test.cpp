// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the arena (the memory allocator of a mesh) when memory is exhausted, in two cases:
// - A shared-memory region has pages only for its first addresses. Writing to a later address would
//   end the program, so the arena must not return blocks there.
// - The heap is exhausted.

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/comm/arena.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ashlar_test {

#if defined(__linux__)
TEST_CASE("if a region has no more pages, blocks come from the heap") {
  constexpr std::size_t addresses = 1 << 20, pages = 10 * 4096;
  int const file = memfd_create("region", 0);
  REQUIRE(file >= 0);
  REQUIRE(ftruncate(file, pages) == 0);
  void* const at = mmap(nullptr, addresses, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  REQUIRE(at != MAP_FAILED);
  {
    ashlar::arena memory(static_cast<std::byte*>(at), addresses);
    std::vector<std::pair<void*, std::size_t>> blocks;
    int in_region = 0;
    for (std::size_t const bytes :
         std::vector<std::size_t>{3 * 4096, 4 * 4096, 8 * 4096, 4096, 4096, 600, 64 * 4096}) {
      blocks.emplace_back(memory.allocate(bytes), bytes);
      std::memset(blocks.back().first, 1, bytes);  // ends the program if no page backs the block
      in_region += memory.offset_in_region(blocks.back().first) >= 0 ? 1 : 0;
    }
    CHECK(in_region == 5);  // all blocks except those of 8 and of 64 pages
    for (auto const& [block, bytes] : blocks) memory.release(block, bytes);
    CHECK(memory.bytes_in_use() == 0);
  }
  munmap(at, addresses);
  close(file);
}
#endif

// With a sanitizer, a request for too much memory ends the program, so this case cannot run.
#if !defined(ASHLAR_ADDRESS_SANITIZER) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a failed allocation does not count as in use") {
  ashlar::arena memory;
  void* const some = memory.allocate(1000);
  auto const in_use = memory.bytes_in_use();
  CHECK_THROWS_AS(memory.allocate(std::size_t(1) << 62), std::bad_alloc);
  CHECK(memory.bytes_in_use() == in_use);
  CHECK(memory.peak_bytes() == in_use);
  memory.release(some, 1000);
}
#endif

}  // namespace ashlar_test
