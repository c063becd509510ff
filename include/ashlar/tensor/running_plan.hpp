// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A redistribution that runs while the program computes. It moves one tensor, or several tensors
// whose transfers are fused (bucket.hpp). A single tensor may be a routed tensor
// (routed_steps.hpp).
//
// The steps of a running plan run one after another. Several running plans may overlap with each
// other. But transfers along the same mesh axes run one after another, in the order in which the
// program requested them (comm/operation_queue.hpp). The destructor waits until the plan has ended.
// If the destructor runs because of an exception, it abandons the mesh instead: later transfers on
// the mesh then throw.

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <ashlar/config.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/support/exception_watch.hpp>
#include <ashlar/support/recycled.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/bucket.hpp>
#include <ashlar/tensor/encoded_steps.hpp>
#include <ashlar/tensor/factored_steps.hpp>
#include <ashlar/tensor/routed_steps.hpp>

namespace ashlar::detail {

/// The running redistribution of one or several tensors of any type.
template <class Processor>
class running_plan final : public pending_operation {
 public:
  using shard = any_tensor<Processor>;

  /// Begins the first step. If `arrival` is given, the first step begins when `arrival` has ended.
  /// `tensors` has one tensor for each plan of `together`, all with the same element type and on
  /// the same mesh. If a tensor is routed, it must be the only one, and there must be no `arrival`,
  /// because its rows must be known now. All steps get their tickets now. (A ticket is a transfer's
  /// position in the order of transfers along its mesh axes.) So these steps come before all
  /// transfers that the program requests later. `errors` has the errors of each tensor, if the
  /// wires have error feedback.
  running_plan(recycled_vector<shard> tensors, std::shared_ptr<bucket const> together,
               std::unique_ptr<pending_operation> arrival = {},
               recycled_vector<wire_errors*> errors = {});
  running_plan(shard x, std::shared_ptr<prepared_plan const> plan,
               std::unique_ptr<pending_operation> arrival = {});
  running_plan(running_plan const&) = delete;
  running_plan& operator=(running_plan const&) = delete;
  ~running_plan() override;

  bool advance() override;
  bool join() override;

  basic_mesh<Processor> const& mesh() const { return mesh_; }
  shard const& result(std::size_t tensor = 0) const { return x_[tensor]; }

 private:
  /// A step that is queued on the device, with the tensors that it reads. They must stay allocated
  /// until the step has ended. So `step` is the last member, which is destroyed first.
  struct queued_step {
    recycled_vector<shard> source;
    std::unique_ptr<pending_operation> step;
  };

  template <class Ended>
  bool go_on(Ended const& ended) {
    if (arrival_ != nullptr) {
      if (!ended(*arrival_)) return false;
      arrival_.reset();
    }
    while (!done_) {
      if (under_way_ != nullptr) {
        if (!ended(*under_way_)) {
          // If the transfer is queued on a device, the next step is queued right behind it, without
          // waiting: a device runs its queue in order. In all other cases the next step waits.
          if (!under_way_->is_queued() || at_ + 1 == bucket_->steps()) return false;
          queued_.push_back({std::move(x_), std::move(under_way_)});
        }
        under_way_.reset();
        if (bucket_->is_encoded(at_)) coding_.unpack(bucket_->encoded(at_), next_);
        else if (rows_) rows_->unpack(at_, next_.front());
        else if (is_packed()) unpack();
        if (bucket_->is_factored(at_)) factors_.unpack(bucket_->step_of(at_), next_);
        x_ = std::move(next_);
        ++at_;
      }
      if (at_ == bucket_->steps()) {
        done_ = true;
        queued_.clear();
        mesh_.operations().remove(*this);
      } else {
        begin();
      }
    }
    return true;
  }

  bool is_packed() const { return !bucket_->fused.empty(); }
  element_type carried_type(std::size_t step) const {
    return bucket_->is_encoded(step) ? element_type::u8 : x_.front().type();
  }
  bool communicates(std::size_t step) const {
    return ashlar::communicates(bucket_->what(step).kind);
  }
  /// Returns what a step that communicates transfers: the packed rows of a routed tensor, or the
  /// tensors of the bucket.
  transfer const& what(std::size_t step) const {
    return rows_ ? rows_->what(step) : bucket_->what(step);
  }

  void begin() {
    next_.clear();
    bool const is_factored = bucket_->is_factored(at_);
    for (std::size_t t = 0; t < x_.size(); ++t)
      if (is_factored && bucket_->step_of(at_).sums_first_factor()) next_.push_back(x_[t]);
      else
        next_.push_back(rows_
                            ? rows_->like(at_, x_[t])
                            : x_[t].like(bucket_->plans[t]->plan.steps[static_cast<int>(at_)].to));
    if (!communicates(at_) && queued_.empty()) {
      run_here();
      x_ = std::move(next_);
      ++at_;
    } else if (bucket_->is_encoded(at_)) {
      auto const* const source = coding_.pack(bucket_->encoded(at_), at_, x_);
      start(source, coding_.target());
    } else if (is_factored) {
      factors_.pack(bucket_->step_of(at_), at_, x_, coding_.kept());
      if (is_packed()) pack();
      start(is_packed() ? source_->data() : source_of(0),
            is_packed() ? target_->data() : target_of(0));
    } else if (rows_) {
      auto const* const source = rows_->pack(at_, x_.front());
      start(source, rows_->target(next_.front()));
    } else if (is_packed()) {
      pack();
      start(source_->data(), target_->data());
    } else {
      start(x_.front().data(), next_.front().data());
    }
  }
  void start(void const* source, void* target) {
    under_way_ = mesh_.start(
        {&what(at_), carried_type(at_), source, target, tickets_[static_cast<int>(at_)], label_});
  }
  /// Runs a step that does not communicate.
  void run_here() {
    if (rows_) return rows_->run_local(at_, x_.front(), next_.front());
    for (std::size_t t = 0; t < x_.size(); ++t)
      run_local(mesh_.processor(), bucket_->plans[t]->transfers[at_], x_.front().type(),
                x_[t].data(), next_[t].data());
  }

