// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The base class of residuals and skips (residual.hpp, skip.hpp): nets that pass x both to an inner
// net and to their own end. In a plan, such a net consists of a begin element, the elements of the
// inner net and an end element. The output has as many dims as x.

#include <utility>

#include <ashlar/nn/place_part.hpp>

namespace ashlar::nn {

template <class Inner>
class branched_net {
 public:
  static constexpr int elements = element_count<Inner>() < 0 ? -1 : element_count<Inner>() + 2;
  static constexpr bool takes_tokens = nn::takes_tokens<Inner>();
  static constexpr int x_rank = nn::input_rank<Inner>();
  template <int XRank>
  static constexpr int y_rank = XRank;

  constexpr explicit branched_net(Inner inner) : inner_(std::move(inner)) {}

  constexpr int run_time_elements() const { return nn::run_time_elements(inner_) + 2; }
  constexpr auto const& first_layer() const { return nn::first_layer(inner_); }

 protected:
  Inner inner_;
};

}  // namespace ashlar::nn
