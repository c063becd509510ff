// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the results of a device's operations (device/cuda/operations.hpp) with the host's
// results. The device and the host run the same calls, which differ only in the processor and in
// the memory. Inputs are bfloat16 values, which every element type represents exactly. If the
// device's elements are of type T, the host's are of type accumulation_t<T>. Edge cases of the
// kernels are tested in elements_test.cpp, rows_test.cpp and strided_test.cpp.

#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/comm/arena.hpp>
#include <ashlar/device/cuda/arena.hpp>
#include <ashlar/device/cuda/operations.hpp>
#include <ashlar/device/host/operations.hpp>

#include "support/kernel_values.hpp"

namespace ashlar_test {
namespace {

namespace device = ashlar::device;
using results = std::vector<std::vector<double>>;

struct on_host {
  device::host::processor on;
  ashlar::arena memory;
};

struct on_device {
  ashlar::cuda::stream stream;
  ashlar::cuda::pool pool;
  ashlar::cuda::arena memory{pool, stream};
  ashlar::cuda::gemm_engine products{pool, stream};
  ashlar::cuda::processor on{stream, &products};
};

/// An array in the memory of the host or of the device, which `Side` selects.
template <class Side, class T>
class block {
 public:
  block(Side& side, std::vector<T> const& values)
      : side_(side), n_(static_cast<std::int64_t>(values.size())), held_(side.memory, n_) {
    upload(side.on, values.data(), n_, held_.data());
  }
  T* out() const { return held_.data(); }
  T const* in() const { return held_.data(); }
  std::vector<double> values() const {
    std::vector<T> here(static_cast<std::size_t>(n_));
    download(side_.on, in(), n_, here.data());
    std::vector<double> wide;
    for (T const v : here) wide.push_back(static_cast<double>(v));
    return wide;
  }

