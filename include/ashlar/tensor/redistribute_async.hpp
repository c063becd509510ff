// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A redistribution that overlaps with the program's computations.
//
//   auto moving = redistribute_async(x, sbp<B, B>{});
//   …                                          compute; the move progresses in local products
//   auto y = moving.wait();                    completes the move
//
// On the host nothing moves in the background: MPI and shared memory both need a thread of this
// rank, and a separate thread would take the core away from the computation. The move progresses
// between the row strips of local products and in mesh::progress(), and wait() completes it. A
// device moves data in the background. All steps of the redistribution are queued on the device at
// once. wait() makes later device work wait for these steps, and does not block the host.
//
// All ranks must begin the same redistributions in the same order. x must not be written until the
// move has ended.

#include <memory>
#include <utility>

#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/running_plan.hpp>

namespace ashlar {
/// A tensor that is being moved. The destructor waits until the move has ended. If the destructor
/// runs because of an exception, it abandons the mesh instead: this rank, and ranks of its node
/// that wait for this rank, then get ashlar::error from later transfers.
template <distributed Tensor>
class moving_tensor {
 public:
  using value_type = typename Tensor::value_type;
  using processor_type = typename Tensor::processor_type;

  moving_tensor(any_tensor<processor_type> x, std::shared_ptr<prepared_plan const> plan)
      : run_(std::make_unique<detail::running_plan<processor_type>>(std::move(x),
                                                                    std::move(plan))) {}

  /// Makes progress without waiting. Returns true when the tensor has arrived.
  bool test() { return run_ == nullptr || run_->mesh().test(*run_); }

  /// Completes the move and returns the tensor. Communicates the steps of the plan that have not
  /// yet run.
  Tensor wait() {
    if (run_ != nullptr) {
      auto const& m = run_->mesh();
      m.wait(*run_);
      arrived_ = run_->result().template as<Tensor>();
      run_.reset();
    }
    return arrived_;
  }

 private:
  Tensor arrived_;
  std::unique_ptr<detail::running_plan<processor_type>> run_;
};

/// Begins to move `x` to another placement and returns at once. Communicates the plan's
/// collectives, between now and the end of wait(). Throws like redistribute.
template <distributed Tensor, placement_argument Target>
auto redistribute_async(Tensor const& x, Target const& target) {
  using result = tensor_for<typename Tensor::value_type, Tensor::rank, Target,
                            typename Tensor::processor_type>;
  if constexpr (static_placement<Target>) (void)detail::target_fits<Tensor, Target>();
  return moving_tensor<result>(any_tensor(x), detail::plan_to(x, as_value(target)));
}

}  // namespace ashlar
