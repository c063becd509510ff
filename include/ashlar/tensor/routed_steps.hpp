// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs the steps of a redistribution of a routed tensor on this rank. The steps are those of a
// dense tensor with the same extents. Only the numbers of elements differ: they follow from the
// routes. Every rank has the routes of all tokens before it has any row (nn/dispatch.hpp). So all
// sizes are known when the redistribution begins, and no rank waits for a message with sizes.
//
// The rows that go to one rank are not adjacent in the shard, so they are packed before a transfer
// and unpacked after it. A running plan (running_plan.hpp) and a redistribution that blocks
// (redistribute.hpp) use the class routed_steps in the same way. For each step k from tensor x to
// tensor `next`, they do:
//
//   next = steps.like(k, x)
//   if step k communicates   the transfer steps.what(k) from steps.pack(k, x) to
//                            steps.target(next), and then steps.unpack(k, next)
//   otherwise                steps.run_local(k, x, next)

#include <cstring>
#include <optional>
#include <vector>

#include <ashlar/comm/routed_transfer.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/routed.hpp>

namespace ashlar::detail {

template <class Processor>
class routed_steps {
 public:
  using shard = any_tensor<Processor>;

  /// Computes the transfers of all steps of the plan `to_run`, which must outlive this object.
  /// Communicates nothing. Throws ashlar::error if the tensor has no routes, or if its elements are
  /// integers.
  routed_steps(shard const& x, redistribution_plan const& to_run) : plan_(&to_run) {
    if (x.type() == element_type::i32 || x.type() == element_type::i64)
      throw error("redistribute", "rows of experts have elements of a floating-point type.");
    auto const& routes = *rows_of_shard<Processor>(x.shard()).routes;
    auto const& m = x.mesh();
    for (auto const& s : to_run.steps)
      moved_.push_back(communicates(s.kind)
                           ? make_routed_transfer(s, x.extents(), routes, m.topology(),
                                                  m.coordinate(), m.sum_order())
                           : routed_transfer{});
  }

  /// Returns the transfer of step k. Requires that step k communicates.
  transfer const& what(std::size_t k) const { return moved_[k].what; }

  /// Returns a tensor for the result of step k on `x`. Its shard is not initialized.
  shard like(std::size_t k, shard const& x) const {
    if constexpr (Processor::is_host) {
      auto const& to = step(k).to;
      auto const& routes = rows_of_shard<Processor>(x.shard()).routes;
      return new_routed(x.mesh(), x.extents(), to,
                        rows_in(routes, x.extents(), x.mesh().local_box(x.extents(), to)),
                        x.type());
    } else {
      throw error("redistribute",
                  "tensors of routed rows exist on the host only. Place the net on an "
                  "ashlar::mesh.");
    }
  }

  /// Runs step k. Requires that step k does not communicate.
  void run_local(std::size_t k, shard const& x, shard const& next) {
    auto const& s = step(k);
    auto const& m = x.mesh();
    if (s.kind == collective::zero_pad) {
      with_element_type(x.type(), [&]<class T>(T) {
        fill(m.processor(), identity_of<T>(s.to[s.axes[0]].op), next.local_elements(),
             static_cast<T*>(next.data()));
      });
      auto const a = static_cast<std::size_t>(s.axes[0]);
      if (s.from[s.axes[0]].is_broadcast() && m.coordinate()[a] != 0) return;
    }
    auto const& before = rows_of_shard<Processor>(x.shard());
    box const kept = intersect(before.within, rows_of_shard<Processor>(next.shard()).within);
    buffer<std::byte> packed(m.memory(), elements_in(*before.routes, x.extents(), kept) *
                                             std::int64_t(size_of(x.type())));
    copy_rows(x, kept, packed.data(), true);
    copy_rows(next, kept, packed.data(), false);
  }

  /// Packs the rows that step k sends, and allocates memory for the rows that arrive. Returns the
  /// source of the transfer: the packed rows or, if step k sends the whole shard, the shard of x.
  void const* pack(std::size_t k, shard const& x) {
    auto const kind = step(k).kind;
    auto const& moved = moved_[k];
    auto& memory = x.mesh().memory();
    std::int64_t const size = size_of(x.type());
    if (unpacks(kind)) target_.emplace(memory, moved.target_elements * size);
    if (!packs(kind)) return x.data();
    source_.emplace(memory, moved.source_elements * size);
    for (std::size_t j = 0; j < moved.gives.size(); ++j)
      copy_rows(x, moved.gives[j], source_->data() + moved.what.sends[j].source_offset * size,
                true);
    return source_->data();
  }
  /// Returns the target of the transfer of the last step that was packed: memory for packed rows or
  /// the shard of `next`.
  void* target(shard const& next) const { return target_ ? target_->data() : next.data(); }

  /// Copies the rows that have arrived in step k into its result `next`.
  void unpack(std::size_t k, shard const& next) {
    auto const& moved = moved_[k];
    std::int64_t const size = size_of(next.type());
    for (std::size_t j = 0; target_ && j < moved.takes.size(); ++j)
      copy_rows(next, moved.takes[j], target_->data() + moved.what.receives[j].target_offset * size,
                false);
    source_.reset();
    target_.reset();
  }

 private:
  static bool packs(collective kind) {
    return kind != collective::all_gather && kind != collective::all_reduce;
  }
  static bool unpacks(collective kind) { return !reduces(kind); }

  redistribution_step const& step(std::size_t k) const { return plan_->steps[static_cast<int>(k)]; }

  /// Copies the rows and features of the box `region` from the shard of `x` to the array `packed`
  /// or, if `to_packed` is false, from `packed` to the shard.
  static void copy_rows(shard const& x, box const& region, std::byte* packed, bool to_packed) {
    auto const& rows = rows_of_shard<Processor>(x.shard());
    int const last = x.extents().rank() - 1;
    std::int64_t const size = size_of(x.type()), all = rows.features() * size;
    auto const width = static_cast<std::size_t>(region[last].size * size);
    if (width == 0) return;
    auto* const from = static_cast<std::byte*>(x.data()) +
                       (region[last].begin - rows.within[last].begin) * size;
    for_each_row_in(rows, x.extents(), region, [&](std::int64_t row) {
      if (to_packed) std::memcpy(packed, from + row * all, width);
      else std::memcpy(from + row * all, packed, width);
      packed += width;
    });
  }

  redistribution_plan const* plan_;
  std::vector<routed_transfer> moved_;  // one per step; empty if the step does not communicate
  std::optional<buffer<std::byte>> source_, target_;  // the packed rows of the current step
};

#if !ASHLAR_DEFINES(TENSOR)
extern template class routed_steps<device::host::processor>;
#endif

}  // namespace ashlar::detail
