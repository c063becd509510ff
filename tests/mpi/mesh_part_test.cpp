// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests parts of a mesh: tensors, redistributions and products on some of the ranks, while other
// parts do the same. Also tests crossings, the moves of tensors from one part to another. Both
// transports are tested. On ranks outside a part, operations on its tensors must do nothing.

#include <doctest/doctest.h>
#include <support/crossing_traffic.hpp>
#include <support/message_of.hpp>
#include <support/naive_placement.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/cross_mesh_async.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/redistribute_async.hpp>

namespace ashlar_test {
namespace {

using ashlar::placement;
constexpr transport transports[] = {transport::shared_memory, transport::messages};

/// Checks that the members of x's mesh get `wanted` from to_full(x), and that other ranks get an
/// empty list.
template <class Tensor>
void check_equal(ashlar::mesh const& whole, Tensor const& x,
                 std::vector<typename Tensor::value_type> const& wanted) {
  auto const found = ashlar::to_full(x);
  if (x.mesh().is_here()) CHECK(found == wanted);
  else CHECK(found.empty());
  CHECK(whole.is_here());
}

}  // namespace

TEST_CASE("all moves on every part of a mesh equal those on a mesh of its own") {
  for (auto const on : transports) {
    int const n = world_size();
    auto const whole = mesh_on(on, {{"rank", n}});
    std::vector<std::vector<int>> sets{{0}, {n - 1}};
    std::vector<int> even, all;
    for (int r = n - 1; r >= 0; --r) all.push_back(r);
    for (int r = 0; r < n; r += 2) even.push_back(r);
    sets.push_back(even);
    sets.push_back(all);
    for (auto const& ranks : sets) {
      auto const size = static_cast<int>(ranks.size());
      for (auto const& axes : topologies(size)) {
        auto const m = whole.part(ranks, axes);
        auto const member = std::find(ranks.begin(), ranks.end(), whole.rank()) - ranks.begin();
        CHECK(m.is_here() == (member < size));
        if (m.is_here()) CHECK(m.rank() == member);
        CHECK(m.ranks() == size);
        auto const x = ashlar::normal<double, 2>(m, {5, 6}, placement::all_broadcast(m.axes()),
                                                 {.seed = 3});
        auto const values = ashlar::to_full(x);
        auto const placements = all_placements(2, m.axes());
        for (std::size_t i = 0; i < placements.size(); i += 3)
          for (std::size_t j = i % 2; j < placements.size(); j += 2) {
            auto const y = redistribute(x, placements[i]);
            if (!m.is_here()) CHECK(y.local_elements() == 0);
            check_equal(whole, redistribute(y, placements[j]), values);
            check_equal(whole, redistribute_async(y, placements[j]).wait(), values);
          }
        double sums[]{1, double(whole.rank())};
        m.all_reduce(std::span<double>(sums));
        double wanted = 0;
        for (int const r : ranks) wanted += r;
        if (m.is_here()) CHECK(sums[0] == size);
        CHECK(sums[1] == (m.is_here() ? wanted : whole.rank()));
        m.barrier();
      }
    }
  }
}

TEST_CASE("parts work at the same time, beside the whole mesh") {
  if (world_size() % 2 != 0) return;
  for (auto const on : transports) {
    auto const whole = mesh_on(on, {{"stage", 2}, {"gpu", world_size() / 2}});
    auto const stages = whole.split("stage");
    REQUIRE(stages.size() == 2);
    CHECK(stages[0].is_here() != stages[1].is_here());
    placement const rows = placement::all_broadcast(1).with_split(0, 0),
                    copies = placement::all_broadcast(1);
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<ashlar::tensor<float, 2>> x, w;
      for (int s = 0; s < 2; ++s) {
        auto const seed = static_cast<std::uint64_t>(turn + s);
        x.push_back(
            ashlar::normal<float, 2>(stages[std::size_t(s)], {16, 8}, rows, {.seed = seed}));
        w.push_back(ashlar::normal<float, 2>(stages[std::size_t(s)], {8, 12}, rows, {.seed = 5}));
      }
      auto const all = ashlar::normal<float, 2>(
          whole, {7, 9}, placement::all_broadcast(2).with_split(0, 1), {.seed = 9});
      auto pending = redistribute_async(all, placement::all_broadcast(2));
      for (int s : {1, 0}) {
        auto const at = static_cast<std::size_t>(s);
        auto gathered = redistribute_async(w[at], copies);
        auto const y = ashlar::matmul(x[at], gathered.wait(), rows);
        auto const found = ashlar::to_full(y);
        // Computes the same product on a mesh that consists of this rank only.
        auto const alone = ashlar::mesh(MPI_COMM_SELF, {{"gpu", 1}});
        auto const seed = static_cast<std::uint64_t>(turn + s);
        auto const wanted = ashlar::to_full(
            ashlar::matmul(ashlar::normal<float, 2>(alone, {16, 8}, rows, {.seed = seed}),
                           ashlar::normal<float, 2>(alone, {8, 12}, rows, {.seed = 5}), rows));
        if (stages[at].is_here()) {
          REQUIRE(found.size() == wanted.size());
          for (std::size_t i = 0; i < wanted.size(); ++i)
            CHECK(found[i] == doctest::Approx(wanted[i]).epsilon(1e-4));
        }
      }
      auto const moved = ashlar::to_full(pending.wait());
      CHECK(moved == ashlar::to_full(all));
    }
  }
}

