// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests elementary functions and maps of several tensors on every placement, against the standard
// library in double. Partial tensors, and tensors with different placements, must be refused with a
// message that names the function.

#include <cmath>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/functions.hpp>
#include <ashlar/tensor/map.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::reduction;
using ashlar::sbp;

template <class F>
dense with_function(dense x, F f) {
  for (auto& v : x.values) v = f(v);
  return x;
}

template <class Action>
void expect(bool legal, Action action, dense const& truth, std::string const& name,
            double tolerance = 1e-12) {
  if (legal) {
    CHECK_MESSAGE(wrong_with(action(), truth, tolerance) == "", name);
    return;
  }
  auto const message = message_of([&] { action(); });
  CHECK_MESSAGE(message.find(name + ": ") == 0, message);
  CHECK_MESSAGE(has(message, "Reduce it first, as in " + name + "(x | to<B, ...>"), message);
  CHECK_MESSAGE(has(message, "failing axis: "), message);
}

double sigmoid_of(double v) { return 1 / (1 + std::exp(-v)); }

}  // namespace

TEST_CASE("functions on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    ashlar::no_communication const forbidden(m);
    auto const a = with_function(seeded_integers({n + 1, 5}, 3), [](double v) { return v / 4; });
    auto const b = with_function(a, [](double v) { return v * v + 0.25; });
    for (auto const op : all_reductions)
      for (auto const& p : all_placements(2, m.axes(), {op})) {
        bool const whole = !p.has_partial();
        auto const x = placed<double, 2>(m, a, p), y = placed<double, 2>(m, b, p);
        expect(
            whole, [&] { return exp(x); }, with_function(a, [](double v) { return std::exp(v); }),
            "exp");
        expect(
            whole, [&] { return log(y); }, with_function(b, [](double v) { return std::log(v); }),
            "log");
        expect(
            whole, [&] { return sqrt(y); }, with_function(b, [](double v) { return std::sqrt(v); }),
            "sqrt");
        expect(
            whole, [&] { return rsqrt(y); },
            with_function(b, [](double v) { return 1 / std::sqrt(v); }), "rsqrt");
        expect(
            whole, [&] { return tanh(x); }, with_function(a, [](double v) { return std::tanh(v); }),
            "tanh");
        expect(
            whole, [&] { return sigmoid(x); }, with_function(a, sigmoid_of), "sigmoid");
        expect(
            whole, [&] { return silu(x); },
            with_function(a, [](double v) { return v * sigmoid_of(v); }), "silu");
        expect(
            whole, [&] { return erf(x); }, with_function(a, [](double v) { return std::erf(v); }),
            "erf");
        expect(
            whole, [&] { return abs(x); }, with_function(a, [](double v) { return std::abs(v); }),
            "abs");
        expect(
            whole, [&] { return pow(y, -1.5); },
            with_function(b, [](double v) { return std::pow(v, -1.5); }), "pow");
        expect(
            whole, [&] { return relu(x); },
            with_function(a, [](double v) { return v > 0 ? v : 0; }), "relu");
      }
  }
}

TEST_CASE("functions of other element types, and of special values") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const a = seeded_integers({5, 3}, 1);
  auto const i = placed<std::int32_t, 2>(m, a, {ashlar::split(0)}).as_static<sbp<S<0>>>();
  static_assert(std::same_as<decltype(abs(i)), ashlar::tensor<std::int32_t, 2, sbp<S<0>>>>);
  CHECK(wrong_with(abs(i), with_function(a, [](double v) { return std::abs(v); })) == "");
  auto const f = placed<float, 2>(m, a, {ashlar::split(0)}).as_static<sbp<S<0>>>();
  static_assert(std::same_as<decltype(pow(f, 2))::placement_type, sbp<S<0>>>);
  CHECK(wrong_with(silu(f), with_function(a, [](double v) { return v * sigmoid_of(v); }), 1e-6) ==
        "");
  auto const b = placed<ashlar::bfloat16, 2>(m, a, {ashlar::broadcast()});
  CHECK(wrong_with(tanh(b), with_function(a, [](double v) { return std::tanh(v); }), 8e-3) == "");
  auto const infinite = placed<float, 2>(m, dense({1, 1}, -INFINITY), {ashlar::broadcast()});
  CHECK(exp(infinite).local()[0] == 0);
  CHECK(std::isnan(sqrt(infinite).local()[0]));
  CHECK(std::isnan(log(infinite).local()[0]));
  CHECK(abs(infinite).local()[0] == INFINITY);
  auto const zero = placed<float, 2>(m, dense({1, 1}, -0.0), {ashlar::broadcast()});
  CHECK(std::signbit(zero.local()[0]));
  CHECK_FALSE(std::signbit(abs(zero).local()[0]));
}

TEST_CASE("maps of two and three tensors on every pair of placements") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  ashlar::no_communication const forbidden(m);
  auto const a = seeded_integers({n + 1, 4}, 1), b = seeded_integers({n + 1, 4}, 2);
  dense larger = a, chosen = a;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    larger.values[i] = std::max(a.values[i], b.values[i]);
    chosen.values[i] = a.values[i] < b.values[i] ? b.values[i] : -a.values[i];
  }
  auto const max_of = [](float v, float w) { return v < w ? w : v; };
  auto const choose = [](float v, float w, float u) { return v < w ? w : -u; };
  auto const all = all_placements(2, m.axes(), {reduction::sum});
  for (auto const& p : all)
    for (auto const& q : all) {
      auto const x = placed<float, 2>(m, a, p, 1), y = placed<float, 2>(m, b, q, 2);
      if (p == q && !p.has_partial()) {
        CHECK(wrong_with(ashlar::map(max_of, x, y), larger) == "");
        CHECK(wrong_with(ashlar::map(choose, x, y, x), chosen) == "");
      } else {
        for (auto const& message : {message_of([&] { ashlar::map(max_of, x, y); }),
                                    message_of([&] { ashlar::map(choose, x, y, x); })})
          CHECK_MESSAGE(
              has(message, "map: on one mesh axis the operands are partial or placed differently"),
              message);
      }
    }
  auto const x = placed<float, 2>(m, a, all[0]).as_static<sbp<B, B>>();
  static_assert(std::same_as<decltype(ashlar::map(choose, x, x, x))::placement_type, sbp<B, B>>);
  CHECK(wrong_with(ashlar::map([](float v) { return -v; }, x),
                   with_function(a, [](double v) { return -v; })) == "");
}

}  // namespace ashlar_test
