// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The gradients that a training run has computed, but not yet used, because the plan delays them
// (step::parameter_choice::delay). If the delay is d, the update of step t takes the gradient of
// step t - d:
//
//   gradient of step   where it is while step t runs
//   t                  backward passes add to it: parameter::sum()
//   t - 1              the pending sum, which step t synchronizes
//   t - 2 .. t - d     d - 1 synchronized gradients; the update of step t takes the last one
//
// After the updates of a step, advance() makes each gradient one step older. It copies no sums: the
// pending sum and the sum of the parameter exchange their memory. All gradients are zero at first.
//
// The executor of a program has an object of this class. The object is empty if the program has no
// pending sums.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/nn/execution.hpp>
#include <ashlar/nn/gradient_sum.hpp>
#include <ashlar/nn/placed_array.hpp>
#include <ashlar/step/program.hpp>

namespace ashlar::nn {

template <class Processor>
class delayed_gradients {
  using nodes = std::vector<std::unique_ptr<element_node<Processor>>>;
  using tensor_type = any_tensor<Processor>;

 public:
  /// The elements must outlive this object.
  delayed_gradients(nodes const& elements, step::program const& p) : elements_(&elements) {
    for (std::size_t v = 0; v < p.values.size(); ++v) {
      auto const& value = p.values[v];
      if (value.kind != step::value_kind::pending) continue;
      auto const& own = parameter_of(*elements_, value.element, value.index);
      auto const zeros = [](tensor_type const& like) {
        auto made = like.like(like.placement());
        set_to_zero(made);
        return made;
      };
      entry made{value.element, value.index, static_cast<int>(v), value.delay, zeros(own.sum())};
      for (int k = 1; k < value.delay && !own.is_tied(); ++k)
        made.kept.push_back(zeros(own.value()));
      entries_.push_back(std::move(made));
    }
  }

  bool empty() const { return entries_.empty(); }

  /// Puts the pending sums into their slots of `on`. Must be called when a run begins.
  void take(execution<Processor>& on) const {
    for (auto const& e : entries_) on.set(e.slot, e.pending);
  }

  /// Returns the gradient of a parameter for the update of this step. `newest` is the gradient that
  /// this step has synchronized. If the delay is 0 or 1, returns `newest`.
  tensor_type due(int element, int index, tensor_type const& newest) {
    auto* const e = find(element, index);
    if (e == nullptr || e->kept.empty()) return newest;
    e->newest = newest;
    return e->kept.front();
  }

  /// Sets the pending sum of a tied parameter's later use to zero. Must be called after the step
  /// has made the value `added` from this sum and has added it to the pending sum of the first use.
  /// If the step then fails and is repeated, the repetition adds zeros.
  void forget_added(step::value const& added) {
    if (auto* const e = find(added.element, added.index)) set_to_zero(e->pending);
  }

  /// Makes each gradient one step older. Must be called after the updates of a step.
  void advance() {
    for (auto& e : entries_) {
      if (!e.newest.empty()) {
        // If the synchronization was a slice, `newest` may share the memory of the pending sum.
        // This memory is used again, so `newest` is copied then.
        e.kept.push_back(shares_memory(e.newest, e.pending) ? copy_of(e.newest) : e.newest);
        e.kept.erase(e.kept.begin());
        e.newest = {};
      }
      e.pending = parameter_of(*elements_, e.element, e.index).exchange_sum(std::move(e.pending));
    }
  }

  /// Sets all gradients to zero.
  void clear() {
    for (auto& e : entries_) {
      set_to_zero(e.pending);
      for (auto& g : e.kept) set_to_zero(g);
    }
  }

  /// Returns the delay of a parameter's gradient, in steps.
  int delay_of(int element, int index) const {
    auto const* const e = find(element, index);
    return e == nullptr ? 0 : e->delay;
  }

  /// Calls f(name, type, array, shard) for each gradient, an array of a checkpoint. `name` begins
  /// with `prefix` and the age of the gradient in steps. `array` has the mesh, the extents and the
  /// placement, and `shard` points to the values. The pending sums of the ranks are addends, so
  /// their arrays have one more dim. The order and the names are the same on all ranks.
  template <class F>
  void for_each_array(std::string const& prefix, F f) const {
    for (auto const& e : entries_) {
      auto const& path = parameter_of(*elements_, e.element, e.index).path();
      auto const name = [&](std::size_t age) { return prefix + std::to_string(age) + "/" + path; };
      f(name(1), e.pending.type(), addends_of(e.pending), e.pending.data());
      for (std::size_t k = 0; k < e.kept.size(); ++k)
        f(name(1 + e.kept.size() - k), e.kept[k].type(), e.kept[k], e.kept[k].data());
    }
  }

 private:
  struct entry {
    int element, index, slot, delay;
    tensor_type pending;
    std::vector<tensor_type> kept{};  ///< synchronized gradients, the oldest first
    tensor_type newest{};             ///< synchronized by the running step, if `kept` is not empty
  };

  /// Returns the entry of a parameter, or null. Entries are in the order of the net.
  entry const* find(int element, int index) const {
    auto const at = std::lower_bound(entries_.begin(), entries_.end(), std::pair{element, index},
                                     [](entry const& e, auto const& key) {
                                       return std::pair{e.element, e.index} < key;
                                     });
    bool const found = at != entries_.end() && at->element == element && at->index == index;
    return found ? &*at : nullptr;
  }
  entry* find(int element, int index) {
    return const_cast<entry*>(std::as_const(*this).find(element, index));
  }
  static bool shares_memory(tensor_type const& a, tensor_type const& b) {
    return !a.shard().owner_before(b.shard()) && !b.shard().owner_before(a.shard());
  }
  static tensor_type copy_of(tensor_type const& x) {
    auto made = x.like(x.placement());
    ashlar::detail::copy_block(x.mesh().processor(),
                               strided_block(x.local_box(), x.local_box(), x.local_box()), x.type(),
                               x.data(), made.data());
    return made;
  }

  nodes const* elements_;
  std::vector<entry> entries_;
};

}  // namespace ashlar::nn
