// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares cuBLASLt's products with the host's products. The cases are transposed and batched
// products, padded rows, products with a bias, and products whose algorithm is chosen by timing
// several (gemm_options::tune). Also tests the options that environment variables select.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/device/cuda/gemm.hpp>
#include <ashlar/device/cuda/graph.hpp>
#include <ashlar/device/host/gemm.hpp>

#include "cuda/device_arrays.hpp"
#include "support/kernel_values.hpp"
#include "support/message_of.hpp"
#include "support/scoped_environment.hpp"

using namespace ashlar_test;
namespace host = ashlar::device::host;
namespace cuda = ashlar::cuda;

namespace {

template <class T>
void check_products(device_arrays& device, cuda::gemm_options const& options, double enough) {
  using A = accumulation_t<T>;
  cuda::gemm_engine engine(device.memory(), device.queue(), options);
  struct extents {
    std::int64_t m, n, k;
  };
  for (auto const& e :
       {extents{1, 1, 1}, {5, 7, 3}, {64, 32, 16}, {33, 48, 129}, {3, 4, 0}, {0, 4, 3}}) {
    std::int64_t const m = e.m, n = e.n, k = e.k;
    for (int const form : {0, 1, 2, 3}) {
      bool const ta = form % 2 == 1, tb = form / 2 == 1;
      CAPTURE(m);
      CAPTURE(n);
      CAPTURE(k);
      CAPTURE(form);
      std::int64_t const batch = 3, pad = form == 3 ? 2 : 0;
      std::int64_t const lda = (ta ? m : k) + pad, ldb = (tb ? k : n) + pad, ldc = n + pad;
      std::int64_t const size_a = (ta ? k : m) * lda, size_b = (tb ? n : k) * ldb, size_c = m * ldc;
      auto const a = values_of<T>(batch * size_a, 1), b = values_of<T>(size_b, 2),
                 c = values_of<T>(batch * size_c, 3);
      auto const on_a = device.upload(a), on_b = device.upload(b);
      for (A const beta : {A(0), A(1), A(0.5)}) {
        auto expected = wide(c);
        auto on_c = device.upload(c);
        host::gemm_batched_strided<A>(ta, tb, batch, m, n, k, A(2), wide(a).data(), lda, size_a,
                                      wide(b).data(), ldb, 0, beta, expected.data(), ldc, size_c);
        engine.gemm_batched_strided(ta, tb, batch, m, n, k, A(2), on_a.data(), lda, size_a,
                                    on_b.data(), ldb, 0, beta, on_c.data(), ldc, size_c);
        CHECK(gap(device.download(on_c), expected) < enough);
        // The result may also have the type A, in which gradients are accumulated. It is then not
        // rounded to T, so it is closer to the host's result.
        if constexpr (!std::is_same_v<T, A>) {
          auto const sums = wide(c);
          auto on_sums = device.upload(sums);
          engine.gemm_batched_strided(ta, tb, batch, m, n, k, A(2), on_a.data(), lda, size_a,
                                      on_b.data(), ldb, 0, beta, on_sums.data(), ldc, size_c);
          CHECK(gap(device.download(on_sums), expected) < 1e-5);
        }
      }
    }
    auto const x = values_of<T>(m * k, 4), w = values_of<T>(k * n, 5), bias = values_of<T>(n, 6);
    auto const on_x = device.upload(x), on_w = device.upload(w), on_bias = device.upload(bias);
    std::vector<A> sum;
    for (std::int64_t i = 0; i < m; ++i)
      for (T const v : bias) sum.push_back(static_cast<A>(v));
    host::gemm(false, false, m, n, k, A(1), wide(x).data(), k, wide(w).data(), n, A(1), sum.data(),
               n);
    auto on_y = device.make<T>(m * n);
    engine.linear(m, n, k, on_x.data(), on_w.data(), on_bias.data(), on_y.data());
    CHECK(gap(device.download(on_y), sum) < enough);
  }
  CHECK(engine.kept() > 0);
}

/// Checks products in which all matrices are aligned, or one of them begins one element later.
template <class T>
void check_alignments(double enough) {
  using A = accumulation_t<T>;
  device_arrays device;
  cuda::gemm_engine engine(device.memory(), device.queue());
  std::int64_t const m = 16, n = 24, k = 32;
  auto const a = values_of<T>(m * k, 1), b = values_of<T>(k * n, 2);
  std::vector<A> expected(size_of(m * n));
  host::gemm(false, false, m, n, k, A(1), wide(a).data(), k, wide(b).data(), n, A(0),
             expected.data(), n);
  for (int const later : {-1, 0, 1, 2}) {  // the number of the matrix that begins later, if any
    CAPTURE(later);
    auto const on_a = device.upload(a, later == 0), on_b = device.upload(b, later == 1);
    auto on_c = device.make<T>(m * n, later == 2);
    engine.gemm(false, false, m, n, k, A(1), on_a.data(), k, on_b.data(), n, A(0), on_c.data(), n);
    CHECK(gap(device.download(on_c), expected) < enough);
  }
}

}  // namespace

