// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A move to another part of a mesh that overlaps with the computations of both parts.
//
//   auto moving = redistribute_async(x, stage[1], sbp<B>{});
//   ...                                             both parts compute
//   auto y = moving.wait();                         completes the move
//
// The steps of the redistribution on the source part run first, then the crossing (the messages
// between the parts), then the steps on the target part. They progress as in other moves
// (redistribute_async.hpp). If the ranks of the target part request later transfers along the mesh
// axes of the target steps, those transfers wait until the tensor has arrived and the target steps
// have ended.

#include <memory>
#include <utility>

#include <ashlar/tensor/cross_mesh.hpp>
#include <ashlar/tensor/running_plan.hpp>

namespace ashlar {

namespace detail {

/// What a rank of the source part does in a move: the steps of the redistribution, then the
/// crossing.
template <class Processor>
class running_departure final : public pending_operation {
 public:
  running_departure(any_tensor<Processor> const& x, std::shared_ptr<prepared_crossing const> plan,
                    int number)
      : mesh_(x.mesh()), plan_(std::move(plan)), number_(number),
        steps_(x, prepared_as(plan_->plan.before, mesh_)) {
    mesh_.announce_crossing(number);
    mesh_.operations().begin(*this, [&] { advance(); });
  }
  running_departure(running_departure const&) = delete;
  running_departure& operator=(running_departure const&) = delete;
  ~running_departure() override { mesh_.operations().remove(*this); }

  bool advance() override { return is_under_way() && crossing_->advance(); }
  bool join() override { return is_under_way() && crossing_->join(); }

 private:
  /// Begins the crossing if the steps have ended. On a device, begins the crossing as soon as the
  /// steps are queued. Later computations on the device wait for the steps, but not for the
  /// crossing. Returns whether the crossing has begun.
  bool is_under_way() {
    if (crossing_ == nullptr) {
      if (!(Processor::is_host ? steps_.advance() : steps_.join())) return false;
      auto const& sent = steps_.result();
      crossing_ = mesh_.start_crossing(*plan_, sent.local_box(), sent.data(),
                                       static_cast<std::size_t>(size_of(sent.type())), number_);
    }
    return true;
  }

  basic_mesh<Processor> mesh_;
  std::shared_ptr<prepared_crossing const> plan_;
  int number_;
  running_plan<Processor> steps_;
  std::unique_ptr<pending_operation> crossing_;  // null until the steps have ended
};

}  // namespace detail

/// A tensor on its way to another part of the mesh. `From` is the processor type of the source
/// part. This type may have a tag (comm/tagged.hpp). The destructor waits until this rank's share
/// of the move has ended. If the destructor runs because of an exception, it abandons the mesh
/// instead: later transfers on the mesh then throw.
template <distributed Tensor, class From>
class crossing_tensor {
 public:
  using processor_type = typename Tensor::processor_type;

  crossing_tensor(any_tensor<From> const& x, basic_mesh<processor_type> const& other,
                  std::shared_ptr<prepared_crossing const> plan)
      : mesh_(x.mesh()), plan_(plan) {
    if (!other.is_here())
      result_ = any_tensor<processor_type>(other, x.extents(), plan->plan.after.to, x.type());
    int const number = mesh_.next_crossing(other);
    auto const size = static_cast<std::size_t>(size_of(x.type()));
    if (mesh_.is_here()) {
      run_ = std::make_unique<detail::running_departure<From>>(x, plan, number);
    } else if (other.is_here()) {
      any_tensor<processor_type> const received(other, x.extents(), plan->plan.after.from,
                                                x.type());
      auto made = std::make_unique<detail::running_plan<processor_type>>(
          received, detail::prepared_as(plan->plan.after, other),
          other.start_crossing(*plan, received.local_box(), received.data(), size, number));
      arriving_ = made.get();
      run_ = std::move(made);
    }
  }
  crossing_tensor(crossing_tensor&&) = default;
  crossing_tensor& operator=(crossing_tensor&&) = delete;
  ~crossing_tensor() {
    if (run_ != nullptr && !watch_.is_passing() && !mesh_.operations().is_abandoned()) try {
        mesh_.wait(*run_);
      } catch (...) {  // The next transfer on the mesh reports the error.
      }
  }

  /// Makes progress without waiting. Returns true when this rank's share of the move has ended.
  bool test() { return run_ == nullptr || mesh_.test(*run_); }

  /// Completes this rank's share of the move and returns the tensor. On ranks outside of the target
  /// part, its shard is empty.
  Tensor wait() {
    if (run_ != nullptr) {
      mesh_.wait(*run_);
      if (arriving_ != nullptr) result_ = arriving_->result();
      run_.reset();
    }
    return result_.template as<Tensor>();
  }

 private:
  basic_mesh<From> mesh_;
  any_tensor<processor_type> result_;  // on target ranks, no tensor until the move has ended
  std::shared_ptr<prepared_crossing const> plan_;  // kept alive, since the mesh's cache may drop it
  std::unique_ptr<pending_operation> run_;
  detail::running_plan<processor_type>* arriving_ = nullptr;  // *run_ on target ranks, else null
  exception_watch watch_;
};

/// Begins to move `x` to another part of the mesh, and returns at once. Every rank of the whole
/// mesh makes the same calls, in the same order. `x` must not be written until the move has ended.
/// Throws like redistribute.
template <distributed Tensor, same_processor<typename Tensor::processor_type> Other,
          placement_argument Target>
auto redistribute_async(Tensor const& x, basic_mesh<Other> const& other, Target const& target,
                        crossing_choice const& how = {}) {
  using result = tensor_for<typename Tensor::value_type, Tensor::rank, Target, Other>;
  using from = typename Tensor::processor_type;
  return crossing_tensor<result, from>(any_tensor(x), other,
                                       detail::plan_to(x, other, as_value(target), how));
}

}  // namespace ashlar
