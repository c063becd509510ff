// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4

// Tests gradients in rows (sync/rows.hpp):
//
// - with SGD and sums by rank, training gives the same bits as with gradients as tensors, also with
//   several micro-batches and if all ids are equal,
// - an exchange of rows receives the bytes that follow from the ids of all ranks
//   (step/row_exchange.hpp), also if a rank has no rows,
// - both ways of the exchange give the same bits, and nearly always the cheaper one is taken,
// - a step makes no allocation of the table's size, and an exchange needs no more than the planned
//   memory,
// - plans and optimizers that cannot have rows are refused.

#include <cmath>
#include <cstring>
#include <random>

#include <doctest/doctest.h>
#include <support/allocations.hpp>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/plans.hpp>
#include <support/transport.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/nn/dlrm.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/build.hpp>
#include <ashlar/step/check.hpp>
#include <ashlar/sync/all_reduce.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/optimal.hpp>
#include <ashlar/sync/pinned.hpp>
#include <ashlar/sync/rows.hpp>
#include <ashlar/train/adam_w_rows.hpp>
#include <ashlar/train/trainer.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace train = ashlar::train;

constexpr std::int64_t tables = 3, rows = 40, features = 4;
auto const net = nn::dlrm(
    {.tables = tables, .rows = rows, .features = features, .top = {5, 4, 3, 3}});
nn::category_batch const batch{8, tables, 2};  // 8 samples, 2 micro-batches

struct step_data {
  std::vector<std::int32_t> ids, classes;
};
/// Returns the data of a step whose ids are below `below`.
step_data data_of(unsigned step, std::int32_t below) {
  std::mt19937 random(step);
  step_data made;
  for (int i = 0; i < 2 * 8 * tables; ++i)
    made.ids.push_back(static_cast<std::int32_t>(random() % unsigned(below)));
  for (int i = 0; i < 2 * 8; ++i) made.classes.push_back(static_cast<std::int32_t>(random() % 2));
  return made;
}

template <class T>
search::problem problem_of() {
  return any_length(nn::describe<T>(net, batch));
}

/// Trains for three steps. Returns the losses, and this rank's shards of all parameters.
template <class T, class Optimizer>
std::vector<T> trained(ashlar::mesh const& m, search::plan const& plan, Optimizer const& how,
                       std::int32_t below, double clip = 1e9) {
  auto model = nn::place<T>(net, m, plan, 7);
  train::trainer trainer(model, how, {.clip = clip});
  std::vector<T> all;
  for (unsigned step = 0; step < 3; ++step) {
    auto const data = data_of(step, below);
    all.push_back(static_cast<T>(trainer.step({data.ids, data.classes}).loss));
  }
  model.for_each_parameter([&](auto const& p) {
    T const* const shard = p.value().template data_as<T>();
    all.insert(all.end(), shard, shard + p.value().local_elements());
  });
  return all;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

ashlar::mesh mesh_by_rank(ashlar::machine const& machine = ashlar::machines::workstation) {
  ashlar::mesh m(MPI_COMM_WORLD, {{"gpu", world_size()}}, machine);
  m.set_sum_order(ashlar::sum_order::by_rank);
  return m;
}

/// Returns rows of this rank: each of `universe` rows with probability `density`.
nn::sorted_rows<float> random_rows(std::int32_t universe, double density, unsigned seed,
                                   std::int64_t columns) {
  std::mt19937 random(seed + 1000 * unsigned(world_rank()));
  std::uniform_real_distribution<float> uniform(0, 1);
  nn::sorted_rows<float> made;
  made.columns = columns;
  for (std::int32_t id = 0; id < universe; ++id)
    if (uniform(random) < static_cast<float>(density)) made.ids.push_back(id);
  for (std::int64_t i = 0; i < made.size() * columns; ++i) made.values.push_back(uniform(random));
  return made;
}

std::int64_t most_of_all(ashlar::mesh const& m, std::int64_t value) {
  m.all_reduce(std::span(&value, 1), ashlar::reduction::max);
  return value;
}

}  // namespace

