// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests the predicted halo of a layer that splits the rows of an image. The halo consists of the
// rows that the layer's windows read from other ranks. The test counts these rows window by window,
// and computes the cost of one halo by hand. The test also checks that the search splits rows where
// splitting the batch is not enough.

#include <algorithm>
#include <set>

#include <doctest/doctest.h>
#include <support/plans.hpp>
#include <support/relative.hpp>

#include <ashlar/machine/presets.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/vgg.hpp>
#include <ashlar/search/breakdown.hpp>
#include <ashlar/search/exhaustive.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/early_synchronization.hpp>
#include <ashlar/step/timeline.hpp>

namespace nn = ashlar::nn;
namespace search = ashlar::search;
using ashlar::axis_list, ashlar::interval, ashlar::sliding_window, ashlar::topology,
    ashlar::traffic;

namespace {

/// Returns the part of [0, n) of each rank. `axes` split the range one after the other, with
/// balanced splits. The ranks are in row-major order of their coordinates along `axes`.
std::vector<interval> parts(std::int64_t n, topology const& t, axis_list const& axes) {
  std::vector<interval> list{{0, n}};
  for (auto const a : axes) {
    std::vector<interval> finer;
    for (auto const& part : list)
      for (int i = 0; i < t.extent(a); ++i)
        finer.push_back(ashlar::balanced_part(part, t.extent(a), i));
    list = finer;
  }
  return list;
}

/// Counts the halo of window w on n rows, row by row. Returns the messages and rows of the busiest
/// rank in each pass:
/// - In the forward pass, a rank receives the rows that its windows read from other ranks.
/// - In the backward pass, a rank receives the gradients of its own rows from the ranks that read
///   these rows.
search::halo_traffic counted(sliding_window const& w, std::int64_t n, topology const& t,
                             axis_list const& axes) {
  auto const x = parts(n, t, axes), y = parts(w.places(n), t, axes);
  std::vector<std::set<std::pair<std::size_t, std::int64_t>>> gets(x.size()), gives(x.size());
  for (std::size_t rank = 0; rank < x.size(); ++rank)
    for (auto place = y[rank].begin; place < y[rank].end(); ++place)
      for (std::int64_t k = 0; k < w.extent; ++k) {
        auto const row = place * w.stride - w.padding + k;
        for (std::size_t owner = 0; owner < x.size(); ++owner)
          if (owner != rank && x[owner].begin <= row && row < x[owner].end()) {
            gets[rank].insert({owner, row});
            gives[owner].insert({rank, row});
          }
      }
  auto const busiest = [](auto const& all) {
    traffic most;
    for (auto const& one : all) {
      std::set<std::size_t> others;
      for (auto const& entry : one) others.insert(entry.first);
      traffic const own{static_cast<std::int64_t>(others.size()),
                        static_cast<std::int64_t>(one.size())};
      if (std::pair(own.elements, own.messages) > std::pair(most.elements, most.messages))
        most = own;
    }
    return most;
  };
  return {busiest(gets), busiest(gives)};
}

search::layer_choice rows_split(search::layer_spec const& spec, ashlar::placement const& x) {
  search::layer_choice c;
  c.x = c.y = c.dx = c.dy = x;
  for (int k = 0; k < spec.parameters.size(); ++k) {
    auto const whole = ashlar::placement::all_broadcast(x.axes());
    c.parameters.push_back({whole, whole, whole});
  }
  return c;
}

/// Returns a network of two convolutions and a max pooling on square images, followed by a
/// classifier.
auto image_net(std::int64_t image, bool halo) {
  return nn::chain(nn::convolution(3, 16, 3, {.padding = 1, .halo = halo}), nn::relu(),
                   nn::convolution(16, 16, 3, {.padding = 1, .halo = halo}), nn::relu(),
                   nn::max_pool(4, {.halo = halo}),
                   nn::linear<3, 1>({16, image / 4, image / 4}, {10}));
}

int splits_of_rows(search::problem const& net, search::plan const& plan) {
  int n = 0;
  for (int i = 0; i < plan.size(); ++i)
    n += !search::halo_axes(net.spec(i), plan[i].x, plan.mesh).empty();
  return n;
}

}  // namespace

