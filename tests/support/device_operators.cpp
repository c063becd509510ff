// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <support/combinations.hpp>
#include <support/device_operators.hpp>
#include <support/device_results.hpp>

#include <ashlar/tensor/dot.hpp>
#include <ashlar/tensor/functions.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/permute.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar_test {
namespace {

namespace host = ashlar::device::host;

/// Checks the operators of one operand on every placement.
template <class T>
void check_unary(device_mesh const& m, index const& extents) {
  using A = ashlar::accumulation_t<T>;
  dense const x = small_integers(extents, 1);
  dense transposed({extents[1], extents[0]});
  for_each_index(extents, [&](index const& i) { transposed({i[1], i[0]}) = x(i); });
  double total = 0, squares = 0;
  for (double const v : x.values) total += v, squares += v * v;
  auto const each = [&](auto f) { return mapped(x.values, f); };
  operator_calls calls;
  for (auto const& p : all_placements(2, m.axes(), {reduction::sum})) {
    auto const on = put<T, 2>(m, x, p);
    // The operator changes a copy of the operand in place.
    auto const changed = [&](auto f) {
      return [&on, f] {
        auto y = on.clone();
        f(y);
        return y;
      };
    };
    calls.check("a * x", each([](double v) { return 3 * v; }), 0, [&] { return A(3) * on; });
    calls.check("x * a", each([](double v) { return 3 * v; }), 0, [&] { return on * 3; });
    calls.check("-x", each([](double v) { return -v; }), 0, [&] { return -on; });
    calls.check("x + a", each([](double v) { return v + 2; }), 0, [&] { return on + 2; });
    calls.check("a + x", each([](double v) { return v + 2; }), 0, [&] { return 2 + on; });
    calls.check("x - a", each([](double v) { return v - 2; }), 0, [&] { return on - 2; });
    calls.check("a - x", each([](double v) { return 2 - v; }), 0, [&] { return 2 - on; });
    calls.check("x += a", each([](double v) { return v + 2; }), 0,
                changed([](auto& y) { y += 2; }));
    calls.check("x -= a", each([](double v) { return v - 2; }), 0,
                changed([](auto& y) { y -= 2; }));
    calls.check("x *= a", each([](double v) { return v * 2; }), 0,
                changed([](auto& y) { y *= 2; }));
    calls.check("relu", each([](double v) { return std::max(v, 0.0); }), 0,
                [&] { return relu(on); });
    calls.check("abs", each([](double v) { return std::abs(v); }), 0, [&] { return abs(on); });
    calls.check("transpose", transposed.values, 0, [&] { return transpose(on); });
    calls.check("permute", transposed.values, 0, [&] { return ashlar::permute<1, 0>(on); });
    calls.check("sum<0>", reduced(x, 0, reduction::sum), 0, [&] { return ashlar::sum<0>(on); });
    calls.check("sum<1>", reduced(x, 1, reduction::sum), 0, [&] { return ashlar::sum<1>(on); });
    calls.check("sum", {total}, 0, [&] { return ashlar::sum(on); });
    calls.check("sum<0, 1>", {total}, 0, [&] { return ashlar::sum<0, 1>(on); });
    calls.check("dot", {squares}, 0, [&] { return dot(on, on); });
    if constexpr (!std::is_integral_v<T>) {
      calls.check("x / a", each([](double v) { return v / 4; }), 0, [&] { return on / 4; });
      calls.check("x /= a", each([](double v) { return v / 4; }), 0,
                  changed([](auto& y) { y /= 4; }));
      calls.check("norm", {std::sqrt(squares)}, 1e-6, [&] { return norm(on); });
    }
    if (x.values.empty()) continue;
    calls.check("max<0>", reduced(x, 0, reduction::max), 0, [&] { return ashlar::max<0>(on); });
    auto const& all = x.values;
    calls.check("max", {*std::max_element(all.begin(), all.end())}, 0, [&] { return max(on); });
    calls.check("min<1, 0>", {*std::min_element(all.begin(), all.end())}, 0,
                [&] { return ashlar::min<1, 0>(on); });
    calls.check("min<1>", reduced(x, 1, reduction::min), 0, [&] { return ashlar::min<1>(on); });
  }
  calls.report();
}

/// Checks the functions of one operand with floating-point elements on every placement.
template <class T>
void check_functions(device_mesh const& m, index const& extents) {
  dense const x = small_integers(extents, 1);
  std::vector<double> soft(x.values.size());
  host::softmax_forward(x.values.data(), extents[0], extents[1], soft.data());
  operator_calls calls;
  for (auto const& p : all_placements(2, m.axes(), {reduction::sum})) {
    auto const on = put<T, 2>(m, x, p);
    auto const check = [&](char const* name, auto const& truth, auto const& function) {
      calls.check(name, mapped(x.values, truth), rounding<T>, [&] { return function(on); });
    };
    // The arguments are small integers and their halves, or their squares plus 1. Every element
    // type represents these numbers exactly.
    check(
        "exp", [](double v) { return std::exp(v / 2); }, [](auto& y) { return exp(y / 2); });
    check(
        "log", [](double v) { return std::log(v * v + 1); },
        [](auto& y) { return log(y * y + 1); });
    check(
        "sqrt", [](double v) { return std::sqrt(v * v + 1); },
        [](auto& y) { return sqrt(y * y + 1); });
    check(
        "rsqrt", [](double v) { return 1 / std::sqrt(v * v + 1); },
        [](auto& y) { return rsqrt(y * y + 1); });
    check(
        "tanh", [](double v) { return std::tanh(v / 2); }, [](auto& y) { return tanh(y / 2); });
    check(
        "sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); },
        [](auto& y) { return sigmoid(y); });
    check(
        "silu", [](double v) { return v / (1 + std::exp(-v)); }, [](auto& y) { return silu(y); });
    check(
        "erf", [](double v) { return std::erf(v / 2); }, [](auto& y) { return erf(y / 2); });
    check(
        "pow", [](double v) { return std::pow(v * v + 0.5, 1.5); },
        [](auto& y) { return pow(y * y + 0.5, 1.5); });
    check(
        "a / x", [](double v) { return 2 / (2 * v + 0.5); },
        [](auto& y) { return 2 / (2 * y + 0.5); });
    check(
        "gelu", [](double v) { return ashlar::device::gelu::value(v); },
        [](auto& y) { return gelu(y); });
    calls.check("softmax", soft, rounding<T>, [&] { return softmax(on); });
  }
  calls.report();
}

/// Checks the operators of two operands on every pair of placements.
template <class T>
void check_binary(device_mesh const& m, index const& extents) {
  // The divisors are -2, 1 and 4, so quotients are exact.
  dense const x = small_integers(extents, 2), y = small_integers(extents, 3);
  dense divisor = y;
  for (double& v : divisor.values) v = v < 0 ? -2 : v > 1 ? 4 : 1;
  auto const of = [&](dense const& right, auto f) {
    std::vector<double> z;
    for (std::size_t i = 0; i < x.values.size(); ++i) z.push_back(f(x.values[i], right.values[i]));
    return z;
  };
  auto const sums = of(y, std::plus<>()), differences = of(y, std::minus<>()),
             products = of(y, std::multiplies<>()), quotients = of(divisor, std::divides<>());
  operator_calls calls;
  auto const all = all_placements(2, m.axes(), {reduction::sum});
  for (auto const& [p, q] : all_combinations(all, all)) {
    auto const a = put<T, 2>(m, x, p), b = put<T, 2>(m, y, q);
    auto const changed = [&a = a](auto const& right, auto f) {
      return [&a, &right, f] {
        auto z = a.clone();
        f(z, right);
        return z;
      };
    };
    calls.check("x + y", sums, 0, [&] { return a + b; });
    calls.check("x - y", differences, 0, [&] { return a - b; });
    calls.check("x * y", products, 0, [&] { return a * b; });
    calls.check("x += y", sums, 0, changed(b, [](auto& z, auto& right) { z += right; }));
    calls.check("x -= y", differences, 0, changed(b, [](auto& z, auto& right) { z -= right; }));
    calls.check("x *= y", products, 0, changed(b, [](auto& z, auto& right) { z *= right; }));
    if constexpr (!std::is_integral_v<T>) {
      auto const c = put<T, 2>(m, divisor, q);
      calls.check("x / y", quotients, 0, [&] { return a / c; });
      calls.check("x /= y", quotients, 0, changed(c, [](auto& z, auto& right) { z /= right; }));
    }
  }
  calls.report();
}

/// Checks operators of two operands, one of which is repeated along dims of the other, on every
/// pair of placements.
template <class T>
void check_repeated(device_mesh const& m, index const& extents) {
  dense const x = small_integers(extents, 4), y = small_integers({extents[1]}, 5),
              z = small_integers({extents[0], 1}, 6);
  auto const of = [&](auto f) {
    std::vector<double> values;
    for_each_index(extents, [&](index const& i) { values.push_back(f(x(i), i)); });
    return values;
  };
  auto const column = [&](index const& i) { return y({i[1]}); };
  auto const row = [&](index const& i) { return z({i[0], 0}); };
  operator_calls calls;
  auto const all = all_placements(2, m.axes(), {reduction::sum});
  auto const lines = all_placements(1, m.axes(), {reduction::sum});
  for (auto const& [p, q] : all_combinations(all, lines)) {
    auto const a = put<T, 2>(m, x, p);
    auto const b = put<T, 1>(m, y, q);
    calls.check("x + y", of([&](double v, index const& i) { return v + column(i); }), 0,
                [&] { return a + b; });
    calls.check("y - x", of([&](double v, index const& i) { return column(i) - v; }), 0,
                [&] { return b - a; });
    calls.check("x -= y", of([&](double v, index const& i) { return v - column(i); }), 0, [&] {
      auto c = a.clone();
      return c -= b;
    });
  }
  for (auto const& [p, q] : all_combinations(all, all)) {
    auto const a = put<T, 2>(m, x, p), b = put<T, 2>(m, z, q);
    calls.check("x * y", of([&](double v, index const& i) { return v * row(i); }), 0,
                [&] { return a * b; });
  }
  calls.report();
}

}  // namespace

void check_operators(device_mesh const& m) {
  for (index const& extents : {index{6, 8}, {5, 3}, {1, 70}, {40, 33}, {0, 3}}) {
    check_unary<float>(m, extents);
    check_functions<float>(m, extents);
  }
  check_unary<ashlar::bfloat16>(m, {5, 9});
  check_functions<ashlar::bfloat16>(m, {5, 9});
  check_unary<std::int32_t>(m, {4, 7});
  check_binary<float>(m, {5, 6});
  check_binary<ashlar::bfloat16>(m, {3, 4});
  check_binary<std::int32_t>(m, {3, 4});
  for (index const& extents : {index{5, 6}, {0, 3}}) check_repeated<float>(m, extents);
  check_repeated<ashlar::bfloat16>(m, {3, 4});
}

}  // namespace ashlar_test
