// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The program that a trainer runs in each step.

#include <algorithm>
#include <utility>

#include <ashlar/step/crossings_at_once.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/step/overlapped.hpp>
#include <ashlar/train/trainer_options.hpp>

namespace ashlar::train::detail {

/// Returns the program of a step. With overlap::none, every transfer ends before the program goes
/// on. Otherwise transfers overlap with computations where this makes the predicted step faster. If
/// the machine's memory is given, it limits the memory of the overlapped program. If the serial
/// program needs more, its peak memory is the limit instead.
template <class Model>
step::program program_of_step(Model const& model, train::overlap wanted) {
  auto serial = model.program();
  if (wanted == overlap::none) return step::with_crossings_at_once(std::move(serial));
  auto const& m = model.mesh().machine();
  step::overlap_options how;
  if (m.memory > 0)
    how.limit = std::max(static_cast<std::int64_t>(m.memory), step::high_water(serial).peak);
  return step::overlapped(serial, m, how).made;
}

}  // namespace ashlar::train::detail