TEST_CASE("a halo is every row that a rank's windows read and it does not own, and no other") {
  for (auto const& [t, axes] : {std::pair{topology{{"gpu", 2}}, axis_list{0}},
                                std::pair{topology{{"gpu", 3}}, axis_list{0}},
                                std::pair{topology{{"gpu", 8}}, axis_list{0}},
                                std::pair{topology{{"node", 2}, {"gpu", 3}}, axis_list{0, 1}},
                                std::pair{topology{{"node", 2}, {"gpu", 3}}, axis_list{1, 0}}})
    for (std::int64_t const extent : {1, 2, 3, 5, 11})
      for (std::int64_t stride = 1; stride <= std::min<std::int64_t>(extent, 4); ++stride)
        for (std::int64_t padding = 0; padding < extent && padding <= 2; ++padding)
          for (std::int64_t const n : {11, 12, 13, 16, 17, 31, 64}) {
            sliding_window const w{extent, stride, padding};
            std::string const mesh = to_string(t);
            CAPTURE(mesh);
            CAPTURE(extent);
            CAPTURE(stride);
            CAPTURE(padding);
            CAPTURE(n);
            auto const found = search::halo_coordinates(w, n, w.places(n), t, axes);
            auto const expected = counted(w, n, t, axes);
            CHECK(found.forward == expected.forward);
            CHECK(found.backward == expected.backward);
          }
}

TEST_CASE("halos as in textbooks") {
  topology const four{{"gpu", 4}};
  auto const rows = [&](sliding_window const& w, std::int64_t n) {
    return search::halo_coordinates(w, n, w.places(n), four, {0});
  };
  CHECK(rows({3, 1, 1}, 64) == search::halo_traffic{{2, 2}, {2, 2}});  // one row from each side
  CHECK(rows({5, 1, 2}, 64) == search::halo_traffic{{2, 4}, {2, 4}});
  CHECK(rows({1, 1, 0}, 64) == search::halo_traffic{});
  CHECK(rows({2, 2, 0}, 64) == search::halo_traffic{});  // windows end where shards end
  CHECK(rows({2, 2, 0}, 10).forward == traffic{1, 1});   // the ranks have 3, 3, 2 and 2 rows
  // The four ranks have 2, 1, 1 and 1 rows. A window of 5 rows therefore also reads rows beyond
  // those of the adjacent ranks.
  CHECK(rows({5, 1, 2}, 5).forward.messages == 3);
}

