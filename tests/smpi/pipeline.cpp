// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs pipeline schedules on simulated clusters, and compares the seconds of a step with the
// timeline of the schedule (step/pipeline/replay.hpp). Both must agree within 3 %. The timeline of
// eager-1F1B must reach the lower bound if a transfer takes at most half of the time F + B of a
// forward and a backward pass. If transfers take no time, the timelines must have the bubbles that
// closed formulas give.
//
// The tolerance is larger in two cases. On two positions, the interleaved schedule may differ by
// 5 %: two chunks send over each link, and a part that has a second tensor to send waits until the
// first one is sent, but the timeline does not. On a machine without the prefix "pairs:", times may
// differ by 10 %: a node's transfers to its two neighbours share a link there, but not in the
// timeline. Sends wait for their receives, so a wrong order of messages deadlocks.
//
// The extent of the mesh's first axis is the number of positions of the pipeline. The timeline has
// a separate link between every two neighbours, as a machine pairs:NAME has. The arguments after
// mesh and machine are:
//
// - numbers of micro-batches
// - ratios of the seconds of a transfer to the seconds of all passes of a position for a
//   micro-batch
// - the schedules, or all of them if this is left out
//
// run: stage=4 pairs:bandwidth 8 0.25,0.5
// thorough: stage=2 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75
// thorough: part=4 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75
// thorough: stage=8 pairs:bandwidth 4,16,32 0,0.125,0.25,0.5,0.75
// thorough: node=32,gpu=8 bandwidth 32 0.25 eager
// thorough: stage=32:inter,gpu=8 bandwidth 32 0.25 interleaved

#include <functional>
#include <sstream>

#include <smpi/pipeline_run.hpp>

#include <ashlar/step/pipeline/bound.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace {

using namespace ashlar_test;

constexpr double work = 3e-3;  // seconds of all passes of a position for one micro-batch

std::vector<std::string> words(std::string const& text) {
  std::vector<std::string> list;
  std::istringstream each(text);
  for (std::string word; std::getline(each, word, ',');) list.push_back(word);
  return list;
}

struct named_schedule {
  std::string name;
  int chunks;
  /// The idle time of the last position, if transfers take no time and there are at least as many
  /// micro-batches as positions, is bubble · (positions - 1) · work.
  double bubble;
  std::function<pipelines::schedule(int, int, pipelines::pipeline_costs const&)> make;
};

std::vector<named_schedule> const all_schedules{
    {"gpipe", 1, 1., [](int s, int m, auto const&) { return pipelines::gpipe(s, m); }},
    {"1f1b", 1, 1., [](int s, int m, auto const&) { return pipelines::one_f_one_b(s, m); }},
    {"eager", 1, 1., [](int s, int m, auto const&) { return pipelines::eager(s, m); }},
    {"interleaved", 2, 1 / 2.,
     [](int s, int m, auto const&) { return pipelines::interleaved(s, m, 2); }},
    {"zb_h1", 1, 1 / 3., [](int s, int m, auto const& c) { return pipelines::zb_h1(s, m, c); }},
    {"zb_v", 2, 1 / 6., [](int s, int m, auto const& c) { return pipelines::zb_v(s, m, c); }}};

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
  auto const& link = is_between_nodes ? given.machine.inter : given.machine.intra;
  double const nap = t.ranks() > 64 ? work / 50 : work / 200;
  verdict all;
  if (m.rank() == 0)
    std::printf(
        "schedule      parts  batches  transfer   replay us  simulated us  ratio   bound us\n");
  for (auto const& kind : all_schedules) {
    if (given.rest.size() > 2) {
      auto const wanted = words(given.rest[2]);
      if (std::find(wanted.begin(), wanted.end(), kind.name) == wanted.end()) continue;
    }
    for (auto const& batches : words(given.rest.at(0)))
      for (auto const& ratio : words(given.rest.at(1))) {
        int const micro_batches = std::stoi(batches);
        if (kind.name == "interleaved" && micro_batches % positions != 0) continue;
        double const pass = work / 3 / kind.chunks;
        auto const transfer = std::stod(ratio) * work;
        pipelines::pipeline_costs const costs(static_cast<std::size_t>(positions * kind.chunks),
                                              {pass, pass, pass, transfer, transfer});
        auto const order = from_rank_0([&] { return kind.make(positions, micro_batches, costs); });
        auto const elements = std::max<std::int64_t>(width, std::int64_t(transfer / link.beta / 4) /
                                                                width * width);
        auto const at = ashlar::parse_placement(t.axes() > 1 ? "B,S(0)" : "B");
        stage_chain chain(t, order, costs, {elements}, at, 4, given.machine);
        auto const own = own_part(m, chain.part);
        auto const program = search::build_stage(chain.net, chain.chosen, given.machine,
                                                 chain.part);
        double const simulated = simulated_step(program, own, work / 12, nap);
        if (m.rank() != 0) continue;
        double const replayed = pipelines::replay(order, costs).seconds;
        double const bound = pipelines::bound(order, costs, splits_backward(order));
        auto const title = kind.name + " " + batches + " " + ratio;
        std::printf("%-12s %6d %8d %9.3f %11.0f %13.0f  %.3f %10.0f\n", kind.name.c_str(),
                    positions, micro_batches, std::stod(ratio), 1e6 * replayed, 1e6 * simulated,
                    simulated / replayed, 1e6 * bound);
        double const tolerance = !has_links_of_pairs(argv[2])                   ? 0.1
                                 : kind.name == "interleaved" && positions == 2 ? 0.05
                                                                                : 0.03;
        all.check(std::abs(simulated / replayed - 1) <= tolerance, title);
        all.check(replayed >= bound * (1 - 1e-9), title + " is faster than the bound");
        if (kind.name == "eager" && std::stod(ratio) <= 0.5)
          all.check(replayed <= bound * (1 + 1e-9), title + " is slower than the bound");
        if (transfer == 0 && micro_batches >= positions) {
          double const closed = (micro_batches + (positions - 1) * kind.bubble) * work;
          all.check(std::abs(replayed / closed - 1) <= 1e-9, title + ": closed form");
        }
      }
  }
  return all.exit_code();
}
