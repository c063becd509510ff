// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The two steps of a redistribution with the wire power_sgd (plan/wire.hpp), for one tensor or for
// several that travel together. M is the matrix of a rank: its addend, plus its errors if the wire
// has error feedback. Q is at first the sum of all Q of the previous run, in which random numbers
// replace columns of zeros. In the first run, and without error feedback, all columns of Q are
// random. A prime means transposed.
//
//   step     pack()            the transport     unpack()
//   first    P = M Q           sums P            makes the columns of P orthonormal
//   second   Q = M' P          sums Q            the sum of all matrices = P Q'
//
// With error feedback, the second step also stores two things for the next run. These are the
// errors M - P Q', with the rank's own Q, and the sum of all Q. If P or the sum of all Q is not
// finite, what is stored does not change. P and this sum are the same on all ranks of the group, so
// all ranks decide alike.

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include <ashlar/device/host/factors.hpp>
#include <ashlar/device/host/gemm.hpp>
#include <ashlar/plan/redistribution_step.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/support/recycled.hpp>
#include <ashlar/tensor/encoded_steps.hpp>

namespace ashlar::detail {

template <class Processor>
class factored_steps {
 public:
  using tensors = recycled_vector<any_tensor<Processor>>;
  using errors = recycled_vector<wire_errors*>;

  /// Computes, for each tensor of `x`, the factor that the transport sums in step number `number`.
  /// `kept` has the errors of each tensor if the wire has error feedback. Throws ashlar::error as
  /// refuse_unless_encodable does.
  void pack(redistribution_step const& s, std::size_t number, tensors const& x,
            errors const& kept) {
    refuse_unless_encodable(s.wire, x, kept);
    if constexpr (Processor::is_host) {
      auto& memory = x.front().mesh().memory();
      bool const first = s.sums_first_factor();
      if (first) begin(s, number, x, kept);
      for (auto& m : matrices_) {
        auto const& f = m.extents;
        if (first) {
          m.own_p.emplace(memory, f.first());
          m.p.emplace(memory, f.first());
          device::host::gemm(false, false, f.rows, f.rank, f.columns, 1.0f, m.elements, f.columns,
                             m.q->data(), f.rank, 0.0f, m.own_p->data(), f.rank);
        } else {
          m.sum_of_q.emplace(memory, f.second());
          device::host::gemm(true, false, f.columns, f.rank, f.rows, 1.0f, m.elements, f.columns,
                             m.p->data(), f.rank, 0.0f, m.q->data(), f.rank);
        }
      }
    }
  }
  /// source() returns the factor of a tensor that the transport sums, and target() the array to
  /// which the transport writes the sum.
  void* source(std::size_t tensor) const {
    auto const& m = matrices_[tensor];
    return m.sum_of_q ? m.q->data() : m.own_p->data();
  }
  void* target(std::size_t tensor) const {
    auto const& m = matrices_[tensor];
    return m.sum_of_q ? m.sum_of_q->data() : m.p->data();
  }

  /// Computes the last column of the table above from the summed factors in target(). The second
  /// step writes the sums of the matrices to `next`.
  void unpack(redistribution_step const& s, tensors const& next) {
    if constexpr (Processor::is_host) {
      for (std::size_t t = 0; t < matrices_.size(); ++t) {
        auto& m = matrices_[t];
        auto const& f = m.extents;
        if (s.sums_first_factor()) {
          device::host::orthonormalize(m.p->data(), f.rows, f.rank);
          m.own_p.reset();
        } else {
          product(f, 1, m.p->data(), m.sum_of_q->data(), 0, static_cast<float*>(next[t].data()));
          if (m.errors != nullptr) keep(m);
        }
      }
      if (!s.sums_first_factor()) matrices_.clear();
    }
  }

 private:
  struct matrix {
    factor_extents extents;
    float const* elements = nullptr;             // M
    std::optional<buffer<float>> with_errors;    // M, if it is not the tensor itself
    std::optional<buffer<float>> own_p, p;       // this rank's P; the sum of all P
    std::optional<buffer<float>> q, sum_of_q;    // this rank's Q; the sum of all Q
    float *errors = nullptr, *last_q = nullptr;  // kept between runs; null without feedback
  };

  void begin(redistribution_step const& s, std::size_t number, tensors const& x,
             errors const& kept) {
    auto& memory = x.front().mesh().memory();
    matrices_ = recycled_vector<matrix>(x.size());
    for (std::size_t t = 0; t < x.size(); ++t) {
      auto& m = matrices_[t];
      m.extents = factor_extents(x[t].local_box(), s.wire);
      m.elements = static_cast<float const*>(x[t].data());
      auto* const q = m.q.emplace(memory, m.extents.second()).data();
      if (s.wire.feedback) {
        auto const n = m.extents.elements();
        m.last_q = kept[t]->of_step(number, m.extents.second());
        m.errors = kept[t]->of_step(number + 1, n);
        std::copy_n(m.last_q, m.extents.second(), q);
        auto* const sum = m.with_errors.emplace(memory, n).data();
        std::transform(m.elements, m.elements + n, m.errors, sum, std::plus<>());
        m.elements = sum;
      } else {
        std::fill_n(q, m.extents.second(), 0.0f);
      }
      device::host::fill_empty(q, m.extents.columns, m.extents.rank);
    }
  }

  /// Computes to = alpha p q' + beta to.
  static void product(factor_extents const& f, float alpha, float const* p, float const* q,
                      float beta, float* to) {
    device::host::gemm(false, true, f.rows, f.columns, f.rank, alpha, p, f.rank, q, f.rank, beta,
                       to, f.columns);
  }
  static void keep(matrix& m) {
    auto const& f = m.extents;
    float const *const p = m.p->data(), *const q = m.sum_of_q->data();
    auto const finite = [](float v) { return std::isfinite(v); };
    if (!std::all_of(q, q + f.second(), finite) || !std::all_of(p, p + f.first(), finite)) return;
    product(f, -1, p, m.q->data(), 1, m.with_errors->data());
    std::copy_n(m.with_errors->data(), f.elements(), m.errors);
    std::copy_n(q, f.second(), m.last_q);
  }

  recycled_vector<matrix> matrices_;  // one per tensor, from the first step to the second
};

}  // namespace ashlar::detail
