// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests the wires of plan/wire.hpp:
//
// - the error of each wire is at most that of its stated contraction, for blocks of many lengths,
// - redistributions have the values of a reference that encodes every addend by itself, and
//   predicted bytes, recorded bytes and the bytes of MPI calls are equal, on both transports,
// - with error feedback, what was sent is the sum of the gradients minus the last error,
// - the losses of training with a wire are near those of training without one, and the bytes and
//   the memory are as predicted, under several strategies; training with a wire has the same bits
//   on both transports and with overlap,
// - a NaN in a gradient gives an error on every rank.

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/spoiled.hpp>
#include <support/tiny_gpt.hpp>
#include <support/traffic_check.hpp>
#include <support/training_trial.hpp>

#include <ashlar/nn/gpt.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/step/high_water.hpp>
#include <ashlar/sync/encoded.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/named.hpp>
#include <ashlar/tensor/from_local.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute_encoded.hpp>

namespace ashlar_test {
namespace {

namespace host = ashlar::device::host;
namespace nn = ashlar::nn;
namespace sync = ashlar::sync;
namespace train = ashlar::train;
namespace wires = ashlar::wires;
using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::wire_format;

/// The wires that encode blocks of elements. Below, `all_wires` also has power_sgd.
std::vector<wire_format> const block_wires{wires::bf16,    wires::half,     wires::int8,
                                           wires::one_bit, wires::top_k(1), wires::top_k(7)};
std::vector<wire_format> const all_wires = [] {
  auto all = block_wires;
  all.push_back(wires::power_sgd(1));
  return all;
}();

static_assert(wires::bf16.bytes(3) == 6 && wires::half.bytes(0) == 0);
static_assert(wires::int8.bytes(256) == 260 && wires::int8.bytes(257) == 265);
static_assert(wires::one_bit.bytes(8) == 5 && wires::one_bit.bytes(9) == 6);
static_assert(wires::top_k(100).bytes(100) == 8 && wires::top_k(100).bytes(101) == 16);
static_assert(wires::exact.is_linear() && !wires::bf16.is_linear());

using floats = std::vector<float>;

/// Returns C(x), the elements that the receiver of x decodes.
floats decoded(wire_format const& wire, floats const& x) {
  auto const n = static_cast<std::int64_t>(x.size());
  floats room(x.size()), y(x.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(wire.bytes(n)));
  host::encode(wire, x.data(), n, room.data(), bytes.data());
  host::decode(wire, bytes.data(), n, host::decoded::stored, y.data());
  return y;
}

double square(floats const& x) {
  double sum = 0;
  for (auto const v : x) sum += double(v) * double(v);
  return sum;
}

/// Returns the addend of a rank: normal deviates, each times a random power of two from 2^-10 to
/// 2^10.
floats addend_of(int rank, std::size_t n, unsigned seed = 0) {
  std::mt19937 random(1000 * seed + static_cast<unsigned>(rank));
  std::normal_distribution<float> normal;
  floats x(n);
  for (auto& v : x) v = normal(random) * std::exp2(float(random() % 21) - 10.0f);
  return x;
}

/// Returns which rows of a matrix with `rows` rows belong to a rank.
ashlar::interval rows_of(std::int64_t rows, int rank) {
  return ashlar::balanced_part({0, rows}, world_size(), rank);
}
floats part(floats const& x, ashlar::interval const& rows, std::int64_t columns) {
  return {x.begin() + rows.begin * columns, x.begin() + rows.end() * columns};
}

template <class Placement>
auto tensor_of(ashlar::mesh const& m, ashlar::shape const& extents, floats const& local) {
  return ashlar::from_local<2>(m, extents, Placement{}, local);
}

bool same_bits(floats const& a, floats const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

template <class Plan>
std::vector<double> losses(ashlar::mesh const& m, Plan const& plan, train::overlap how,
                           int steps = 4) {
  auto model = nn::place<float>(tiny_gpt, m, plan, 7);
  train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.clip = 1, .overlap = how});
  std::vector<double> all;
  for (int step = 0; step < steps; ++step)
    all.push_back(trainer.step(tiny_batch(static_cast<unsigned>(step % 3))).loss);
  return all;
}

}  // namespace

