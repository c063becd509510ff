// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6 8

// Tests the checked mode. If ranks make different calls, every rank of the group must get the same
// error, which shows what each rank has called. This is tested with shared memory and with
// messages. Equal calls must give the same results and logs as without the checked mode.

#include <cstdlib>
#include <optional>
#include <utility>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/naive_placement.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/redistribute_async.hpp>
#include <ashlar/tensor/redistribute_encoded.hpp>

namespace ashlar_test {
namespace {

using ashlar::broadcast, ashlar::partial, ashlar::split;
using ashlar::placement;
constexpr transport transports[] = {transport::shared_memory, transport::messages};

/// Calls work(mesh, odd) on a checked mesh of one axis, on both transports. `odd` is true on the
/// last rank, whose calls should differ from the other ranks' calls. Expects that every rank gets
/// an error with the texts of both calls, `of_others` and `of_last`.
template <class Work>
void differ(std::string const& of_others, std::string const& of_last, Work work) {
  if (world_size() == 1) return;
  int const last = world_size() - 1;
  for (auto const on : transports) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    m.set_checked(true);
    auto const said = message_of([&] { work(m, m.rank() == last); });
    CAPTURE(said);
    auto const others = last == 1 ? "" : " and " + std::to_string(last - 1) + " more";
    CHECK(said == "mesh: the ranks are at different transfers. Rank 0" + others + ": " + of_others +
                      "; rank " + std::to_string(last) + ": " + of_last +
                      ". All ranks must make the same calls in the same order.");
  }
}

}  // namespace

TEST_CASE("the texts that ranks compare have the wire of an encoded step and its bytes") {
  if (world_size() == 1) return;
  auto const m = mesh_on(transport::messages, {{"gpu", world_size()}});
  auto const text_of = [&](ashlar::wire_format const& wire) {
    auto const plan = m.prepared({24, 2}, sizeof(float), ashlar::parse_placement("P"),
                                 ashlar::parse_placement("S(0)"), wire);
    return to_string(ashlar::title_of(plan->transfers[0], ashlar::element_type::u8), m.topology());
  };
  auto const text = [](char const* wire, int bytes) {
    return std::string("all-to-all along gpu of 24x2 bytes [P] -> [S(0)] as ") + wire + " in " +
           std::to_string(bytes) + " bytes";
  };
  CHECK(text_of(ashlar::wires::int8) == text("int8", 48 + 4 * world_size()));
  CHECK(text_of(ashlar::wires::bf16) == text("bf16", 96));
}

TEST_CASE("a move that runs beside others may have several steps along the same axes") {
  int found = 0;
  for (auto const& m : all_meshes()) {
    m.set_checked(true);
    auto const whole = ashlar::normal<double, 2>(m, {96, 64}, placement::all_broadcast(m.axes()));
    auto const values = ashlar::to_full(whole);
    for (auto const& from : all_placements(2, m.axes())) {
      auto const to = whole.placement();
      auto const steps =
          ashlar::plan_redistribution({96, 64}, 8, from, to, m.topology(), m.machine()).steps;
      bool again = false;
      for (int i = 0; i < steps.size(); ++i)
        for (int j = 0; j < i; ++j) again = again || steps[i].axes == steps[j].axes;
      if (!again) continue;
      auto const x = redistribute(whole, from);
      auto first = redistribute_async(x, to), second = redistribute_async(x, to);
      CHECK(ashlar::to_full(first.wait()) == values);
      CHECK(ashlar::to_full(second.wait()) == values);
      ++found;
    }
  }
  if (world_size() == 4) CHECK(found > 0);
}

TEST_CASE("equal calls: the same values and the same recorded transfers") {
  for (auto const& m : all_meshes()) {
    auto const x = ashlar::normal<float, 2>(m, {12, 10},
                                            placement::all_broadcast(m.axes()).with_split(0, 0));
    auto const run = [&](std::vector<std::string>& records) {
      ashlar::communication_log const log(m);
      auto const y = redistribute(x, placement::all_broadcast(m.axes()));
      auto const z = redistribute_async(y, x.placement()).wait();
      std::vector<float> sums{1, 2};
      m.all_reduce(std::span(sums));
      m.broadcast(std::span(sums), m.ranks() - 1);
      for (auto const& r : log.records()) records.push_back(std::string(to_string(r.kind)));
      auto all = ashlar::to_full(z);
      all.insert(all.end(), sums.begin(), sums.end());
      return all;
    };
    std::vector<std::string> plain, checked;
    auto const expected = run(plain);
    m.set_checked(true);
    CHECK(run(checked) == expected);
    CHECK(checked == plain);
  }
}