TEST_CASE("SGD on rows has the bits of SGD on tensors, if sums are by rank") {
  auto const compare = [](auto type) {
    using T = decltype(type);
    auto const net_problem = problem_of<T>();
    auto const m = mesh_by_rank();
    auto const plain = search::data_parallel(net_problem, m.topology(), m.machine());
    auto const dense = sync::all_reduce{}(net_problem, plain, m.machine());
    auto const in_rows = sync::rows{}(net_problem, plain, m.machine());
    CHECK(search::has_rows(in_rows));
    for (auto const below : {std::int32_t(rows), std::int32_t(1), std::int32_t(3)}) {
      CAPTURE(below);
      CHECK(same_bits(trained<T>(m, in_rows, train::sgd{.lr = 0.3}, below),
                      trained<T>(m, dense, train::sgd{.lr = 0.3}, below)));
    }
    m.set_checked(true);
    auto const clipped = trained<T>(m, in_rows, train::sgd{.lr = 0.3}, rows, 0.05);
    auto const expected = trained<T>(m, dense, train::sgd{.lr = 0.3}, rows, 0.05);
    REQUIRE(clipped.size() == expected.size());
    for (std::size_t i = 0; i < clipped.size(); ++i)
      CHECK(clipped[i] == doctest::Approx(expected[i]).epsilon(1e-4));
  };
  compare(float{});
  compare(double{});
}

TEST_CASE("rows of tables that are split by columns, by rows or by tables") {
  auto const net_problem = problem_of<double>();
  int in_rows = 0;
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    plan_source const plans(net_problem, m);
    auto const losses = [&](search::plan const& plan) {
      auto all = trained<double>(m, plan, train::sgd{.lr = 0.3}, rows);
      all.resize(3);
      return all;
    };
    auto const expected = losses(plans.whole());
    std::mt19937 random(11);
    for (int turn = 0; turn < 4; ++turn) {
      auto const plan = plans.random(random);
      auto const& table = plan[0].parameters[0];
      if (sync::rows::fault(table, net_problem.spec(0).parameters[0]) != nullptr) continue;
      ++in_rows;
      auto const made = sync::rows{}(net_problem, plan, m.machine());
      CAPTURE(describe(net_problem, made));
      CHECK(!search::check(search::build(net_problem, made, m.machine())).found());
      auto const found = losses(made);
      for (std::size_t k = 0; k < 3; ++k)
        CHECK(found[k] == doctest::Approx(expected[k]).epsilon(1e-9));
    }
  }
  CHECK(in_rows > 0);
}

TEST_CASE("a step receives the bytes that the numbers of ids predict") {
  auto const m = mesh_by_rank();
  int const p = world_size(), me = world_rank();
  constexpr std::int32_t universe = 50;
  constexpr std::int64_t row = 8 * sizeof(float);
  for (unsigned seed = 0; seed < 6; ++seed) {
    double const density = seed == 0 ? 0.0 : seed == 1 ? 1.0 : 0.15 * seed;
    auto const own = random_rows(universe, seed == 2 && me == 0 ? 0.0 : density, seed, 8);
    std::vector<std::int64_t> has(static_cast<std::size_t>(p * universe), 0);
    for (auto const id : own.ids) has[static_cast<std::size_t>(me * universe + id)] = 1;
    m.all_reduce(std::span(has));
    auto const has_row = [&](int rank, std::int32_t id) {
      return has[static_cast<std::size_t>(rank * universe + id)] != 0;
    };
    std::vector<std::int32_t> all;
    std::int64_t others = 0, to_me = 0;
    for (std::int32_t id = 0; id < universe; ++id) {
      int ranks = 0;
      for (int r = 0; r < p; ++r) ranks += has_row(r, id);
      others += ranks - has_row(me, id);
      if (ranks > 0) all.push_back(id);
    }
    auto const count = static_cast<std::int64_t>(all.size());
    auto const part = ashlar::balanced_part({0, count}, p, me);
    for (std::int64_t i = part.begin; i < part.end(); ++i)
      for (int r = 0; r < p; ++r) to_me += r != me && has_row(r, all[static_cast<std::size_t>(i)]);
    std::int64_t const of_ids = 8 * (p - 1) + 4 * others;
    std::vector<nn::sorted_rows<float>> sums;
    for (auto const way : {search::rows_way::gathered, search::rows_way::by_owners}) {
      ashlar::communication_log const log(m);
      sums.push_back(nn::sum_over_ranks(m, ashlar::all_axes(1), own, &way));
      bool const gathers = way == search::rows_way::gathered;
      CHECK(log.received_bytes() ==
            (p == 1 ? 0 : of_ids + row * (gathers ? others : to_me + count - part.size)));
    }
    CHECK(sums[0].ids == all);
    CHECK(sums[1].ids == all);
    CHECK(same_bits(sums[0].values, sums[1].values));
  }
}

