// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Determines rank and size of this process from the environment variables of its launcher. The
// first launcher in this table whose variables are set is used.
//
//   launcher   rank, size, rank on its node                 how the ranks meet
//   mpi        OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE,  MPI
//              OMPI_COMM_WORLD_LOCAL_RANK
//   mpi        PMI_RANK, PMI_SIZE, MPI_LOCALRANKID          MPI
//   env        RANK, WORLD_SIZE, LOCAL_RANK                 file or TCP
//   slurm      SLURM_PROCID, SLURM_NTASKS, SLURM_LOCALID    file or TCP
//   none       0, 1, 0                                      none: a single rank
//
//   file   a path that all ranks can access, if ASHLAR_RENDEZVOUS_FILE is set
//   TCP    otherwise, at MASTER_ADDR:MASTER_PORT; the defaults on Slurm are the first node and a
//          port computed from the job id
//
// ASHLAR_LAUNCH=mpi|env|slurm|none selects a launcher explicitly. If torchrun's own store listens
// on MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE), the next port is used. This file only reads
// variables. It does not use MPI or the network.

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <ashlar/support/error.hpp>

namespace ashlar::nccl {

/// The means by which the ranks exchange NCCL's unique id.
enum class rendezvous : signed char { alone, mpi, tcp, file };

struct launch {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< number among the ranks of the node, for the device; -1 if not known yet
  rendezvous by = rendezvous::alone;
  std::string address;  ///< address of rank 0, for tcp
  int port = 0;
  std::string file;
  std::string job;  ///< distinguishes this run from others; empty if the launcher gives no id

