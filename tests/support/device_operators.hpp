// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The operators of tensors on ranks with a device each, against the host's kernels on the whole arrays: on a
// device (tests/cuda) and on one that is played (tests/cuda/played). Each function is one rank's part. The
// rules, of which placements an operator takes and what it refuses, are tested on the host's meshes: they are
// the same code. Here a refusal is passed over, and there must be enough that are none.
//
//   values             small integers, partial ones split unevenly: sums and products are exact
//   exact              + - * scale relu max min sums transpose matmul
//   within 1e-5        gelu, softmax (of bfloat16 8e-3: it is rounded once on either side)

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <support/dense_product.hpp>
#include <support/naive_placement.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar_test {

namespace host = ashlar::device::host;
using device_mesh = ashlar::nccl::mesh;

inline ashlar::shape as_shape(index const& extents) {
  ashlar::shape s;
  for (int const e : extents) s.extent.push_back(e);
  return s;
}

inline dense small_integers(index extents, unsigned seed) {
  std::mt19937 random(seed);
  return random_integers(random, std::move(extents), -3, 3);
}

/// Every rank's addend differs, and their sum is the value.
template <class T, int Rank>
auto put(device_mesh const& m, dense const& x, placement const& p) {
  std::vector<T> values;
  int among = 1, mine = 0;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) {
      mine = mine * m.topology().axis[a].extent + m.here()[static_cast<std::size_t>(a)];
      among *= m.topology().axis[a].extent;
    }
  for (double const v : x.values)
    values.push_back(static_cast<T>(mine > 0 ? mine : v - among * (among - 1) / 2));
  placement whole = p;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) whole.axis[a] = ashlar::broadcast();
  auto const lying = ashlar::from_full<Rank>(m, as_shape(x.extents), whole,
                                             std::span<T const>(values));
  using tensor = ashlar::tensor<T, Rank, ashlar::dynamic, ashlar::cuda::processor>;
  return tensor(m, lying.extents(), p, lying.shard());
}

template <class Tensor>
double distance_to(Tensor const& x, std::vector<double> const& expected) {
  auto const values = ashlar::to_full(x);
  if (values.size() != expected.size()) return 1e30;
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto const v = static_cast<double>(values[i]);
    double const gap = v == expected[i] ? 0 : std::abs(v - expected[i]) / (1 + std::abs(v));
    most = gap <= most ? most : gap;  // NaN counts
  }
  return most;
}

/// Counts results, and those that are wrong.
struct operator_count {
  int done = 0, wrong = 0;

  template <class Operator>
  void check(std::vector<double> const& expected, double enough, Operator const& run) {
    try {
      auto const y = run();
      ++done;
      if (!(distance_to(y, expected) <= enough)) ++wrong;
    } catch (ashlar::error const& e) {
      if (std::string(e.what()).find("nccl") != std::string::npos) throw;
    }
  }
};

template <class F>
std::vector<double> mapped(std::vector<double> x, F const& f) {
  for (double& v : x) v = f(v);
  return x;
}

/// op over dim d of a matrix.
inline std::vector<double> reduced(dense const& x, int d, reduction op) {
  std::vector<double> y(static_cast<std::size_t>(x.extent(1 - d)), ashlar::identity_of<double>(op));
  for_each_index(x.extents, [&](index const& i) {
    double& v = y[static_cast<std::size_t>(i[static_cast<std::size_t>(1 - d)])];
    v = op == reduction::sum   ? v + x(i)
        : op == reduction::max ? std::max(v, x(i))
                               : std::min(v, x(i));
  });
  return y;
}

/// The operators of one operand on every placement.
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
    count.check(mapped(x.values, [](double v) { return std::max(v, 0.0); }), 0,
                [&] { return relu(on); });
    count.check(transposed.values, 0, [&] { return transpose(on); });
    count.check(reduced(x, 0, reduction::sum), 0, [&] { return ashlar::sum<0>(on); });
    count.check(reduced(x, 1, reduction::sum), 0, [&] { return ashlar::sum<1>(on); });
    count.check({total}, 0, [&] { return ashlar::sum(on); });
    if (x.values.empty()) continue;
    count.check(reduced(x, 0, reduction::max), 0, [&] { return ashlar::max<0>(on); });
    count.check(reduced(x, 1, reduction::min), 0, [&] { return ashlar::min<1>(on); });
    if constexpr (is_real) {
      count.check(mapped(x.values, [](double v) { return ashlar::device::gelu::value(v); }), enough,
                  [&] { return gelu(on); });
      count.check(soft, enough, [&] { return softmax(on); });
    }
  }
  CHECK(count.wrong == 0);
  CHECK(count.done >= (x.values.empty() ? 12 : 20));
}