TEST_CASE("the cheaper way is taken at random densities") {
  ashlar::machine const bytes_only{{0, 1e-9}, {0, 1e-9}, 1e11, 1e10, 0};
  auto const m = mesh_by_rank(bytes_only);
  int const p = world_size();
  if (p == 1) return;
  constexpr std::int32_t universe = 60;
  constexpr std::int64_t d = 64;
  std::mt19937 random(3);
  int cheapest = 0;
  for (unsigned trial = 0; trial < 100; ++trial) {
    double const density = std::pow(std::uniform_real_distribution<double>(0, 1)(random), 2);
    auto const own = random_rows(universe, density, trial, d);
    ashlar::communication_log log(m);
    auto const bytes_of = [&](search::rows_way const* way) {
      log.clear();
      static_cast<void>(nn::sum_over_ranks(m, ashlar::all_axes(1), own, way));
      return log.received_bytes();
    };
    auto const gathers = search::rows_way::gathered, by_owners = search::rows_way::by_owners;
    auto const taken = bytes_of(nullptr), first = bytes_of(&gathers), second = bytes_of(&by_owners);
    auto const most_taken = most_of_all(m, taken);
    auto const least = std::min(most_of_all(m, first), most_of_all(m, second));
    std::int64_t const dense = 2 * (p - 1) * universe * d * 4 / p;
    cheapest += most_taken <= least;
    CHECK(double(most_taken) <= 1.05 * double(std::min(least, dense)) + 8 * (p - 1));
  }
  CHECK(cheapest >= 95);
}

