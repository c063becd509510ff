// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs pipeline schedules on simulated clusters, and compares the seconds of a step with the
// timeline of the schedule (step/pipeline/replay.hpp). The two times must agree within 3 %. The
// timeline of eager-1F1B must reach the lower bound if a transfer takes at most half of the time F
// + B of a forward and a backward pass. If transfers take no time, the timelines must have the
// bubbles that closed formulas give.
//
// On a machine without the prefix "pairs:", a node's transfers to its two neighbours share a link,
// whereas the timeline assumes a link for each. Two equal transfers at the same time then take at
// most twice as long. So on such a machine, a step may take as long as a timeline in which every
// transfer takes twice as long. Sends wait for their receives, so a wrong order of messages
// deadlocks.
//
// The extent of the mesh's first axis is the number of positions of the pipeline. The timeline has
// a separate link between every two neighbours, as a machine pairs:NAME has. The arguments after
// mesh and machine are:
//
// - numbers of micro-batches
// - ratios of the seconds of a transfer to the seconds of all passes of a position for a
//   micro-batch
// - the schedules (search/schedule_choice.hpp); without this argument, all possible schedules run
//
// run: stage=4 pairs:bandwidth 8 0.25,0.5
// thorough: stage=2 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75
// thorough: part=4 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75
// thorough: stage=8 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75 1f1b,eager,gpipe,zb_h1
// thorough: part=8 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75 searched,zb_h2,delayed
// thorough: position=8 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75 interleaved,zb_v,dual_pipe_v
// thorough: node=32,gpu=8 bandwidth 32 0.25 1f1b,eager,gpipe,searched
// thorough: stage=32:inter,gpu=8 bandwidth 32 0.25 interleaved
// thorough: part=32:inter,gpu=8 bandwidth 32 0.25 zb_h1,zb_h2,delayed
// thorough: position=32:inter,gpu=8 bandwidth 32 0.25 zb_v
// thorough: position=32:inter,rank=8 bandwidth 64 0.25 dual_pipe_v

#include <optional>
#include <sstream>

#include <smpi/pipeline_run.hpp>

#include <ashlar/search/schedule_choice.hpp>
#include <ashlar/step/pipeline/bound.hpp>

namespace {

using namespace ashlar_test;
using search::schedule_kind;

constexpr double work = 3e-3;  // seconds of all passes of a position for one micro-batch
constexpr double tolerance = 0.03;

std::vector<std::string> words(std::string const& text) {
  std::vector<std::string> list;
  std::istringstream each(text);
  for (std::string word; std::getline(each, word, ',');) list.push_back(word);
  return list;
}

/// Returns the idle time of the last position divided by (positions - 1) · work, if transfers take
/// no time and there are enough micro-batches.
double bubble_of(search::schedule_choice const& c) {
  switch (c.kind) {
    case schedule_kind::interleaved: return 1. / c.chunks;
    case schedule_kind::zb_h1:
    case schedule_kind::zb_h2:
    case schedule_kind::delayed: return 1. / 3;
    case schedule_kind::zb_v:
    case schedule_kind::dual_pipe_v: return 1. / 6;
    default: return 1;
  }
}

/// Returns `costs` with transfers that take twice as long.
pipelines::pipeline_costs with_slow_transfers(pipelines::pipeline_costs costs) {
  for (auto& c : costs) c.send_forward *= 2, c.send_backward *= 2;
  return costs;
}

bool splits_backward(pipelines::schedule const& s) {
  return s.order[0].end() != std::find_if(s.order[0].begin(), s.order[0].end(), [](auto const& a) {
           return a.what == pipelines::pass::input_gradient;
         });
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  auto const& t = given.topology;
  ashlar::mesh const m(env.world(), t, given.machine);
  int const positions = t.extent(0), width = t.ranks() / positions;
  bool const is_between_nodes = t.axis[0].tier == ashlar::link_tier::inter_node;
  bool const shares_links = !has_links_of_pairs(argv[2]);
  auto const& link = is_between_nodes ? given.machine.inter : given.machine.intra;
  double const nap = t.ranks() > 64 ? work / 50 : work / 200;
  verdict all;
  std::optional<ashlar::mesh> own;  // the part of this rank, which all schedules share
  int position = 0;
  if (m.rank() == 0)
    std::printf(
        "schedule      parts  batches  transfer   replay us  simulated us  ratio   bound us\n");
  for (auto const& name : given.rest.size() > 2 ? words(given.rest[2]) : search::all_schedules()) {
    auto const kind = search::schedule_choices(name).front();
    for (auto const& batches : words(given.rest.at(0)))
      for (auto const& ratio : words(given.rest.at(1))) {
        int const micro_batches = std::stoi(batches);
        if (!kind.permits(positions, micro_batches)) continue;
        double const pass = work / 3 / kind.chunks;
        auto const transfer = std::stod(ratio) * work;
        pipelines::pipeline_costs const costs(static_cast<std::size_t>(positions * kind.chunks),
                                              {pass, pass, pass, transfer, transfer});
        std::vector<int> const most(static_cast<std::size_t>(positions), 2 * micro_batches);
        auto const order = from_rank_0(
            [&] { return search::make_schedule(kind, positions, micro_batches, costs, most); });
        auto const elements = std::max<std::int64_t>(width, std::int64_t(transfer / link.beta / 4) /
                                                                width * width);
        auto const at = ashlar::parse_placement(t.axes() > 1 ? "B,S(0)" : "B");
        stage_chain chain(t, order, costs, {elements}, at, 4, given.machine);
        if (!own) {
          own = own_part(m, chain.part);
          position = chain.part.position;
        }
        chain.part.position = position;
        auto const program = search::build_stage(chain.net, chain.chosen, given.machine,
                                                 chain.part);
        double const simulated = simulated_step(program, *own, work / 12, nap);
        if (m.rank() != 0) continue;
        double const replayed = pipelines::replay(order, costs).seconds;
        double const bound = pipelines::bound(order, costs, splits_backward(order));
        auto const title = name + " " + batches + " " + ratio;
        std::printf("%-12s %6d %8d %9.3f %11.0f %13.0f  %.3f %10.0f\n", name.c_str(), positions,
                    micro_batches, std::stod(ratio), 1e6 * replayed, 1e6 * simulated,
                    simulated / replayed, 1e6 * bound);
        std::fflush(stdout);
        double const slowest = shares_links
                                   ? pipelines::replay(order, with_slow_transfers(costs)).seconds
                                   : replayed;
        all.check(simulated >= replayed * (1 - tolerance), title + " is faster than its timeline");
        all.check(simulated <= slowest * (1 + tolerance), title + " is slower than its timeline");
        all.check(replayed >= bound * (1 - 1e-9), title + " is faster than the bound");
        if (kind.kind == schedule_kind::eager && std::stod(ratio) <= 0.5)
          all.check(replayed <= bound * (1 + 1e-9), title + " is slower than the bound");
        if (transfer == 0 && micro_batches >= positions) {
          double const closed = (micro_batches + (positions - 1) * bubble_of(kind)) * work;
          all.check(std::abs(replayed / closed - 1) <= 1e-9, title + ": closed form");
        }
      }
  }
  return all.exit_code();
}
