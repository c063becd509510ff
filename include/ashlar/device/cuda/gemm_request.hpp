// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes one cuBLASLt product by its types, extents and layouts, without pointers. This
// description is the key under which the chosen algorithm is cached (gemm_algorithms.hpp). This
// file also makes the descriptors that cuBLASLt needs. The result is
//
//   C = alpha op(A) op(B) + beta C
//   C = op(A) op(B) + bias            if adds_bias; one bias for each column
//
// `alignment` is the largest power of two, up to 256, that divides all addresses.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <cublasLt.h>

#include <ashlar/device/cuda/blas_error.hpp>
#include <ashlar/device/cuda/gemm_layout.hpp>
#include <ashlar/support/accumulation.hpp>
#include <ashlar/support/bfloat16.hpp>

namespace ashlar::cuda {

/// The precision in which floats are multiplied: `exact` uses all 24 bits of the significands.
/// `tf32` uses 11 bits of the significands, on tensor cores.
enum class float_products { exact, tf32 };

struct gemm_request {
  cudaDataType_t type;    ///< the type of A and B
  cudaDataType_t result;  ///< the type of C
  cublasComputeType_t compute;
  cudaDataType_t scale_type;
  bool adds_bias = false, transpose_a = false, transpose_b = false, accumulates = false;
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0, stride_a = 0, stride_b = 0, stride_c = 0;
  unsigned alignment = 256;

  friend auto operator<=>(gemm_request const&, gemm_request const&) = default;

  std::string text() const {
    auto const side = [](bool transposed, char const* name) {
      return std::string(name) + (transposed ? "^T" : "");
    };
    return "C = " + side(transpose_a, "A") + " " + side(transpose_b, "B") +
           ", m = " + std::to_string(m) + ", n = " + std::to_string(n) +
           ", k = " + std::to_string(k) + (batch == 1 ? "" : ", batch " + std::to_string(batch)) +
           ", rows " + std::to_string(lda) + ", " + std::to_string(ldb) + " and " +
           std::to_string(ldc) + " elements apart";
  }
};

/// Returns a request in which only the types are set, for a product of matrices of T. bfloat16 is
/// summed in float. Then the result is rounded to bfloat16, or stays float if C is float.
template <class T, class C = T>
gemm_request request_of_types(float_products mode) {
  static_assert(std::is_same_v<C, T> || std::is_same_v<C, accumulation_t<T>>,
                "gemm: C must have the type of A and B, or the type in which they are summed.");
  if constexpr (std::is_same_v<T, double>) {
    return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return {CUDA_R_16BF, std::is_same_v<C, T> ? CUDA_R_16BF : CUDA_R_32F, CUBLAS_COMPUTE_32F,
            CUDA_R_32F};
  } else {
    static_assert(std::is_same_v<T, float>);
    return {CUDA_R_32F, CUDA_R_32F,
            mode == float_products::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
            CUDA_R_32F};
  }
}

/// Returns the request of a single product of matrices of T, without batch and without bias.
template <class T, class C = T>
gemm_request request_of(float_products mode, bool transpose_a, bool transpose_b, std::int64_t m,
                        std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t ldb,
                        std::int64_t ldc) {
  gemm_request r = request_of_types<T, C>(mode);
  r.transpose_a = transpose_a;
  r.transpose_b = transpose_b;
  r.m = m;
  r.n = n;
  r.k = k;
  r.lda = lda;
  r.ldb = ldb;
  r.ldc = ldc;
  return r;
}

/// Owns one cuBLASLt descriptor and destroys it in the destructor.
template <class Handle, cublasStatus_t (*Destroy)(Handle)>
class blas_descriptor {
 public:
  blas_descriptor() = default;
  blas_descriptor(blas_descriptor&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)) {}
  blas_descriptor& operator=(blas_descriptor&&) = delete;
  ~blas_descriptor() {
    if (handle_ != nullptr) Destroy(handle_);
  }
  Handle* out() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using blas_operation = blas_descriptor<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using blas_matrix = blas_descriptor<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using blas_preference =
    blas_descriptor<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

struct gemm_descriptors {
  blas_operation operation;
  blas_matrix first, second, result;

  /// Creates the cuBLASLt descriptors of a product. `bias` is a device pointer, which is used only
  /// if r.adds_bias.
  gemm_descriptors(gemm_request const& r, void const* bias) {
    gemm_layout const layout(r.transpose_a, r.transpose_b, r.m, r.n, r.k, r.lda, r.ldb, r.ldc);
    check_blas(cublasLtMatmulDescCreate(operation.out(), r.compute, r.scale_type),
               "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, layout.transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, layout.transpose_second ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (r.adds_bias) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    }
    make(first, r.type, layout.first, r.batch, r.stride_b);
    make(second, r.type, layout.second, r.batch, r.stride_a);
    make(result, r.result, layout.result, r.batch, r.stride_c);
  }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t name, Value const& value) {
    check_blas(cublasLtMatmulDescSetAttribute(operation.get(), name, &value, sizeof(value)),
               "cublasLtMatmulDescSetAttribute");
  }
  static void make(blas_matrix& matrix, cudaDataType_t type, column_major const& shape,
                   std::int64_t batch, std::int64_t stride) {
    check_blas(cublasLtMatrixLayoutCreate(matrix.out(), type,
                                          static_cast<std::uint64_t>(shape.rows),
                                          static_cast<std::uint64_t>(shape.columns), shape.leading),
               "cublasLtMatrixLayoutCreate");
    if (batch == 1) return;
    auto const count = static_cast<std::int32_t>(batch);
    check_blas(cublasLtMatrixLayoutSetAttribute(matrix.get(), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                &count, sizeof(count)),
               "cublasLtMatrixLayoutSetAttribute");
    check_blas(cublasLtMatrixLayoutSetAttribute(matrix.get(),
                                                CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &stride, sizeof(stride)),
               "cublasLtMatrixLayoutSetAttribute");
  }
};

}  // namespace ashlar::cuda
