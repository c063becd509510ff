// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The windows of a convolution slide along a split dim of a tensor. Tests which part of the tensor
// each rank owns and which part it reads. The expected indices are found window by window. Also
// tests the transfers that exchange halos, the elements that a rank reads and does not own. The
// transfers of all ranks are replayed in this process, on arrays of global indices.

#include <numeric>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/comm/halo_transfer.hpp>
#include <ashlar/step/halo.hpp>

namespace ashlar_test {
namespace {

namespace search = ashlar::search;
using ashlar::box;
using ashlar::halo_layout;
using ashlar::topology;

/// Calls f(layout, topology) for layouts of a tensor of three dims. Windows, such as those of a
/// convolution, slide along dim 1.
template <class F>
void for_each_layout(F f) {
  struct mesh {
    topology t;
    ashlar::placement at;
  };
  auto const s = [](int depth) { return ashlar::split(1, depth); };
  mesh const meshes[] = {{{{"gpu", 2}}, {s(0)}},
                         {{{"gpu", 5}}, {s(0)}},
                         {{{"node", 2}, {"gpu", 3}}, {s(0), s(1)}},
                         {{{"node", 2}, {"gpu", 2}}, {ashlar::split(0), s(0)}},
                         {{{"node", 2}, {"one", 1}, {"gpu", 2}}, {s(0), s(1), s(2)}},
                         {{{"node", 2}, {"gpu", 3}}, {ashlar::broadcast(), s(0)}}};
  for (auto const& m : meshes)
    for (std::int64_t const n : {1, 3, 4, 7, 12})
      for (std::int64_t const extent : {1, 2, 3, 5})
        for (std::int64_t const stride : {1, 2, 4})
          for (std::int64_t padding = 0; padding < extent; padding += 2) {
            ashlar::sliding_window const w{extent, stride, padding};
            if (w.places(n) == 0) continue;
            search::layer_spec spec;
            spec.x = {3, n, 2};
            spec.y = {3, w.places(n), 2};
            spec.halo = {1, w};
            f(search::halo_layout_of(spec, m.at, m.t), m.t);
          }
}

/// Returns the indices of the split dim that the windows of one rank's output cover, found window
/// by window.
std::set<std::int64_t> covered(halo_layout const& h, topology const& t,
                               ashlar::coordinates const& c) {
  auto const places = local_box({3, h.places, 2}, t, h.at, c)[1];
  std::set<std::int64_t> found;
  for (auto i = places.begin; i < places.end(); ++i)
    for (std::int64_t k = 0; k < h.window.extent; ++k) {
      auto const at = i * h.window.stride - h.window.padding + k;
      if (at >= 0 && at < h.extents[1]) found.insert(at);
    }
  return found;
}

/// Returns the global index of each element of a box, in row-major order.
std::vector<std::int64_t> indices_of(ashlar::shape const& extents, box const& b) {
  std::vector<std::int64_t> all;
  for (auto i = b[0].begin; i < b[0].end(); ++i)
    for (auto j = b[1].begin; j < b[1].end(); ++j)
      for (auto k = b[2].begin; k < b[2].end(); ++k)
        all.push_back((i * extents[1] + j) * extents[2] + k);
  return all;
}

/// Copies to each rank what it receives, out of the arrays of all ranks. Checks that the sender and
/// the receiver of a message describe the same elements.
void replay(topology const& t, std::vector<ashlar::transfer> const& all,
            std::vector<std::vector<std::int64_t>> const& from,
            std::vector<std::vector<std::int64_t>>& to) {
  for (int r = 0; r < t.ranks(); ++r) {
    auto const here = static_cast<std::size_t>(r);
    auto const& x = all[here];
    REQUIRE(from[here].size() == static_cast<std::size_t>(x.from.elements()));
    REQUIRE(to[here].size() == static_cast<std::size_t>(x.to.elements()));
    for (int j = 0; j < x.members; ++j) {
      auto const member = static_cast<std::size_t>(
          t.rank_of(t.member(t.coordinates_of(r), x.axes, j)));
      auto const& block = x.receives[static_cast<std::size_t>(j)];
      auto const& sent = all[member].sends[static_cast<std::size_t>(x.index)];
      CHECK(sent.elements == block.elements);
      CHECK(sent.source_is_run == block.source_is_run);
      CHECK(sent.target_is_run == block.target_is_run);
      if (block.elements == 0) continue;
      CHECK(sent.source_offset == block.source_offset);
      CHECK(sent.target_offset == block.target_offset);
      copy(block, from[member].data(), to[here].data());
    }
  }
}

}  // namespace

TEST_CASE("a rank reads what its windows cover and owns its balanced part") {
  int with_halo = 0;
  for_each_layout([&](halo_layout const& h, topology const& t) {
    std::int64_t most = 0;
    bool same = true;
    for (int r = 0; r < t.ranks(); ++r) {
      auto const c = t.coordinates_of(r);
      auto const own = local_box(h.extents, t, h.at, c);
      CHECK(h.own_box(t, c) == own);
      auto const expected = covered(h, t, c);
      if (!h.has_halo()) {
        CHECK(expected.size() == static_cast<std::size_t>(own[1].size));
        continue;
      }
      auto const read = h.read_box(t, c);
      most = std::max(most, read.elements());
      CHECK(read[0] == own[0]);
      CHECK(read[2] == own[2]);
      same = same && read == own;
      // If windows have gaps between them, they cover less than the range that a rank reads.
      if (h.window.stride <= h.window.extent)
        CHECK(static_cast<std::size_t>(read[1].size) == expected.size());
      CHECK((expected.empty()
                 ? read[1].size == 0
                 : read[1].begin == *expected.begin() && read[1].end() == *expected.rbegin() + 1));
    }
    if (!h.has_halo()) return;
    ++with_halo;
    CHECK(!same);
    CHECK(h.most_read(t) == most);
  });
  CHECK(with_halo > 100);
}

TEST_CASE("transfers of halos, replayed on all ranks") {
  for_each_layout([](halo_layout const& h, topology const& t) {
    if (!h.has_halo()) return;
    std::vector<ashlar::halo_transfers> ranks;
    for (int r = 0; r < t.ranks(); ++r) ranks.push_back(prepared_for(h, t, t.coordinates_of(r)));
    std::vector<ashlar::transfer> forward, back;
    std::vector<std::vector<std::int64_t>> own, read, made, added;
    for (int r = 0; r < t.ranks(); ++r) {
      auto const c = t.coordinates_of(r);
      auto const& rank = ranks[static_cast<std::size_t>(r)];
      forward.push_back(rank.exchange);
      back.push_back(rank.addends);
      own.push_back(indices_of(h.extents, h.own_box(t, c)));
      read.push_back(indices_of(h.extents, h.read_box(t, c)));
      made.emplace_back(read.back().size(), -1);
      added.emplace_back(static_cast<std::size_t>(rank.addends.to.elements()), -1);
      CHECK(rank.exchange.received_elements() == h.received(t, c, false));
      CHECK(rank.addends.received_elements() == h.received(t, c, true));
    }
    replay(t, forward, own, made);
    CHECK(made == read);
    replay(t, back, read, added);
    for (std::size_t r = 0; r < ranks.size(); ++r)
      for (int j = 0; j < ranks[r].addends.members; ++j) {
        auto const k = static_cast<std::size_t>(j);
        if (j == ranks[r].addends.index) continue;
        auto const expected = indices_of(h.extents, ranks[r].added[k]);
        auto const at = ranks[r].addends.receives[k].target_offset;
        CHECK(std::vector(added[r].begin() + at,
                          added[r].begin() + at + static_cast<std::ptrdiff_t>(expected.size())) ==
              expected);
      }
  });
}

}  // namespace ashlar_test