TEST_CASE("bytes and seconds of a halo equal the values computed by hand, on each tier") {
  auto const spec = nn::convolution(6, 4, 3, {.padding = 1, .halo = true}).spec({4, 6, 32, 20});
  topology const t{{"node", 2}, {"gpu", 4}};
  ashlar::machine const m{{2e-6, 1e-10}, {5e-6, 1e-9}, 1e12, 1e11, 0};
  auto const along_gpu = rows_split(spec, ashlar::parse_placement("S(0),S(2)"));
  auto const inside = search::halo_of(spec, along_gpu, t);
  // The halo has 2 rows of 2 images with 6 channels and 20 columns.
  CHECK(inside.forward == traffic{2, 2 * 2 * 6 * 20});
  CHECK(inside.backward == inside.forward);
  auto const cost = search::halo_seconds(spec, along_gpu, t, m, 4);
  CHECK(cost.forward == ashlar_test::relative(2 * 2e-6 + 480 * 4 * 1e-10));
  CHECK(cost.seconds() == ashlar_test::relative(2 * cost.forward));
  // With two nodes, each rank has only one neighbor, and the four ranks of a node share the node's
  // link.
  auto const along_node = rows_split(spec, ashlar::parse_placement("S(2),B"));
  CHECK(search::halo_of(spec, along_node, t).forward == traffic{1, 4 * 6 * 20});
  CHECK(search::halo_seconds(spec, along_node, t, m, 4).forward ==
        ashlar_test::relative(5e-6 + 480 * 4 * 4e-9));
  CHECK(search::halo_seconds(spec, rows_split(spec, ashlar::parse_placement("S(0),S(1)")), t, m, 4)
            .seconds() == 0);
  // If both axes split the rows, the slower link of the two axes prices the halo, in either order.
  for (auto const* const both : {"S(2,0),S(2,1)", "S(2,1),S(2,0)"}) {
    auto const along_both = rows_split(spec, ashlar::parse_placement(both));
    CHECK(search::halo_of(spec, along_both, t).forward == traffic{2, 2 * 4 * 6 * 20});
    CHECK(search::halo_seconds(spec, along_both, t, m, 4).forward ==
          ashlar_test::relative(2 * 5e-6 + 960 * 4 * 4e-9));
  }
  // While the layer runs, x and dx with their halos need memory: 8 + 2 rows of 2 images with 6
  // channels and 20 columns. The layer saves x with its halo. The halos are exchanged in buffers.
  search::problem net;
  net.add(spec);
  auto without = spec;
  without.halo = {};
  auto const bytes_of = [&](search::layer_spec const& of) {
    search::element_role const once{search::element_kind::layer, of.x, of.y,
                                    search::forward_runs::once, search::saved_part::all};
    return search::memory_of(net, of, once, along_gpu, t);
  };
  std::int64_t const read = 2 * 6 * 10 * 20 * 4, halo = 480 * 4;
  auto const memory = search::halo_memory_of(spec, along_gpu, t, 4);
  CHECK(memory.x == read);
  CHECK(memory.dx == read);
  CHECK(memory.exchanging == 2 * 4 * halo);
  CHECK(memory.adding == 2 * 4 * halo + halo);
  // The buffers must also suffice for NCCL, which packs everything that a rank receives and sends,
  // without chunks. For these large elements, that is more than MPI packs in its chunks.
  CHECK(search::halo_memory_of(spec, along_gpu, t, 1 << 14).exchanging == 2 * 480 << 14);
  CHECK(bytes_of(spec).forward == bytes_of(without).forward + read + halo);
  CHECK(bytes_of(spec).saved == bytes_of(without).saved + halo);
  CHECK(bytes_of(spec).backward == bytes_of(without).backward + halo);
}

TEST_CASE("a layer offers the row only when asked") {
  ashlar::shape const x{2, 3, 8, 8};
  for (bool const halo : {false, true}) {
    auto const convolution = nn::convolution(3, 4, 3, {.halo = halo}).spec(x);
    auto const maximum = nn::max_pool(3, {.stride = 1, .halo = halo}).spec(x);
    CHECK(convolution.rows.size() ==
          ashlar::convolution_training_rows(true).size() + (halo ? 1 : 0));
    CHECK(maximum.rows.size() == ashlar::max_pool_training_rows().size() + (halo ? 1 : 0));
    CHECK((convolution.halo.dim == 2) == halo);
  }
}

TEST_CASE("with halos the exact search still finds what enumeration finds") {
  auto const small = nn::chain(nn::convolution(3, 8, 3, {.padding = 1, .halo = true}),
                               nn::max_pool(2, {.halo = true}), nn::linear<3, 1>({8, 8, 8}, {10}));
  auto const net = any_length(nn::describe(small, nn::image_batch{2, 3, 16, 16}));
  ashlar::machine fast = ashlar::machines::h200_server;
  fast.flops = 1e9;  // so that work matters on small images
  for (auto const& t : {topology{{"gpu", 4}}, topology{{"node", 2}, {"gpu", 2}}}) {
    auto const best = search::exhaustive(net, t, fast);
    auto const plan = search::optimal(net, t, fast);
    CHECK(plan.seconds == ashlar_test::relative(best.seconds));
    CHECK(splits_of_rows(net, plan) > 0);
    CHECK(total_cost(net, plan, fast).seconds() == ashlar_test::relative(plan.seconds));
    auto const all = breakdown(net, plan, fast).total;
    CHECK(all.seconds() == ashlar_test::relative(plan.seconds));
  }
}

