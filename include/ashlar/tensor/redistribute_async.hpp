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
// and wait() orders what follows after them, without the host's waiting. Steps of one plan follow each other; plans that
// are under way at the same time go on side by side, except along the same group of axes, where
// they keep the program's order (comm/progress.hpp). All ranks must begin the same redistributions in
// the same order. Until it has ended, x must not be written.

#include <memory>
#include <utility>
#include <vector>

#include <ashlar/support/exception_watch.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar {
namespace detail {

/// A plan that is being run on tensors of any type.
template <class Processor>
class plan_run final : public progressing {
  using shard = any_tensor<Processor>;

 public:
  /// Takes a turn for each step, now and in program order, and begins the first.
  plan_run(shard x, std::shared_ptr<prepared_plan const> p)
      : x_(std::move(x)), plan_(std::move(p)) {
    for (auto const& what : plan_->transfers)
      tickets_.push_back(communicates(what.kind) ? x_.mesh().take_ticket(what) : 0);
    x_.mesh().order().add(*this);
    try {
      advance();
    } catch (...) {
      x_.mesh().order().remove(*this);
      x_.mesh().order().abandon();
      throw;
    }
  }
  plan_run(plan_run const&) = delete;
  plan_run& operator=(plan_run const&) = delete;
  ~plan_run() override {
    auto& order = x_.mesh().order();
    if (!done_ && !watch_.is_passing() && !order.is_abandoned()) try {
        x_.mesh().wait(*this);
      } catch (...) {  // the next transfer says that the mesh is abandoned
      }
    if (!done_) order.abandon();
    order.remove(*this);
  }

  bool advance() override {
    return go_on([](progressing& step) { return step.advance(); });
  }
  bool join() override {
    return go_on([](progressing& step) { return step.join(); });
  }

  shard const& result() const { return x_; }

 private:
  /// A step that the device will come to, and what it reads until then.
  struct queued_step {
    std::unique_ptr<progressing> step;
    shard source;
  };

  template <class Ended>
  bool go_on(Ended const& ended) {
    while (!done_) {
      if (under_way_ != nullptr) {
        if (!ended(*under_way_)) {
          // A device that keeps the order is given all steps at once.
          if (!under_way_->is_queued() || at_ + 1 == plan_->transfers.size()) return false;
          queued_.push_back({std::move(under_way_), std::move(x_)});
        }
        under_way_.reset();
        x_ = std::move(next_);
        ++at_;
      }
      if (at_ == plan_->transfers.size()) {
        done_ = true;
        queued_.clear();
        x_.mesh().order().remove(*this);
      } else {
        begin(plan_->transfers[at_]);
      }
    }
    return true;
  }

  void begin(transfer const& what) {
    shard next = x_.like(plan_->plan.steps[static_cast<int>(at_)].to);
    if (communicates(what.kind) || !queued_.empty()) {
      next_ = std::move(next);
      under_way_ = x_.mesh().start(
          {&what, x_.type(), x_.data(), next_.data(), tickets_[static_cast<int>(at_)]});
    } else {
      run_local(x_.mesh().processor(), what, x_.type(), x_.data(), next.data());
      x_ = std::move(next);
      ++at_;
    }
  }

  shard x_, next_;
  std::vector<queued_step> queued_;
  std::shared_ptr<prepared_plan const> plan_;  // the mesh may forget it meanwhile
  inplace_vector<std::uint64_t, 4 * max_axes> tickets_;
  std::size_t at_ = 0;
  bool done_ = false;
  exception_watch watch_;
  std::unique_ptr<progressing> under_way_;
};

}  // namespace detail

/// A tensor on its way. Dropping it waits for its end, unless an exception drops it: then the mesh can
/// do nothing more, here and on the ranks of its node that wait for this one (ashlar::error).
template <distributed Tensor>
class moving_tensor {
 public:
  using value_type = typename Tensor::value_type;
  using processor_type = typename Tensor::processor_type;

  explicit moving_tensor(Tensor const& arrived) : arrived_(arrived) {}
  moving_tensor(any_tensor<processor_type> x, std::shared_ptr<prepared_plan const> plan)
      : run_(std::make_unique<detail::plan_run<processor_type>>(std::move(x), std::move(plan))) {}

  /// Does what can be done now. True when the tensor has arrived.
  bool test() { return run_ == nullptr || run_->result().mesh().test(*run_); }

  /// The tensor where it was to go. Communicates: what is left of the plan.
  Tensor wait() {
    if (run_ != nullptr) {
      auto const& m = run_->result().mesh();
      m.wait(*run_);
      arrived_ = run_->result().template as<Tensor>();
      run_.reset();
    }
    return arrived_;
  }

 private:
  Tensor arrived_;
  std::unique_ptr<detail::plan_run<processor_type>> run_;
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