  void pack() {
    auto const& step = bucket_->fused[at_];
    auto const size = size_of(x_.front().type());
    source_.emplace(mesh_.memory(), step.source_elements() * size);
    target_.emplace(mesh_.memory(), step.target_elements() * size);
    for (auto const& p : step.in) copy_piece(p.block, source_of(p.tensor), source_->data());
  }
  void unpack() {
    for (auto const& p : bucket_->fused[at_].out)
      copy_piece(p.block, target_->data(), target_of(p.tensor));
    source_.reset();
    target_.reset();
  }
  /// Returns the array of a tensor that the current step reads: its shard, or its factor.
  void const* source_of(std::size_t tensor) const {
    return bucket_->is_factored(at_) ? factors_.source(tensor) : x_[tensor].data();
  }
  void* target_of(std::size_t tensor) const {
    return bucket_->is_factored(at_) ? factors_.target(tensor) : next_[tensor].data();
  }
  void copy_piece(strided_block const& b, void const* source, void* target) const {
    copy_block(mesh_.processor(), b, x_.front().type(), source, target);
  }

  basic_mesh<Processor> mesh_;
  char const* label_;  // names the tensors in error messages, or null
  recycled_vector<shard> x_, next_;
  /// The operation that brings the tensors x_ from another part of the mesh. It is destroyed before
  /// x_, because its messages may still use the memory of x_.
  std::unique_ptr<pending_operation> arrival_;
  recycled_vector<queued_step> queued_;
  std::shared_ptr<bucket const> bucket_;  // kept alive, since the mesh's cache may drop it
  inplace_vector<std::uint64_t, 4 * max_axes> tickets_;
  std::size_t at_ = 0;
  bool done_ = false;
  exception_watch watch_;
  std::optional<buffer<std::byte>> source_, target_;  // the arrays of the fused transfer
  std::optional<routed_steps<Processor>> rows_;       // only for a routed tensor
  encoded_steps<Processor> coding_;                   // only for steps that encode blocks
  factored_steps<Processor> factors_;                 // only for steps that sum factors
  std::unique_ptr<pending_operation> under_way_;
};

template <class Processor>
running_plan<Processor>::running_plan(recycled_vector<shard> tensors,
                                      std::shared_ptr<bucket const> together,
                                      std::unique_ptr<pending_operation> arrival,
                                      recycled_vector<wire_errors*> errors)
    : mesh_(tensors.front().mesh()), label_(mesh_.label()), x_(std::move(tensors)),
      arrival_(std::move(arrival)), bucket_(std::move(together)), coding_(std::move(errors)) {
  if (!mesh_.is_here()) {
    for (std::size_t t = 0; t < x_.size(); ++t) x_[t] = x_[t].like(bucket_->plans[t]->plan.to);
    done_ = true;
    return;
  }
  if (x_.front().extents().is_routed()) rows_.emplace(x_.front(), bucket_->plans[0]->plan);
  // In the checked mode of the mesh, the ranks of a group compare each transfer before it begins.
  // All comparisons come before the tickets of this plan, because a comparison waits for the
  // transfers of all tickets that were taken before it.
  for (std::size_t k = 0; k < bucket_->steps(); ++k)
    if (communicates(k)) mesh_.compare_with_group(what(k), carried_type(k));
  for (std::size_t k = 0; k < bucket_->steps(); ++k)
    tickets_.push_back(communicates(k) ? mesh_.take_ticket(what(k)) : 0);
  mesh_.operations().begin(*this, [&] { advance(); });
}

template <class Processor>
running_plan<Processor>::running_plan(shard x, std::shared_ptr<prepared_plan const> plan,
                                      std::unique_ptr<pending_operation> arrival)
    : running_plan(recycled_vector<shard>{std::move(x)},
                   std::allocate_shared<bucket>(recycling_allocator<bucket>(), std::move(plan)),
                   std::move(arrival)) {}

template <class Processor>
running_plan<Processor>::~running_plan() {
  auto& operations = mesh_.operations();
  if (!done_ && !watch_.is_passing() && !operations.is_abandoned()) try {
      mesh_.wait(*this);
    } catch (...) {  // The next transfer on the mesh reports the error.
    }
  if (!done_) operations.abandon();
  operations.remove(*this);
}

template <class Processor>
bool running_plan<Processor>::advance() {
  return go_on([](pending_operation& step) { return step.advance(); });
}

template <class Processor>
bool running_plan<Processor>::join() {
  return go_on([](pending_operation& step) { return step.join(); });
}

#if !ASHLAR_DEFINES(TENSOR)
extern template class running_plan<device::host::processor>;
#endif

}  // namespace ashlar::detail
