// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests bubble_of(), the share of a step in which a pipeline's parts are idle, on schedules whose
// bubble is known.

#include <ashlar/step/pipeline/bubble.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace {

using namespace ashlar::pipelines;

constexpr bool is_near(double a, double b) { return a - b < 1e-12 && b - a < 1e-12; }

constexpr pipeline_costs equal_stages(int stages, double transfer) {
  return pipeline_costs(static_cast<std::size_t>(stages), {1, 1, 1, transfer, transfer});
}

// With s equal stages and m micro-batches the bubble is (s - 1) / (m + s - 1).
static_assert(is_near(bubble_of(gpipe(4, 8), equal_stages(4, 0)), 3.0 / 11));
static_assert(is_near(bubble_of(one_f_one_b(4, 8), equal_stages(4, 0)), 3.0 / 11));
static_assert(is_near(bubble_of(one_f_one_b(2, 16), equal_stages(2, 0)), 1.0 / 17));
static_assert(is_near(bubble_of(one_f_one_b(1, 5), equal_stages(1, 0)), 0));
// With v chunks (stages) on each part, the idle time is divided by v. The bubble is then
// (s - 1) / (v m + s - 1), where s is the number of parts.
static_assert(is_near(bubble_of(interleaved(4, 8, 2), equal_stages(8, 0)), 3.0 / 19));
// The second stage takes no time, so its part is always idle, and the other part never. The bubble
// is the mean idle share of both parts.
static_assert(is_near(bubble_of(one_f_one_b(2, 3), {{1, 1, 1, 0, 0}, {}}), 0.5));
// Transfers that are not hidden make the bubble larger. The eager schedule hides more of them.
static_assert(bubble_of(one_f_one_b(2, 16), equal_stages(2, 0.5)) > 1.0 / 17);
static_assert(bubble_of(eager(2, 16), equal_stages(2, 0.5)) <
              bubble_of(one_f_one_b(2, 16), equal_stages(2, 0.5)));

}  // namespace