  friend bool operator==(launch const&, launch const&) = default;
};

namespace detail {

struct launcher {
  char const *name, *rank, *size, *local_rank;
};
inline constexpr launcher launchers[] = {
    {"mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"mpi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {"env", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

/// Returns the first host of a Slurm node list, such as gpu003 for "gpu[003-010,12],login1".
inline std::string first_host(std::string_view list) {
  std::string host;
  bool in_bracket = false, skips = false;  // only the first entry in a bracket counts
  for (char const c : list) {
    if (c == ',' && !in_bracket) break;
    if (c == '[') in_bracket = true;
    else if (c == ']') in_bracket = skips = false;
    else if (in_bracket && (c == '-' || c == ',')) skips = true;
    else if (!skips) host += c;
  }
  return host;
}

/// Reads environment variables and reports errors in them. get(name) returns the value of a
/// variable as std::optional<std::string>.
template <class Lookup>
class launch_reader {
 public:
  explicit launch_reader(Lookup const& get) : get_(get) {}

  /// Returns a variable's value. An empty value counts as not set.
  std::string text(char const* name) const {
    std::optional<std::string> const value = get_(name);
    return value ? *value : std::string();
  }
  bool has(char const* name) const { return !text(name).empty(); }

  int number(char const* name, int least, int most) const {
    std::string const value = text(name);
    int n = 0;
    auto const end = value.data() + value.size();
    auto const [stop, failed] = std::from_chars(value.data(), end, n);
    if (value.empty()) fail(std::string(name) + " is not set");
    if (failed != std::errc() || stop != end || n < least || n > most)
      fail(std::string(name) + " is '" + value + "', not a number from " + std::to_string(least) +
           " to " + std::to_string(most));
    return n;
  }

  [[noreturn]] static void fail(std::string const& what) {
    throw error("nccl::launch",
                what + ". Start the program with mpirun, torchrun or srun, or set RANK, "
                       "WORLD_SIZE, LOCAL_RANK and either MASTER_ADDR and MASTER_PORT "
                       "or ASHLAR_RENDEZVOUS_FILE for every rank.");
  }

 private:
  Lookup const& get_;
};

template <class Lookup>
launcher const* find_launcher(launch_reader<Lookup> const& from) {
  std::string const wanted = from.text("ASHLAR_LAUNCH");
  if (wanted == "none") return nullptr;
  bool is_known = wanted.empty();
  for (launcher const& l : launchers) {
    is_known = is_known || wanted == l.name;
    if (!wanted.empty() && wanted != l.name) continue;
    // A shell inside a Slurm allocation has a size but no rank. Such a shell counts as a run of one
    // process. So only the launcher `env` is recognized by its size variable.
    bool const is_env = std::string_view(l.name) == "env";
    if (from.has(l.rank) || (is_env && from.has(l.size))) return &l;
  }
  if (!is_known) from.fail("ASHLAR_LAUNCH is '" + wanted + "', not mpi, env, slurm or none");
  if (!wanted.empty())
    from.fail("ASHLAR_LAUNCH is " + wanted + ", but the variables of that launcher are not set");
  return nullptr;
}

/// Determines the address and the port of rank 0.
template <class Lookup>
void find_master(launch& l, bool is_slurm, launch_reader<Lookup> const& from) {
  l.by = rendezvous::tcp;
  l.address = from.text("MASTER_ADDR");
  if (l.address.empty() && is_slurm)
    for (char const* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"})
      if (l.address.empty()) l.address = first_host(from.text(name));
  if (l.address.empty()) from.fail("MASTER_ADDR is not set");
  if (is_slurm && !from.has("MASTER_PORT"))
    l.port = 15000 + from.number("SLURM_JOB_ID", 0, 2'000'000'000) % 15000;
  else l.port = from.number("MASTER_PORT", 1, 65534);
  if (from.text("TORCHELASTIC_USE_AGENT_STORE") == "True") ++l.port;
}

}  // namespace detail

/// Determines rank, size and rendezvous of this process. get(name) returns the value of an
/// environment variable as std::optional<std::string>. Does not communicate. Throws ashlar::error
/// that names the variable that is missing or invalid.
template <class Lookup>
launch launch_from(Lookup const& get) {
  detail::launch_reader<Lookup> const from(get);
  launch l;
  detail::launcher const* const found = detail::find_launcher(from);
  l.file = from.text("ASHLAR_RENDEZVOUS_FILE");
  if (found == nullptr) {
    if (!l.file.empty() && from.text("ASHLAR_LAUNCH") != "none")
      from.fail("ASHLAR_RENDEZVOUS_FILE is set, but no variable gives the rank of this process");
    l.file.clear();
    return l;
  }
  std::string_view const name = found->name;
  l.size = from.number(found->size, 1, 1 << 30);
  l.rank = from.number(found->rank, 0, 1 << 30);
  if (l.rank >= l.size)
    from.fail(std::string(found->rank) + " is " + std::to_string(l.rank) + " and " + found->size +
              " is " + std::to_string(l.size) + ": ranks count from 0");
  if (from.has(found->local_rank)) l.local_rank = from.number(found->local_rank, 0, 1 << 30);
  else if (l.size > 1 && name != "mpi") from.fail(std::string(found->local_rank) + " is not set");
  else l.local_rank = name == "mpi" && l.size > 1 ? -1 : 0;
  for (char const* id : {"ASHLAR_JOB_ID", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"})
    if (l.job.empty() && from.has(id)) {
      l.job = from.text(id);
      if (std::string_view(id) == "SLURM_JOB_ID") l.job += '.' + from.text("SLURM_STEP_ID");
    }
  if (name == "mpi") l.by = rendezvous::mpi;
  else if (l.size == 1) l.by = rendezvous::alone;
  else if (!l.file.empty()) l.by = rendezvous::file;
  else detail::find_master(l, name == "slurm", from);
  if (l.by != rendezvous::file) l.file.clear();
  return l;
}

inline launch launch_from_environment() {
  return launch_from([](char const* name) -> std::optional<std::string> {
    char const* const value = std::getenv(name);
    if (value == nullptr) return {};
    return value;
  });
}

}  // namespace ashlar::nccl