TEST_CASE("more groups than the window has slots go on by messages") {
  auto const whole = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  std::vector<int> all(static_cast<std::size_t>(world_size()));
  for (int r = 0; r < world_size(); ++r) all[static_cast<std::size_t>(r)] = r;
  for (int turn = 0; turn < 80; ++turn) {
    auto const m = whole.part(all, {{"gpu", world_size()}});
    float sum = 1;
    m.all_reduce(std::span(&sum, 1));
    CHECK(sum == float(world_size()));
  }
}

TEST_CASE("every placement crosses to every placement of another part, and back") {
  int const n = world_size();
  if (n == 1) return;
  for (auto const on : transports) {
    auto const whole = mesh_on(on, {{"rank", n}});
    for (int first = 1; first < n; ++first) {
      std::vector<int> ranks[2];
      for (int r = 0; r < n; ++r) ranks[r < first ? 0 : 1].push_back(r);
      if (n > 4 && first % 3 != 1) continue;
      for (auto const& one : topologies(first))
        for (auto const& two : topologies(n - first)) {
          auto const a = whole.part(ranks[0], one), b = whole.part(ranks[1], two);
          auto const from = all_placements(2, a.axes()), to = all_placements(2, b.axes());
          for (ashlar::shape const& extents :
               {ashlar::shape{{5, 7}}, ashlar::shape{{1, 3}}, ashlar::shape{{0, 2}}}) {
            auto const x = ashlar::normal<double, 2>(a, extents, placement::all_broadcast(a.axes()),
                                                     {.seed = 3});
            std::vector<double> values(static_cast<std::size_t>(extents.elements()));
            if (a.is_here()) values = ashlar::to_full(x);
            whole.broadcast(std::span<double>(values));
            std::size_t const step = 1 + from.size() * to.size() / (n > 3 ? 10 : 60);
            for (std::size_t k = 0; k < from.size() * to.size(); k += step) {
              auto const& p = from[k / to.size()];
              auto const& q = to[k % to.size()];
              auto const y = redistribute(redistribute(x, p), b, q);
              check_equal(whole, y, values);
              check_equal(whole, redistribute(y, a, p), values);
            }
          }
        }
    }
  }
}

TEST_CASE("tensors cross in the background while both parts compute and communicate") {
  int const n = world_size();
  if (n % 2 != 0) return;
  for (auto const on : transports) {
    auto const whole = mesh_on(on, {{"stage", 2}, {"gpu", n / 2}});
    auto const stages = whole.split("stage");
    auto const placements = all_placements(2, 1);
    for (std::size_t k = 0; k < placements.size() * placements.size(); ++k) {
      auto const& p = placements[k / placements.size()];
      auto const& q = placements[k % placements.size()];
      std::vector<ashlar::tensor<double, 2>> x;
      for (auto const& own : stages)
        x.push_back(
            ashlar::normal<double, 2>(own, {5, 7}, placement::all_broadcast(1), {.seed = 3}));
      auto there = redistribute_async(redistribute(x[0], p), stages[1], q);
      auto back = redistribute_async(redistribute(x[1], q), stages[0], p);
      for (auto const& own : x) check_equal(whole, redistribute(own, p), local_values(own));
      auto again = redistribute_async(x[0], stages[1], p);
      for (int turn = 0; turn < 1000 && !there.test(); ++turn) whole.progress();
      check_equal(whole, back.wait(), local_values(x[0]));
      check_equal(whole, there.wait(), local_values(x[1]));
      check_equal(whole, again.wait(), local_values(x[1]));
    }
  }
}

