// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 4 6

// Tests redistribution between static placements. Plan and values must equal those of a
// redistribution between the same placements at run time, and a redistribution back must restore
// the tensor. If the placement stays the same, the result must share the memory of the source.
// Impossible redistributions must give a clear error.

#include <sstream>
#include <tuple>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

using states = std::tuple<sbp<B, B>, sbp<S<0>, B>, sbp<S<0>, S<0>>, sbp<S<0, 1>, S<0, 0>>,
                          sbp<S<0>, S<1>>, sbp<B, S<1>>, sbp<P, S<1>>, sbp<S<1>, P>, sbp<P, P>>;

ashlar::mesh two_axes(ashlar::machine const& machine = ashlar::machines::workstation) {
  int const n = world_size();
  int const outer = n % 2 == 0 ? 2 : 1;
  return {MPI_COMM_WORLD, {{"node", outer}, {"gpu", n / outer}}, machine};
}

template <class Visit>
void for_each_state(Visit visit) {
  std::apply([&](auto... state) { (visit(state), ...); }, states{});
}

dense values(index extents) {
  std::mt19937 random(11);
  return random_integers(random, std::move(extents));
}

template <class From, class To>
void compare_paths(ashlar::mesh const& m, dense const& x, From, To to) {
  auto const source = placed<float, 2>(m, x, ashlar::value_of<From>);
  auto const typed_source = source.template as_static<From>();
  auto const a = plan_redistribution(source, ashlar::value_of<To>);
  auto const b = plan_redistribution(typed_source, to);
  CHECK(a.plan == b.plan);
  traffic_check traffic(m);
  auto const run_time = redistribute(source, ashlar::value_of<To>);
  CHECK(traffic.difference(predicted(m, a.plan)) == "");
  static_assert(std::same_as<decltype(run_time), ashlar::tensor<float, 2, ashlar::dynamic> const>);

  traffic.clear();
  auto const typed = redistribute(typed_source, to);
  CHECK(traffic.difference(predicted(m, b.plan)) == "");
  static_assert(
      std::same_as<decltype(typed), ashlar::tensor<float, 2, ashlar::canonical<To>> const>);
  CHECK(std::equal(typed.local_addends().begin(), typed.local_addends().end(),
                   run_time.local_addends().begin(), run_time.local_addends().end()));
  auto const back = counted_redistribute(typed, From{});
  CHECK(wrong_with(back, x) == "");
}

}  // namespace

TEST_CASE("typed and run-time redistribution run one plan and give the same values") {
  for (auto const& machine : {ashlar::machines::workstation, bandwidth_bound}) {
    auto const m = two_axes(machine);
    auto const x = values({world_size() + 1, 5});
    for_each_state(
        [&](auto from) { for_each_state([&](auto to) { compare_paths(m, x, from, to); }); });
  }
}

TEST_CASE("the pipe form is redistribute") {
  auto const m = two_axes();
  auto const x = values({7, 5});
  auto const y =
      placed<double, 2>(m, x, {ashlar::split(0), ashlar::partial()}).as_static<sbp<S<0>, P>>();
  traffic_check const traffic(m);
  auto const z = y | ashlar::to<B, S<1>>;
  CHECK(traffic.difference(predicted(m, plan_redistribution(y, sbp<B, S<1>>{}).plan)) == "");
  static_assert(std::same_as<decltype(z)::placement_type, sbp<B, S<1>>>);
  CHECK(wrong_with(z, x) == "");
  CHECK(to_full(y) == x.values);
}

