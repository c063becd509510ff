// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The angles by which rotary positions rotate the pairs of a vector of d elements
// (host/rotary.hpp):
//
//   angle(position, i) = position · f(i)        f(i) = base^(-2 i / d), or a scaled f(i)
//
// Llama 3.1 and later scale the frequencies f(i), so that a net that was trained on sequences of
// `original` tokens can read longer ones. Pairs of low frequency are rotated `factor` times as
// slowly. The wavelength 2 π / f(i) is the number of tokens in a full rotation:
//
//   wavelength                                  scaled frequency
//   more than original / low                    f / factor
//   less than original / high                   f
//   between the two                             (1 - t) f / factor + t f,
//                                               t = (original / wavelength - low) / (high - low)
//
// The source is the function apply_scaling of https://github.com/meta-llama/llama-models. The
// config.json files of Hugging Face call this scaling the rope_type "llama3".

#include <cmath>
#include <cstdint>
#include <numbers>

namespace ashlar::device {

/// Says how the frequencies of rotary positions are scaled. The default does not change them.
struct rotary_scaling {
  /// Low frequencies are divided by this factor; 1 means no scaling.
  double factor = 1;
  /// A pair has a low frequency if it rotates less than `low` times in a sequence of `original`
  /// tokens.
  double low = 1;
  /// A pair has a high frequency, and is not scaled, if it rotates more than `high` times in a
  /// sequence of `original` tokens.
  double high = 4;
  double original = 8192;  ///< the length, in tokens, of the sequences of the original training

  constexpr bool is_none() const { return factor == 1; }
  /// Returns whether a scaling with these numbers is possible: all are positive and less than
  /// 1e300, and low is less than high.
  constexpr bool is_possible() const {
    constexpr double most = 1e300;
    return factor > 0 && low > 0 && high > low && original > 0 && factor < most && high < most &&
           original < most;
  }
  friend constexpr bool operator==(rotary_scaling const&, rotary_scaling const&) = default;
};

struct rotary_angles {
  double base = 0;  ///< the base of the angles; with 0, vectors are not rotated
  rotary_scaling scaling{};

  /// Returns the angle, in radians, by which pair i of a vector of head_dim elements is rotated per
  /// position. Expects a positive base.
  double frequency(std::int64_t i, std::int64_t head_dim) const {
    double const f = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    if (scaling.is_none()) return f;
    double const turns = scaling.original * f / (2 * std::numbers::pi);  // in `original` tokens
    if (turns < scaling.low) return f / scaling.factor;
    if (turns > scaling.high) return f;
    double const t = (turns - scaling.low) / (scaling.high - scaling.low);
    return (1 - t) * f / scaling.factor + t * f;
  }
};

}  // namespace ashlar::device