TEST_CASE("a tensor on its way takes no more memory than one shard on the ranks it goes to") {
  int const n = world_size();
  if (n % 2 != 0) return;
  for (auto const on : transports) {
    auto const stages = mesh_on(on, {{"stage", 2}, {"gpu", n / 2}}).split("stage");
    auto const x = ashlar::full<float>(stages[0], {512, 512}, ashlar::sbp<ashlar::placements::B>{},
                                       1);
    auto const before = stages[1].memory().bytes_in_use();
    auto moving = redistribute_async(x, stages[1], ashlar::sbp<ashlar::placements::B>{});
    if (stages[1].is_here()) {
      auto const taken = stages[1].memory().bytes_in_use() - before;
      CHECK(taken > 0);
      CHECK(taken < 2u << 20);
    }
    CHECK(moving.wait().local_elements() == (stages[1].is_here() ? 1 << 18 : 0));
  }
}

TEST_CASE("where communication is forbidden, a crossing is refused at its request, not later") {
  int const n = world_size();
  if (n % 2 != 0) return;
  for (auto const on : transports) {
    auto const whole = mesh_on(on, {{"stage", 2}, {"gpu", n / 2}});
    auto const stages = whole.split("stage");
    auto const rows = placement{ashlar::split(0)}, copies = placement::all_broadcast(1);
    auto const x = ashlar::normal<double, 2>(stages[0], {6, 5}, copies, {.seed = 3});
    auto const values = ashlar::normal<double, 2>(stages[1], {6, 5}, copies, {.seed = 3});
    for (auto const& part : stages) {
      ashlar::no_communication const forbidden(part);
      for (auto const& said : {message_of([&] { redistribute(x, stages[1], copies); }),
                               message_of([&] { redistribute_async(x, stages[1], copies); })})
        CHECK(said == "mesh: communication is forbidden here, but a crossing to another part of "
                      "the mesh was requested.");
    }
    // The source part first sums the addends. Rank 1 takes part in this sum only after the request
    // on rank 0 has returned. So on rank 0, the crossing begins while communication is forbidden.
    // It must not be refused, because it was requested while communication was allowed.
    auto const addends = redistribute(x, placement{ashlar::partial()});
    redistribute(addends, rows);  // creates the communicators, which is collective
    auto const plan = plan_redistribution(addends, stages[1], rows).plan;
    if (n > 2) REQUIRE(plan.before.steps.size() > 0);
    if (n > 2 && whole.rank() == 1)
      MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    auto moving = redistribute_async(addends, stages[1], rows);
    if (n > 2 && whole.rank() == 0) MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
    {
      ashlar::no_communication const forbidden(stages[0]);
      while (!moving.test()) whole.progress();
    }
    check_equal(whole, moving.wait(), local_values(values));
  }
}