TEST_CASE("every wire is the contraction that it states") {
  for (auto const& wire : block_wires)
    for (std::int64_t const n : {1, 2, 7, 8, 9, 255, 256, 257, 600}) {
      auto const x = addend_of(0, static_cast<std::size_t>(n), static_cast<unsigned>(n));
      auto const y = decoded(wire, x);
      floats error(x.size());
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        error[i] = x[i] - y[i];
        sum += std::abs(double(x[i]));
      }
      CAPTURE(to_string(wire));
      CAPTURE(n);
      CHECK(square(error) <= (1 - wire.contraction(n)) * square(x) * (1 + 1e-6));
      if (wire.kind == ashlar::wire_kind::one_bit)
        CHECK(square(error) / square(x) ==
              doctest::Approx(1 - sum * sum / (double(n) * square(x))).epsilon(1e-4));
      CHECK(decoded(wire, floats(x.size())) == floats(x.size()));  // zeros stay zeros
    }
  CHECK(decoded(wires::top_k(1), {3, -1, 2}) == floats{3, -1, 2});
  CHECK(decoded(wires::top_k(2), {1, -4, 1, 1}) == floats{1, -4, 0, 0});
  CHECK(decoded(wires::int8, {127, -2.4f, 0.6f}) == floats{127, -2, 1});
  CHECK(decoded(wires::half, {1e5f, 1, 0x1p-24f}) ==
        floats{std::numeric_limits<float>::infinity(), 1, 0x1p-24f});
  for (auto const& wire : all_wires) {
    auto const again = ashlar::parse_wire(to_string(wires::with_feedback(wire)));
    CHECK((again.is_valid && again.wire == wires::with_feedback(wire)));
    auto const average = ashlar::parse_wire(to_string(wires::with_momentum(wire)));
    CHECK((average.is_valid && average.wire == wires::with_momentum(wire)));
  }
  for (auto const* bad : {"", "int9", "top-k/0", "top-k/2x", "power-sgd/0", "exact+feedback",
                          "exact+momentum", "int8+momentum+feedback"})
    CHECK(!ashlar::parse_wire(bad).is_valid);
}

TEST_CASE("every addend is encoded once, and its owner sums the decoded addends") {
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    int const p = world_size(), me = world_rank();
    for (std::int64_t const rows : {1, 4, 5, 300})
      for (auto const& wire : block_wires) {
        if (rows == 1 && p > 2) continue;  // the plan sums by columns, then moves to rows
        std::int64_t const columns = 9;
        auto const n = static_cast<std::size_t>(rows * columns);
        auto const mine = rows_of(rows, me);
        floats expected;
        for (int r = 0; r < p; ++r) {
          auto addend = part(addend_of(r, n), mine, columns);
          if (p > 1) addend = decoded(wire, addend);  // one rank alone sends nothing
          if (r == 0) expected = addend;
          else
            for (std::size_t i = 0; i < addend.size(); ++i) expected[i] += addend[i];
        }
        auto const x = tensor_of<sbp<P>>(m, {rows, columns}, addend_of(me, n)).as_dynamic();
        auto const to = ashlar::value_of<sbp<S<0>>>;
        traffic_check check(m, on);
        auto const y = redistribute(x, to, wire);
        auto const plan = plan_redistribution(x, to, wire).plan;
        CAPTURE(to_string(wire));
        CHECK(check.difference(predicted(m, plan)) == "");
        CHECK(same_bits({y.data(), y.data() + y.local_elements()}, expected));
        if (p > 1 && rows == 300)
          CHECK(plan.received_bytes(m.topology(), m.coordinate()) ==
                (p - 1) * wire.bytes(mine.size * columns));

        // The sum of all parts, encoded again, is the same on all ranks.
        check.clear();
        auto const back = redistribute(y, ashlar::value_of<sbp<B>>, wire);
        CHECK(check.difference(
                  predicted(m, plan_redistribution(y, ashlar::value_of<sbp<B>>, wire).plan)) == "");
        floats const found(back.data(), back.data() + back.local_elements());
        auto const kept = part(found, mine, columns);
        CHECK(same_bits(kept, p > 1 ? decoded(wire, expected) : expected));
        CHECK(same_bits(found, to_full(redistribute(back, to))));

        // From P to B, the plan sums along the dim that it can split most evenly. This need not be
        // the rows, so `expected` does not apply. The result is that of two redistributions.
        auto const whole = ashlar::value_of<sbp<B>>;
        auto const sum = to_full(redistribute(x, whole, wire));
        if (p == 1) {
          CHECK(same_bits(sum, addend_of(me, n)));
          continue;
        }
        auto const direct = plan_redistribution(x, whole, wire).plan;
        REQUIRE(direct.steps.size() == 2);
        auto const between = direct.steps[0].to;
        CHECK(between[0].is_split());
        CHECK(same_bits(sum, to_full(redistribute(redistribute(x, between, wire), whole, wire))));
      }
  }
}

