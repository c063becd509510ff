// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A redistribution that goes on while the program computes.
//
//   auto moving = redistribute_async(x, sbp<B, B>{});
//   …                                          local products let it go on between strips of
//   auto y = moving.wait();                    rows, so does mesh::progress(); wait() does the rest
//
// Nothing moves by itself: MPI and shared memory both need a thread of this rank, and a thread of
// its own would take its core from the computation. A device moves by itself: it is given all steps at once,
// and wait() orders what follows after them, without the host's waiting. All ranks must begin the same
// redistributions in the same order. Until it has ended, x must not be written.

#include <memory>
#include <utility>

#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/running_plan.hpp>

namespace ashlar {
/// A tensor on its way. Dropping it waits for its end, unless an exception drops it: then the mesh can
/// do nothing more, here and on the ranks of its node that wait for this one (ashlar::error).
template <distributed Tensor>
class moving_tensor {
 public:
  using value_type = typename Tensor::value_type;
  using processor_type = typename Tensor::processor_type;

  explicit moving_tensor(Tensor const& arrived) : arrived_(arrived) {}
  moving_tensor(any_tensor<processor_type> x, std::shared_ptr<prepared_plan const> plan)
      : run_(std::make_unique<detail::running_plan<processor_type>>(std::move(x),
                                                                    std::move(plan))) {}

  /// Does what can be done now. True when the tensor has arrived.
  bool test() { return run_ == nullptr || run_->mesh().test(*run_); }

  /// The tensor where it was to go. Communicates: what is left of the plan.
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

/// Begins to move `x` to another placement; what redistribute does, but it returns at once.
/// Communicates: the plan's collectives, until wait(). Throws as redistribute does.
template <distributed Tensor, placement_argument Target>
auto redistribute_async(Tensor const& x, Target const& target) {
  using result = tensor_for<typename Tensor::value_type, Tensor::rank, Target,
                            typename Tensor::processor_type>;
  if constexpr (static_placement<Target>) (void)detail::target_fits<Tensor, Target>();
  return moving_tensor<result>(any_tensor(x), detail::plan_to(x, as_value(target)));
}

}  // namespace ashlar