TEST_CASE("a step with rows allocates nothing of the table's size") {
  auto const large = nn::dlrm({.tables = 2, .rows = 200'000, .features = 8, .top = {4, 4, 3, 3}});
  auto const problem = any_length(nn::describe<float>(large, nn::category_batch{4, 2, 1}));
  auto const m = mesh_by_rank();
  m.set_checked(false);  // the checked mode compares whole tables
  auto const plain = search::data_parallel(problem, m.topology(), m.machine());
  auto const plan = sync::rows{}(problem, plain, m.machine());
  CHECK(plan.memory < plain.memory);
  auto model = nn::place<float>(large, m, plan, 7);
  train::trainer trainer(model, train::sgd{.lr = 0.1});
  std::vector<std::int32_t> const ids{0, 199'999, 17, 5, 0, 0, 1, 2}, classes{0, 1, 1, 0};
  std::size_t const table = 2 * 200'000 * 8 * sizeof(float);
  m.memory().reset_peak();
  auto const in_use = m.memory().bytes_in_use();
  largest_allocation = 0;
  for (int step = 0; step < 2; ++step) trainer.step({ids, classes});
  CHECK(largest_allocation < table / 100);
  CHECK(m.memory().peak_bytes() - in_use < table / 100);
}

TEST_CASE("an exchange needs no more memory than its plan says") {
  if (world_size() == 1) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  constexpr std::int64_t count = 1000;
  search::row_exchange const planned{ashlar::all_axes(1), m.ranks(), 16, count, count * m.ranks()};
  std::int64_t const row = 16 * sizeof(float);
  for (auto const way : {search::rows_way::gathered, search::rows_way::by_owners})
    for (int turn = 0; turn < 2; ++turn) {  // the first turn prepares transfers
      auto const before = heap_bytes;
      nn::sorted_rows<float> own;  // no rank has the rows of another
      own.columns = 16;
      own.ids.resize(count);
      for (std::int32_t i = 0; i < count; ++i)
        own.ids[static_cast<std::size_t>(i)] = i * m.ranks() + world_rank();
      own.values.resize(count * 16, 1);
      m.memory().reset_peak();
      heap_peak = heap_bytes;
      auto const sums = nn::sum_over_ranks(m, planned.axes, std::move(own), &way);
      CHECK(sums.size() == planned.all);
      if (turn == 0) continue;
      // The rows of all ranks arrive in the memory of the mesh. All other rows are on the heap.
      CHECK(heap_peak - before <=
            planned.exchange_bytes(4) + planned.all_bytes(4) - planned.all * row);
      CHECK(m.memory().peak_bytes() >= static_cast<std::size_t>(planned.all * row));
    }
}

TEST_CASE("lazy Adam moves only the rows of a step") {
  auto const net_problem = problem_of<double>();
  auto const m = mesh_by_rank();
  auto const plain = search::data_parallel(net_problem, m.topology(), m.machine());
  auto const in_rows = sync::rows{}(net_problem, plain, m.machine());
  // If all steps read only the first row of each table, the other rows never have a gradient. So
  // without weight decay AdamW does not change them, and both optimizers give the same bits.
  CHECK(same_bits(trained<double>(m, in_rows, train::adam_w_rows{.lr = 0.1, .weight_decay = 0}, 1),
                  trained<double>(m, plain, train::adam_w{.lr = 0.1, .weight_decay = 0}, 1)));
  CHECK(!same_bits(trained<double>(m, in_rows, train::adam_w_rows{.lr = 0.1}, rows),
                   trained<double>(m, plain, train::adam_w{.lr = 0.1}, rows)));
}

TEST_CASE("what cannot have rows is refused") {
  auto const net_problem = problem_of<float>();
  auto const m = mesh_by_rank();
  auto const plain = search::data_parallel(net_problem, m.topology(), m.machine());
  auto const in_rows = sync::pinned(net_problem, plain, m.machine(), "embedding_tables.values",
                                    sync::rows{});
  CHECK(in_rows[0].parameters[0].in_rows);
  CHECK(sync::explain(net_problem, in_rows, m.machine()).find("rows") != std::string::npos);
  CHECK(message_of([&] {
          sync::pinned(net_problem, plain, m.machine(), "linear.weight", sync::rows{});
        }).find("Only the gradients of embedding tables") != std::string::npos);
  if (m.ranks() > 1) {
    // All gradients but those in rows get a wire.
    auto const wire = ashlar::wires::bf16;
    auto const both = sync::encoded{wire}(net_problem, in_rows, m.machine());
    CHECK(both[0].parameters[0].in_rows);
    CHECK(both[0].parameters[0].wire.is_exact());
    CHECK(has_wires(both));
    CHECK(has_wires(
        sync::pinned(net_problem, in_rows, m.machine(), "linear.weight", sync::encoded{wire})));
    CHECK(sync::explain_wire(net_problem, in_rows, m.machine(), wire).find("values") ==
          std::string::npos);
    auto twice = both;
    twice.choices[0].parameters[0].wire = wire;
    CHECK(message_of([&] {
            nn::place<float>(net, m, twice);
          }).find("a gradient in rows is not encoded") != std::string::npos);
    auto const again = sync::rows{}(
        net_problem, sync::encoded{wire}(net_problem, plain, m.machine()), m.machine());
    CHECK(again[0].parameters[0].in_rows);
  }
  CHECK(message_of([&] {
          sync::optimal(net_problem, in_rows, m.machine());
        }).find("chooses strategies of gradients as tensors") != std::string::npos);
  auto wrong = in_rows;
  wrong.choices[2].parameters[0].in_rows = true;
  CHECK(message_of([&] {
          nn::place<float>(net, m, wrong);
        }).find("Only the gradients of embedding tables") != std::string::npos);
  auto model = nn::place<float>(net, m, in_rows, 7);
  CHECK(message_of([&] { train::trainer(model, train::adam_w{}); }).find("train::adam_w_rows") !=
        std::string::npos);
  CHECK(message_of([&] {
          train::trainer(model, train::sgd{.momentum = 0.5});
        }).find("momentum and weight decay change all rows") != std::string::npos);
}

}  // namespace ashlar_test