TEST_CASE("no row that pays for halos replaces one that does not") {
  // The 6 channels cannot be split evenly over all ranks. So a plan has to choose between uneven
  // splits of channels and splits of rows, which need halos.
  auto const net = search::any_length(
      nn::describe(nn::chain(nn::average_pool(3, {.stride = 1, .padding = 1, .halo = true}),
                             nn::flatten(), nn::linear(6 * 16 * 64, 4)),
                   nn::image_batch{1, 6, 16, 64}));
  for (auto const& t : {topology{{"gpu", 4}}, topology{{"node", 2}, {"a", 2}, {"b", 4}}})
    for (double const beta : {1e-11, 1e-9, 1e-8})
      for (double const alpha : {1e-9, 1e-5}) {
        ashlar::machine const m{{alpha, beta}, {alpha, beta}, 1e12, 1e8, 0};
        CHECK(search::optimal(net, t, m).seconds ==
              ashlar_test::relative(search::exhaustive(net, t, m).seconds));
      }
}

TEST_CASE("an exchange of halos waits for the transfers that its ranks began before") {
  auto const block = [] { return nn::convolution(32, 32, 3, {.padding = 1, .halo = true}); };
  auto const net = search::any_length(
      nn::describe(nn::chain(nn::convolution(3, 32, 1), block(), block(), block(),
                             nn::linear<3, 1>({32, 16, 16}, {4})),
                   nn::image_batch{1, 3, 16, 16}));
  topology const t{{"gpu", 2}};
  ashlar::machine const m{{1e-6, 1e-8}, {1e-6, 1e-8}, 1e12, 1e11, 0};
  ashlar_test::plan_source const plans(net, t, m);
  auto const plan = plans.filled([&](int i) {
    auto const& list = plans.choices(i);
    for (auto const& c : list)
      if (c.x.axis[0].is_split_of(2) && c.dx.axis[0].is_split_of(2)) return c;
    return *std::find_if(list.begin(), list.end(), ashlar_test::is_whole);
  });
  auto const early = search::early_synchronization(search::build(net, plan, m), 0).made;
  auto const line = timeline_of(early, m);
  int exchanges = 0;
  for (std::size_t i = 0; i < early.actions.size(); ++i) {
    auto const& a = early.actions[i];
    if (a.halo < 0) continue;
    double const begin = line.actions[i].end - a.halo_seconds;
    for (auto const& move : line.moves)  // all moves are along the only axis, as the halos are
      CHECK((move.busy == 0 || move.begin >= begin || move.arrival <= begin * (1 + 1e-12)));
    ++exchanges;
  }
  CHECK(exchanges >= 6);
}

TEST_CASE("rows of large images are split only if there are fewer images than ranks") {
  auto const& m = ashlar::machines::h200_server;
  topology const t{{"gpu", 8}};
  auto const plan_for = [&](nn::image_batch const& batch, bool halo) {
    auto const net = any_length(nn::describe(image_net(batch.height, halo), batch));
    auto const plan = search::optimal(net, t, m);
    CHECK((splits_of_rows(net, plan) > 0) == (halo && batch.samples < 8));
    if (splits_of_rows(net, plan) > 0) {
      auto const text = search::explain(net, plan, m).text;
      CHECK(text.find("halo of x") != std::string::npos);
      CHECK(text.find("halo of dx") != std::string::npos);
    }
    return plan.seconds;
  };
  CHECK(plan_for({1, 3, 1024, 1024}, true) < 0.8 * plan_for({1, 3, 1024, 1024}, false));
  CHECK(plan_for({2, 3, 1024, 1024}, true) < plan_for({2, 3, 1024, 1024}, false));
  CHECK(plan_for({64, 3, 32, 32}, true) == ashlar_test::relative(plan_for({64, 3, 32, 32}, false)));
}