TEST_CASE("a step with a wire that encodes blocks needs the memory that its plan says") {
  int const p = world_size();
  if (p == 1) return;
  std::int64_t const block = 64 * 64;  // elements
  ashlar::shape const extents{64 * p, 64};
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"gpu", p}});
    floats const addend(static_cast<std::size_t>(p * block), 1.5f);
    floats const shard(static_cast<std::size_t>(block), 1.5f);
    for (auto const& wire : {wires::int8, wires::top_k(7)})
      for (bool const gathers : {false, true}) {
        auto const x = gathers ? tensor_of<sbp<S<0>>>(m, extents, shard).as_dynamic()
                               : tensor_of<sbp<P>>(m, extents, addend).as_dynamic();
        auto const to = gathers ? ashlar::value_of<sbp<B>> : ashlar::value_of<sbp<S<0>>>;
        redistribute(x, to, wire);
        m.memory().reset_peak();
        auto const before = m.memory().bytes_in_use();
        auto const y = redistribute(x, to, wire);
        auto const taken = static_cast<std::int64_t>(m.memory().peak_bytes() - before);
        auto const most = encoded_moving_bytes(plan_redistribution(x, to, wire).plan, m.topology());
        // The arena rounds encoded blocks up by at most an eighth, and empty buffers to 512 bytes.
        std::int64_t const rounding = wire.bytes(block) * (gathers ? p + 1 : 2 * p) / 8 + 1024;
        CAPTURE(std::string(to_string(on)) + " " + to_string(wire));
        CAPTURE(gathers);
        CHECK(rounding < wire.bytes(block) * (gathers ? 1 : p));
        CHECK(taken <= most + rounding);
        if (on == transport::messages) CHECK(taken >= most);
      }
  }
}

TEST_CASE("a redistribution refuses a wire with momentum, which only trainers have") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 2>(m, seeded_integers({6, 4}), ashlar::value_of<sbp<P>>);
  auto const wire = wires::with_momentum(wires::int8);
  ashlar::wire_errors errors;
  auto const said = "tensor 6x4 [P]@gpu=" + std::to_string(world_size()) +
                    " as int8+momentum: only a trainer averages gradients.";
  CHECK(
      has(message_of([&] { redistribute(x, ashlar::value_of<sbp<S<0>>>, wire, &errors); }), said));
  CHECK(has(message_of([&] { plan_redistribution(x, ashlar::value_of<sbp<S<0>>>, wire); }), said));
}

