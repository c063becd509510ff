// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides whether the ranks of a node share the memory of their tensors, and how much. The setting
// is an environment variable, which is read when a mesh is created. The value on the mesh's first
// rank applies to all ranks. If the value on any rank is invalid, creating the mesh throws on all
// ranks (mpi/agreed_settings.hpp):
//
//   ASHLAR_SHARED_MEMORY   unset          the ranks share a quarter of the free shared memory
//                          off            nothing is shared: all communication uses messages
//                          512MiB, 4GiB   so much per rank (units: support/parse_bytes.hpp)
//
// Results are the same, bit for bit, in all cases. Pages are allocated as tensors need them.
// Tensors for which there is no shared memory are allocated on the heap and sent as messages.

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include <ashlar/config.hpp>
#include <ashlar/support/parse_bytes.hpp>

#if defined(__linux__)
#include <sys/statvfs.h>
#endif
#include <unistd.h>

namespace ashlar::shared {

/// The largest number of bytes of shared memory per rank that a user may ask for (64 TiB). The sum
/// over a node's ranks still fits into an address.
inline constexpr std::int64_t most_bytes = std::int64_t(1) << 46;

struct settings {
  std::int64_t bytes_per_rank = automatic;  ///< with 0, nothing is shared
  int ranks_per_node = 0;                   ///< if > 0, simulates nodes of this size
  std::string fault{};  ///< error message for an invalid environment variable, or empty

  static constexpr std::int64_t automatic = -1;
};

/// Returns the settings from the environment variable. An invalid value is stored in `fault` and
/// not thrown, because it must be reported on all ranks.
ASHLAR_INLINE settings from_environment();

/// Returns the free bytes of the file system that holds the node's shared memory, or nothing if the
/// system does not report them. The file system is /dev/shm unless Open MPI was given another one.
ASHLAR_INLINE std::optional<std::int64_t> free_bytes();

/// Returns the default number of shared bytes per rank: an equal share of a quarter of the free
/// shared memory. The rest remains for other jobs.
ASHLAR_INLINE std::int64_t automatic_bytes(int ranks_on_node);

/// Returns whether a node has more ranks than cores. If so, a rank that polls may occupy the core
/// that another rank needs to continue.
ASHLAR_INLINE bool ranks_share_cores(int ranks_on_node);

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE settings from_environment() {
  settings s;
  char const* const text = std::getenv("ASHLAR_SHARED_MEMORY");
  if (text == nullptr || *text == '\0') return s;
  auto const bytes = std::string(text) == "off" ? std::optional<std::int64_t>(0)
                                                : parse_bytes(text);
  if (bytes && *bytes <= most_bytes) s.bytes_per_rank = *bytes;
  else s.fault = "ASHLAR_SHARED_MEMORY is '" + std::string(text) + "'";
  return s;
}

ASHLAR_INLINE std::optional<std::int64_t> free_bytes() {
#if defined(__linux__)
  char const* const chosen = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  struct statvfs file_system {};
  if (statvfs(chosen != nullptr ? chosen : "/dev/shm", &file_system) == 0)
    return static_cast<std::int64_t>(file_system.f_bavail) *
           static_cast<std::int64_t>(file_system.f_frsize);
#endif
  return std::nullopt;
}

ASHLAR_INLINE std::int64_t automatic_bytes(int ranks_on_node) {
  constexpr std::int64_t assumed = std::int64_t(8) << 30;  // where the system reports nothing
  return free_bytes().value_or(assumed) / 4 / ranks_on_node;
}

ASHLAR_INLINE bool ranks_share_cores(int ranks_on_node) {
  return ranks_on_node > sysconf(_SC_NPROCESSORS_ONLN);
}
#endif

}  // namespace ashlar::shared
