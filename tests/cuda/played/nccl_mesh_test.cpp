// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Meshes and tensors of ranks with a device each, on a CUDA and an NCCL that are played on the host:
// redistributions at once and beside the program, values of the host, what is recorded, what is wrong.

#include <numeric>

#include <support/message_of.hpp>
#include <support/replay.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/tensor/redistribute_async.hpp>

#include "played_ranks.hpp"

namespace ashlar_test {
namespace {

using ashlar::nccl::mesh;
using ashlar::nccl::world;
using device_tensor = ashlar::tensor<std::int32_t, 2, ashlar::dynamic, ashlar::cuda::processor>;

void require(bool holds, char const* what) {
  if (!holds) throw std::logic_error(what);
}

device_tensor upload(mesh const& m, ashlar::shape const& extents, placement const& p,
                     std::vector<std::int32_t> const& shard) {
  device_tensor x(m, extents, p);
  require(x.local_elements() == static_cast<std::int64_t>(shard.size()), "a shard's size");
  cudaMemcpyAsync(x.data(), shard.data(), shard.size() * 4, cudaMemcpyHostToDevice,
                  m.processor().stream);
  return x;
}
std::vector<std::int32_t> download(device_tensor const& x) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(x.local_elements()));
  cudaMemcpyAsync(values.data(), x.data(), values.size() * 4, cudaMemcpyDeviceToHost,
                  x.mesh().processor().stream);
  cudaStreamSynchronize(x.mesh().processor().stream);
  return values;
}

index as_index(ashlar::shape const& extents) {
  index list;
  for (auto const e : extents.extent) list.push_back(static_cast<int>(e));
  return list;
}

struct pair_of {
  ashlar::shape extents;
  placement from, to;
  std::vector<std::vector<std::int32_t>> before, after;  // by rank
};

std::vector<pair_of> pairs(ashlar::topology const& t, std::size_t one_in) {
  std::mt19937 random(3);
  std::vector<pair_of> found;
  std::size_t n = 0;
  auto const all = all_placements(2, t.axes());
  for (ashlar::shape const& extents : {ashlar::shape{8, 6}, {5, 3}})
    for (auto const& from : all)
      for (auto const& to : all) {
        if (n++ % one_in != 0) continue;
        pair_of p{extents, from, to, {}, {}};
        basic_replay<std::int32_t> ranks(as_index(extents), t);
        ranks.start(random_integers(random, as_index(extents), -99, 99), from, random);
        for (int r = 0; r < t.ranks(); ++r) p.before.push_back(ranks.shard(r));
        for (auto const& s :
             ashlar::plan_redistribution(extents, 4, from, to, t, ashlar::machines::workstation)
                 .steps)
          ranks.run(s);
        for (int r = 0; r < t.ranks(); ++r) p.after.push_back(ranks.shard(r));
        found.push_back(std::move(p));
      }
  return found;
}

TEST_CASE("redistribute, and the bytes that are recorded") {
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  auto const all = pairs(t, 5);
  played::pause_up_to(30);
  played::all_ranks(4, [&](world const& w) {
    mesh const m(w, t);
    auto const r = static_cast<std::size_t>(m.rank());
    for (auto const& p : all) {
      auto const x = upload(m, p.extents, p.from, p.before[r]);
      ashlar::communication_log const log(m);
      auto const y = ashlar::redistribute(x, p.to);
      require(download(y) == p.after[r], "a shard");
      require(log.received_bytes() ==
                  m.plan(p.extents, 4, p.from, p.to).received_bytes(t, m.here()),
              "bytes");
    }
  });
  played::pause_up_to(0);
}

TEST_CASE("redistributions beside the program, several at a time") {
  ashlar::topology const t{{"node", 2}, {"gpu", 2}};
  auto const all = pairs(t, 9);
  played::pause_up_to(100);
  played::all_ranks(4, [&](world const& w) {
    mesh const m(w, t);
    auto const r = static_cast<std::size_t>(m.rank());
    std::minstd_rand random(static_cast<unsigned>(w.rank()));
    for (std::size_t i = 0; i + 3 <= all.size(); i += 3) {
      auto begin = [&](std::size_t k) {
        auto const& p = all[i + k];
        return ashlar::redistribute_async(upload(m, p.extents, p.from, p.before[r]), p.to);
      };
      auto a = begin(0), b = begin(1), c = begin(2);
      for (auto k = random() % 40; k > 0; --k) m.progress();  // other than the other ranks
      require(download(c.wait()) == all[i + 2].after[r], "the last");
      require(download(a.wait()) == all[i].after[r], "the first");
      require(download(b.wait()) == all[i + 1].after[r], "the second");
    }
  });
  played::pause_up_to(0);
}

TEST_CASE("values of the host, and a machine that differs") {
  auto const said = played::run_ranks(
      3,
      [&](world const& w) {
        mesh const m(w, {{"gpu", 3}});
        double values[] = {1.5, -2.0 * w.rank()};
        m.all_reduce(std::span<double>(values));
        require(values[0] == 4.5 && values[1] == -6, "sums");
        std::int64_t largest[] = {w.rank()};
        m.all_reduce(std::span<std::int64_t>(largest), ashlar::reduction::max);
        require(largest[0] == 2, "a maximum");
        auto machine = ashlar::machines::workstation;
        if (w.rank() == 1) machine.flops *= 2;
        m.set_machine(machine);
      },
      std::chrono::seconds(60));
  for (auto const& text : said) CHECK(has(text, "the ranks give different machines"));
}

TEST_CASE("a mesh of another number of ranks") {
  auto const said = played::run_ranks(
      2,
      [&](world const& w) {
        mesh const m(w, {{"gpu", 4}});
      },
      std::chrono::seconds(60));
  for (auto const& text : said) CHECK(has(text, "gpu=4 has 4 ranks but the program runs on 2"));
}

TEST_CASE("several meshes of one program, and shards of no elements") {
  played::all_ranks(4, [&](world const& w) {
    mesh const flat(w, {{"gpu", 4}});
    mesh const square(w, {{"a", 2}, {"b", 2}});
    for (mesh const& m : {flat, square}) {
      placement rows = placement::all_broadcast(m.axes());
      rows = rows.with_split(0, 0);
      device_tensor const none(m, {0, 3}, rows);
      auto const gathered = ashlar::redistribute(none, placement::all_broadcast(m.axes()));
      require(gathered.local_elements() == 0 && !gathered.empty(), "nothing");
      m.barrier();
    }
  });
}

}  // namespace
}  // namespace ashlar_test
