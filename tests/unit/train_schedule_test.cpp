// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the factors of learning-rate schedules, the model flops utilization, and the progress line
// of a training.

#include <cmath>
#include <sstream>

#include <doctest/doctest.h>

#include <ashlar/train/schedule.hpp>
#include <ashlar/train/step_report.hpp>
#include <ashlar/train/trainer_options.hpp>

namespace ashlar_test {

using ashlar::train::warmup_cosine;
using doctest::Approx;

TEST_CASE("a constant rate is 1") {
  CHECK(ashlar::train::constant_rate{}(0) == 1);
  CHECK(ashlar::train::constant_rate{}(1000000) == 1);
}

TEST_CASE("warm-up is linear, ends at 1, and no step of it is lost") {
  warmup_cosine const rate{4, 20, 0.1};
  CHECK(rate(0) == Approx(0.25));
  CHECK(rate(1) == Approx(0.5));
  CHECK(rate(3) == Approx(1.0));
  CHECK(rate(4) == Approx(1.0));
}

TEST_CASE("after warm-up half a cosine falls to the floor") {
  warmup_cosine const rate{4, 20, 0.1};
  CHECK(rate(8) == Approx(0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5))));
  CHECK(rate(12) == Approx(0.55));
  CHECK(rate(16) == Approx(0.1 + 0.9 * 0.5 * (1 - std::sqrt(0.5))));
  CHECK(rate(20) == Approx(0.1));
  CHECK(rate(1000) == Approx(0.1));
  for (int step = 4; step < 30; ++step) CHECK(rate(step + 1) <= rate(step));
}

TEST_CASE("no warm-up, warm-up to the end, and a floor of zero") {
  CHECK(warmup_cosine{0, 10, 0}(0) == Approx(1));
  CHECK(warmup_cosine{0, 10, 0}(5) == Approx(0.5));
  CHECK(warmup_cosine{0, 10, 0}(10) == 0);
  CHECK(warmup_cosine{5, 5, 0.2}(4) == Approx(1));
  CHECK(warmup_cosine{5, 5, 0.2}(5) == Approx(0.2));
  CHECK(warmup_cosine{10, 5, 0.2}(6) == Approx(0.7));  // a warm-up longer than the training
}

TEST_CASE("the utilization is the share of what all ranks could compute in the time of a step") {
  ashlar::train::trainer_options options;
  CHECK(options.utilization(2, 4) == 0);
  options.step_flops = 6e12;
  CHECK(options.utilization(2, 4) == 0);  // the peak is not known
  options.peak_flops = 1e12;
  CHECK(options.utilization(2, 4) == Approx(0.75));
  CHECK(options.utilization(6, 1) == Approx(1));
}

TEST_CASE("the progress line says step, loss, norm, speed and share of communication") {
  ashlar::train::step_report report;
  report.step = 12;
  report.loss = 2.34567;
  report.gradient_norm = 0.5;
  report.tokens_per_second = 12345.6;
  report.communication_share = 0.125;
  std::ostringstream out;
  out << report;
  CHECK(out.str() == "step    12   loss  2.3457   grad norm   0.5000       12346 tokens/s   "
                     "12.5 % communication");
  report.unit = "images";
  report.model_flops_utilization = 0.4126;
  out.str("");
  out << report;
  CHECK(out.str() == "step    12   loss  2.3457   grad norm   0.5000       12346 images/s   "
                     "12.5 % communication   41.3 % MFU");

  // On a device, the time of transfers is not measured.
  auto on_device = report;
  on_device.measures_communication = false;
  out.str("");
  out << on_device;
  CHECK(out.str() == "step    12   loss  2.3457   grad norm   0.5000       12346 images/s   "
                     "41.3 % MFU");

  // The step computes for 7 s. It communicates for 4 s, of which computations hide 1 s.
  report.seconds = 10;
  report.exposed_seconds = 3;
  report.hidden_seconds = 1;
  CHECK(report.overlap_ratio() == Approx(0.25));
  out.str("");
  out << report;
  CHECK(out.str() == "step    12   loss  2.3457   grad norm   0.5000       12346 images/s   "
                     "12.5 % communication   25.0 % overlap   41.3 % MFU");
  report.exposed_seconds = 9;  // 1 s of computation, which hides communication
  CHECK(report.overlap_ratio() == Approx(1));
  CHECK(ashlar::train::step_report{}.overlap_ratio() == 0);
}

}  // namespace ashlar_test
