// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Several redistributions that travel as one: each step of their plans, which take the same collectives on
// the same axes, is a single transfer with one ticket.
//
//   step             the flat array is cut         member j's cut holds of each tensor, one after the other
//   all_reduce       before and after              the part that member j sums
//   reduce_scatter   before (after: one cut)       what goes to member j
//   all_gather       after (before: one cut)       the shard of member j
//
// Each tensor keeps the parts that it has when it travels alone, and so the order of its addends and its
// bits. What travels is copied into a flat array and out of it. Steps without communication are done tensor by
// tensor. On the host; a device is given its transfers one by one.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ashlar/comm/plan_cache.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/support/exception_watch.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::detail {

/// One step of a bucket: what one rank does with the flat arrays, and how they are filled and emptied.
struct fused_transfer {
  /// A part of a tensor and its place in a flat array, which is packed.
  struct piece {
    std::size_t tensor = 0;
    strided_block block;
  };
  transfer what;
  std::vector<piece> in, out;

  std::int64_t source_elements() const { return what.from.elements(); }
  std::int64_t target_elements() const { return what.to.elements(); }
};

inline void pack_strides(strided_block const& b, std::int64_t (&strides)[max_rank]) {
  std::int64_t next = 1;
  for (int d = b.rank - 1; d >= 0; --d) {
    strides[d] = next;
    next *= b.extents[d];
  }
}

/// The transfer that carries `parts`, steps of one kind on the same axes, together.
inline fused_transfer fuse(std::vector<transfer const*> const& parts) {
  transfer const& first = *parts.front();
  bool const gathers = first.kind == collective::all_gather;
  bool const scatters = first.kind == collective::reduce_scatter;
  auto const members = static_cast<std::size_t>(first.members);
  auto const me = static_cast<std::size_t>(first.index);
  fused_transfer made;
  std::vector<interval> cuts;
  std::int64_t total = 0;
  for (std::size_t j = 0; j < members; ++j) {
    cuts.push_back({total, 0});
    for (std::size_t t = 0; t < parts.size(); ++t) {
      transfer const& x = *parts[t];
      auto const offset = [&](bool one_cut) { return one_cut ? total - cuts[j].begin : total; };
      if (!gathers || j == me) {
        auto b = x.sends[j];
        b.target_offset = offset(gathers);
        pack_strides(b, b.target_strides);
        made.in.push_back({t, b});
      }
      if (!scatters || j == me) {
        auto b = x.receives[j];
        b.source_offset = offset(scatters);
        pack_strides(b, b.source_strides);
        made.out.push_back({t, b});
      }
      total += (gathers ? x.receives[j] : x.sends[j]).elements;
    }
    cuts[j].size = total - cuts[j].begin;
  }
  transfer& x = made.what;
  x.kind = first.kind;
  x.axes = first.axes;
  x.op = first.op;
  x.members = first.members;
  x.index = first.index;
  box const whole = flat_box({0, total}), own = flat_box(cuts[me]);
  x.from = gathers ? own : whole;
  x.to = scatters ? own : whole;
  for (auto const& cut : cuts) {
    box const other = flat_box(cut);
    x.largest_source = std::max(x.largest_source, gathers ? cut.size : total);
    if (gathers) {
      x.sends.emplace_back(own, own, whole);
      x.receives.emplace_back(other, other, whole);
    } else if (scatters) {
      x.sends.emplace_back(other, whole, other);
      x.receives.emplace_back(own, whole, own);
    } else {
      x.sends.push_back(flat_block(cut, total));
      x.receives.push_back(flat_block(cut, total));
    }
  }
  return made;
}

/// A bucket that is under way.
template <class Processor>
class bucket_run final : public progressing {
  using shard = any_tensor<Processor>;
  using plan = std::shared_ptr<prepared_plan const>;

 public:
  /// Expects tensors of one element type on one mesh, and plans with the same steps. Takes a turn for each
  /// step, now and in program order, and begins the first.
  bucket_run(std::vector<shard> tensors, std::vector<plan> plans)
      : mesh_(tensors.front().mesh()), x_(std::move(tensors)), plans_(std::move(plans)) {
    for (std::size_t k = 0; k < steps(); ++k) {
      auto const& what = plans_.front()->transfers[k];
      tickets_.push_back(communicates(what.kind) ? mesh_.take_ticket(what) : 0);
    }
    mesh_.order().add(*this);
    try {
      advance();
    } catch (...) {
      mesh_.order().remove(*this);
      mesh_.order().abandon();
      throw;
    }
  }
  bucket_run(bucket_run const&) = delete;
  bucket_run& operator=(bucket_run const&) = delete;
  ~bucket_run() override {
    auto& order = mesh_.order();
    if (!done_ && !watch_.is_passing() && !order.is_abandoned()) try {
        mesh_.wait(*this);
      } catch (...) {  // the next transfer says that the mesh is abandoned
      }
    if (!done_) order.abandon();
    order.remove(*this);
  }

  bool advance() override {
    while (!done_) {
      if (under_way_ != nullptr) {
        if (!under_way_->advance()) return false;
        under_way_.reset();
        take_out();
      }
      if (at_ == steps()) {
        done_ = true;
        mesh_.order().remove(*this);
      } else {
        begin();
      }
    }
    return true;
  }

  shard const& result(std::size_t tensor) const { return x_[tensor]; }

 private:
  std::size_t steps() const { return plans_.front()->transfers.size(); }
  auto bytes_of(std::int64_t elements) const { return elements * size_of(x_.front().type()); }

  /// The tensors behind the next step, not filled in yet.
  std::vector<shard> next_tensors() const {
    std::vector<shard> next;
    for (std::size_t t = 0; t < x_.size(); ++t)
      next.push_back(x_[t].like(plans_[t]->plan.steps[static_cast<int>(at_)].to));
    return next;
  }
  void begin() {
    if (!communicates(plans_.front()->transfers[at_].kind)) {
      auto next = next_tensors();
      for (std::size_t t = 0; t < x_.size(); ++t)
        run_local(mesh_.processor(), plans_[t]->transfers[at_], x_[t].type(), x_[t].data(),
                  next[t].data());
      x_ = std::move(next);
      ++at_;
      return;
    }
    std::vector<transfer const*> parts;
    for (auto const& p : plans_) parts.push_back(&p->transfers[at_]);
    step_ = fuse(parts);
    source_.emplace(mesh_.memory(), bytes_of(step_.source_elements()));
    target_.emplace(mesh_.memory(), bytes_of(step_.target_elements()));
    for (auto const& p : step_.in) copy_piece(p.block, x_[p.tensor].data(), source_->data());
    under_way_ = mesh_.start({&step_.what, x_.front().type(), source_->data(), target_->data(),
                              tickets_[static_cast<int>(at_)]});
  }
  void take_out() {
    auto next = next_tensors();
    for (auto const& p : step_.out) copy_piece(p.block, target_->data(), next[p.tensor].data());
    x_ = std::move(next);
    source_.reset();
    target_.reset();
    ++at_;
  }
  void copy_piece(strided_block const& b, void const* source, void* target) const {
    copy_block(mesh_.processor(), b, x_.front().type(), source, target);
  }

  basic_mesh<Processor> mesh_;
  std::vector<shard> x_;
  std::vector<plan> plans_;
  inplace_vector<std::uint64_t, 4 * max_axes> tickets_;
  std::size_t at_ = 0;
  bool done_ = false;
  exception_watch watch_;
  fused_transfer step_;
  std::optional<buffer<std::byte>> source_, target_;
  std::unique_ptr<progressing> under_way_;
};

}  // namespace ashlar::detail
