// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A bucket is several redistributions, for example of small gradients, that run as one. In each
// step, one transfer carries the data of all tensors. The plans of a bucket must have the same
// steps: step k is the same collective on the same mesh axes in each plan.
//
// The data travels in a flat array with one section per member of the communication group. A
// section holds data of the first tensor, then of the second, and so on:
//
//   step             array with one section per member          section j holds, for each tensor
//   all_reduce       source and target                          the part that member j reduces
//   reduce_scatter   source (target: this rank's section)       the part that member j receives
//   all_gather       target (source: this rank's section)       the shard of member j
//
// Each tensor is divided into the same parts as when it is redistributed alone. So its addends are
// summed in the same order, and the result has the same bits. The data is copied into the flat
// array before a step and out of it afterwards. A bucket of one plan needs no such copies.

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <ashlar/comm/plan_cache.hpp>
#include <ashlar/support/recycled.hpp>

namespace ashlar::detail {

/// One step of a bucket (several redistributions with fused transfers). `what` transfers a flat
/// array with the data of all tensors. Before the transfer, this rank copies the pieces `in` from
/// the tensors into the array. After the transfer, it copies the pieces `out` from the received
/// array into the tensors.
struct fused_transfer {
  /// A part of tensor number `tensor`, and the position of this part in the flat array. In the flat
  /// array, the part is contiguous.
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

/// Returns one transfer with the data of all transfers in `parts`, which must be the same
/// collective on the same mesh axes.
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
  x.sums = first.sums;
  x.wire = first.wire;
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
  x.set_fingerprint();
  return made;
}

/// Several redistributions that run together: a plan for each tensor, and their fused transfers.
struct bucket {
  using plan = std::shared_ptr<prepared_plan const>;

  recycled_vector<plan> plans;
  std::vector<fused_transfer> fused;  ///< one per step; empty if there is only one plan

  explicit bucket(plan one) { plans.push_back(std::move(one)); }
  /// All plans must be for the same element size. Step k must be the same collective on the same
  /// mesh axes with the same wire in all plans. This rank is at coordinates `here` of mesh `t`.
  bucket(recycled_vector<plan> together, topology const& t, coordinates const& here)
      : plans(std::move(together)) {
    if (plans.size() < 2) return;
    encoded_.resize(steps());
    for (std::size_t k = 0; k < steps(); ++k) {
      if (is_encoded(k)) {
        std::vector<tensor_step> step;
        for (auto const& p : plans)
          step.push_back({&p->plan.steps[static_cast<int>(k)], &p->plan.extents});
        encoded_[k] = make_encoded_transfer(step, t, here);
        fused.emplace_back();
        continue;
      }
      std::vector<transfer const*> parts;
      for (auto const& p : plans) parts.push_back(&p->transfers[k]);
      fused.push_back(communicates(parts.front()->kind) ? fuse(parts) : fused_transfer{});
    }
  }

  std::size_t steps() const { return plans.front()->transfers.size(); }
  /// Returns what a step transfers. If the bucket has several plans and the step communicates, this
  /// is the fused transfer of all of them; otherwise it is that of the first plan.
  transfer const& what(std::size_t step) const {
    if (is_encoded(step)) return encoded(step).what;
    return fused.empty() || !communicates(plans.front()->transfers[step].kind)
               ? plans.front()->transfers[step]
               : fused[step].what;
  }
  /// Returns whether a step has a wire (plan/wire.hpp) that encodes blocks.
  bool is_encoded(std::size_t step) const { return step_of(step).wire.in_blocks(); }
  /// Returns whether a step sums one factor of each tensor.
  bool is_factored(std::size_t step) const { return step_of(step).wire.is_factored(); }
  /// Returns a step of the first plan.
  redistribution_step const& step_of(std::size_t step) const {
    return plans.front()->plan.steps[static_cast<int>(step)];
  }
  /// Returns the encoded transfer of a step for which is_encoded(step) is true, for all tensors.
  encoded_transfer const& encoded(std::size_t step) const {
    return encoded_.empty() ? plans.front()->encoded[step] : encoded_[step];
  }

 private:
  std::vector<encoded_transfer> encoded_;  // one per step if there are several plans
};

}  // namespace ashlar::detail
