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
//   routes       for a layer whose input is a routed tensor: each token goes to `chosen` experts.
//                If there are more experts than that, the last one gets no token. If there are
//                several tokens, an expert drops one of them.
//   context      numbers
//   targets      numbers, or classes that the loss's check_targets() accepts, including -1 (a row
//                without a target) if check_targets() accepts -1

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include <ashlar/nn/trial/trial_layer.hpp>
#include <ashlar/nn/trial/values.hpp>

namespace ashlar::nn::detail {

/// The inputs of a layer's passes, and its parameters.
struct trial_data {
  whole_values x, dy, targets, context;
  std::vector<whole_values> parameters;
  std::shared_ptr<routing const> routes;  ///< the routes of x, if x is a routed tensor
};

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

/// Returns `count` random integers of a range.
inline std::vector<double> integers(std::int64_t count, integer_range range, std::uint64_t stream) {
  auto const width = static_cast<double>(range.end - range.first);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>(range.first) +
                     std::floor((noise(stream, i) + 1) / 2 * width));
  return values;
}

/// Returns the number of elements of the dense tensor with these extents.
inline std::int64_t dense_elements(shape extents) {
  extents.chosen = 0;
  return extents.elements();
}

/// Returns routes for a routed tensor with these extents.
inline std::shared_ptr<routing const> trial_routes(shape const& x) {
  auto const experts = static_cast<int>(x.experts());
  int const used = std::max(x.chosen, experts - 1);
  std::int64_t const tokens = dense_elements(x) / (x.experts() * x[x.rank() - 1]);
  routing routes{tokens, experts, x.chosen, {}};
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(used));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return noise(51, t * used + a) < noise(51, t * used + b); });
    std::sort(order.begin(), order.begin() + x.chosen);
    routes.expert.insert(routes.expert.end(), order.begin(), order.begin() + x.chosen);
  }
  if (tokens > 1) routes.expert[static_cast<std::size_t>(x.chosen)] = -1;
  return std::make_shared<routing const>(std::move(routes));
}

inline trial_data make_trial_data(trial_layer const& layer) {
  auto const& spec = layer.spec;
  trial_data data;
  std::int64_t const count = dense_elements(spec.x);
  if (spec.x.is_routed()) data.routes = trial_routes(spec.x);
  data.x = {spec.x, layer.ids ? integers(count, *layer.ids, 31)
                              : spread(count, layer.options.low, layer.options.high, 11)};
  data.dy = {spec.y, spread(dense_elements(spec.y), -1, 1, 12)};
  if (layer.is_loss) {
    std::int64_t const targets = layer.target_extents.elements();
    data.targets = {layer.target_extents, layer.target_classes
                                              ? integers(targets, *layer.target_classes, 43)
                                              : spread(targets, -1, 1, 41)};
  }
  if (spec.context.rank() > 0)
    data.context = {spec.context, spread(spec.context.elements(), -1, 1, 13)};
  for (int k = 0; k < spec.parameters.size(); ++k) {
    auto const& extents = spec.parameters[k].extents;
    auto const [middle, reach] = layer.parameters[static_cast<std::size_t>(k)];
    data.parameters.push_back({extents, spread(extents.elements(), middle - reach, middle + reach,
                                               21 + static_cast<std::uint64_t>(k))});
  }
  return data;
}

}  // namespace ashlar::nn::detail