 private:
  Side& side_;
  std::int64_t n_;
  ashlar::buffer<T> held_;
};

/// Runs every operation with elements of type T, and returns the results.
template <class T, class Side>
results run_all(Side& s) {
  using A = accumulation_t<T>;
  namespace d = device;
  auto const drawn = [](std::int64_t n, std::uint64_t seed) {
    std::vector<double> values;
    for (auto const v : values_of<bfloat16>(n, seed)) values.push_back(static_cast<double>(v));
    return values;
  };
  auto const of = [&]<class E>(E, std::int64_t n, std::uint64_t seed) {
    std::vector<E> values;
    for (double const v : drawn(n, seed)) values.push_back(static_cast<E>(v));
    return block<Side, E>(s, values);
  };
  auto const ids_of = [&](std::vector<std::int32_t> const& ids) {
    return block<Side, std::int32_t>(s, ids);
  };
  T const t{};
  A const a{};
  auto const& on = s.on;
  auto& memory = s.memory;
  results r;
  auto const keep = [&](auto const&... blocks) { (r.push_back(blocks.values()), ...); };

  std::int64_t const m = 6, n = 8, k = 5, rows = 7, cols = 10, count = 33;
  auto const x = of(t, 100, 1), y = of(t, 100, 2);
  auto const z = of(t, 100, 3);
  map(on, d::value_of<d::gelu>{}, x.in(), count, z.out());
  keep(z);
  map(on, d::gradient_of<d::relu>{}, x.in(), y.in(), count, z.out());
  keep(z);
  map(on, d::scaled_sum<A>{A(0.5)}, x.in(), y.in(), count, z.out());
  keep(z);
  {
    auto const c = of(t, m * n, 4);
    gemm(on, true, false, m, n, k, A(2), x.in(), m, y.in(), n, A(1), c.out(), n);
    keep(c);
    gemm_batched_strided(on, false, true, 2, 3, n, k, A(1), x.in(), k, 3 * k, y.in(), k, 0, A(0),
                         c.out(), n, 3 * n);
    keep(c);
    linear_forward(on, m, n, k, x.in(), y.in(), z.in(), c.out());
    keep(c);
    linear_forward(on, m, n, k, x.in(), y.in(), nullptr, c.out());
    keep(c);
    auto const sums = of(a, m * n, 5);
    gemm(on, true, false, m, n, k, A(1), x.in(), m, y.in(), n, A(1), sums.out(), n);
    keep(sums);
  }
  {
    auto const sums = of(a, cols, 6);
    add_column_sums(on, memory, x.in(), rows, cols, sums.out());
    auto const converted = of(a, count, 7);
    convert(on, x.in(), count, converted.out());
    auto const back = of(t, count, 8);
    convert(on, converted.in(), count, back.out());
    auto const reduced = of(t, 4 * 3, 9);
    reduce_dim(on, memory, ashlar::reduction::max, x.in(), 4, 5, 3, reduced.out());
    keep(sums, converted, back, reduced);
  }
  softmax_forward(on, x.in(), rows, cols, z.out());
  keep(z);
  {
    auto const maximum = of(a, rows, 10), sum = of(a, rows, 11), logit = of(a, rows, 12),
               loss = of(a, rows, 13), expected = of(a, rows, 27);
    auto const targets = ids_of({3, 12, -1, 5, 4, 14, 9});
    auto const dx = of(t, rows * cols, 14), smoothed = of(t, rows * cols, 28);
    auto const q = d::smoothed_target<A>(0.1, 16);
    row_max(on, x.in(), rows, cols, maximum.out());
    row_exp_sum(on, x.in(), maximum.in(), rows, cols, sum.out());
    cross_entropy_target_logit(on, x.in(), targets.in(), rows, cols, 5, logit.out());
    cross_entropy_loss(on, maximum.in(), sum.in(), logit.in(), targets.in(), rows, loss.out());
    cross_entropy_gradient(on, x.in(), targets.in(), maximum.in(), sum.in(), rows, cols, 5, A(0.25),
                           dx.out());
    cross_entropy_expected_logit(on, x.in(), targets.in(), rows, cols, 5, q, expected.out());
    cross_entropy_gradient(on, x.in(), targets.in(), maximum.in(), sum.in(), rows, cols, 5, A(0.25),
                           smoothed.out(), q);
    keep(maximum, sum, logit, loss, dx, expected, smoothed);
  }
  {
    auto const gamma = of(t, cols, 15), beta = of(t, cols, 16), dx = of(t, rows * cols, 17);
    auto const mean = of(a, rows, 18), rstd = of(a, rows, 19), dgamma = of(a, cols, 20),
               dbeta = of(a, cols, 21);
    layer_norm_forward(on, x.in(), gamma.in(), beta.in(), rows, cols, A(1e-5), z.out(), mean.out(),
                       rstd.out());
    layer_norm_backward(on, memory, y.in(), x.in(), mean.in(), rstd.in(), gamma.in(), rows, cols,
                        dx.out(), dgamma.out(), dbeta.out());
    keep(z, mean, rstd, dx, dgamma, dbeta);
  }
  {
    d::attention_extents const e{2, 3, 2, 4};
    std::int64_t const tokens = 2 * 3 * 2 * 4;
    auto const qkv = of(t, 3 * tokens, 22), out = of(t, tokens, 23), dout = of(t, tokens, 24),
               dqkv = of(t, 3 * tokens, 25);
    auto const log_sum_exp = of(a, 2 * 2 * 3, 26);
    attention_forward(on, memory, qkv.in(), e, out.out(), log_sum_exp.out());
    attention_backward(on, memory, dout.in(), qkv.in(), out.in(), log_sum_exp.in(), e, dqkv.out());
    keep(out, log_sum_exp, dqkv);
  }
  {
    auto const ids = ids_of({4, 0, 7, 4, 9});
    auto const dtable = of(a, 4 * cols, 27), dpositions = of(a, 3 * cols, 28);
    auto const values = of(t, 5 * cols, 29);
    embedding_forward(on, x.in(), 4, 4, cols, ids.in(), 5, values.out());
    keep(values);
    add_positions(on, y.in(), 3, cols, 1, 5, values.out());
    embedding_backward(on, memory, x.in(), ids.in(), 5, 4, 4, cols, dtable.out());
    add_positions_backward(on, x.in(), 3, cols, 1, 5, dpositions.out());
    dropout(on, x.in(), count, 0.25, 3, 4, 1000, z.out());
    keep(values, dtable, dpositions, z);
  }
  {
    block<Side, double> const total(s, {1.0});
    auto const addends = of(a, count, 30);
    add_sum(on, memory, addends.in(), count, total.out());
    add_sum_of_squares(on, memory, x.in(), count, total.out());
    keep(total);
    auto const gradient = of(a, count, 31), first = of(a, count, 32), second = of(a, count, 33),
               weight = of(a, count, 34);
    auto const copy = of(t, count, 35);
    map(on, d::product_of{}, second.in(), second.in(), count, second.out());
    adam_w_update(on, d::adam_w_factors{.lr = 0.1}, gradient.in(), count, first.out(), second.out(),
                  weight.out(), copy.out());
    keep(first, second, weight, copy);
    sgd_update(on, d::sgd_factors{}, gradient.in(), count, first.out(), weight.out(), copy.out());
    keep(first, weight, copy);
    sgd_update(on, d::sgd_factors{}, gradient.in(), count, first.out(), weight.out(),
               static_cast<T*>(nullptr));
    keep(weight, copy);
  }
  return r;
}

template <class T>
void check_operations(double enough) {
  on_host host;
  on_device device;
  auto const expected = run_all<accumulation_t<T>>(host);
  auto const given = run_all<T>(device);
  REQUIRE(given.size() == expected.size());
  for (std::size_t i = 0; i < given.size(); ++i) {
    CAPTURE(i);
    CHECK(ashlar::test::distance(given[i], expected[i]) < enough);
  }
}

}  // namespace

TEST_CASE("operations_agree_with_the_host") {
  check_operations<float>(1e-5);
  check_operations<double>(1e-12);
  check_operations<bfloat16>(2e-2);
}

}  // namespace ashlar_test