TEST_CASE("if nothing moves, the shard is shared, and clone gives a new one") {
  auto const m = two_axes();
  auto const x = placed<float, 2>(m, values({4, 4}), {ashlar::split(0), ashlar::broadcast()})
                     .as_static<sbp<S<0>, B>>();
  ashlar::no_communication const forbidden(m);
  CHECK(redistribute(x, sbp<S<0>, B>{}).data() == x.data());
  CHECK(redistribute(x, sbp<S<0, 0>, B>{}).data() == x.data());
  CHECK(redistribute(x, x.placement()).data() == x.data());
  CHECK((x | ashlar::to<S<0>, B>).data() == x.data());
  CHECK(x.as_dynamic().data() == x.data());
  auto const copy = x.clone();
  CHECK(copy.data() != x.data());
  CHECK(wrong_with(copy, values({4, 4})) == "");
}

TEST_CASE("slices and pads communicate nothing") {
  auto const m = two_axes();
  auto const x = values({5, 6});
  auto const whole = placed<float, 2>(m, x, {ashlar::broadcast(), ashlar::broadcast()});
  ashlar::communication_log const log(m);
  for (auto const* text : {"S(0),S(1)", "P,P", "S(0),P", "S(0,1),S(0,0)"})
    CHECK(wrong_with(redistribute(whole, ashlar::parse_placement(text)), x) == "");
  CHECK(log.records().empty());
}

TEST_CASE("a source is not changed by its redistribution") {
  auto const m = two_axes(bandwidth_bound);
  auto const x = values({5, 6});
  for (auto const& p : all_placements(2, 2))
    for (auto const* text : {"B,B", "S(1),S(0)", "P,B"}) {
      auto const source = placed<float, 2>(m, x, p);
      std::vector<float> const before(source.local_addends().begin(), source.local_addends().end());
      auto const result = counted_redistribute(source, ashlar::parse_placement(text));
      CHECK(std::equal(before.begin(), before.end(), source.local_addends().begin()));
    }
}

TEST_CASE("placements that do not fit are refused before anything moves") {
  auto const m = two_axes();
  auto const x = placed<float, 2>(m, values({4, 4}), {ashlar::split(0), ashlar::broadcast()});
  ashlar::communication_log const log(m);
  using ashlar::broadcast, ashlar::split, ashlar::partial;
  for (auto const& [p, part] : std::vector<std::pair<placement, char const*>>{
           {{split(0)}, "wrong number of axes"},
           {{split(0), broadcast(), broadcast()}, "wrong number of axes"},
           {{split(2), broadcast()}, "split of a dimension the tensor does not have"},
           {{split(0, 1), broadcast()}, "shard depths"},
           {{split(0, 0), split(0, 0)}, "two axes have the same shard depth"},
           {{partial(), partial(ashlar::reduction::max)}, "two kinds of reduction"}}) {
    auto const& target = p;
    auto const message = message_of([&] { redistribute(x, target); });
    CHECK_MESSAGE(has(message, part), message);
    CHECK_MESSAGE(has(message, "tensor 4x4 [S(0),B]@node="), message);
    CHECK(message_of([&] { plan_redistribution(x, target); }) == message);
    CHECK(has(message_of([&] { ashlar::empty<float, 2>(m, {4, 4}, target); }), part));
  }
  CHECK(has(message_of([&] { redistribute(x, sbp<S<0>, B, B>{}); }), "wrong number of axes"));
  CHECK(has(message_of([&] { x.as_static<sbp<B, B>>(); }), "has placement [S(0),B], not [B,B]"));
  CHECK(log.records().empty());
}

TEST_CASE("a plan prints its steps, axes, bytes and seconds") {
  if (world_size() != 4) return;
  auto const m = two_axes();
  auto const x = placed<float, 2>(m, values({4, 4}), {ashlar::split(0), ashlar::split(1)});
  std::ostringstream out;
  out << plan_redistribution(x, ashlar::parse_placement("S(0),B"));
  CHECK_MESSAGE(has(out.str(), "all-gather along gpu: [S(0),S(1)] -> [S(0),B], 16 B"), out.str());
  CHECK_MESSAGE(has(out.str(), "@node=2,gpu=2"), out.str());
}

}  // namespace ashlar_test
