// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines the error of a search below a memory limit that found no plan that fits, but has not
// proved that there is none. If another search finds a plan, a bound of all plans must still cover
// the plans of this search. So the error carries their lower bound.

#include <ashlar/support/error.hpp>

namespace ashlar::search::detail {

class unproven_refusal : public error {
 public:
  unproven_refusal(error const& text, double bound) : error(text), bound_(bound) {}

  /// Returns a lower bound of the seconds of all plans that may fit.
  double bound() const { return bound_; }

 private:
  double bound_;
};

}  // namespace ashlar::search::detail