TEST_CASE("products_agree_with_the_host") {
  device_arrays device;
  check_products<float>(device, {}, 1e-5);
  check_products<double>(device, {}, 1e-12);
  check_products<ashlar::bfloat16>(device, {}, 1e-2);
}

TEST_CASE("tf32_and_tuned_products_agree_within_their_precision") {
  device_arrays device;
  check_products<float>(device, {.float_mode = cuda::float_products::tf32}, 2e-2);
  check_products<float>(device, {.tune = true}, 1e-5);
}

TEST_CASE("matrices_may_begin_at_any_element") {
  check_alignments<float>(1e-5);
  check_alignments<double>(1e-12);
  check_alignments<ashlar::bfloat16>(1e-2);
}

TEST_CASE("environment_variables_select_tf32_and_tuning_and_are_on_or_off") {
  using cuda::float_products;
  char const *const tf32 = "ASHLAR_CUDA_TF32", *const tune = "ASHLAR_CUDA_TUNE";
  auto const options_for = [&](char const* of_tf32, char const* of_tune) {
    scoped_environment const precision(tf32, of_tf32), search(tune, of_tune);
    return cuda::gemm_options_from_environment();
  };
  for (char const* const off : {"off", ""}) {
    CHECK((options_for(off, off).float_mode == float_products::exact));
    CHECK_FALSE(options_for(off, off).tune);
    CHECK((options_for("on", off).float_mode == float_products::tf32));
    CHECK_FALSE(options_for("on", off).tune);
    CHECK((options_for(off, "on").float_mode == float_products::exact));
    CHECK(options_for(off, "on").tune);
  }
  for (std::string const wrong : {"yes", "On", "1", "on "}) {
    auto const said = [&](char const* name) {
      return "gemm: " + std::string(name) + " is '" + wrong + "'. Set it to on or off.";
    };
    CHECK(message_of([&] { options_for(wrong.c_str(), "off"); }) == said(tf32));
    CHECK(message_of([&] { options_for("off", wrong.c_str()); }) == said(tune));
  }
}

TEST_CASE("a_bfloat16_product_is_rounded_once") {
  // The values are small integers, so every order of the additions gives the same sum in float.
  using ashlar::bfloat16;
  device_arrays device;
  cuda::gemm_engine engine(device.memory(), device.queue());
  std::int64_t const m = 8, n = 16, k = 8192;
  std::vector<bfloat16> a, b, expected;
  std::minstd_rand random(1);
  for (std::int64_t i = 0; i < m * k; ++i) a.emplace_back(static_cast<float>(random() % 5));
  for (std::int64_t i = 0; i < k * n; ++i) b.emplace_back(static_cast<float>(random() % 5));
  for (std::int64_t r = 0; r < m; ++r)
    for (std::int64_t c = 0; c < n; ++c) {
      float sum = 0;
      for (std::int64_t i = 0; i < k; ++i)
        sum += static_cast<float>(a[size_of(r * k + i)]) *
               static_cast<float>(b[size_of(i * n + c)]);
      expected.emplace_back(sum);
    }
  auto const on_a = device.upload(a), on_b = device.upload(b);
  auto on_c = device.make<bfloat16>(m * n);
  engine.gemm(false, false, m, n, k, 1, on_a.data(), k, on_b.data(), n, 0, on_c.data(), n);
  CHECK(device.download(on_c) == expected);
}

TEST_CASE("the_first_product_is_refused_in_a_capture") {
  device_arrays device;
  cuda::gemm_engine engine(device.memory(), device.queue());
  auto const x = device.upload(std::vector<float>{2});
  auto y = device.make<float>(1);
  auto const multiply = [&] {
    engine.gemm(false, false, 1, 1, 1, 1, x.data(), 1, x.data(), 1, 0, y.data(), 1);
  };
  {
    cuda::capturing const captured(device.queue());
    CHECK(has(message_of(multiply),
              "gemm: a CUDA graph is being captured, and the first product of a mesh allocates"));
  }
  multiply();
  CHECK(device.download(y) == std::vector<float>{4});
}

TEST_CASE("a_product_in_a_capture_is_not_tuned") {
  device_arrays device;
  cuda::gemm_engine engine(device.memory(), device.queue(), {.tune = true});
  auto const x = device.upload(std::vector<float>{2, 3});
  auto y = device.make<float>(2);
  auto const multiply = [&](std::int64_t rows) {
    engine.gemm(false, false, rows, 1, 1, 1, x.data(), 1, x.data(), 1, 0, y.data(), 1);
  };
  multiply(1);  // the first product of an engine cannot be captured
  cuda::capturing captured(device.queue());
  multiply(2);  // tuning would wait for the device, which a capture forbids
  auto graph = captured.end();
  graph.launch(device.queue());
  CHECK(device.download(y) == std::vector<float>{4, 6});
}