TEST_CASE("tensors that cross in shared memory arrive as they do by messages, and as logged") {
  int const n = world_size();
  if (n == 1) return;
  for (auto const on : transports) {
    auto const whole = mesh_on(on, {{"rank", n}});
    // With the costs of this machine, plans divide the crossing into chunks, which the target's
    // ranks pass on to each other.
    whole.set_machine({{1e-12, 1e-9}, {1e-11, 1e-8}, 1e11, 1e10, 0});
    for (int const first : {1, n / 2, n - 1}) {
      std::vector<int> ranks[2];
      for (int r = 0; r < n; ++r) ranks[r < first ? 0 : 1].push_back(r);
      auto const a = whole.part(ranks[0], {{"gpu", first}});
      auto const b = whole.part(ranks[1], {{"gpu", n - first}});
      for (auto const& p : all_placements(2, 1))
        for (auto const& q : all_placements(2, 1)) {
          auto const x = redistribute(
              ashlar::from_index<ashlar::bfloat16, 2>(
                  a, {391, 193}, placement::all_broadcast(1),
                  [](auto const& i) { return ashlar::bfloat16(float(i[0] % 13 - i[1] % 7)); }),
              p);
          ashlar::tensor<ashlar::bfloat16, 2> y(b, x.extents(), q);
          CHECK(wrong_traffic(on, plan_redistribution(x, b, q), a, b,
                              [&] { y = redistribute(x, b, q); }) == "");
          auto const full = ashlar::to_full(y);
          int wrong = 0;
          for (std::size_t i = 0; i < full.size(); ++i)
            wrong += float(full[i]) != float(int(i / 193) % 13 - int(i % 193) % 7);
          CHECK(wrong == 0);
          CHECK(full.size() == (b.is_here() ? 391u * 193u : 0u));
        }
    }
  }
}

TEST_CASE("ranks create groups while others wait for their share of a crossing") {
  if (world_size() != 4) return;
  auto const whole = mesh_on(transport::shared_memory, {{"gpu", 4}});
  auto const a = whole.part({0, 1}, {{"gpu", 2}}), b = whole.part({2, 3}, {{"gpu", 2}});
  auto const turned = whole.part({1, 0}, {{"gpu", 2}});
  placement const rows{ashlar::split(0)}, copies = placement::all_broadcast(1);
  ashlar::shape const extents{256, 256};
  auto const x = ashlar::normal<double, 2>(b, extents, rows, {.seed = 1});
  auto const w = ashlar::normal<double, 2>(b, extents, rows, {.seed = 2});
  REQUIRE(plan_redistribution(x, turned, rows).plan.after.steps.size() == 0);
  REQUIRE(plan_redistribution(w, a, rows).plan.after.steps.size() == 0);
  // Rank 0 must serve crossings while it creates the group of u. Otherwise three ranks wait in a
  // circle: rank 0 for rank 1 in the creation, rank 1 for its shard of z from rank 3, and rank 3
  // until rank 0 has copied rank 3's shard of x. The MPI message makes rank 3 move x only after
  // rank 0 has its shard of z.
  if (whole.rank() == 3) MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  auto moving = redistribute_async(x, turned, rows);
  if (b.is_here()) moving.wait();
  auto const z = redistribute(w, a, rows);
  if (whole.rank() == 0) MPI_Send(nullptr, 0, MPI_INT, 3, 1, MPI_COMM_WORLD);
  auto const u = redistribute(z, copies);
  CHECK(local_values(u) ==
        local_values(ashlar::normal<double, 2>(a, extents, copies, {.seed = 2})));
  if (a.is_here())
    CHECK(local_values(moving.wait()) ==
          local_values(ashlar::normal<double, 2>(turned, extents, rows, {.seed = 1})));
}

TEST_CASE("the steps after a crossing are those of its plan, whatever machine the target has") {
  int const n = world_size();
  if (n < 6 || n % 2 != 0) return;
  constexpr ashlar::machine fast_nodes{{1e-12, 1e-9}, {1e-12, 1e-6}, 1e11, 1e10, 0},
      fast_network{{1e-12, 1e-6}, {1e-12, 1e-9}, 1e11, 1e10, 0};
  auto const whole = mesh_on(transport::shared_memory, {{"node", n / 2}, {"gpu", 2}}, fast_nodes);
  std::vector<int> ranks[2];
  for (int r = 0; r < n; ++r) ranks[r < n - 4 ? 0 : 1].push_back(r);
  auto const b = whole.part(ranks[1], {{"node", 2}, {"gpu", 2}});
  whole.set_machine(fast_network);
  auto const a = whole.part(ranks[0], {{"gpu", n - 4}});
  auto const x = ashlar::normal<double, 2>(a, {6, 8}, placement{ashlar::split(0)}, {.seed = 3});
  auto const values = local_values(
      ashlar::normal<double, 2>(b, {6, 8}, placement::all_broadcast(2), {.seed = 3}));
  int others = 0;
  for (auto const& to : all_placements(2, 2)) {
    CAPTURE(to_string(to));
    auto const after = plan_redistribution(x, b, to).plan.after;
    others += !(b.plan(after.extents, after.element_size, after.from, after.to).steps ==
                after.steps);
    for (bool const waits : {true, false}) {
      ashlar::tensor<double, 2> y(b, x.extents(), to);
      std::optional<ashlar::communication_log> log;
      if (b.is_here()) log.emplace(b);
      y = waits ? redistribute(x, b, to) : redistribute_async(x, b, to).wait();
      std::vector<std::pair<ashlar::collective, ashlar::axis_list>> planned, recorded;
      if (log) {
        for (auto const& step : after.steps)
          if (communicates(step.kind)) planned.push_back({step.kind, step.axes});
        for (auto const& r : log->records())
          if (!r.crosses) recorded.push_back({r.kind, r.axes});
      }
      log.reset();
      CHECK(recorded == planned);
      check_equal(whole, y, values);
    }
  }
  CHECK(others > 0);
}

