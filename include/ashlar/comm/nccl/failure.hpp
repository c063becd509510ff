// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Texts that explain NCCL's errors to the user and suggest what to do. Other functions here detect,
// at the start of a program, faults that NCCL reports badly or not at all. This file only makes
// texts, so that it can be tested without NCCL. error.hpp throws these texts.
//
//   NCCL's result       most frequent cause                         the text refers to
//   unhandled CUDA      no driver, an old driver, a bad address     nvidia-smi, NCCL_DEBUG
//   system              a missing network or /dev/shm               NCCL_SOCKET_IFNAME, /dev/shm
//   internal            corrupted memory, a bug of NCCL             NCCL_DEBUG
//   invalid argument    ranks that differ in their calls            the arguments
//   invalid usage       two ranks on one device                     NCCL_HOSTID
//   remote              another rank failed or ended                that rank's message
//   in progress         a communicator that is not ready            the deadline

#include <string>

namespace ashlar::nccl {

/// NCCL's results, with the numbers of nccl.h.
enum class result : int {
  success,
  unhandled_cuda_error,
  system_error,
  internal_error,
  invalid_argument,
  invalid_usage,
  remote_error,
  in_progress
};

/// The place of an error: the rank on which it occurs, and the operation.
struct call_site {
  int rank = -1;     ///< rank of the mesh, or negative if it is not known yet
  std::string axes;  ///< such as "gpu" or "node+gpu"; empty for the whole mesh
  std::string what;  ///< such as "all-gather" or "ncclCommSplit"
};

/// Returns text such as "rank 3, all-gather along gpu".
inline std::string to_string(call_site const& p) {
  std::string text = p.rank < 0 ? "" : "rank " + std::to_string(p.rank);
  if (!p.what.empty()) text += (text.empty() ? "" : ", ") + p.what;
  if (!p.axes.empty()) text += " along " + p.axes;
  return text;
}

/// Returns an explanation of an error. `name` is NCCL's name of the result, and `last` is NCCL's
/// last message (ncclGetLastError), which may be empty.
inline std::string explain(result code, std::string const& name, std::string const& last) {
  std::string text = name + (last.empty() ? "" : " (" + last + ")") + ". ";
  switch (code) {
    case result::unhandled_cuda_error:
      return text +
             "CUDA failed inside NCCL: see nvidia-smi for the driver and the devices, and run with "
             "NCCL_DEBUG=WARN for the call.";
    case result::system_error:
      return text +
             "The nodes cannot reach each other, or shared memory is full: name the network in "
             "NCCL_SOCKET_IFNAME, look at the size of /dev/shm, and run with NCCL_DEBUG=WARN.";
    case result::internal_error:
      return text + "Memory was overwritten, the ranks have different NCCL versions, or NCCL has a "
                    "bug: run "
                    "with NCCL_DEBUG=WARN.";
    case result::invalid_argument:
      return text +
             "The ranks call different operations, or a pointer does not belong to this device.";
    case result::invalid_usage:
      return text + "Most often two ranks use the same device: start as many ranks on a node as it "
                    "has devices. For tests that share one, give each rank its own NCCL_HOSTID.";
    case result::remote_error: return text + "Another rank failed or ended: look for its message.";
    case result::in_progress:
      return text + "It was not ready in time: a rank died or did not call the same operation. "
                    "ASHLAR_NCCL_TIMEOUT gives more seconds.";
    default: return text + "Run with NCCL_DEBUG=WARN for more.";
  }
}

/// Returns an error message if this rank has no device, otherwise an empty string. If this process
/// sees one device, it is this rank's own: the launcher or CUDA_VISIBLE_DEVICES hides the others.
/// (If two ranks see the same one, NCCL refuses it.) `shares` must be true if several ranks may use
/// one device. Callers assume this if the environment variable NCCL_HOSTID is set.
inline std::string device_fault(int local_rank, int devices, bool shares) {
  if (devices == 0)
    return "there is no device on this node. Start on a node where nvidia-smi shows a device.";
  if (shares || devices == 1 || local_rank < devices) return "";
  return "its local rank is " + std::to_string(local_rank) + ", but its node has " +
         std::to_string(devices) +
         " devices. Start at most as many ranks on a node as the node has devices. For tests that "
         "share "
         "one, give each rank its own NCCL_HOSTID.";
}

/// Converts NCCL's version code to text: 22809 becomes "2.28.9".
inline std::string nccl_version_text(int code) {
  int const major = code / (code < 10000 ? 1000 : 10000);
  int const rest = code % (code < 10000 ? 1000 : 10000);
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." +
         std::to_string(rest % 100);
}

/// The oldest version with all functions that are used here, such as named split communicators.
inline constexpr int least_nccl_version = 22700;

/// Returns an error message if a program built with NCCL version `built_with` cannot use NCCL
/// version `loaded`, otherwise an empty string.
inline std::string version_fault(int built_with, int loaded) {
  if (loaded < least_nccl_version)
    return "NCCL " + nccl_version_text(loaded) + " was loaded, but at least " +
           nccl_version_text(least_nccl_version) + " is needed. Install a newer one.";
  if (loaded / 100 < built_with / 100)
    return "NCCL " + nccl_version_text(loaded) + " was loaded, but the program was built with " +
           nccl_version_text(built_with) + ". Put the newer one first in LD_LIBRARY_PATH.";
  return "";
}

}  // namespace ashlar::nccl
