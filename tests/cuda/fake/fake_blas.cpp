// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A fake cuBLASLt that runs on the host. It defines the functions that device/cuda/gemm.hpp calls.
// Matrices are column-major, as in the real library. The thread of the stream computes a product
// D = alpha * A * B + beta * C with loops over the elements.
//
//   types        A and B are 32F, 64F or 16BF. C and D have the type of A and B, or 32F if A and B
//                are 16BF.
//   sums         Sums are computed in float or double, in increasing order of the contraction
//                index. Alpha, beta and the bias are applied before the result is rounded once.
//                But unless the preference forbids it, the sum of the first half of the terms is
//                rounded to the type of D before the other terms are added, as an algorithm of
//                cuBLASLt may do.
//   epilogues    The only epilogue is a bias.
//   proposals    As many algorithms are proposed as requested, all the same. As in cuBLASLt, no
//                algorithm is proposed if a leading dimension is smaller than the number of rows,
//                or if a product of doubles has a bias. This fake also has no algorithm for batched
//                products with a bias. An algorithm needs the alignments of the preference, whose
//                defaults are 256 bytes.
//
// A call of cublasLtMatmul returns CUBLAS_STATUS_INVALID_VALUE if the product is not supported, or
// if a matrix lacks the alignment that the algorithm needs.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <cublasLt.h>

#include <ashlar/support/bfloat16.hpp>

#include "fake_cuda.hpp"

namespace {

using ashlar::bfloat16;

struct operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void const* bias = nullptr;
};

struct matrix {
  cudaDataType_t type;
  std::int64_t rows, columns, leading;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};

struct preference {
  std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  ///< of A, B, C and D, in bytes
};

/// These functions return the objects to which cuBLASLt's opaque handles point. In this fake, they
/// are of the types above.
operation& of(cublasLtMatmulDesc_t d) { return *reinterpret_cast<operation*>(d); }
matrix& of(cublasLtMatrixLayout_t d) { return *reinterpret_cast<matrix*>(d); }
preference& of(cublasLtMatmulPreference_t p) { return *reinterpret_cast<preference*>(p); }

