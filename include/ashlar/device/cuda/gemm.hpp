// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Matrix products on a device by cuBLASLt. Matrices are row-major, and the arguments are the same
// as in device/host/gemm.hpp. T is float, double or bfloat16. bfloat16 is multiplied and summed in
// float and rounded once.
//
//   gemm, gemm_batched_strided   C = alpha op(A) op(B) + beta C. C has the type of A and B, or C
//                                is float and A and B are bfloat16: gradients are accumulated this
//                                way.
//   linear                       y = x w + bias
//
//   k = 0                        C = beta C; if beta = 0, C = 0 even if C contained NaN
//   bias                         added by cuBLASLt in the product if possible, otherwise by
//                                add_bias of map.hpp
//   algorithm                    chosen by gemm_algorithms.hpp
//
// A gemm_engine serves one stream, because all products of the engine use the same workspace. The
// engine allocates the workspace and initializes the library at the first product. So a program
// without products needs neither, and the first product cannot be captured in a CUDA graph. Only
// tuning waits for the device.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/blas_error.hpp>
#include <ashlar/device/cuda/capture.hpp>
#include <ashlar/device/cuda/error.hpp>
#include <ashlar/device/cuda/gemm_algorithms.hpp>
#include <ashlar/device/cuda/gemm_request.hpp>
#include <ashlar/device/cuda/map.hpp>
#include <ashlar/device/cuda/pool.hpp>
#include <ashlar/support/accumulation.hpp>

namespace ashlar::cuda {

struct gemm_options {
  float_products float_mode = float_products::exact;
  bool tune = false;
  std::int64_t workspace = std::int64_t{32} << 20;  ///< bytes
};

/// Returns the options that environment variables select. Each variable is "on" or "off". An unset
/// or empty variable means off. Throws ashlar::error for any other value.
///
///   ASHLAR_CUDA_TF32   on: float_products::tf32                 off: float_products::exact
///   ASHLAR_CUDA_TUNE   on: the fastest of up to 8 algorithms    off: cuBLASLt's first proposal
inline gemm_options gemm_options_from_environment() {
  auto const is_on = [](char const* name) {
    char const* const text = std::getenv(name);
    std::string const value = text == nullptr ? "" : text;
    if (value != "" && value != "on" && value != "off")
      throw error("gemm", std::string(name) + " is '" + value + "'. Set it to on or off.");
    return value == "on";
  };
  gemm_options o;
  if (is_on("ASHLAR_CUDA_TF32")) o.float_mode = float_products::tf32;
  o.tune = is_on("ASHLAR_CUDA_TUNE");
  return o;
}

class gemm_engine {
 public:
  gemm_engine(pool& memory, cudaStream_t stream, gemm_options const& options = {})
      : memory_(&memory), options_(options), stream_(stream),
        algorithms_(options.workspace, options.tune, stream) {}
  gemm_engine(gemm_engine const&) = delete;
  gemm_engine& operator=(gemm_engine const&) = delete;
  ~gemm_engine() { pool::release(workspace_, stream_); }

  /// Sets the precision in which later products multiply floats: exact, or tf32 on tensor cores.
  void multiply_floats_as(float_products mode) { options_.float_mode = mode; }

  template <class T, class C>
  void gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
            std::type_identity_t<accumulation_t<T>> alpha, T const* a, std::int64_t lda, T const* b,
            std::int64_t ldb, std::type_identity_t<accumulation_t<T>> beta, C* c,
            std::int64_t ldc) {
    gemm_batched_strided(transpose_a, transpose_b, 1, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c,
                         ldc, 0);
  }

  /// Computes `batch` matrix products C = alpha op(A) op(B) + beta C, where op transposes a matrix
  /// or does nothing. Product i has the operands a + i * stride_a and b + i * stride_b and the
  /// result c + i * stride_c.
  template <class T, class C>
  void gemm_batched_strided(bool transpose_a, bool transpose_b, std::int64_t batch, std::int64_t m,
                            std::int64_t n, std::int64_t k,
                            std::type_identity_t<accumulation_t<T>> alpha, T const* a,
                            std::int64_t lda, std::int64_t stride_a, T const* b, std::int64_t ldb,
                            std::int64_t stride_b, std::type_identity_t<accumulation_t<T>> beta,
                            C* c, std::int64_t ldc, std::int64_t stride_c) {
    if (batch == 0 || m == 0 || n == 0) return;
    if (k == 0) {
      for (std::int64_t i = 0; i < batch; ++i) scale_rows(m, n, beta, c + i * stride_c, ldc);
      return;
    }
    gemm_request r = request_of<T, C>(options_.float_mode, transpose_a, transpose_b, m, n, k, lda,
                                      ldb, ldc);
    r.accumulates = beta != 0;
    r.batch = batch;
    r.stride_a = stride_a;
    r.stride_b = stride_b;
    r.stride_c = stride_c;
    if (!run<T, C>(r, alpha, a, b, beta, c, nullptr))
      throw error("gemm", "cuBLASLt has no algorithm for " + r.text());
  }

