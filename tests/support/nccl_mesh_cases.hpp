// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Test cases for meshes of ranks with one device each. They run on a real device (tests/cuda) and
// on the fake device (tests/cuda/fake). Every rank calls each function. A failure throws.

#include <limits>
#include <random>
#include <vector>

#include <support/combinations.hpp>
#include <support/device_instances.hpp>
#include <support/replay.hpp>
#include <support/rooted_cases.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar_test {

using ashlar::nccl::mesh;
using ashlar::nccl::world;
using device_tensor = ashlar::tensor<std::int32_t, 2, ashlar::dynamic, ashlar::cuda::processor>;

inline device_tensor upload(mesh const& m, ashlar::shape const& extents, placement const& p,
                            std::vector<std::int32_t> const& shard) {
  device_tensor x(m, extents, p);
  require_that(x.local_elements() == static_cast<std::int64_t>(shard.size()), "a shard's size");
  cudaMemcpyAsync(x.data(), shard.data(), shard.size() * 4, cudaMemcpyHostToDevice,
                  m.processor().stream);
  return x;
}
inline std::vector<std::int32_t> download(device_tensor const& x) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(x.local_elements()));
  cudaMemcpyAsync(values.data(), x.data(), values.size() * 4, cudaMemcpyDeviceToHost,
                  x.mesh().processor().stream);
  cudaStreamSynchronize(x.mesh().processor().stream);
  return values;
}

inline index as_index(ashlar::shape const& extents) {
  index list;
  for (auto const e : extents.extent) list.push_back(static_cast<int>(e));
  return list;
}

struct pair_of {
  ashlar::shape extents;
  placement from, to;
  std::vector<std::vector<std::int32_t>> before, after;  // shards, by rank
};

inline std::vector<pair_of> pairs(ashlar::topology const& t, std::size_t one_in) {
  std::mt19937 random(3);
  std::vector<pair_of> found;
  std::size_t n = 0;
  auto const all = all_placements(2, t.axes());
  std::vector<ashlar::shape> const shapes{{8, 6}, {5, 3}};
  for (auto const& [extents, from, to] : all_combinations(shapes, all, all)) {
    if (n++ % one_in != 0) continue;
    pair_of p{extents, from, to, {}, {}};
    basic_replay<std::int32_t> ranks(as_index(extents), t);
    ranks.start(random_integers(random, as_index(extents), -99, 99), from, random);
    for (int r = 0; r < t.ranks(); ++r) p.before.push_back(ranks.shard(r));
    for (auto const& s :
         ashlar::plan_redistribution(extents, 4, from, to, t, ashlar::machines::workstation).steps)
      ranks.run(s);
    for (int r = 0; r < t.ranks(); ++r) p.after.push_back(ranks.shard(r));
    found.push_back(std::move(p));
  }
  return found;
}

/// Checks blocking redistributions: the values that arrive and the bytes that are recorded.
inline void redistribute_at_once(world const& w, ashlar::topology const& t,
                                 std::vector<pair_of> const& all) {
  mesh const m(w, t);
  auto const r = static_cast<std::size_t>(m.rank());
  for (auto const& p : all) {
    auto const x = upload(m, p.extents, p.from, p.before[r]);
    ashlar::communication_log const log(m);
    auto const y = ashlar::redistribute(x, p.to);
    require_that(download(y) == p.after[r], "a shard");
    require_that(log.received_bytes() ==
                     m.plan(p.extents, 4, p.from, p.to).received_bytes(t, m.coordinate()),
                 "bytes");
  }
}

/// Checks asynchronous redistributions, of which three at a time are pending. The ranks call
/// progress() at different times.
inline void redistribute_beside(world const& w, ashlar::topology const& t,
                                std::vector<pair_of> const& all) {
  mesh const m(w, t);
  auto const r = static_cast<std::size_t>(m.rank());
  std::minstd_rand random(static_cast<unsigned>(w.rank()));
  for (std::size_t i = 0; i + 3 <= all.size(); i += 3) {
    auto begin = [&](std::size_t k) {
      auto const& p = all[i + k];
      return ashlar::redistribute_async(upload(m, p.extents, p.from, p.before[r]), p.to);
    };
    auto a = begin(0), b = begin(1), c = begin(2);
    for (auto k = random() % 40; k > 0; --k) m.progress();
    require_that(download(c.wait()) == all[i + 2].after[r], "the last");
    require_that(download(a.wait()) == all[i].after[r], "the first");
    require_that(download(b.wait()) == all[i + 1].after[r], "the second");
  }
}

/// Checks all-reduces of values in host memory: sums and maxima. One rank passes a NaN.
inline void reduce_values_of_the_host(world const& w) {
  mesh const m(w, {{"gpu", w.size()}});
  int const n = w.size();
  double values[] = {1.5, -2.0 * w.rank()};
  m.all_reduce(std::span<double>(values));
  require_that(values[0] == 1.5 * n && values[1] == -n * (n - 1), "sums");
  std::int64_t largest[] = {w.rank()};
  m.all_reduce(std::span<std::int64_t>(largest), ashlar::reduction::max);
  require_that(largest[0] == n - 1, "a maximum");
  float extremes[] = {w.rank() == n - 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0f,
                      static_cast<float>(w.rank())};
  m.all_reduce(std::span<float>(extremes), ashlar::reduction::max);
  require_that(extremes[0] != extremes[0] && extremes[1] == static_cast<float>(n - 1),
               "maxima of a NaN and of numbers");
}

/// Checks that tensors without elements can be redistributed, on two meshes that exist together.
inline void several_meshes(world const& w) {
  mesh const flat(w, {{"gpu", w.size()}});
  mesh const deep(w, {{"a", w.size()}, {"b", 1}});
  for (mesh const& m : {flat, deep}) {
    auto const whole = placement::all_broadcast(m.axes());
    device_tensor const none(m, {0, 3}, whole.with_split(0, 0));
    auto const gathered = ashlar::redistribute(none, whole);
    require_that(gathered.local_elements() == 0 && !gathered.empty(), "nothing");
    m.barrier();
  }
}

}  // namespace ashlar_test
