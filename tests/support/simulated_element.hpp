// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// An element of a network (a layer, or an end of a residual) that sleeps instead of computing. With
// such elements, nn::executor can run the program of any step. The executor moves tensors of their
// real extents over the real transports.
//
//   an action of s seconds   sleeps for s seconds in total, in short intervals between which
//                            transfers progress
//   a value                  an uninitialized shard if the value is redistributed, else an empty
//                            tensor

#include <time.h>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/nn/executor.hpp>
#include <ashlar/tensor/factory.hpp>

namespace ashlar_test {

/// Sleeps for `seconds`. Under a simulator these may be seconds of simulated time.
inline void sleep_for(double seconds) {
  timespec wait{static_cast<time_t>(seconds), 0};
  wait.tv_nsec = static_cast<long>((seconds - static_cast<double>(wait.tv_sec)) * 1e9);
  nanosleep(&wait, nullptr);
}

class simulated_element final : public ashlar::nn::element_node<ashlar::device::host::processor> {
 public:
  using any = ashlar::any_tensor<ashlar::device::host::processor>;

  /// Constructs element number `element` of program p. `block` is the longest time in seconds that
  /// the element sleeps before transfers progress again. The program must outlive this object.
  simulated_element(ashlar::mesh const& m, ashlar::step::program const& p, int element,
                    double block)
      : mesh_(m), program_(&p), block_(block) {
    for (int k = 0; add_parameter(element, k);) ++k;
  }

  void compute(ashlar::step::action const& a,
               ashlar::nn::execution<ashlar::device::host::processor>& on) override {
    for (double rest = a.seconds; rest > 0; rest -= block_) {
      sleep_for(rest < block_ ? rest : block_);
      ashlar::device::host::between_blocks();
    }
    for (int const v : a.makes) on.set(v, made(v));
  }
  char const* name() const override { return "simulated"; }

  /// Creates the tensor with index `value` in the program. If the value is redistributed, returns a
  /// shard with the placement before its first redistribution. If the value is sent to another part
  /// of the mesh, returns a shard with the placement in which it is sent. Otherwise returns an
  /// empty tensor.
  any made(int value) const {
    for (auto const& move : program_->moves)
      if (move.from == value) return shard(program_->path_of(move));
    for (auto const& c : program_->crossings)
      if (c.is_send && c.value == value) {
        auto path = program_->crossing_plans[static_cast<std::size_t>(c.plan)].before;
        path.from = path.to;  // the sent value has already been redistributed to `to`
        return shard(path);
      }
    return {};
  }

 private:
  any shard(ashlar::redistribution_plan const& path) const {
    switch (path.extents.rank()) {
      case 1: return shard<1>(path);
      case 2: return shard<2>(path);
      case 3: return shard<3>(path);
      default: return shard<4>(path);
    }
  }
  template <int Rank>
  any shard(ashlar::redistribution_plan const& path) const {
    return ashlar::tensor<float, Rank>(mesh_, path.extents, path.from);
  }
  /// Adds parameter k of the element. Returns false if the program has no such parameter. The
  /// tensor of the parameter is the first of these that exists:
  ///
  /// - the parameter's value, if a move reads it
  /// - the parameter's gradient sum, if a move reads it
  /// - a tensor with one element
  bool add_parameter(int element, int k) {
    any value, sum;
    bool found = false;
    for (std::size_t v = 0; v < program_->values.size(); ++v) {
      auto const& described = program_->values[v];
      if (described.element != element || described.index != k) continue;
      bool const stored = described.kind == ashlar::step::value_kind::stored;
      if (!stored && described.kind != ashlar::step::value_kind::sum) continue;
      found = true;
      (stored ? value : sum) = made(static_cast<int>(v));
    }
    if (!found) return false;
    if (value.empty()) value = sum;
    if (value.empty())
      value = ashlar::tensor<float, 1>(mesh_, {1}, ashlar::placement::all_broadcast(mesh_.axes()));
    auto const& grad = sum.empty() ? value.placement() : sum.placement();
    parameters_.emplace_back("simulated", "", element, value, grad, false, false);
    return true;
  }

  ashlar::mesh mesh_;
  ashlar::step::program const* program_;
  double block_;
};

}  // namespace ashlar_test