  /// Computes y[m, n] = x[m, k] w[k, n] + bias[n]. If `bias` is null, no bias is added.
  template <class T>
  void linear(std::int64_t m, std::int64_t n, std::int64_t k, T const* x, T const* w, T const* bias,
              T* y) {
    if (m == 0 || n == 0) return;
    if (bias != nullptr && k != 0 && with_bias(m, n, k, x, w, bias, y)) return;
    gemm(false, false, m, n, k, 1, x, k, w, n, 0, y, n);
    if (bias != nullptr) add_bias(stream_, bias, m, n, y);
  }

  /// Returns the number of different products (types, extents, layouts) whose algorithm is cached.
  std::size_t kept() const { return algorithms_.size(); }

 private:
  /// Computes y = x w + bias in one product. Returns false if cuBLASLt cannot.
  template <class T>
  bool with_bias(std::int64_t m, std::int64_t n, std::int64_t k, T const* x, T const* w,
                 T const* bias, T* y) {
    if constexpr (std::is_same_v<T, double>) return false;  // cuBLASLt adds no bias to doubles
    gemm_request r = request_of<T>(options_.float_mode, false, false, m, n, k, k, n, n);
    r.adds_bias = true;
    return run<T, T>(r, accumulation_t<T>(1), x, w, accumulation_t<T>(0), y, bias);
  }

  /// Computes the product that r describes. Returns false if cuBLASLt has no algorithm for this
  /// product.
  template <class T, class C>
  bool run(gemm_request& r, accumulation_t<T> alpha, T const* a, T const* b, accumulation_t<T> beta,
           C* c, T const* bias) {
    begin();
    // If a matrix has a single row, the distance between its rows is not used and may be smaller
    // than the row length. cuBLASLt refuses such a distance.
    r.lda = std::max(r.lda, r.transpose_a ? r.m : r.k);
    r.ldb = std::max(r.ldb, r.transpose_b ? r.k : r.n);
    r.ldc = std::max(r.ldc, r.n);
    if (r.batch > std::numeric_limits<std::int32_t>::max())
      throw error("gemm",
                  "a batch of " + std::to_string(r.batch) + " products is too large. Split it.");
    r.alignment = alignment_of(a, b, c, bias);
    gemm_descriptors const d(r, bias);
    auto const launch = [&](cublasLtMatmulAlgo_t const& algorithm) {
      return cublasLtMatmul(handle_.get(), d.operation.get(), &alpha, b, d.first.get(), a,
                            d.second.get(), &beta, c, d.result.get(), c, d.result.get(), &algorithm,
                            workspace_, static_cast<std::size_t>(options_.workspace), stream_);
    };
    auto const* const algorithm = algorithms_.find(handle_.get(), r, d, launch);
    if (algorithm == nullptr) return false;
    check_blas(launch(*algorithm), "cublasLtMatmul", r.text());
    return true;
  }

  /// Allocates the workspace and initializes cuBLASLt, if this is the first call. Throws
  /// ashlar::error if the first call is during a capture.
  void begin() {
    if (handle_.get() != nullptr) return;
    refuse_if_capturing(stream_, "gemm", "the first product of a mesh allocates its workspace.");
    if (workspace_ == nullptr)
      workspace_ = memory_->allocate(options_.workspace, stream_,
                                     "the workspace of matrix products");
    check_blas(cublasLtCreate(handle_.out()), "cublasLtCreate");
  }

  template <class... T>
  static unsigned alignment_of(T const*... pointers) {
    std::uintptr_t const bits = (std::uintptr_t{256} | ... |
                                 reinterpret_cast<std::uintptr_t>(pointers));
    return static_cast<unsigned>(bits & (~bits + 1));
  }

  template <class T>
  void scale_rows(std::int64_t m, std::int64_t n, std::type_identity_t<accumulation_t<T>> beta,
                  T* c, std::int64_t ldc) {
    if (beta == 0) {
      check(cudaMemset2DAsync(c, static_cast<std::size_t>(ldc) * sizeof(T), 0,
                              static_cast<std::size_t>(n) * sizeof(T), static_cast<std::size_t>(m),
                              stream_),
            "cudaMemset2DAsync");
    } else if (beta != 1) {
      for (std::int64_t i = 0; i < m; ++i) {
        map(stream_, scaled<accumulation_t<T>>{beta}, static_cast<T const*>(c + i * ldc), n,
            c + i * ldc);
      }
    }
  }

  pool* memory_;
  gemm_options options_;
  cudaStream_t stream_;
  blas_descriptor<cublasLtHandle_t, cublasLtDestroy> handle_;
  void* workspace_ = nullptr;
  gemm_algorithms algorithms_;
};

}  // namespace ashlar::cuda