TEST_CASE("crossings of any element type and of many chunks") {
  int const n = world_size();
  if (n < 4) return;
  auto const whole = mesh_on(transport::messages, {{"node", 2}, {"gpu", n / 2}});
  if (n % 2 != 0) return;
  // With the costs of this machine, a crossing of many chunks is fastest.
  whole.set_machine({{1e-12, 1e-9}, {1e-11, 1e-8}, 1e11, 1e10, 0});
  auto const parts = whole.split("node");
  placement const copies = placement::all_broadcast(1);
  auto const x = ashlar::from_index<std::int32_t, 2>(parts[0], {40, 30}, copies, [](auto const& i) {
    return static_cast<std::int32_t>(100 * i[0] + i[1]);
  });
  auto const plan = plan_redistribution(x, parts[1], copies);
  CHECK(plan.plan.across.chunks > 1);
  ashlar::tensor<std::int32_t, 2> y(parts[1], x.extents(), copies);
  CHECK(wrong_traffic(transport::messages, plan, parts[0], parts[1],
                      [&] { y = redistribute(x, parts[1], copies); }) == "");
  if (parts[1].is_here()) CHECK(ashlar::to_full(y)[31] == 101);
  else CHECK(y.local_elements() == 0);
  auto const typed = y | ashlar::to<ashlar::placements::S<1>>.on(parts[0]);
  static_assert(
      std::is_same_v<std::remove_const_t<decltype(typed)>,
                     ashlar::tensor<std::int32_t, 2, ashlar::sbp<ashlar::placements::S<1>>>>);
  if (parts[0].is_here()) CHECK(ashlar::to_full(typed)[31] == 101);
  auto const z = redistribute(y, parts[0], copies);
  if (parts[0].is_here()) CHECK(local_values(z) == local_values(x));
}

TEST_CASE("tensors on parts with tags compute, and cross to other parts") {
  int const n = world_size();
  if (n % 2 != 0) return;
  struct encoder;
  struct decoder;
  for (auto const on : transports) {
    auto const whole = mesh_on(on, {{"gpu", n}});
    std::vector<int> low, high;
    for (int r = 0; r < n; ++r) (r < n / 2 ? low : high).push_back(r);
    auto const a = whole.part<encoder>(low, {{"gpu", n / 2}});
    auto const b = whole.part<decoder>(high, {{"gpu", n / 2}});
    auto const c = whole.part(low, {{"gpu", n / 2}});
    static_assert(!std::is_same_v<decltype(a), decltype(b)> &&
                  std::is_same_v<decltype(c), ashlar::mesh const>);
    using rows = ashlar::sbp<ashlar::placements::S<0>>;
    using copies = ashlar::sbp<ashlar::placements::B>;
    auto const x = ashlar::normal<double>(a, {6, 5}, rows{}, {.seed = 1});
    auto const w = ashlar::normal<double>(b, {5, 4}, copies{}, {.seed = 2});
    auto const y = ashlar::matmul(redistribute(x, b, rows{}), w);
    auto moving = redistribute_async(y + y, a, copies{});
    auto const there = y | ashlar::to<ashlar::placements::B>.on(c);
    auto const alone = ashlar::mesh(MPI_COMM_SELF, {{"gpu", 1}});
    auto const product = ashlar::matmul(
        ashlar::normal<double>(alone, {6, 5}, rows{}, {.seed = 1}),
        ashlar::normal<double>(alone, {5, 4}, copies{}, {.seed = 2}));
    auto const back = ashlar::to_full(moving.wait());
    if (a.is_here())
      for (std::size_t i = 0; i < back.size(); ++i)
        CHECK(back[i] == doctest::Approx(2 * ashlar::to_full(product)[i]));
    CHECK(back.size() == (a.is_here() ? 24u : 0u));
    auto const half = ashlar::to_full(there);
    REQUIRE(half.size() == back.size());
    for (std::size_t i = 0; i < half.size(); ++i) CHECK(2 * half[i] == back[i]);
    CHECK(has(message_of([&] { redistribute(x, c, rows{}); }), "both have rank "));
  }
}

