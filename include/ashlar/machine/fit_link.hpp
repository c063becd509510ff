// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Fits the latency α and the inverse bandwidth β of a link to measured times (AutoDDL section 3.2).
// The fit minimizes
//
//   sum over samples of ((α messages + β bytes - seconds) / seconds)²
//
// over all α >= 0 and β >= 0. The bytes of typical samples span four orders of magnitude. Relative
// errors make samples of kilobytes count as much as samples of megabytes. Samples that do not
// determine both α and β are an error.

#include <ashlar/machine/fit_error.hpp>
#include <ashlar/machine/machine.hpp>

namespace ashlar {

/// One measured collective: its seconds, and the messages and bytes of one rank. The model
/// multiplies the messages by α and the bytes by β.
struct link_sample {
  double messages = 0;
  double bytes = 0;
  double seconds = 0;
};

struct link_fit {
  link value;
  fit_error error;
};

/// Fits α and β to the samples. Throws ashlar::error in these cases:
/// - A time is not above zero, or a count is negative or not finite.
/// - The samples do not determine both α and β. Either there are fewer than two samples, or all
///   samples have the same number of bytes per message.
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
  // By Cauchy-Schwarz, the determinant is 0 up to rounding if all samples have the same bytes per
  // message.
  if (!(determinant > 1e-9 * xx * yy))
    throw error(me, std::to_string(samples.size()) +
                        " samples do not determine α and β. Measure messages of several sizes.");
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
