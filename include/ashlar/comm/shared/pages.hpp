// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Obtains and frees the pages of shared memory. The system may promise more shared memory than it
// can provide. The first access to a page that it cannot provide would kill the program (SIGBUS).
//
//   obtain_pages      makes the system fill a range with zeros; if pages are missing, the filling
//                     ends early and the program is not killed
//   give_back_pages   frees the pages of a range for others; its addresses remain valid

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

/// Makes the system fill `bytes` bytes from `first` on with zeros. Returns how many bytes have
/// pages now. The result is less than `bytes` if the system has no more pages.
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

/// Frees the pages of `bytes` bytes from `first` on. `first` must be the start of a page. The
/// contents of the pages are lost.
inline void give_back_pages(std::byte* first, std::size_t bytes) {
#if defined(__linux__)
  if (bytes > 0) (void)madvise(first, bytes, MADV_REMOVE);  // where unsupported, the pages stay
#else
  (void)first, (void)bytes;
#endif
}

}  // namespace ashlar::shared
