// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Measures contestants on a GPU. They take turns as in trials.hpp, but their times are taken with
// the GPU's clock.
//
//   trial   Records an event, makes `repeats` calls, and records a second event, all on one stream.
//           The time of a call is the time between the events divided by `repeats`. Launch overhead
//           on the host counts only where the device has to wait for it.
//   check   Before the call the results are overwritten with 0xff bytes, which are NaN in every
//           floating-point type, so that a call that writes nothing is noticed.
//
// The argument `most` is itself a function: it takes a list of numbers and returns, for each
// number, the maximum over all ranks. A program of one rank passes `alone`, which returns the list
// unchanged.

#include <functional>

#include <ashlar/device/cuda/event.hpp>

#include "trials.hpp"

namespace ashlar_bench {

using agreement = std::function<std::vector<double>(std::vector<double>)>;
inline std::vector<double> alone(std::vector<double> values) { return values; }

/// Runs each contestant once, after filling its results with NaN by overwrite_results(). Throws on
/// every rank if a result is wrong on any rank.
inline void check_on_device(std::vector<contestant> const& all, std::string const& what,
                            std::function<void()> const& overwrite_results,
                            agreement const& most = alone) {
  for (auto const& c : all) {
    if (c.is_right && overwrite_results) overwrite_results();
    c.run();
    double const wrong = c.is_right && !c.is_right() ? 1 : 0;
    if (most({wrong})[0] > 0)
      throw std::runtime_error(what + ": the result of " + c.name + " is wrong.");
  }
}

/// Measures all contestants in turns. Expects that check_on_device() has run each contestant once.
inline std::vector<timing> measure_on_device(cudaStream_t stream,
                                             std::vector<contestant> const& all, effort const& how,
                                             agreement const& most = alone) {
  ashlar::cuda::event begin(true), end(true);
  auto const seconds_of = [&](std::function<void()> const& run, int repeats) {
    begin.record(stream);
    for (int i = 0; i < repeats; ++i) run();
    end.record(stream);
    end.synchronize();
    return 1e-3 * static_cast<double>(end.since(begin)) / repeats;
  };
  return measure_by(seconds_of, most, all, how);
}

}  // namespace ashlar_bench