TEST_CASE("wrong crossings are refused") {
  auto const whole = mesh_on(transport::messages, {{"gpu", world_size()}});
  auto const x = ashlar::full<float>(whole, {4}, placement::all_broadcast(1), 1);
  auto const other = mesh_on(transport::messages, {{"gpu", world_size()}});
  CHECK(has(message_of([&] { redistribute(x, other, placement::all_broadcast(1)); }),
            "these are not parts of one mesh. Make both by mesh.part or mesh.split."));
  CHECK(has(message_of([&] {
              redistribute(x, whole.part({0}, {{"gpu", 1}}), placement::all_broadcast(1));
            }),
            "both have rank 0 of the whole mesh. A tensor crosses between parts without common "
            "ranks."));
  CHECK(has(message_of([&] { redistribute(x, whole, placement::all_broadcast(2)); }),
            "redistribute: "));
  CHECK(has(message_of([&] { redistribute(x, other, placement{ashlar::owned(0)}); }),
            "owned tensors do not cross to another part of the mesh."));
}

TEST_CASE("an operator refuses tensors on two parts, names both, and says how to move one") {
  if (world_size() < 2) return;
  auto const whole = mesh_on(transport::messages, {{"gpu", world_size()}});
  auto const on = [&](ashlar::mesh const& part) {
    return ashlar::full<float>(part, {4}, placement::all_broadcast(1), 1);
  };
  auto const x = on(whole.part({0}, {{"gpu", 1}})), y = on(whole.part({1}, {{"gpu", 1}}));
  CHECK(message_of([&] { x + y; }) ==
        "add: the operands are on different meshes, gpu=1:0 and gpu=1:1. Move one of them, as in "
        "redistribute(x, y.mesh(), placement), or make them on one mesh object.");
  CHECK(has(message_of([&] { y* x; }), "multiply: the operands are on different meshes, gpu=1:1"));
}

TEST_CASE("wrong parts are refused on every rank") {
  auto const whole = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  CHECK(has(message_of([&] { whole.part({0, 0}, {{"gpu", 2}}); }), "rank 0 is given twice."));
  CHECK(has(message_of([&] {
              whole.part({world_size()}, {{"gpu", 1}});
            }),
            "is not one of the mesh"));
  CHECK(has(message_of([&] { whole.split("node"); }), "has no axis node."));
  CHECK(message_of([&] {
          whole.part({0}, {{"gpu", 1}}).set_machine(whole.machine());
        }) ==
        "mesh: set_machine: mesh gpu=1 is a part of another mesh. Set the machine of the whole "
        "mesh, and make its parts afterwards.");
  if (world_size() == 1) return;
  auto const said = message_of([&] { whole.part({whole.rank() == 1 ? 1 : 0}, {{"gpu", 1}}); });
  CHECK(has(said,
            "the ranks ask for different parts of the mesh: rank 1 has another one than rank 0."));
  // Only one rank asks for a wrong part.
  auto const one = message_of([&] {
    whole.part({whole.rank() == 1 ? world_size() : 0}, {{"gpu", 1}});
  });
  CHECK(has(one, "the ranks ask for different parts of the mesh: rank 1 has another one than rank "
                 "0."));
}

}  // namespace ashlar_test
