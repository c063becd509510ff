// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Equations 4 and 5 of the HiDup paper (step/duplex_seconds.hpp), as the paper states them.

#include <algorithm>

#include <ashlar/step/duplex_seconds.hpp>

namespace ashlar_test {

/// Returns ψ (psi) after the last stage: the seconds until both micro-batches have left all
/// stages. -φ (-phi) is the work of the previous stage. `stages` is a range of duplex_stage.
template <class Stages>
constexpr double by_equation_5(Stages const& stages) {
  double psi = 0, phi = 0;
  for (ashlar::search::duplex_stage const& s : stages) {
    psi += phi + std::max(-phi, s.communication) + std::max(s.communication, s.work) + s.work;
    phi = -s.work;
  }
  return psi;
}

}  // namespace ashlar_test
