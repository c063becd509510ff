// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Fits the rate `flops` and the parameter `gemm_half` of the GEMM model (machine/gemm.hpp) to
// measured times. The fit minimizes the sum of squared relative errors. For a given gemm_half, the
// best 1 / flops has a closed form; gemm_half itself is found by search. It is an error if all
// samples have the same extents, because they do not determine both values.

#include <algorithm>
#include <array>

#include <ashlar/machine/fit_error.hpp>
#include <ashlar/machine/gemm.hpp>

namespace ashlar {

/// One measured GEMM.
struct gemm_sample {
  std::int64_t m = 0, n = 0, k = 0;
  double seconds = 0;
};

struct gemm_fit {
  double flops = 0;  ///< the fitted value of machine::flops
  double half = 0;   ///< the fitted value of machine::gemm_half
  fit_error error;
};

namespace detail {

/// The best fit for a given gemm_half. `inverse` is 1 / rate, for the best rate in operations per
/// second. `squares` is the sum of squared relative errors with this rate.
struct half_trial {
  double inverse = 0, squares = 0;

  half_trial(std::vector<gemm_sample> const& samples, double half) {
    machine on;
    on.flops = 1;
    on.gemm_half = half;
    double xx = 0, x = 0;
    for (auto const& s : samples) {
      double const r = gemm_seconds(on, 2.0 * double(s.m) * double(s.n) * double(s.k), s.m, s.n,
                                    s.k) /
                       s.seconds;
      xx += r * r, x += r;
    }
    inverse = x / xx;
    squares = double(samples.size()) - x * inverse;
  }
};

/// Returns the extents in ascending order. The modelled cost of a GEMM does not depend on their
/// order.
inline std::array<std::int64_t, 3> sorted_extents(gemm_sample const& s) {
  std::array<std::int64_t, 3> list{s.m, s.n, s.k};
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace detail

/// Fits the rate and gemm_half to the samples. Products whose time hardly depends on their extents
/// say little about gemm_half. So the fit limits gemm_half to about 16 times the largest extent.
/// Throws ashlar::error if a time or an extent is not above zero, or if all samples have the same
/// extents.
inline gemm_fit fit_gemm(std::vector<gemm_sample> const& samples) {
  char const* const me = "fit_gemm";
  bool differ = false;
  double most = 0;
  for (auto const& s : samples) {
    detail::require_time(me, s.seconds);
    if (s.m < 1 || s.n < 1 || s.k < 1) throw error(me, "a sample has an extent below 1.");
    differ = differ || detail::sorted_extents(s) != detail::sorted_extents(samples.front());
    most = std::max({most, double(s.m), double(s.n), double(s.k)});
  }
  if (!differ)
    throw error(me, std::to_string(samples.size()) +
                        " samples do not determine flops and gemm_half. Measure several extents.");
  // First tries gemm_half on a grid up to the largest extent, or further while the last value is
  // the best one. Then tries values at ever smaller distances from the best one. This finds the
  // best value if the error has a single minimum, as it had in all measurements so far.
  double best = 0, end = most;
  auto const squares = [&](double half) { return detail::half_trial(samples, half).squares; };
  while (true) {
    for (int i = 0; i <= 64; ++i)
      if (double const h = end * i / 64; squares(h) < squares(best)) best = h;
    if (best < end || end >= 16 * most) break;
    end *= 2;
  }
  for (double step = end / 64; step > 1e-9 * end; step /= 2)
    for (double const h : {best - step, best + step})
      if (h >= 0 && squares(h) < squares(best)) best = h;
  gemm_fit fit{1 / detail::half_trial(samples, best).inverse, best, {}};
  machine on;
  on.flops = fit.flops;
  on.gemm_half = fit.half;
  std::vector<double> predicted, measured;
  for (auto const& s : samples) {
    double const operations = 2.0 * double(s.m) * double(s.n) * double(s.k);
    predicted.push_back(gemm_seconds(on, operations, s.m, s.n, s.k));
    measured.push_back(s.seconds);
  }
  fit.error = error_of(predicted, measured);
  return fit;
}

}  // namespace ashlar