TEST_CASE("wires on meshes of several axes move what their plans predict") {
  for (auto const& m : all_meshes()) {
    if (m.axes() != 2) continue;
    auto const values = seeded_integers({7, 10});
    auto const x = placed<float, 2>(m, values, ashlar::value_of<sbp<P, P>>);
    auto const wire = wires::top_k(1);  // this wire sends all elements, so it is exact
    for (auto const* to : {"[S(0),S(0)]", "[B,S(1)]", "[B,B]", "[O(0),S(1)]"}) {
      auto const target = ashlar::parse_placement(to);
      traffic_check check(m);
      auto const y = redistribute(x, target, wire);
      CAPTURE(to);
      CHECK(check.difference(predicted(m, plan_redistribution(x, target, wire).plan)) == "");
      CHECK(wrong_with(y, values) == "");
    }
  }
}

TEST_CASE("typed redistributions have wires, and errors if they are given") {
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const x = tensor_of<sbp<P>>(m, {40, 3}, addend_of(world_rank(), 120));
  auto const half = redistribute(x, sbp<S<0>>{}, sync::wire<sync::half>{});
  static_assert(std::same_as<decltype(half), ashlar::tensor<float, 2, sbp<S<0>>> const>);
  auto const whole = redistribute(half, sbp<B>{}, sync::wire<sync::top_k<1>>{});
  CHECK(same_bits(to_full(half), to_full(whole)));

  // Over all steps, the sum of what arrived is the sum of the gradients of all ranks minus their
  // last errors.
  for (int which = 0; which < 2; ++which) {
    ashlar::wire_errors errors;
    std::vector<double> sent(120), made(120);
    for (unsigned step = 0; step < 6; ++step) {
      auto const g = tensor_of<sbp<P>>(m, {40, 3}, addend_of(world_rank(), 120, step));
      auto const got = to_full(
          which == 0 ? redistribute(g, sbp<S<0>>{}, sync::wire<sync::one_bit>{}, errors)
                     : redistribute(g, sbp<S<0>>{}, sync::wire<sync::top_k<9>>{}, errors));
      auto const exact = to_full(g);
      for (std::size_t i = 0; i < 120; ++i) sent[i] += double(got[i]), made[i] += double(exact[i]);
    }
    // The errors are in the order of the rows, since the parts of the ranks follow one another.
    auto last = errors.step(0);
    last.resize(120);
    auto const left = to_full(tensor_of<sbp<P>>(m, {40, 3}, last));
    double largest = 0;
    for (std::size_t i = 0; i < 120; ++i) {
      CHECK(std::abs(sent[i] - (made[i] - double(left[i]))) < 1e-2);
      largest = std::max(largest, std::abs(double(left[i])));
    }
    if (world_size() > 1) CHECK(largest > 1);  // the errors are not negligible
  }
}

