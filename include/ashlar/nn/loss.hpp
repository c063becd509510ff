// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The requirements on a loss, which is a layer at the end of a net:
//
//   static constexpr bool is_loss = true
//   template <class T> using target                          the element type of its targets
//   template <int XRank> static constexpr int target_rank    the number of dims of its targets
//   shape target_extents(shape x) const                      for an input of extents x
//   void check_targets(span, shape x) const                  optional: throws for invalid targets
//   static bool leaves_out_targets(spec)                     optional: whether the mean of the loss
//                                                            with this spec leaves out some targets
//   static bool is_left_out(target)                          whether such a mean leaves out this
//                                                            target. The loss of such a target and
//                                                            its gradient are 0.
//   auto forward(call) const                                 adds this rank's share of the summed
//                                                            loss to *call.total() and returns
//                                                            nn::made(no_output{}, ...)
//   auto backward(call) const                                returns the gradient of the summed
//                                                            loss, multiplied by the scale() of
//                                                            the forward call (a kept value)
//
// A mesh axis that splits a dim of the input also splits the same dim of the targets, if the
// targets have this dim. Along all other mesh axes the targets are replicated. A net that does not
// end in a loss gets softmax_cross_entropy (describe.hpp).

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ashlar/layout/shape.hpp>
#include <ashlar/step/layer_spec.hpp>

namespace ashlar::nn {

/// A layer that is a loss.
template <class Layer>
concept loss_layer = requires { requires Layer::is_loss; };

/// This rank's share of the summed loss of a micro-batch.
struct loss_share {
  /// The sum of the losses that this rank counts. Each loss is counted by one rank, so the shares
  /// of all ranks add up to the sum over the whole micro-batch.
  double sum = 0;
};

/// The type of the loss at the end of a net, or void if there is none. For a chain, this is the
/// loss of its last part.
template <class Layer>
struct loss_of {
  using type = void;
};
template <class Layer>
  requires requires { typename Layer::loss; }
struct loss_of<Layer> {
  using type = typename Layer::loss;
};
template <loss_layer Layer>
struct loss_of<Layer> {
  using type = Layer;
};

/// Returns whether the mean of a loss leaves out targets. If so, the number of targets in the mean
/// depends on the values of the targets.
template <class Loss>
constexpr bool leaves_out_targets(step::layer_spec const& loss) {
  if constexpr (requires { Loss::leaves_out_targets(loss); }) return Loss::leaves_out_targets(loss);
  else return false;
}
/// Returns how many of `targets` are in the mean of a loss.
template <class Loss, class Target>
constexpr std::int64_t targets_in_mean(step::layer_spec const& loss,
                                       std::span<Target const> targets) {
  if constexpr (requires(Target t) { Loss::is_left_out(t); })
    if (leaves_out_targets<Loss>(loss))
      return std::ranges::count_if(targets, [](Target t) { return !Loss::is_left_out(t); });
  return static_cast<std::int64_t>(targets.size());
}

template <class Net>
inline constexpr bool ends_in_loss = !std::is_void_v<typename loss_of<Net>::type>;

}  // namespace ashlar::nn
