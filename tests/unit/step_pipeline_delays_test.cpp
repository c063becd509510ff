// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests schedules that compute the gradients of parameters later in the same step
// (delayed_weights.hpp). If a schedule can run without delays, it can run with every list of
// delays. The numbers of micro-batches in flight and the bubbles agree with closed formulas. The
// searched delays reach the lower bound that holds for all schedules, also where ZB-H2 does not
// reach it.

#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/step/pipeline/check.hpp>
#include <ashlar/step/pipeline/delayed_weights.hpp>
#include <ashlar/step/pipeline/in_flight.hpp>
#include <ashlar/step/pipeline/text.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

#include "step_pipeline_schedules.hpp"

namespace ashlar_test {
namespace {

using namespace ashlar::pipelines;

/// Calls visit(list) for every list of `size` numbers from `least` to `most`.
template <class Visit>
void for_each_list(int size, int least, int most, Visit const& visit) {
  std::vector<int> list(static_cast<std::size_t>(size), least);
  for (std::size_t j = 0; j < list.size();) {
    visit(static_cast<std::vector<int> const&>(list));
    for (j = 0; j < list.size() && ++list[j] > most; ++j) list[j] = least;
  }
}

}  // namespace

TEST_CASE("a schedule with delays is what its text says") {
  CHECK(to_string(with_delayed_weights(std::vector{2, 1}, std::vector{0, 2}, 3))
            .find("0: F0 F1 I0 W0 F2 I1 W1 I2 W2\n1: F0 I0 F1 I1 F2 I2 W0 W1 W2\n") !=
        std::string::npos);
  CHECK(has(message_of([] {
              with_delayed_weights(std::vector{2, 1}, std::vector{0}, 3);
            }),
            "there are 2 warm-up depths, but 1 delays. Give one of each for a position."));
  CHECK(
      has(message_of([] {
            with_delayed_weights(std::vector{2, 0}, std::vector{0, -1}, 3);
          }),
          "position 1 has a warm-up depth of 0 and a delay of -1. Depths are 1 or more, and delays "
          "0 or more."));
}

TEST_CASE("delays never keep a schedule from running, and the micro-batches in flight are known") {
  int runs = 0, refused = 0;
  for (int const s : {1, 2, 3})
    for (int const m : {1, 2, 4})
      for_each_list(s, 1, 3, [&](std::vector<int> const& depths) {
        bool const can = fault_of(with_warm_ups(depths, m)).empty();
        for_each_list(s, 0, 4, [&](std::vector<int> const& delays) {
          auto const made = with_delayed_weights(depths, delays, m);
          bool as_expected = fault_of(made).empty() == can;
          for (int j = 0; j < s && can; ++j) {
            int const d = depths[std::size_t(j)], w = delays[std::size_t(j)];
            as_expected = as_expected &&
                          in_flight(made, j) == flight{std::min(m, d), std::min(m, d + w)};
          }
          CHECK(as_expected);
          ++(can ? runs : refused);
        });
      });
  CHECK(runs > 1000);
  CHECK(refused > 1000);
}

TEST_CASE("bubbles of delayed weights have their closed form") {
  for (int s = 1; s <= 7; ++s)
    for (int const a : {1, 2, 3})
      for (int const m : {a * s, a * s + 1, a * s + s})
        for (int b = 0; b <= a; ++b)
          for (auto const& c : {stage_costs{1, 1, 1, 0, 0},
                                {1, 1.25, 0.75, 0, 0},
                                {1, 1.5, 0.5, 0, 0},
                                {2, 1, 1, 0, 0},
                                {1, 1, 2, 0, 0},
                                {3, 2, 1, 0, 0},
                                {1, 3, 1, 0, 0}}) {
            std::vector<int> depths, delays;
            for (int j = 0; j < s; ++j) {
              depths.push_back(a * (s - j) - (a - 1));
              delays.push_back(b * j);
            }
            auto const costs = pipeline_costs(std::size_t(s), c);
            double const bubble = seconds_of(with_delayed_weights(depths, delays, m), costs) -
                                  m * c.all();
            CAPTURE(s);
            CAPTURE(m);
            CAPTURE(b);
            CHECK(bubble ==
                  doctest::Approx((s - 1) * std::max(c.forward, c.forward + c.input_gradient -
                                                                    b * c.weight_gradient)));
          }
}

TEST_CASE("searched delays stay within their limits, and reach the bound if nothing limits them") {
  // With transfers of 0.5 and 1 s, ZB-H2 takes 53 and 56 s (step_pipeline_test.cpp). The searched
  // delays take 52.5 and 54 s.
  for (double const transfer : {0., 0.25, 0.5, 1., 1.5, 2.}) {
    auto const costs = equal(4, 1, 1, 1, transfer);
    auto const best = delayed_weights(4, 16, costs);
    CAPTURE(transfer);
    CHECK(seconds_of(best, costs) == doctest::Approx(51 + 3 * transfer));
    CHECK(bound(best, costs, true) == doctest::Approx(51 + 3 * transfer));
    double before = seconds_of(delayed_weights(4, 16, costs, 1), costs);
    for (int most = 1; most <= 8; ++most) {
      auto const made = delayed_weights(4, 16, costs, most);
      CHECK(in_flight_fault(made, std::vector<int>(4, most)) == "");
      CHECK(seconds_of(made, costs) <= before * (1 + 1e-12));
      before = seconds_of(made, costs);
    }
  }
  // Without transfers, four micro-batches in flight are enough to reach the bound. The first
  // position of 1F1B has as many.
  CHECK(seconds_of(delayed_weights(4, 16, {}, 4), equal(4, 1, 1, 1, 0)) == doctest::Approx(51));
  CHECK(in_flight(delayed_weights(4, 16), 3) == flight{1, 4});
  std::mt19937 random(5);
  std::uniform_real_distribution<double> any(0, 3);
  for (int turn = 0; turn < 60; ++turn) {
    int const s = 1 + turn % 5, m = 1 + turn % 7;
    pipeline_costs costs;
    std::vector<int> most;
    for (int k = 0; k < s; ++k) {
      costs.push_back({any(random), any(random), any(random), any(random), any(random)});
      most.push_back(1 + static_cast<int>(random() % 4));
    }
    auto const made = delayed_weights(s, m, costs, most);
    CHECK(fault_of(made) == "");
    CHECK(in_flight_fault(made, most) == "");
    CHECK(seconds_of(made, costs) >= bound(made, costs, true) * (1 - 1e-12));
  }
}

}  // namespace ashlar_test
