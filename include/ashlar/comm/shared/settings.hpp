// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Whether the ranks of a node share their tensors' memory, and how much of it. One environment
// variable, read when a mesh is made; that of its first rank counts, and one that is no size on any
// rank is an error on all (mpi/agreed_settings.hpp):
//
//   ASHLAR_SHARED_MEMORY   unset        the ranks of a node share a quarter of what is free
//                          off          nothing is shared: all steps are messages
//                          512MiB 4GiB  so much per rank (units: support/parse_bytes.hpp)
//
// Results are the same bits either way. The memory is taken page by page as tensors need it; what
// does not fit comes from the heap, and moves as messages.

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <ashlar/support/parse_bytes.hpp>

#if defined(__linux__)
#include <sys/statvfs.h>
#endif

namespace ashlar::shared {

/// More than any node has: the sum over its ranks must not pass what addresses can say.
inline constexpr std::int64_t most_bytes = std::int64_t(1) << 46;

struct settings {
  std::int64_t bytes_per_rank = automatic;  ///< 0: nothing is shared
  int ranks_per_node = 0;                   ///< more are taken for other nodes; 0: as they are
  std::string fault{};                      ///< what is wrong with the environment's; else empty

  static constexpr std::int64_t automatic = -1;
};

/// What the environment variable says. Throws nothing: what is wrong all ranks must hear of.
inline settings from_environment() {
  settings s;
  char const* const text = std::getenv("ASHLAR_SHARED_MEMORY");
  if (text == nullptr || *text == '\0') return s;
  auto const bytes = std::string(text) == "off" ? std::optional<std::int64_t>(0)
                                                : parse_bytes(text);
  if (bytes && *bytes <= most_bytes) s.bytes_per_rank = *bytes;
  else s.fault = "ASHLAR_SHARED_MEMORY is '" + std::string(text) + "'";
  return s;
}

/// What a rank's window holds by default: of a quarter of the free shared memory an even share: other
/// jobs take theirs.
inline std::int64_t automatic_bytes(int ranks_on_node) {
  double free = 8.0 * 1024 * 1024 * 1024;  // where nobody can be asked
#if defined(__linux__)
  struct statvfs file_system {};
  if (statvfs("/dev/shm", &file_system) == 0)
    free = double(file_system.f_bavail) * double(file_system.f_frsize);
#endif
  return static_cast<std::int64_t>(free / 4 / ranks_on_node);
}

/// Whether ranks of one node take turns on a core: who waits then holds up whom it waits for.
inline bool ranks_share_cores(int ranks_on_node) {
  return static_cast<unsigned>(ranks_on_node) > std::thread::hardware_concurrency();
}

}  // namespace ashlar::shared
