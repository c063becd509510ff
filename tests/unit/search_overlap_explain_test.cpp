// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests what the library reports about the overlap of communication and computation. The seconds of
// all elements must add up to those of the timeline. The report and the page of a plan must show
// these seconds. A search that ends early must have a plan and a valid lower bound.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/relative.hpp>

#include <ashlar/io/plan_page.hpp>
#include <ashlar/search/algorithms.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/explain.hpp>

#include "search_nets.hpp"

namespace ashlar_test {
namespace {

/// Returns a net of equal blocks with four micro-batches, of which two at a time take turns.
search::problem turns_net() {
  auto net = block_net(3, {8, 16}, 32);
  net.micro_batches = 4;
  net.interleaved = 2;
  net.overlap = true;
  return net;
}
ashlar::topology const mesh{{"node", 2, ashlar::link_tier::inter_node}, {"gpu", 2}};

/// Returns a machine on which moves take about as long as computations.
ashlar::machine even_machine() {
  ashlar::machine m;
  m.intra = {1e-6, 1e-9};
  m.inter = {2e-6, 3e-9};
  m.flops = 1e10;
  return m;
}

search::plan some_plan(search::problem net, ashlar::machine const& m) {
  net.overlap = false;
  return tensor_parallel(net, mesh, m);
}

}  // namespace

TEST_CASE("the seconds of all elements add up to those of the timeline") {
  auto const m = even_machine();
  auto const net = turns_net();
  auto const plan = some_plan(net, m);
  auto const b = overlap_of(net, plan, m);
  CHECK(b.turns == 2);
  CHECK(b.seconds() < b.serial);
  CHECK(b.seconds() == relative(b.when.work + b.when.exposed));
  CHECK(b.when.hidden() > 0);
  CHECK(b.when.exposed > 0);
  search::element_time sum, of_lines;
  for (auto const& e : b.when.elements) {
    CHECK(e.exposed <= e.communication * (1 + 1e-9));
    sum.work += e.work;
    sum.communication += e.communication;
    sum.exposed += e.exposed;
  }
  auto const o = outline_of(net, plan, breakdown(net, plan, m), m);
  auto const lines = overlap_lines(b, o.folds);
  CHECK(static_cast<int>(lines.size()) < net.size());
  for (auto const& line : lines) {
    CHECK(line.time.hidden() >= 0);
    of_lines.work += line.time.work;
    of_lines.communication += line.time.communication;
    of_lines.exposed += line.time.exposed;
  }
  for (auto const& all : {sum, of_lines}) {
    CHECK(all.work == relative(b.when.work));
    CHECK(all.communication == relative(b.when.communication));
    CHECK(all.exposed == relative(b.when.exposed));
  }
}

TEST_CASE("transfers of a timeline share their link one after the other, and fill its busy time") {
  auto const m = even_machine();
  auto const net = turns_net();
  auto const b = overlap_of(net, some_plan(net, m), m);
  double free[2]{}, busy[2]{};
  for (auto const& t : b.when.transfers) {
    auto const tier = static_cast<std::size_t>(t.tier);
    CHECK(t.start >= free[tier]);
    if (t.before >= 0) CHECK(t.start == b.when.transfers[static_cast<std::size_t>(t.before)].end);
    free[tier] = t.end;
    busy[tier] += t.end - t.start;
  }
  for (std::size_t tier : {0u, 1u}) {
    CHECK(busy[tier] > 0);
    CHECK(busy[tier] == relative(b.when.busy[tier]));
  }
}

TEST_CASE("explain says what is hidden and exposed, if the problem asks for overlap") {
  auto const m = even_machine();
  auto net = turns_net();
  auto const plan = some_plan(net, m);
  auto const b = overlap_of(net, plan, m);
  auto const text = explain(net, plan, m).text;
  CHECK(has(text, ashlar::seconds_text(b.seconds()) +
                      " a step of 4 micro-batches, of which 2 take turns\n"));
  CHECK(has(text, ashlar::seconds_text(b.when.hidden()) + " is hidden beside computations and " +
                      ashlar::seconds_text(b.when.exposed) + " exposed\n"));
  CHECK(has(text, ashlar::seconds_text(b.serial) + " if nothing overlaps"));
  CHECK(occurrences(text, "seconds beside computations (hidden) and waited for (exposed)") == 1);
  for (std::size_t at = 0, next = 0; at < text.size(); at = next + 1) {
    next = std::min(text.find('\n', at), text.size());
    CHECK(next - at <= 100);
  }
  net.interleaved = 0;  // as if the search had chosen the plan's number of turns
  CHECK(explain(net, plan, m).text == text);
  net.interleaved = 2;
  net.overlap = false;
  CHECK_FALSE(has(explain(net, plan, m).text, "exposed"));
}

TEST_CASE("the page of a plan has a row for each resource and colours for each phase") {
  auto const m = even_machine();
  auto const net = turns_net();
  auto const plan = some_plan(net, m);
  auto const text = ashlar::io::plan_page_text(net, plan, m);
  for (auto const* row : {">work</text>", ">inside a node<", ">between nodes<"})
    CHECK(occurrences(text, row) == 1);
  for (auto const* kind : {"<rect class='fw'", "<rect class='fw c2'", "<rect class='bw'",
                           "<rect class='bw c2'", "<rect class='sy'"})
    CHECK(occurrences(text, kind) > 0);
  CHECK(has(text, "2 of the step's micro-batches, which take turns: "));
  CHECK(has(text, "What overlaps"));
  auto const b = overlap_of(net, plan, m);
  CHECK(has(text, "<b>" + ashlar::seconds_text(b.when.exposed) + "</b>"));
  auto serial = net;
  serial.overlap = false;
  CHECK_FALSE(has(ashlar::io::plan_page_text(serial, plan, m), "What overlaps"));
}

TEST_CASE("a search of the overlapped time that ends early has a plan and a lower bound") {
  auto const m = even_machine();
  auto net = turns_net();
  net.interleaved = 0;
  int better = 0;
  auto const whole = search::exact(net, mesh, m,
                                   {.on_progress = [&](search::progress const&) { ++better; }});
  CHECK(whole.how == search::ending::finished);
  CHECK(better > 0);
  auto const few = search::exact(net, mesh, m, {.evaluations = 1});
  CHECK(few.how == search::ending::out_of_budget);
  CHECK(few.evaluations == 1);
  auto const brief = search::exact(net, mesh, m, {.seconds = 1e-9});
  CHECK(brief.how == search::ending::out_of_budget);
  auto const lazy = search::optimal(net, mesh, m, search::any_choice{}, {.labels = 1});
  for (auto const& found : {few.plan, brief.plan, lazy}) {
    CHECK(found.size() == net.size());
    CHECK(found.seconds >= whole.plan.seconds * (1 - 1e-9));
    CHECK(found.seconds * (1 - found.gap) <= whole.plan.seconds * (1 + 1e-9));
    CHECK(found.gap >= whole.gap * (1 - 1e-9));
  }
  std::stop_source stop;
  stop.request_stop();
  CHECK_THROWS_WITH_AS(search::exact(net, mesh, m, {.cancel = stop.get_token()}),
                       doctest::Contains("cancelled after 0 evaluations"), ashlar::error);
}

}  // namespace ashlar_test
