// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The values with which nn::verify tries a layer:
//
//   numbers      all different, not near zero and not near each other. So the kinks of relu and of
//                a maximum are not within the steps of finite differences.
//   ids          below the first id that the layer's check() refuses, or below verify_options::ids
//                if the layer has no check()
//   parameters   around the values of initial()
//   context      numbers
//   targets      numbers, or classes that the loss's check_targets() accepts, including -1 (a row
//                without a target) if check_targets() accepts -1

#include <numeric>
#include <span>

#include <ashlar/nn/trial/simulated_layer.hpp>

namespace ashlar::nn {

struct verify_options {
  double low = -1.5, high = 1.5;  ///< the range of the input's numbers
  std::int64_t ids = 2;           ///< ids are below this if the layer has no check()
};

namespace detail {

/// Returns `count` evenly spaced numbers in (low, high), in a shuffled order.
inline std::vector<double> spread(std::int64_t count, double low, double high,
                                  std::uint64_t stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t(0));
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return noise(stream, a) < noise(stream, b); });
  std::vector<double> values;
  for (auto const place : order)
    values.push_back(low + (high - low) * (static_cast<double>(place) + 0.7) /
                               static_cast<double>(count));
  return values;
}

/// Returns the least integer n >= 0 for which accepts(n) throws, but at most 4096.
template <class Accepts>
std::int64_t count_accepted(Accepts const& accepts) {
  std::int64_t n = 0;
  for (; n < 4096; ++n) {
    try {
      accepts(static_cast<std::int32_t>(n));
    } catch (error const&) {
      break;
    }
  }
  return n;
}

/// Returns `count` random integers in [first, end).
inline std::vector<double> integers(std::int64_t count, std::int64_t first, std::int64_t end,
                                    std::uint64_t stream) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(first) +
                     std::floor((noise(stream, i) + 1) / 2 * static_cast<double>(end - first)));
  return values;
}

template <class Layer>
std::vector<double> trial_ids(Layer const& layer, std::int64_t count,
                              verify_options const& options) {
  std::int64_t ids = options.ids;
  if constexpr (requires { layer.check(std::span<std::int32_t const>()); })
    ids = count_accepted([&](std::int32_t id) { layer.check(std::span(&std::as_const(id), 1)); });
  return integers(count, 0, std::max<std::int64_t>(ids, 1), 31);
}

template <class Layer, class T>
std::vector<double> trial_targets(Layer const& layer, shape const& x, std::int64_t count) {
  if constexpr (!std::is_integral_v<typename Layer::template target<T>>) {
    return spread(count, -1, 1, 41);
  } else {
    std::int64_t first = 0, end = x[x.rank() - 1];
    using list = std::span<typename Layer::template target<T> const>;
    if constexpr (requires { layer.check_targets(list(), x); }) {
      auto const accepts = [&](typename Layer::template target<T> t) {
        layer.check_targets(list(&t, 1), x);
      };
      end = count_accepted(accepts);
      first = count_accepted([&](auto i) {
                if (i > 0) throw error("", "");
                accepts(-1);
              }) > 0
                  ? -1
                  : 0;
    }
    return integers(count, first, std::max(end, first + 1), 43);
  }
}

template <class Layer, class T, int XRank>
trial_data make_trial_data(Layer const& layer, step::layer_spec const& spec,
                           verify_options const& options) {
  trial_data data;
  std::int64_t const count = spec.x.elements();
  data.x.extents = spec.x;
  if constexpr (takes_tokens<Layer>()) data.x.values = trial_ids(layer, count, options);
  else data.x.values = spread(count, options.low, options.high, 11);
  data.dy = {spec.y, spread(spec.y.elements(), -1, 1, 12)};
  if constexpr (loss_layer<Layer>) {
    data.targets.extents = layer.target_extents(spec.x);
    data.targets.values = trial_targets<Layer, T>(layer, spec.x, data.targets.extents.elements());
  }
  if (spec.context.rank() > 0)
    data.context = {spec.context, spread(spec.context.elements(), -1, 1, 13)};
  for (int k = 0; k < spec.parameters.size(); ++k) {
    std::int64_t const n = spec.parameters[k].extents.elements();
    double middle = 0, reach = 0.5;
    if constexpr (requires { layer.initial(k); })
      if (auto const initial = layer.initial(k); !initial.is_random()) {
        middle = initial.value;
        reach = 0.3;
      }
    data.parameters.push_back(
        {spec.parameters[k].extents,
         spread(n, middle - reach, middle + reach, 21 + static_cast<std::uint64_t>(k))});
  }
  return data;
}

}  // namespace detail
}  // namespace ashlar::nn
