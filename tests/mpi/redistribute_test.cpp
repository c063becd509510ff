// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8
// thorough: ASHLAR_BOTH_MACHINES=on 6 8

// Tests redistribution between all ordered pairs of placements, or between a sample of the pairs if
// there are many. The values must be right. The recorded collectives must have the kinds, axes and
// bytes that the plan predicts, and the MPI calls must move the same bytes.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

std::string text(ashlar::mesh const& m, dense const& x, placement const& from,
                 placement const& to) {
  return to_string(to_shape(x.extents)) + " " + to_string(from) + " -> " +
         to_string(to, m.topology());
}

/// Redistributes `source`, which holds x, to the placement `to`. Returns a description of what is
/// wrong with the result, the plan or the bytes, or an empty text.
template <class T, int Rank>
std::string try_pair(ashlar::mesh const& m, dense const& x, ashlar::tensor<T, Rank> const& source,
                     placement const& to) {
  auto const& plan = m.plan(source.extents(), sizeof(T), source.placement(), to);
  traffic_check const traffic(m);
  auto const result = redistribute(source, to);

  std::string wrong = traffic.difference(predicted(m, plan));
  if (traffic.log().received_bytes() != plan.received_bytes(m.topology(), m.coordinate()))
    wrong += " bytes;";
  if (!(result.placement() == to)) wrong += " placement;";
  if (plan.steps.empty() && result.data() != source.data()) wrong += " shard not shared;";
  wrong += wrong_with(result, x);
  return wrong.empty() ? "" : text(m, x, source.placement(), to) + ":" + wrong;
}

/// Tries every `stride`-th ordered pair of placements of a tensor with Rank dimensions. The tried
/// pairs take the extents in `shapes` in turn.
template <class T, int Rank>
void try_pairs(ashlar::mesh const& m, std::vector<index> const& shapes, int stride,
               ashlar::reduction op = ashlar::reduction::sum, std::vector<int> const& owners = {}) {
  std::mt19937 random(7);
  auto states = all_placements(Rank, m.axes(), {op}, owners);
  std::erase_if(
      states, [&](placement const& p) { return ashlar::check(p, Rank, m.topology()) != nullptr; });
  std::vector<dense> values;
  std::vector<std::vector<ashlar::tensor<T, Rank>>> sources(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    values.push_back(random_integers(random, shapes[i]));
    for (auto const& p : states) sources[i].push_back(placed<T, Rank>(m, values[i], p));
  }
  int failures = 0, pair = 0, tried = 0;
  for (std::size_t a = 0; a < states.size(); ++a)
    for (auto const& to : states) {
      if (pair++ % stride != 0) continue;
      auto const i = static_cast<std::size_t>(tried++) % shapes.size();
      auto const wrong = try_pair<T, Rank>(m, values[i], sources[i][a], to);
      if (!wrong.empty() && ++failures <= 3) MESSAGE(wrong);
    }
  CHECK_MESSAGE(failures == 0, failures << " of " << tried << " pairs on " << m.topology());
}

/// Returns a stride that selects at most about `limit` of the pairs of placements.
template <int Rank>
int stride_for(ashlar::mesh const& m, int limit) {
  auto const n = static_cast<int>(all_placements(Rank, m.axes()).size());
  return n * n / limit + 1;
}

}  // namespace

TEST_CASE("vectors: every pair of placements, each with every extent") {
  int const n = world_size();
  for (auto const& m : all_meshes_of_two_machines()) {
    for (int const extent : {n, n + 1, 2 * n + 3, 4 * n + 3, n - 1, 1, 0})
      try_pairs<float, 1>(m, {{extent}}, stride_for<1>(m, 120));
  }
}

TEST_CASE("matrices: every pair of placements") {
  int const n = world_size();
  for (auto const& m : all_meshes_of_two_machines()) {
    try_pairs<float, 2>(m, {{n + 1, n + 2}, {n, n - 1}, {2 * n + 1, 2}, {0, n}},
                        stride_for<2>(m, 600));
  }
}

