// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// α and β from measured times (AutoDDL section 3.2): the pair that makes
//
//   sum over samples of ((α messages + β bytes - seconds) / seconds)²
//
// least, neither below zero. Errors are relative, so that kilobytes count as much as megabytes: the
// samples span four orders of magnitude. Samples that cannot tell α from β are an error.

#include <ashlar/machine/fit_error.hpp>
#include <ashlar/machine/machine.hpp>

namespace ashlar {

/// One measured collective: what one rank does of it, in units of a link's α and β.
struct link_sample {
  double messages = 0;
  double bytes = 0;
  double seconds = 0;
};

struct link_fit {
  link value;
  fit_error error;
};

/// Throws ashlar::error if a time is not above zero, counts are negative or not finite, or the
/// samples do not determine both (fewer than two, or all of one size per message).
inline link_fit fit_link(std::vector<link_sample> const& samples) {
  char const* const me = "fit_link";
  double xx = 0, xy = 0, yy = 0, x = 0, y = 0;
  for (auto const& s : samples) {
    detail::require_time(me, s.seconds);
    if (!(s.messages >= 0) || !(s.bytes >= 0) || !std::isfinite(s.messages + s.bytes))
      throw error(me, "a sample has counts that are negative or not finite.");
    double const a = s.messages / s.seconds, b = s.bytes / s.seconds;
    xx += a * a, xy += a * b, yy += b * b, x += a, y += b;
  }
  double const determinant = xx * yy - xy * xy;
  // Cauchy-Schwarz: 0 where all samples have one size per message, up to rounding.
  if (!(determinant > 1e-9 * xx * yy))
    throw error(me, std::to_string(samples.size()) +
                        " samples do not tell α from β. Measure messages of several sizes.");
  link_fit fit{{(x * yy - y * xy) / determinant, (y * xx - x * xy) / determinant}, {}};
  if (fit.value.alpha < 0) fit.value = {0, y / yy};
  if (fit.value.beta < 0) fit.value = {x / xx, 0};
  std::vector<double> predicted, measured;
  for (auto const& s : samples) {
    predicted.push_back(fit.value.alpha * s.messages + fit.value.beta * s.bytes);
    measured.push_back(s.seconds);
  }
  fit.error = error_of(predicted, measured);
  return fit;
}

}  // namespace ashlar