TEST_CASE("a NaN arrives as a NaN, and leaves the errors as they were") {
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  for (auto const& plain : all_wires)
    for (float const bad :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      auto const wire = wires::with_feedback(plain);
      ashlar::wire_errors errors;
      auto values = addend_of(world_rank(), 120);
      auto const run = [&] {
        auto const x = tensor_of<sbp<P>>(m, {40, 3}, values).as_dynamic();
        return to_full(redistribute(x, ashlar::value_of<sbp<B>>, wire, &errors));
      };
      run();
      auto const first = errors.step(0), second = errors.step(1);
      if (world_rank() == world_size() - 1) values[50] = bad;
      bool finite = true;
      for (auto const v : run()) finite = finite && std::isfinite(v);
      CHECK(!finite);
      for (std::size_t const step : {0u, 1u})
        for (auto const v : errors.step(step)) CHECK(std::isfinite(v));
      CAPTURE(to_string(wire));
      CHECK(errors.step(0).size() == first.size());
      if (world_size() == 1 || wire.is_factored()) {
        CHECK(errors.step(0) == first);
        CHECK(errors.step(1) == second);
        continue;
      }
      // Only the errors of a block with the bad value must stay as they were. In the first step,
      // this is one block of the last rank. In the second step, it is the sum that the owner of
      // this block encodes.
      auto const x = tensor_of<sbp<P>>(m, {40, 3}, values).as_dynamic();
      auto const owned = plan_redistribution(x, ashlar::value_of<sbp<B>>, wire).plan.steps[0].to;
      std::int64_t begin = 0;
      for (int r = 0; r < world_size(); ++r) {
        auto const own = local_box({40, 3}, m.topology(), owned, m.topology().coordinates_of(r));
        auto const end = begin + own.elements();
        bool const is_bad = own[0].begin <= 16 && 16 < own[0].end() && own[1].begin <= 2 &&
                            2 < own[1].end();  // element 50 is in row 16 and column 2
        if (is_bad && world_rank() == world_size() - 1)
          CHECK(std::equal(first.begin() + begin, first.begin() + end,
                           errors.step(0).begin() + begin));
        if (is_bad && world_rank() == r) CHECK(errors.step(1) == second);
        begin = end;
      }
      CHECK(begin == 120);
    }
  auto const x = tensor_of<sbp<P>>(m, {40, 3}, addend_of(world_rank(), 120)).as_dynamic();
  CHECK(has(message_of([&] {
              redistribute(x, ashlar::value_of<sbp<B>>, wires::with_feedback(wires::int8));
            }),
            "the wire int8+feedback has error feedback. Pass a wire_errors"));
}

TEST_CASE("training with a wire follows the losses without one, with the planned bytes") {
  struct wired_case {
    wire_format wire;
    double tolerance;
  };
  std::vector<wired_case> const cases{{wires::bf16, 2e-2},
                                      {wires::half, 2e-3},
                                      {wires::with_feedback(wires::int8), 5e-2},
                                      {wires::with_feedback(wires::one_bit), 0.4},
                                      {wires::with_feedback(wires::top_k(4)), 0.4},
                                      {wires::with_feedback(wires::power_sgd(1)), 0.4}};
  auto const& net = tiny_problem();
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"node", 1}, {"gpu", world_size()}}, slow_messages);
    auto const plain = search::data_parallel(net, m.topology(), m.machine());
    for (auto const* const name : {"all-reduce", "zero1", "zero3", "owners"}) {
      auto const exact = sync::named(name, net, plain, m.machine());
      auto const expected = losses(m, exact, train::overlap::none);
      for (auto const& it : cases) {
        auto const plan = sync::encoded{it.wire}(net, exact, m.machine());
        CAPTURE(std::string(name) + " " + to_string(it.wire));
        CHECK(has_wires(plan) == (world_size() > 1));
        auto const found = losses(m, plan, train::overlap::none);
        for (std::size_t k = 0; k < found.size(); ++k)
          CHECK(std::abs(found[k] - expected[k]) < it.tolerance);
        if (world_size() > 1) CHECK(found != expected);
        CHECK(losses(m, plan, train::overlap::as_planned) == found);

        auto model = nn::place<float>(tiny_gpt, m, plan, 7);
        train::trainer trainer(model, train::adam_w{.lr = 0.01}, {.overlap = train::overlap::none});
        CHECK(search::high_water(trainer.program()).peak == plan.memory);
        traffic_check const check(m, on);
        trainer.step(tiny_batch(0));
        CHECK(check.difference(expected_records(net, plan, m)) == "");
      }
    }
  }
}

TEST_CASE("both transports and buckets give the same bits") {
  auto const& net = tiny_problem();
  auto const wire = wires::with_feedback(wires::int8);
  std::vector<std::vector<double>> found;
  for (auto const on : {transport::messages, transport::shared_memory}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}}, slow_messages);
    auto const plan = sync::encoded{wire}(
        net, search::data_parallel(net, m.topology(), m.machine()), m.machine());
    auto model = nn::place<float>(tiny_gpt, m, plan, 7);
    train::trainer const trainer(model, train::adam_w{});
    int buckets = 0;
    for (auto const& move : trainer.program().moves)
      buckets += move.phase == search::phase::synchronize && move.bucket >= 0;
    if (world_size() > 1) CHECK(buckets > 0);
    for (auto const how : {train::overlap::none, train::overlap::as_planned})
      found.push_back(losses(m, plan, how));
  }
  for (auto const& it : found) CHECK(it == found[0]);
}