bool is_aligned(void const* at, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

template <class Field>
cublasStatus_t take(Field& field, void const* value, std::size_t size) {
  if (size != sizeof(Field)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&field, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

bool is_supported(operation const& o, matrix const& a, matrix const& b, matrix const& c,
                  matrix const& d) {
  bool const is_double = a.type == CUDA_R_64F, is_half = a.type == CUDA_R_16BF;
  if (!is_double && !is_half && a.type != CUDA_R_32F) return false;
  if (b.type != a.type || c.type != d.type) return false;
  if (d.type != a.type && !(is_half && d.type == CUDA_R_32F)) return false;
  if (o.scale != (is_double ? CUDA_R_64F : CUDA_R_32F)) return false;
  if (is_double != (o.compute == CUBLAS_COMPUTE_64F)) return false;
  for (auto const* m : {&a, &b, &c, &d})
    if (m->leading < m->rows || m->rows <= 0 || m->columns <= 0 || m->batch != d.batch)
      return false;
  std::int64_t const m = o.a == CUBLAS_OP_N ? a.rows : a.columns,
                     k = o.a == CUBLAS_OP_N ? a.columns : a.rows,
                     n = o.b == CUBLAS_OP_N ? b.columns : b.rows,
                     k_of_b = o.b == CUBLAS_OP_N ? b.rows : b.columns;
  if (k != k_of_b || d.rows != m || d.columns != n || c.rows != m || c.columns != n) return false;
  if (o.epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
  return o.epilogue == CUBLASLT_EPILOGUE_BIAS && !is_double && d.batch == 1;
}

template <class T, class C, class A>
void multiply(operation const& o, bool stores_half, A alpha, T const* a, matrix const& la,
              T const* b, matrix const& lb, A beta, C const* c, matrix const& lc, C* d,
              matrix const& ld) {
  std::int64_t const depth = o.a == CUBLAS_OP_N ? la.columns : la.rows;
  std::int64_t const step_a = o.a == CUBLAS_OP_N ? la.leading : 1,
                     row_a = o.a == CUBLAS_OP_N ? 1 : la.leading,
                     step_b = o.b == CUBLAS_OP_N ? 1 : lb.leading,
                     column_b = o.b == CUBLAS_OP_N ? lb.leading : 1;
  for (std::int64_t e = 0; e < ld.batch; ++e)
    for (std::int64_t j = 0; j < ld.columns; ++j)
      for (std::int64_t i = 0; i < ld.rows; ++i) {
        T const* x = a + e * la.stride + i * row_a;
        T const* y = b + e * lb.stride + j * column_b;
        A sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          if (stores_half && k == depth / 2) sum = static_cast<A>(static_cast<C>(sum));
          sum += static_cast<A>(x[k * step_a]) * static_cast<A>(y[k * step_b]);
        }
        sum *= alpha;
        if (beta != 0) sum += beta * static_cast<A>(c[e * lc.stride + j * lc.leading + i]);
        if (o.epilogue == CUBLASLT_EPILOGUE_BIAS)
          sum += static_cast<A>(static_cast<C const*>(o.bias)[i]);
        d[e * ld.stride + j * ld.leading + i] = static_cast<C>(sum);
      }
}

template <class T, class C, class A>
void give(cudaStream_t stream, operation const& o, bool stores_half, void const* alpha,
          void const* a, matrix const& la, void const* b, matrix const& lb, void const* beta,
          void const* c, matrix const& lc, void* d, matrix const& ld) {
  fake::enqueue(
      stream, [=, by = *static_cast<A const*>(alpha), keep = *static_cast<A const*>(beta)] {
        multiply(o, stores_half, by, static_cast<T const*>(a), la, static_cast<T const*>(b), lb,
                 keep, static_cast<C const*>(c), lc, static_cast<C*>(d), ld);
      });
}

}  // namespace

struct cublasLtContext {};

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* h) {
  return *h = new cublasLtContext, CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return delete h, CUBLAS_STATUS_SUCCESS; }
char const* cublasGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_FAKE"; }
char const* cublasGetStatusString(cublasStatus_t) { return "a fake status"; }
char const* cublasLtGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_FAKE"; }
char const* cublasLtGetStatusString(cublasStatus_t) { return "a fake status"; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* d, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *d = reinterpret_cast<cublasLtMatmulDesc_t>(new operation{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) {
  return delete &of(d), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t name,
                                              void const* value, std::size_t size) {
  operation& o = of(d);
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return take(o.a, value, size);
    case CUBLASLT_MATMUL_DESC_TRANSB: return take(o.b, value, size);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return take(o.epilogue, value, size);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return take(o.bias, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* d, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  *d = reinterpret_cast<cublasLtMatrixLayout_t>(new matrix{
      type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t d) {
  return delete &of(d), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t d,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                void const* value, std::size_t size) {
  switch (name) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return take(of(d).batch, value, size);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return take(of(d).stride, value, size);
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* p) {
  return *p = reinterpret_cast<cublasLtMatmulPreference_t>(new preference), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) {
  return delete &of(p), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    void const* value, std::size_t size) {
  auto& own = of(p);
  switch (name) {
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return take(own.schemes, value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return take(own.alignment[0], value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return take(own.alignment[1], value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return take(own.alignment[2], value, size);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return take(own.alignment[3], value, size);
    default: return CUBLAS_STATUS_SUCCESS;
  }
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t p, int wanted,
                                              cublasLtMatmulHeuristicResult_t found[], int* count) {
  *count = 0;
  if (!is_supported(of(operation), of(a), of(b), of(c), of(d))) return CUBLAS_STATUS_NOT_SUPPORTED;
  for (; *count < wanted; ++*count) {
    found[*count] = {};
    found[*count].algo.data[0] = (of(p).schemes &
                                  ~unsigned{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}) != 0;
    std::copy_n(of(p).alignment, 4, found[*count].algo.data + 1);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, void const* alpha,
                              void const* a, cublasLtMatrixLayout_t la, void const* b,
                              cublasLtMatrixLayout_t lb, void const* beta, void const* c,
                              cublasLtMatrixLayout_t lc, void* d, cublasLtMatrixLayout_t ld,
                              cublasLtMatmulAlgo_t const* algorithm, void*, std::size_t,
                              cudaStream_t stream) {
  auto const& o = of(operation);
  if (!is_supported(o, of(la), of(lb), of(lc), of(ld))) return CUBLAS_STATUS_INVALID_VALUE;
  auto const* const alignment = algorithm->data + 1;
  if (!is_aligned(a, alignment[0]) || !is_aligned(b, alignment[1]) ||
      !is_aligned(c, alignment[2]) || !is_aligned(d, alignment[3]))
    return CUBLAS_STATUS_INVALID_VALUE;
  auto const run = [&](auto const& kernel) {
    kernel(stream, o, algorithm->data[0] != 0, alpha, a, of(la), b, of(lb), beta, c, of(lc), d,
           of(ld));
    return CUBLAS_STATUS_SUCCESS;
  };
  if (of(la).type == CUDA_R_64F) return run(give<double, double, double>);
  if (of(la).type == CUDA_R_32F) return run(give<float, float, float>);
  if (of(ld).type == CUDA_R_32F) return run(give<bfloat16, float, float>);
  return run(give<bfloat16, bfloat16, float>);
}
}
