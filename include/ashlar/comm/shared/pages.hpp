// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The pages behind shared memory. The system promises more of it than it may have, to several ranks
// and several jobs; a first touch of a page that it has not would kill the program (SIGBUS).
//
//   obtain_pages      the system itself writes zeros there; where it has no page it says so
//   give_back_pages   the memory is free for others, the addresses stay

#include <cerrno>
#include <cstddef>

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ashlar::shared {

/// Fills `bytes` from `first` with zeros. Returns how many of them have pages now: fewer where the
/// system has no more.
inline std::size_t obtain_pages(std::byte* first, std::size_t bytes) {
#if defined(__unix__) || defined(__APPLE__)
  int const zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  if (zeros < 0) return 0;
  std::size_t got = 0;
  while (got < bytes) {
    auto const more = read(zeros, first + got, bytes - got);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  close(zeros);
  return got;
#else
  (void)first;
  return bytes;
#endif
}

/// Expects `first` at the beginning of a page. What was there is lost.
inline void give_back_pages(std::byte* first, std::size_t bytes) {
#if defined(__linux__)
  if (bytes > 0) (void)madvise(first, bytes, MADV_REMOVE);  // a system that cannot keeps them
#else
  (void)first, (void)bytes;
#endif
}

}  // namespace ashlar::shared
