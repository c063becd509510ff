// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <support/combinations.hpp>
#include <support/device_operators.hpp>
#include <support/device_results.hpp>

#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/dot.hpp>
#include <ashlar/tensor/einsum.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/functions.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/mean.hpp>
#include <ashlar/tensor/permute.hpp>
#include <ashlar/tensor/reduce.hpp>
#include <ashlar/tensor/rows.hpp>

namespace ashlar_test {
namespace {

namespace host = ashlar::device::host;

/// Reduces matrix x over dimension d with op.
std::vector<double> reduced(dense const& x, int d, reduction op) {
  std::vector<double> y(static_cast<std::size_t>(x.extent(1 - d)), ashlar::identity_of<double>(op));
  for_each_index(x.extents, [&](index const& i) {
    double& v = y[static_cast<std::size_t>(i[static_cast<std::size_t>(1 - d)])];
    v = op == reduction::sum   ? v + x(i)
        : op == reduction::max ? std::max(v, x(i))
                               : std::min(v, x(i));
  });
  return y;
}

/// Checks the operators of one operand on every placement.
template <class T>
void check_unary(device_mesh const& m, index const& extents) {
  constexpr bool is_real = !std::is_integral_v<T>;
  double const enough = std::is_same_v<T, ashlar::bfloat16> ? 8e-3 : 1e-5;
  dense const x = small_integers(extents, 1);
  dense transposed({extents[1], extents[0]});
  for_each_index(extents, [&](index const& i) { transposed({i[1], i[0]}) = x(i); });
  std::vector<double> soft(x.values.size());
  host::softmax_forward(x.values.data(), extents[0], extents[1], soft.data());
  double total = 0;
  for (double const v : x.values) total += v;
  operator_count count;
  for (auto const& p : all_placements(2, m.axes(), {reduction::sum})) {
    auto const on = put<T, 2>(m, x, p);
    using A = ashlar::accumulation_t<T>;
    count.check(mapped(x.values, [](double v) { return 3 * v; }), 0, [&] { return A(3) * on; });
    count.check(mapped(x.values, [](double v) { return -v; }), 0, [&] { return -on; });
    count.check(mapped(x.values, [](double v) { return v + 2; }), 0, [&] { return on + 2; });
    count.check(mapped(x.values, [](double v) { return v - 2; }), 0, [&] {
      auto y = on.clone();
      return y -= 2;
    });
    count.check(mapped(x.values, [](double v) { return 2 - v; }), 0, [&] { return 2 - on; });
    count.check(mapped(x.values, [](double v) { return std::max(v, 0.0); }), 0,
                [&] { return relu(on); });
    count.check(transposed.values, 0, [&] { return transpose(on); });
    count.check(transposed.values, 0, [&] { return ashlar::permute<1, 0>(on); });
    count.check(reduced(x, 0, reduction::sum), 0, [&] { return ashlar::sum<0>(on); });
    count.check(reduced(x, 1, reduction::sum), 0, [&] { return ashlar::sum<1>(on); });
    count.check({total}, 0, [&] { return ashlar::sum(on); });
    if (x.values.empty()) continue;
    count.check(reduced(x, 0, reduction::max), 0, [&] { return ashlar::max<0>(on); });
    count.check(reduced(x, 1, reduction::min), 0, [&] { return ashlar::min<1>(on); });
    count.check(mapped(x.values, [](double v) { return std::abs(v); }), 0, [&] { return abs(on); });
    if (!p.has_partial()) {
      double squares = 0;
      for (double const v : x.values) squares += v * v;
      CHECK(static_cast<double>(dot(on, on)) == squares);
    }
    if constexpr (is_real) {
      count.check(mapped(x.values, [](double v) { return v / 4; }), 0, [&] { return on / 4; });
      count.check(mapped(x.values, [](double v) { return std::exp(v / 2); }), enough,
                  [&] { return exp(on / 2); });
      count.check(mapped(x.values, [](double v) { return v / (1 + std::exp(-v)); }), enough,
                  [&] { return silu(on); });
      count.check(mapped(x.values, [](double v) { return std::pow(v * v + 0.5, 1.5); }), enough,
                  [&] { return pow(on * on + 0.5, 1.5); });
      count.check(mapped(x.values, [](double v) { return 2 / (2 * v + 0.5); }), enough,
                  [&] { return 2 / (2 * on + 0.5); });
      count.check(mapped(x.values, [](double v) { return ashlar::device::gelu::value(v); }), enough,
                  [&] { return gelu(on); });
      count.check(soft, enough, [&] { return softmax(on); });
    }
  }
  CHECK(count.wrong == 0);
  CHECK(count.done >= (x.values.empty() ? 12 : 20));
}

/// Checks the operators of two operands on every pair of placements.
template <class T>
void check_binary(device_mesh const& m, index const& extents) {
  dense const x = small_integers(extents, 2), y = small_integers(extents, 3);
  auto const of = [&](auto f) {
    std::vector<double> z;
    for (std::size_t i = 0; i < x.values.size(); ++i) z.push_back(f(x.values[i], y.values[i]));
    return z;
  };
  operator_count count;
  auto const all = all_placements(2, m.axes(), {reduction::sum});
  for (auto const& [p, q] : all_combinations(all, all)) {
    auto const a = put<T, 2>(m, x, p), b = put<T, 2>(m, y, q);
    count.check(of([](double v, double w) { return v + w; }), 0, [&] { return a + b; });
    count.check(of([](double v, double w) { return v - w; }), 0, [&] { return a - b; });
    count.check(of([](double v, double w) { return v * w; }), 0, [&] { return a * b; });
    count.check(of([](double v, double w) { return v - w; }), 0, [&] {
      auto z = a.clone();
      return z -= b;
    });
  }
  CHECK(count.wrong == 0);
  CHECK(count.done >= 4 * static_cast<int>(all.size()) - 2 * m.axes() * 4);
}

/// Checks operators of which one operand is repeated, on every pair of placements.
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
  operator_count count;
  auto const all = all_placements(2, m.axes(), {reduction::sum});
  auto const lines = all_placements(1, m.axes(), {reduction::sum});
  for (auto const& [p, q] : all_combinations(all, lines)) {
    auto const a = put<T, 2>(m, x, p);
    auto const b = put<T, 1>(m, y, q);
    count.check(of([&](double v, index const& i) { return v + column(i); }), 0,
                [&] { return a + b; });
    count.check(of([&](double v, index const& i) { return column(i) - v; }), 0,
                [&] { return b - a; });
    count.check(of([&](double v, index const& i) { return v - column(i); }), 0, [&] {
      auto c = a.clone();
      return c -= b;
    });
  }
  CHECK(count.done >= 3 * m.axes());
  for (auto const& [p, q] : all_combinations(all, all)) {
    auto const a = put<T, 2>(m, x, p), b = put<T, 2>(m, z, q);
    count.check(of([&](double v, index const& i) { return v * row(i); }), 0, [&] { return a * b; });
  }
  CHECK(count.wrong == 0);
}

/// Checks comparisons, extrema, conversions, means, einsums and rows of tables on every placement.
template <class T>
void check_selections(device_mesh const& m, index const& extents) {
  using wider = std::conditional_t<std::is_same_v<T, double>, float, double>;
  dense const x = small_integers(extents, 7), y = small_integers(extents, 8);
  int const rows = extents[0], columns = extents[1];
  dense ids({4}), added({4, columns}, 1), transposed({columns, rows}), squares({rows, rows});
  std::vector<double> sums = x.values, taken, smaller, equal, means;
  for (std::size_t t = 0; t < 4; ++t) ids.values[t] = static_cast<double>(t * t / 4);
  for_each_index({4, columns}, [&](index const& i) {
    index const at{static_cast<int>(ids({i[0]})), i[1]};
    taken.push_back(x(at));
    sums[x.offset(at)] += 1;
  });
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    smaller.push_back(std::min(x.values[i], y.values[i]));
    equal.push_back(x.values[i] == y.values[i]);
  }
  for_each_index(extents, [&](index const& i) {
    transposed({i[1], i[0]}) = x(i);
    for (int r = 0; r < rows; ++r) squares({i[0], r}) += x(i) * y({r, i[1]});
  });
  for (double const v : reduced(x, 0, reduction::sum)) means.push_back(v / rows);
  operator_count count;
  auto const all = all_placements(2, m.axes(), {reduction::sum});
  for (auto const& p : all) {
    auto const a = put<T, 2>(m, x, p);
    count.check(mapped(x.values, [](double v) { return v > 1; }), 0, [&] { return a > 1; });
    count.check(mapped(x.values, [](double v) { return 1 <= v; }), 0, [&] { return 1 <= a; });
    count.check(mapped(x.values, [](double v) { return std::max(v, 1.0); }), 0,
                [&] { return max(a, 1); });
    count.check(x.values, 0, [&] { return ashlar::cast<wider>(a); });
    count.check(means, 1e-2, [&] { return ashlar::mean<0>(a); });
    count.check(transposed.values, 0, [&] { return ashlar::einsum<"mn->nm">(a); });
    for (auto const& q : all) {
      auto const b = put<T, 2>(m, y, q);
      count.check(smaller, 0, [&] { return min(a, b); });
      count.check(equal, 0, [&] { return ashlar::equal(a, b); });
      count.check(squares.values, 0, [&] { return ashlar::einsum<"mk,nk->mn">(a, b); });
    }
    for (auto const& q : all_placements(1, m.axes(), {})) {
      auto const at = put<std::int32_t, 1>(m, ids, q);
      count.check(taken, 0, [&] { return ashlar::take_rows(a, at); });
      for (auto const& r : all)
        count.check(sums, 0, [&] { return ashlar::add_rows(a, at, put<T, 2>(m, added, r)); });
    }
  }
  CHECK(count.wrong == 0);
  CHECK(count.done >= 12 * m.axes());
}

}  // namespace

void check_operators(device_mesh const& m) {
  for (index const& extents : {index{6, 8}, {5, 3}, {1, 70}, {40, 33}, {0, 3}})
    check_unary<float>(m, extents);
  check_unary<ashlar::bfloat16>(m, {5, 9});
  check_unary<std::int32_t>(m, {4, 7});
  check_binary<float>(m, {5, 6});
  check_binary<ashlar::bfloat16>(m, {3, 4});
  for (index const& extents : {index{5, 6}, {0, 3}}) check_repeated<float>(m, extents);
  check_repeated<ashlar::bfloat16>(m, {3, 4});
  check_selections<float>(m, {5, 6});
  check_selections<ashlar::bfloat16>(m, {3, 4});
}

}  // namespace ashlar_test
