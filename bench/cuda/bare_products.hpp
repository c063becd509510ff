// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Matrix products by direct calls of cuBLASLt, with which ashlar's products are compared. The
// direct calls use none of ashlar's descriptors or heuristics. There are two ways to choose
// cuBLASLt's algorithm:
//
//   first   cuBLASLt's first proposal for the shape
//   best    the fastest of all its proposals (64 are requested); each proposal is measured
//
// The row-major C[m, n] = op(A) op(B) is computed as the column-major C^T = op(B)^T op(A)^T.

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <cublasLt.h>

#include <ashlar/device/cuda/array.hpp>
#include <ashlar/device/cuda/event.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar_bench {

struct product_shape {
  std::int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;

  std::string form() const {
    return std::string(transpose_a ? "T" : "N") + (transpose_b ? "T" : "N");
  }
  double flops() const { return 2.0 * double(m) * double(n) * double(k); }
};

class bare_product {
 public:
  static constexpr std::size_t workspace_bytes = std::size_t{64} << 20;

  /// Prepares the product C = op(A) op(B), with alpha = 1 and beta = 0. op transposes a matrix or
  /// does nothing. `scale` is the type of alpha and beta.
  bare_product(cublasLtHandle_t handle, cudaStream_t stream, void* workspace,
               product_shape const& s, cudaDataType_t type, cublasComputeType_t compute,
               cudaDataType_t scale, void const* a, void const* b, void* c)
      : handle_(handle), stream_(stream), workspace_(workspace), a_(a), b_(b), c_(c),
        is_double_(scale == CUDA_R_64F) {
    require(cublasLtMatmulDescCreate(&operation_, compute, scale));
    set(CUBLASLT_MATMUL_DESC_TRANSA, s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    make(first_, type, s.transpose_b ? s.k : s.n, s.transpose_b ? s.n : s.k);
    make(second_, type, s.transpose_a ? s.m : s.k, s.transpose_a ? s.k : s.m);
    make(result_, type, s.n, s.m);
    propose();
  }
  bare_product(bare_product const&) = delete;
  bare_product& operator=(bare_product const&) = delete;
  ~bare_product() {
    cublasLtMatrixLayoutDestroy(first_);
    cublasLtMatrixLayoutDestroy(second_);
    cublasLtMatrixLayoutDestroy(result_);
    cublasLtMatmulDescDestroy(operation_);
  }

  int proposals() const { return static_cast<int>(proposals_.size()); }
  void run_first() { require(run(proposals_.front().algo)); }
  void run_best() { require(run(proposals_[best_].algo)); }

  /// Times every algorithm that cuBLASLt proposed, in two rounds, and stores the fastest.
  void find_best() {
    ashlar::cuda::event begin(true), end(true);
    std::vector<float> least(proposals_.size(), std::numeric_limits<float>::max());
    for (int round = 0; round < 2; ++round)
      for (std::size_t i = 0; i < proposals_.size(); ++i) {
        if (run(proposals_[i].algo) != CUBLAS_STATUS_SUCCESS) continue;
        begin.record(stream_);
        for (int repeat = 0; repeat < 3; ++repeat) run(proposals_[i].algo);
        end.record(stream_);
        end.synchronize();
        least[i] = std::min(least[i], end.since(begin));
      }
    best_ = static_cast<std::size_t>(std::min_element(least.begin(), least.end()) - least.begin());
  }

 private:
  static void require(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error(std::string("bare cuBLASLt: ") + cublasLtGetStatusString(status));
  }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t name, Value const& value) {
    require(cublasLtMatmulDescSetAttribute(operation_, name, &value, sizeof value));
  }
  static void make(cublasLtMatrixLayout_t& layout, cudaDataType_t type, std::int64_t rows,
                   std::int64_t columns) {
    require(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), rows));
  }
  void propose() {
    cublasLtMatmulPreference_t preference = nullptr;
    require(cublasLtMatmulPreferenceCreate(&preference));
    std::size_t const bytes = workspace_bytes;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &bytes, sizeof bytes);
    constexpr int most = 64;
    proposals_.resize(most);
    int count = 0;
    auto const status = cublasLtMatmulAlgoGetHeuristic(handle_, operation_, first_, second_,
                                                       result_, result_, preference, most,
                                                       proposals_.data(), &count);
    cublasLtMatmulPreferenceDestroy(preference);
    require(status);
    if (count == 0) throw std::runtime_error("bare cuBLASLt: no algorithm for this product.");
    proposals_.resize(static_cast<std::size_t>(count));
  }
  cublasStatus_t run(cublasLtMatmulAlgo_t const& algorithm) {
    float const one = 1, zero = 0;
    double const wide_one = 1, wide_zero = 0;
    void const* const alpha = is_double_ ? static_cast<void const*>(&wide_one) : &one;
    void const* const beta = is_double_ ? static_cast<void const*>(&wide_zero) : &zero;
    return cublasLtMatmul(handle_, operation_, alpha, b_, first_, a_, second_, beta, c_, result_,
                          c_, result_, &algorithm, workspace_, workspace_bytes, stream_);
  }

  cublasLtHandle_t handle_;
  cudaStream_t stream_;
  void* workspace_;
  void const *a_, *b_;
  void* c_;
  bool is_double_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, result_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> proposals_;
  std::size_t best_ = 0;
};

}  // namespace ashlar_bench
