// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Helpers for tests that train a net in pipeline stages. They choose where the net is cut, tell
// whether the results must be bitwise equal to those of one stage, convert schedules, and compare
// parameters.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <support/worse_gap.hpp>

#include <ashlar/nn/model.hpp>
#include <ashlar/plan/crossing/unit_task.hpp>
#include <ashlar/search/stages.hpp>
#include <ashlar/step/cut_skips.hpp>
#include <ashlar/step/pipeline/schedule.hpp>

namespace ashlar_test {

/// Returns random limits of stages. Each stage has at least one unit, which is an element or a
/// whole residual. Stage s holds the elements limits[s] .. limits[s + 1] - 1.
inline std::vector<int> random_limits(ashlar::search::problem const& net, int stages,
                                      std::mt19937& random) {
  auto points = ashlar::search::detail::cutting_points(net);
  std::vector<int> inner(points.begin() + 1, points.end() - 1), limits{0};
  std::shuffle(inner.begin(), inner.end(), random);
  inner.resize(static_cast<std::size_t>(stages) - 1);
  std::sort(inner.begin(), inner.end());
  limits.insert(limits.end(), inner.begin(), inner.end());
  limits.push_back(net.size());
  return limits;
}

/// Returns the limits of stages whose numbers of units differ by at most one.
inline std::vector<int> even_limits(ashlar::search::problem const& net, int stages) {
  auto const points = ashlar::search::detail::cutting_points(net);
  auto const units = points.size() - 1;
  std::vector<int> limits;
  for (int s = 0; s <= stages; ++s)
    limits.push_back(
        points[units * static_cast<std::size_t>(s) / static_cast<std::size_t>(stages)]);
  return limits;
}

/// Returns whether a net whose stages are on `parts` parts of a mesh, cut at `limits`, must have
/// the same bits as in one stage. On one part nothing crosses, so its stages sum as one stage does.
/// On several parts the bits may differ, because a sum has other addends or another order, if
///
///   a partial tensor arrives   its addends are not the ones that one stage has
///   three addends or more      the crossing may sum by other collectives than one stage, such as a
///   leave                      reduce-scatter in place of an all-reduce. The order of a sum depends
///                              on how the tensor is divided for it (comm/sum_order.hpp). With two
///                              addends both orders give the same bits.
inline bool sums_as_one_stage(ashlar::search::problem const& net,
                              ashlar::search::plan const& chosen, std::vector<int> const& limits,
                              int parts) {
  auto const addends = [&](ashlar::placement const& p) {
    return ashlar::detail::addends_of(p, chosen.mesh);
  };
  auto const alike = [&](ashlar::placement const& from, ashlar::placement const& to) {
    return addends(from) <= 2 && addends(to) == 1;
  };
  if (parts == 1) return true;
  bool all = true;
  for (auto const& skip : ashlar::search::cut_skips(net, limits))
    all = all && alike(chosen[skip.begin].y, chosen[skip.end].x) &&
          alike(chosen[skip.end].dx, chosen[skip.begin].dy);
  for (std::size_t s = 1; s + 1 < limits.size(); ++s) {
    auto const &before = chosen[limits[s] - 1], &after = chosen[limits[s]];
    all = all && alike(before.y, after.x) && alike(after.dx, before.dy);
  }
  return all;
}

/// Returns the schedule with every backward pass split into two passes, one right after the other:
/// the gradient of the input, then the gradients of the weights.
inline ashlar::pipelines::schedule split_in_two(ashlar::pipelines::schedule s) {
  using ashlar::pipelines::pass;
  for (auto& own : s.order) {
    std::vector<ashlar::pipelines::action> made;
    for (auto a : own) {
      bool const whole = a.what == pass::backward;
      if (whole) a.what = pass::input_gradient;
      made.push_back(a);
      if (!whole) continue;
      a.what = pass::weight_gradient;
      made.push_back(a);
    }
    own = made;
  }
  return s;
}

/// The inverse of split_in_two: returns the schedule with a whole backward pass in place of each
/// input-gradient pass, and without the weight-gradient passes.
inline ashlar::pipelines::schedule fused(ashlar::pipelines::schedule s) {
  using ashlar::pipelines::pass;
  for (auto& own : s.order) {
    std::erase_if(own, [](auto const& a) { return a.what == pass::weight_gradient; });
    for (auto& a : own)
      if (a.what == pass::input_gradient) a.what = pass::backward;
  }
  return s;
}

/// Returns the largest difference between the parameters of this rank's pipeline stage (`staged`)
/// and the parameters of the whole net (`serial`), whose mesh has as many ranks as the stage.
/// Returns 1e300 if the names or the numbers of the parameters differ.
template <class Staged, class Serial>
double gap_of_parameters(Staged& staged, Serial& serial) {
  using processor = typename Serial::mesh_type::processor_type;
  std::vector<ashlar::nn::parameter<processor> const*> expected;
  serial.for_each_parameter([&](auto const& p) { expected.push_back(&p); });
  std::size_t k = 0;
  double largest = 0;
  staged.for_each_parameter([&](auto const& p) {
    auto const& other = *expected.at(k++);
    if (p.path() != other.path()) largest = 1e300;
    if (!p.value().mesh().is_here()) return;
    auto const *x = p.value().template data_as<double>(),
               *y = other.value().template data_as<double>();
    for (std::int64_t i = 0; i < p.value().local_elements(); ++i)
      largest = worse_gap(largest, std::abs(x[i] - y[i]));
  });
  return k == expected.size() ? largest : 1e300;
}

}  // namespace ashlar_test
