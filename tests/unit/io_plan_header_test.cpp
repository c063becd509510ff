// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests plans that are written as C++ headers: the compiled constants must equal the written plan.

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <plans/mlp_2x2.inc>
#include <support/decimal_comma.hpp>
#include <support/message_of.hpp>
#include <support/plan_header_case.hpp>
#include <support/relative.hpp>

#include <ashlar/io/plan_header.hpp>

namespace ashlar_test {
namespace {

using ashlar::io::plan_header_text;

TEST_CASE("the committed header is the plan that the search finds") {
  auto const found = header_plan();
  CHECK(mlp_2x2.mesh == found.mesh);
  CHECK(mlp_2x2.input == found.input);
  CHECK(mlp_2x2.choices == found.choices);
  CHECK(mlp_2x2.micro_batches == found.micro_batches);
  CHECK(mlp_2x2.seconds == relative(found.seconds));
  CHECK(mlp_2x2.communication_seconds == relative(found.communication_seconds));
  CHECK(mlp_2x2.memory == found.memory);
  CHECK(mlp_2x2.gap == found.gap);
  CHECK(mlp_2x2.problem_hash == found.problem_hash);
  CHECK(fingerprint(mlp_2x2) == fingerprint(found));
}

/// Returns the text without the lines that contain seconds, because their last digits depend on the
/// compiler.
std::string without_seconds(std::istream& in) {
  std::string text;
  for (std::string line; std::getline(in, line);)
    if (!has(line, "seconds =")) text += line + "\n";
  return text;
}

TEST_CASE("the header is written exactly as it is committed") {
  auto const problem = ashlar::nn::describe(header_net, header_batch);
  auto const here = std::filesystem::path(__FILE__).parent_path();
  std::ifstream committed(here / ".." / "plans" / "mlp_2x2.inc");
  std::istringstream written(plan_header_text(problem, header_plan(), "mlp_2x2"));
  auto const text = without_seconds(written);
  CHECK(has(text, "constexpr placement l0{split(0, 1), split(0, 0)};  // [S(0,1),S(0,0)]"));
  CHECK(text == without_seconds(committed));
}

TEST_CASE("invalid names and plans of other nets are refused") {
  auto const problem = ashlar::nn::describe(header_net, header_batch);
  auto plan = header_plan();
  for (auto const* name : {"", "2x2", "a b", "a-b", "a::b"})
    CHECK(has(message_of([&] { plan_header_text(problem, plan, name); }),
              "is not a valid C++ variable name"));
  for (auto const* keyword : {"class", "co_await", "int", "requires", "xor_eq"})
    CHECK(has(message_of([&] { plan_header_text(problem, plan, keyword); }),
              "is not a valid C++ variable name"));
  CHECK(has(plan_header_text(problem, plan, "class_"), "auto class_ = "));
  plan.choices.pop_back();
  CHECK(has(message_of([&] { plan_header_text(problem, plan, "p"); }), "but the net has 4"));
}

TEST_CASE(
    "numbers are written with a point and all digits; those that are not finite are refused") {
  auto const problem = ashlar::nn::describe(header_net, header_batch);
  auto plan = header_plan();
  plan.seconds = 0.1;
  plan.communication_seconds = 0x1p-20;
  auto const text = [&] {
    decimal_comma const locale;
    return plan_header_text(problem, plan, "p");
  }();
  CHECK(has(text, "plan.seconds = 0.10000000000000001;"));
  CHECK(has(text, "plan.communication_seconds = 9.5367431640625e-07;"));
  for (double const bad :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    auto wrong = plan;
    wrong.seconds = bad;
    CHECK(has(message_of([&] { plan_header_text(problem, wrong, "p"); }),
              "plan_header: plan.seconds is not finite"));
    wrong = plan;
    wrong.communication_seconds = bad;
    CHECK(has(message_of([&] { plan_header_text(problem, wrong, "p"); }),
              "plan.communication_seconds is not finite"));
    wrong = plan;
    wrong.gap = bad;
    CHECK(has(message_of([&] { plan_header_text(problem, wrong, "p"); }), "plan.gap is not"));
  }
}

}  // namespace
}  // namespace ashlar_test
