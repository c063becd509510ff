// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures how much CPU time other processes used during a measurement: the busy time of all cores
// minus the time that the ranks used, divided by the total time of all cores. The tables contain
// this figure, so that a reader sees whether a run had the machine to itself. If the figure is
// above a few per cent, small differences in that run mean nothing.
//
// The figure is right only if all ranks run on one machine. Without Linux's /proc/stat it is
// unknown.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trials.hpp"

namespace ashlar_bench {

class others_share {
 public:
  explicit others_share(MPI_Comm comm) : comm_(comm), before_(read(comm)) {}

  /// Returns the percentage of all cores' time that other processes used since construction.
  /// Returns a negative number if the percentage is unknown. Collective.
  double percent() const {
    usage const after = read(comm_);
    if (after.busy < 0 || before_.busy < 0) return -1;
    double const cores = double(sysconf(_SC_NPROCESSORS_ONLN));
    double const others = (after.busy - before_.busy) - (after.own - before_.own);
    double const all = (after.when - before_.when) * cores;
    return all > 0 ? std::clamp(100 * others / all, 0.0, 100.0) : -1;
  }

 private:
  struct usage {
    double when = 0, busy = -1, own = 0;  // seconds
  };

  static usage read(MPI_Comm comm) {
    usage u;
    rusage mine{};
    getrusage(RUSAGE_SELF, &mine);
    auto const seconds = [](timeval const& t) {
      return double(t.tv_sec) + 1e-6 * double(t.tv_usec);
    };
    u.own = seconds(mine.ru_utime) + seconds(mine.ru_stime);
    MPI_Allreduce(MPI_IN_PLACE, &u.own, 1, MPI_DOUBLE, MPI_SUM, comm);
    std::ifstream stat("/proc/stat");
    std::string name;
    double user = 0, nice = 0, system = 0;
    if (stat >> name >> user >> nice >> system && name == "cpu")
      u.busy = (user + nice + system) / double(sysconf(_SC_CLK_TCK));
    u.when = now();
    return u;
  }

  MPI_Comm comm_;
  usage before_;
};

/// Formats the result of others_share::percent() for a table. Returns "-" if it is unknown.
inline std::string others_text(double percent, char const* format = "%.0f") {
  if (percent < 0) return "-";
  char text[40];
  std::snprintf(text, sizeof text, format, percent);
  return text;
}

struct timings {
  std::vector<timing> of;  ///< the times of each contestant
  /// The share of all cores that other processes used, in per cent. Negative if it is unknown.
  double others = -1;
};

/// Calls measure() up to three times, until other processes used at most `allowed` per cent of the
/// cores during a call. Returns the timings of the call during which other processes used least.
/// Collective.
inline timings measure_alone(MPI_Comm comm, std::vector<contestant> const& all, effort const& how,
                             double allowed) {
  timings best;
  for (int attempt = 0; attempt < 3; ++attempt) {
    others_share const others(comm);
    auto const times = measure(comm, all, how);
    double share = others.percent();
    // Each rank reads /proc/stat itself, so the ranks' figures may differ. All ranks use the figure
    // of rank 0.
    MPI_Bcast(&share, 1, MPI_DOUBLE, 0, comm);
    if (attempt == 0 || share < best.others) best = {times, share};
    if (share <= allowed) break;
  }
  return best;
}

}  // namespace ashlar_bench