TEST_CASE("another placement, shape, element type or collective") {
  differ("all-gather along gpu of 8x6 float [S(0)] -> [B]",
         "all-to-all along gpu of 8x6 float [S(0)] -> [S(1)]", [](auto const& m, bool odd) {
           auto const x = ashlar::full<float>(m, {8, 6}, placement{split(0, 0)}, 1);
           redistribute(x, placement{odd ? split(1, 0) : broadcast()});
         });
  differ("all-gather along gpu of 8 float [S(0)] -> [B]",
         "all-gather along gpu of 9 float [S(0)] -> [B]", [](auto const& m, bool odd) {
           auto const x = ashlar::full<float, 1>(m, {odd ? 9 : 8}, placement{split(0, 0)}, 1);
           redistribute(x, placement{broadcast()});
         });
  differ("all-reduce along gpu of 8 float [P] -> [B]",
         "all-reduce along gpu of 8 double [P] -> [B]", [](auto const& m, bool odd) {
           auto const move = [&](auto value) {
             redistribute(ashlar::full<decltype(value)>(m, {8}, placement{partial()}, value),
                          placement{broadcast()});
           };
           if (odd) move(1.0);
           else move(1.0f);
         });
  differ("all-reduce along gpu of 2 double sum", "all-reduce along gpu of 2 double max",
         [](auto const& m, bool odd) {
           std::vector<double> values(2);
           m.all_reduce(std::span(values), odd ? ashlar::reduction::max : ashlar::reduction::sum);
         });
  differ("broadcast along gpu of 3 int32 of member 0", "broadcast along gpu of 3 int32 of member 1",
         [](auto const& m, bool odd) {
           std::vector<std::int32_t> values(3);
           m.broadcast(std::span(values), odd ? 1 : 0);
         });
}

TEST_CASE("a call that one rank makes twice, and one in the background") {
  differ("all-reduce along gpu of 1 double sum", "all-gather along gpu of 8 float [S(0)] -> [B]",
         [](auto const& m, bool odd) {
           auto const x = ashlar::full<float>(m, {8}, placement{split(0, 0)}, 1);
           redistribute(x, placement{broadcast()});
           if (odd) redistribute(x, placement{broadcast()});
           std::vector<double> one(1);
           m.all_reduce(std::span(one));
         });
  differ("all-gather along gpu of 8 float [S(0)] -> [B]",
         "all-reduce along gpu of 8 float [P] -> [B]", [](auto const& m, bool odd) {
           auto const x = ashlar::full<float>(m, {8}, placement{odd ? partial() : split(0, 0)}, 1);
           redistribute_async(x, placement{broadcast()}).wait();
         });
}

TEST_CASE("full values that differ between ranks") {
  if (world_size() == 1) return;
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  std::vector<float> values(6, 1);
  if (m.rank() == m.ranks() - 1) values[5] = 2;
  auto const make = [&] {
    return ashlar::from_full<2>(m, {2, 3}, placement{split(1, 0)}, std::span(values));
  };
  make();  // without the checked mode, nothing is compared
  m.set_checked(true);
  CHECK(has(message_of(make), "from_full: the ranks pass different values: rank "));
  // If one rank passes too few values, no other rank waits for it.
  if (m.rank() == m.ranks() - 1) values.pop_back();
  CHECK(has(message_of(make), "from_full: the ranks pass different values: rank "));
}

TEST_CASE("the environment variable switches it on for all ranks") {
  CHECK_FALSE(ashlar::mesh(MPI_COMM_WORLD, {{"gpu", world_size()}}).is_checked());
  if (world_rank() == 0) ::setenv("ASHLAR_CHECK", "on", 1);  // the variable is set on one rank only
  CHECK(ashlar::mesh(MPI_COMM_WORLD, {{"gpu", world_size()}}).is_checked());
  ::setenv("ASHLAR_CHECK", "yes", 1);
  CHECK(message_of([] {
          ashlar::mesh(MPI_COMM_WORLD, {{"gpu", world_size()}});
        }) == "mesh: on rank 0: ASHLAR_CHECK is \"yes\". Give on or off.");
  ::unsetenv("ASHLAR_CHECK");
}

TEST_CASE("a wrong variable on one rank is an error on every rank") {
  int const last = world_size() - 1;
  for (auto const& [name, said] :
       {std::pair{"ASHLAR_CHECK", "ASHLAR_CHECK is \"no\". Give on or off."},
        std::pair{"ASHLAR_TIMEOUT", "ASHLAR_TIMEOUT is 'no'. Give seconds from "}}) {
    if (world_rank() == last) ::setenv(name, "no", 1);
    auto const text = message_of([] { ashlar::mesh(MPI_COMM_WORLD, {{"gpu", world_size()}}); });
    if (world_rank() == last) ::unsetenv(name);
    CHECK(has(text, "mesh: on rank " + std::to_string(last) + ": " + said));
  }
}

TEST_CASE("a log on one rank changes nothing of what the ranks compare") {
  if (world_size() == 1) return;
  for (auto const on : transports) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    m.set_checked(true);
    std::optional<ashlar::communication_log> log;
    if (m.rank() == 0) log.emplace(m);
    CHECK_NOTHROW(m.require_agreement(7, "mesh", "the ranks give different numbers"));
    auto const value = static_cast<std::uint64_t>(m.rank() == 0 ? 7 : 8);
    CHECK(has(message_of([&] { m.require_agreement(value, "mesh", "different numbers"); }),
              "different numbers: rank 1 has another one than rank 0."));
    std::vector<float> one(1, 1);
    m.all_reduce(std::span(one));
    CHECK(one[0] == static_cast<float>(world_size()));
  }
}

}  // namespace ashlar_test
