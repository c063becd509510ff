// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Chooses the cuBLASLt algorithm of a matrix product. The choice is made at the first product with
// given types, extents and layouts (gemm_request.hpp). Later products with the same types, extents
// and layouts use the cached choice. The choice is:
//
//   without tuning   cuBLASLt's first proposal
//   with tuning      the fastest of up to eight proposals, measured by running them
//
// If the result is bfloat16, only algorithms are considered that sum in float and round once. An
// algorithm that divides a sum among thread blocks must not store the partial sums in bfloat16.
//
// Tuning is only possible for a product that overwrites C and is not being captured in a CUDA
// graph. Other products use the first proposal. With tuning, the choice may differ between runs and
// between ranks. Then the last bits of results differ too.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <ashlar/device/cuda/capture.hpp>
#include <ashlar/device/cuda/error.hpp>
#include <ashlar/device/cuda/event.hpp>
#include <ashlar/device/cuda/gemm_request.hpp>

namespace ashlar::cuda {

class gemm_algorithms {
 public:
  gemm_algorithms(std::int64_t workspace, bool tune, cudaStream_t stream)
      : workspace_(workspace), tune_(tune), stream_(stream) {}

  /// Returns the cached algorithm for the product r, or chooses one. Returns null if cuBLASLt has
  /// no algorithm for r. `d` has the descriptors of r. launch(algorithm) runs the product, to
  /// measure its time.
  template <class Launch>
  cublasLtMatmulAlgo_t const* find(cublasLtHandle_t library, gemm_request const& r,
                                   gemm_descriptors const& d, Launch const& launch) {
    auto known = kept_.find(r);
    if (known == kept_.end()) known = kept_.emplace(r, choose(library, r, d, launch)).first;
    return known->second.exists ? &known->second.algorithm : nullptr;
  }

  /// Returns the number of different products whose algorithm is cached.
  std::size_t size() const { return kept_.size(); }

 private:
  struct choice {
    bool exists = false;
    cublasLtMatmulAlgo_t algorithm{};
  };

  template <class Launch>
  choice choose(cublasLtHandle_t library, gemm_request const& r, gemm_descriptors const& d,
                Launch const& launch) const {
    blas_preference preference;
    check_blas(cublasLtMatmulPreferenceCreate(preference.out()), "cublasLtMatmulPreferenceCreate");
    prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
           static_cast<std::uint64_t>(workspace_));
    for (auto const operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      prefer(preference, operand, static_cast<std::uint32_t>(r.alignment));
    }
    if (r.result == CUDA_R_16BF)
      prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
             static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    constexpr int most = 8;
    cublasLtMatmulHeuristicResult_t found[most]{};
    int count = 0;
    cublasStatus_t const status = cublasLtMatmulAlgoGetHeuristic(
        library, d.operation.get(), d.first.get(), d.second.get(), d.result.get(), d.result.get(),
        preference.get(), tune_ ? most : 1, found, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
    check_blas(status, "cublasLtMatmulAlgoGetHeuristic", r.text());
    if (count == 0) return {};
    int const best = tune_ && !r.accumulates && !is_capturing(stream_)
                         ? fastest(found, count, launch)
                         : 0;
    return {true, found[best].algo};
  }

  /// Returns the index of the fastest of `count` proposals. Runs the product with each proposal
  /// several times. So the product must overwrite C and not add to C.
  template <class Launch>
  int fastest(cublasLtMatmulHeuristicResult_t const* found, int count, Launch const& launch) const {
    event begin(true);
    event end(true);
    int best = 0;
    float least = std::numeric_limits<float>::max();
    for (int i = 0; i < count; ++i) {
      if (launch(found[i].algo) != CUBLAS_STATUS_SUCCESS) continue;
      begin.record(stream_);
      for (int repeat = 0; repeat < 3; ++repeat) launch(found[i].algo);
      end.record(stream_);
      end.synchronize();
      float const milliseconds = end.since(begin);
      if (milliseconds < least) {
        least = milliseconds;
        best = i;
      }
    }
    return best;
  }

  template <class Value>
  static void prefer(blas_preference const& preference, cublasLtMatmulPreferenceAttributes_t name,
                     Value value) {
    check_blas(cublasLtMatmulPreferenceSetAttribute(preference.get(), name, &value, sizeof(value)),
               "cublasLtMatmulPreferenceSetAttribute");
  }

  std::int64_t workspace_;
  bool tune_;
  cudaStream_t stream_;
  std::map<gemm_request, choice> kept_;
};

}  // namespace ashlar::cuda