TEST_CASE("the stages of a pipeline send encoded gradients") {
  if (world_size() != 4) return;
  auto const& net = tiny_problem();
  ashlar::topology const whole{{"stage", 2}, {"gpu", 2}};
  ashlar::mesh const m(MPI_COMM_WORLD, whole, ashlar::machines::workstation);
  auto const plain = search::data_parallel(net, search::stage_mesh(whole, 0, 2), m.machine());
  auto const trained = [&](search::plan const& p) {
    return losses(m, in_tiny_stages(net, p, m.machine()), train::overlap::none);
  };
  auto const expected = trained(plain);
  for (auto const& wire : {wires::bf16, wires::with_feedback(wires::int8)}) {
    auto const found = trained(sync::encoded{wire}(net, plain, m.machine()));
    CHECK(found != expected);
    for (std::size_t k = 0; k < found.size(); ++k) CHECK(std::abs(found[k] - expected[k]) < 5e-2);
  }
}

TEST_CASE("a NaN in an encoded gradient is one sentence on every rank") {
  if (world_size() == 1) return;
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const& net = tiny_problem();
  for (auto const& wire : all_wires) {
    auto const plan = sync::encoded{wires::with_feedback(wire)}(
        net, search::data_parallel(net, m.topology(), m.machine()), m.machine());
    auto model = nn::place<float>(tiny_gpt, m, plan, 7);
    train::trainer trainer(model, train::adam_w{.lr = 0.01});
    trainer.step(tiny_batch(0));
    spoil(model);
    auto const text = message_of([&] { trainer.step(tiny_batch(1)); });
    CHECK(has(text, "the gradient norm"));
    CHECK(has(text, "Gradients are sent as " + to_string(wires::with_feedback(wire))));
  }
}

TEST_CASE("wires are declined where they do not pay, and refused where they cannot work") {
  auto const& net = tiny_problem();
  ashlar::topology const mesh{{"gpu", 4}};
  ashlar::machine const slow_links{{1e-6, 1e-7}, {1e-6, 1e-7}, 1e11, 1e10, 0};
  auto const wire = wires::with_feedback(wires::int8);
  for (bool const pays : {false, true}) {
    auto const& machine = pays ? slow_links : slow_messages;
    auto const plain = search::data_parallel(net, mesh, machine);
    auto const plan = sync::encoded{wire, sync::wired::where_it_pays}(net, plain, machine);
    CHECK(has_wires(plan) == pays);
    CHECK((pays ? plan.seconds < plain.seconds : plan.seconds == plain.seconds));
    auto const all = sync::encoded{wire}(net, plain, machine);
    CHECK(all.seconds >= plan.seconds);
    CHECK(all.memory > plain.memory);
    auto const text = sync::explain_wire(net, plain, machine, wire);
    CHECK(has(text, pays ? "saves " : "does not pay by "));
    CHECK((pays || !has(text, "saves ")));
    CHECK(has(sync::explain(net, all, machine), "all-reduce, int8+feedback"));
    CHECK(has(message_of([&] { sync::optimal(net, all, machine); }),
              "chooses the wires of gradients itself"));
    CHECK(!has_wires(sync::encoded{wires::exact}(net, all, machine)));
  }
  auto const doubles = any_length(nn::describe<double>(tiny_gpt, tiny_tokens));
  auto const plain = search::data_parallel(doubles, mesh, slow_links);
  CHECK(has(message_of([&] { sync::encoded{wires::bf16}(doubles, plain, slow_links); }),
            "bf16: a wire carries gradients of float only"));
}

}  // namespace ashlar_test
