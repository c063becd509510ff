// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include <support/device_operators.hpp>
#include <support/device_results.hpp>

#include <ashlar/tensor/from_local.hpp>
#include <ashlar/tensor/pattern.hpp>

namespace ashlar_test {
namespace {

/// Checks the factories on every placement.
template <class T>
void check_factories_of(device_mesh const& m) {
  dense const x = small_integers({5, 3}, 1);
  std::vector<double> const zeros(15), sevens(15, 7);
  std::vector<double> range, one_diagonal, sums;
  for (int i = 0; i < 5; ++i) {
    range.push_back(i);
    for (int j = 0; j < 5; ++j) one_diagonal.push_back(i == j);
    for (int j = 0; j < 3; ++j) sums.push_back(10 * i + j);
  }
  operator_calls calls;
  for (auto const& p : all_placements(1, m.axes(), {reduction::sum}))
    calls.check("arange", range, 0, [&] { return ashlar::arange<T>(m, 5, p); });
  for (auto const& p : all_placements(2, m.axes(), {reduction::sum})) {
    auto const on = put<T, 2>(m, x, p);
    calls.check("eye", one_diagonal, 0, [&] { return ashlar::eye<T>(m, 5, p); });
    calls.check("zeros", zeros, 0, [&] { return ashlar::zeros<T>(m, {5, 3}, p); });
    calls.check("full", sevens, 0, [&] { return ashlar::full<T>(m, {5, 3}, p, 7); });
    calls.check("zeros_like", zeros, 0, [&] { return ashlar::zeros_like(on); });
    calls.check("full_like", sevens, 0, [&] { return ashlar::full_like(on, 7); });
    calls.check("from_index", sums, 0, [&] {
      return ashlar::from_index<T, 2>(m, to_shape({5, 3}), p,
                                      [](auto const& i) { return 10 * i[0] + i[1]; });
    });
    // The shards go to the host and back.
    calls.check("from_local", x.values, 0, [&] {
      std::vector<T> values(static_cast<std::size_t>(on.local_elements()));
      download(m.processor(), static_cast<T const*>(on.data()), on.local_elements(), values.data());
      return ashlar::from_local<2>(m, on.extents(), p, std::span<T const>(values));
    });
  }
  calls.report();
}

/// Checks that uniform deviates are the same under every placement as in a replicated tensor.
template <class T>
void check_uniform(device_mesh const& m) {
  auto const drawn = [&](placement const& p) {
    return ashlar::uniform<T, 2>(m, {5, 6}, p, {.seed = 3, .low = -1});
  };
  std::vector<double> first;
  for (T const v : ashlar::to_full(drawn(placement::all_broadcast(m.axes()))))
    first.push_back(static_cast<double>(v));
  CHECK(*std::min_element(first.begin(), first.end()) < -0.5);
  CHECK(*std::max_element(first.begin(), first.end()) > 0.5);
  operator_calls calls;
  for (auto const& p : all_placements(2, m.axes(), {reduction::sum}))
    calls.check("uniform", first, 0, [&] { return drawn(p); });
  calls.report();
}

}  // namespace

void check_factories(device_mesh const& m) {
  check_factories_of<float>(m);
  check_factories_of<ashlar::bfloat16>(m);
  check_factories_of<std::int32_t>(m);
  check_uniform<float>(m);
  check_uniform<ashlar::bfloat16>(m);
}

}  // namespace ashlar_test