/// Those of two operands, on every pair of placements.
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
  for (auto const& p : all)
    for (auto const& q : all) {
      auto const a = put<T, 2>(m, x, p), b = put<T, 2>(m, y, q);
      count.check(of([](double v, double w) { return v + w; }), 0, [&] { return a + b; });
      count.check(of([](double v, double w) { return v - w; }), 0, [&] { return a - b; });
      count.check(of([](double v, double w) { return v * w; }), 0, [&] { return a * b; });
    }
  CHECK(count.wrong == 0);
  CHECK(count.done >= 3 * static_cast<int>(all.size()) - 2 * m.axes() * 4);
}

/// One in `one_in` of all placements of both operands and of the result, transposed or not, in every plan
/// that there is: whole and in panels of each letter.
template <class T, int Rank>
void check_products(device_mesh const& m, index const& mnk, int one_in) {
  using ashlar::matmul;
  using ashlar::transposed;
  operator_count whole, panels;
  int n = 0, turn = 0;
  int const batch = 3;
  auto const matrix = [&](int rows, int columns) {
    return Rank == 3 ? index{batch, rows, columns} : index{rows, columns};
  };
  auto const all = all_placements(Rank, m.axes(), {reduction::sum});
  for (auto const& p : all)
    for (auto const& q : all)
      for (auto const& r : all) {
        if (n++ % one_in != 0) continue;
        ++turn;
        bool const ta = turn % 2 == 0, tb = turn % 3 == 0;
        dense const a = small_integers(ta ? matrix(mnk[2], mnk[0]) : matrix(mnk[0], mnk[2]), 4),
                    b = small_integers(tb ? matrix(mnk[1], mnk[2]) : matrix(mnk[2], mnk[1]), 5);
        auto const expected = product(a, b, ta, tb).values;
        auto const x = put<T, Rank>(m, a, p), w = put<T, Rank>(m, b, q);
        char const letters[] = {0, 'm', 'n', 'k'};
        ashlar::matmul_options wanted{m.machine().memory};
        wanted.stream = letters[turn % 4];
        if (wanted.stream != 0) wanted.panels = 2 + turn % 3;
        (wanted.stream == 0 ? whole : panels).check(expected, 0, [&] {
          if (ta && tb) return matmul(transposed(x), transposed(w), r, wanted);
          if (ta) return matmul(transposed(x), w, r, wanted);
          if (tb) return matmul(x, transposed(w), r, wanted);
          return matmul(x, w, r, wanted);
        });
      }
  CHECK(whole.wrong == 0);
  CHECK(panels.wrong == 0);
  CHECK(whole.done > 0);
  CHECK(panels.done > 0);
}

/// Typed placements: local without a plan, with one, and what users write.
inline void check_typed(device_mesh const& m) {
  using namespace ashlar::placements;
  using ashlar::sbp;
  dense const a = small_integers({6, 8}, 6), b = small_integers({8, 10}, 7);
  auto const x = put<float, 2>(m, a, {ashlar::split(0)}).template as_static<sbp<S<0>>>();
  auto const w = put<float, 2>(m, b, {ashlar::broadcast()}).template as_static<sbp<B>>();
  auto const expected = product(a, b, false, false).values;
  auto const y = ashlar::matmul(x, w);
  CHECK(distance_to(y, expected) == 0);
  CHECK(distance_to(ashlar::matmul<sbp<B>>(x | ashlar::to<S<1>>, w), expected) == 0);
  CHECK(distance_to(gelu(y) + y, mapped(expected, [](double v) {
                      return v + ashlar::device::gelu::value(v);
                    })) < 1e-5);
  double total = 0;
  for (double const v : expected) total += v;
  CHECK(distance_to(ashlar::sum(y) | ashlar::to<B>, {total}) == 0);
  CHECK(ashlar::local_values(x).size() == static_cast<std::size_t>(x.local_elements()));
}

}  // namespace ashlar_test