TEST_CASE("three and four dims") {
  int const n = world_size();
  for (auto const& m : all_meshes(bandwidth_bound)) {
    try_pairs<float, 3>(m, {{n, n + 1, 3}, {2, 1, n + 2}, {3, 0, 2}}, stride_for<3>(m, 400));
    try_pairs<float, 4>(m, {{3, 2, n + 1, 2}, {1, n, 2, 3}}, stride_for<4>(m, 200));
  }
}

TEST_CASE("maxima and minima") {
  int const n = world_size();
  for (auto const& m : all_meshes(bandwidth_bound))
    for (auto const op : {ashlar::reduction::max, ashlar::reduction::min}) {
      try_pairs<float, 1>(m, {{n + 1}, {0}, {1}}, stride_for<1>(m, 100), op);
      try_pairs<double, 2>(m, {{n + 1, 3}, {n, n - 1}}, stride_for<2>(m, 150), op);
      try_pairs<std::int64_t, 2>(m, {{n + 1, 3}, {n, n - 1}}, stride_for<2>(m, 150), op);
    }
}

TEST_CASE("to, from and between owners") {
  int const n = world_size();
  for (auto const& m : all_meshes_of_two_machines()) {
    std::vector<int> const owners{0, n / 2, n - 1};
    auto const sum = ashlar::reduction::sum;
    try_pairs<float, 1>(m, {{n + 1}, {0}, {1}, {4000}}, m.axes() == 1 ? 1 : 11, sum, owners);
    try_pairs<double, 2>(m, {{n + 1, 3}, {n, n - 1}}, m.axes() == 1 ? 1 : 53, sum, owners);
  }
}

TEST_CASE("an owner that the axis does not have is refused") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const source = ashlar::full<float>(m, {4}, placement{ashlar::broadcast()}, 1);
  auto const message = message_of([&] { redistribute(source, placement{ashlar::owned(n)}); });
  CHECK_MESSAGE(message.find("an owner that the axis does not have") != std::string::npos, message);
}

TEST_CASE("double and integer elements") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    try_pairs<double, 2>(m, {{n + 1, n + 2}, {2, n}}, stride_for<2>(m, 150));
    try_pairs<std::int32_t, 2>(m, {{n + 1, n + 2}, {2, n}}, stride_for<2>(m, 150));
    try_pairs<std::int64_t, 2>(m, {{n + 1, n + 2}, {2, n}}, stride_for<2>(m, 150));
  }
}

TEST_CASE("from one kind of reduction to another: reduced in between") {
  int const n = world_size();
  std::mt19937 random(3);
  auto const x = random_integers(random, {n + 1, 3});
  for (auto const& m : all_meshes()) {
    auto const sums = all_placements(2, m.axes());
    auto const maxima = all_placements(2, m.axes(), {ashlar::reduction::max});
    int pair = 0;
    for (auto const& [p, q] : all_combinations(sums, maxima)) {
      if (!p.has_partial() || !q.has_partial() || pair++ % 41 != 0) continue;
      CHECK(try_pair<float, 2>(m, x, placed<float, 2>(m, x, p), q) == "");
      CHECK(try_pair<float, 2>(m, x, placed<float, 2>(m, x, q), p) == "");
    }
  }
}

TEST_CASE("a scalar can be partial, too") {
  dense x{index{}};
  x.values = {7};
  for (auto const& m : all_meshes()) {
    auto const states = all_placements(0, m.axes());
    for (auto const& [p, q] : all_combinations(states, states))
      CHECK(try_pair<double, 0>(m, x, placed<double, 0>(m, x, p), q) == "");
  }
}

TEST_CASE("all bytes that were received in these tests were sent") {
  CHECK(mpi_traffic::balanced());
}

}  // namespace ashlar_test
