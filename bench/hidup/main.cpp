// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Predicts the tables and figures of HiDup (Zhang et al., SoCC 2022, section 6). Compares the
// searched plan, the plan of the paper's search, and two known layouts. Each plan is priced by the
// timeline of its own program. The benchmark runs in one process on one core. bench/run_hidup.sh
// makes the page bench/results/hidup.md from the output.
//
//   bench/hidup --folder FOLDER                    all parts, one file each
//   bench/hidup --parts nets,bandwidth --quick     two parts, with fewer cells
//
// cells.hpp says what a cell is, and what the paper leaves open. Times of searches are CPU seconds
// of this process.

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <CLI/CLI.hpp>
#include <support/disturbed.hpp>

#include "../support/csv.hpp"
#include "cells.hpp"

namespace {

using namespace ashlar_bench;

struct arguments {
  std::vector<std::string> parts;
  std::string folder;
  bool quick = false;
};

std::string path_of(arguments const& args, std::string const& part) {
  return args.folder.empty() ? "" : args.folder + "/" + part + ".csv";
}
std::string percent(double part) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f", part < 0.00005 ? 0 : 100 * part);
  return text;
}
std::string gigabytes(std::int64_t bytes) { return number(double(bytes) / 1e9, "%.2f"); }

/// Prints table 1: the number of elements of the chain, and two numbers of parameters in millions.
/// The first number does not depend on the number of GPUs. The second is the number of parameters
/// that each GPU adds.
void nets(arguments const& args) {
  csv_file table(path_of(args, "nets"), "net,elements,fixed,per_gpu");
  for (auto const& name : hidup_nets) {
    double million[2]{};
    int elements = 0;
    for (int k = 0; k < 2; ++k) {
      auto const net = problem_of({name, 1, 8 << k}, 1);
      elements = net.size();
      for (int i = 0; i < net.size(); ++i)
        for (auto const& p : net.spec(i).parameters)
          million[k] += double(p.extents.elements()) / 1e6;
    }
    double const each = (million[1] - million[0]) / 8;
    table.row({name, std::to_string(elements), number(million[0] - 8 * each, "%.1f"),
               number(each, "%.1f")});
  }
}

/// A table with a row for each cell: the seconds of the four plans.
class comparison {
 public:
  comparison(arguments const& args, std::string const& part)
      : table_(path_of(args, part),
               "net,nodes,gpus,gbit,samples,ours,turns,gap,cpu,hidup,hidup_cpu,"
               "expert_parallel,data_parallel") {}

  void add(cell const& c) {
    auto const a = ours(c), b = theirs(c), e = expert_parallel(c), d = data_parallel(c);
    std::printf(
        "%-12s %d x %d, %6.2f Gb/s: ours %.4f s (%d turns, gap %s %%, %.1f s of CPU), HiDup "
        "%.4f, expert parallel %.4f, data parallel %.4f\n",
        c.net.c_str(), c.nodes, c.gpus, c.gbit, a.seconds, a.plan.interleaved,
        percent(a.plan.gap).c_str(), a.cpu, b.seconds, e.seconds, d.seconds);
    std::fflush(stdout);
    table_.row({c.net, std::to_string(c.nodes), std::to_string(c.gpus), number(c.gbit, "%g"),
                std::to_string(c.samples), number(a.seconds, "%.4f"),
                std::to_string(a.plan.interleaved), percent(a.plan.gap), number(a.cpu, "%.1f"),
                number(b.seconds, "%.4f"), number(b.cpu, "%.2f"), number(e.seconds, "%.4f"),
                number(d.seconds, "%.4f")});
  }

 private:
  csv_file table_;
};

/// Prints figures 6 and 7: the plans on cluster A with one to eight machines.
void gpus(arguments const& args) {
  comparison rows(args, "gpus");
  for (auto const& name : hidup_nets)
    for (int nodes : {1, 2, 4, 8})
      if (!args.quick || nodes < 2) rows.add({name, nodes, 8, 9.71});
}

/// Prints figure 8: the plans on cluster B with the bandwidths that the paper names, and with the
/// bandwidth of cluster A.
void bandwidth(arguments const& args) {
  comparison rows(args, "bandwidth");
  for (auto const& name : hidup_nets)
    for (double gbit : {9.71, 10.0, 30.0, 100.0})
      if (!args.quick || gbit > 30) rows.add({name, 2, 4, gbit});
}

/// Prints the plans for the nets and bandwidths of figure 8 on a mesh of one axis, on which each
/// rank has its own machine.
void one_axis(arguments const& args) {
  comparison rows(args, "one_axis");
  for (auto const& name : hidup_nets)
    for (double gbit : {9.71, 10.0, 30.0, 100.0})
      if (!args.quick || gbit > 30) rows.add({name, 4, 1, gbit});
}

/// Prints figure 9: the plans for different numbers of samples per GPU.
void batches(arguments const& args) {
  comparison rows(args, "batches");
  for (int samples : {8, 16, 32, 64, 128})
    if (!args.quick || samples == 8) rows.add({"bert-sgmoe", 2, 4, 100, samples});
}

/// Prints table 4: the seconds of computation and of communication in a step of BERT-SGMoE, and how
/// much of them overlaps.
void breakdown(arguments const& args) {
  csv_file table(path_of(args, "breakdown"),
                 "nodes,gbit,system,wall,total,work,communication,overlap,bound");
  struct {
    int nodes;
    double gbit;
  } const columns[] = {{1, 100}, {2, 100}, {2, 30}};
  for (auto const& at : columns) {
    if (args.quick && at.nodes > 1) break;
    cell const c{"bert-sgmoe", at.nodes, 4, at.gbit};
    auto const row = [&](char const* system, outcome const& o) {
      table.row({std::to_string(at.nodes), number(at.gbit, "%g"), system, number(o.seconds, "%.4f"),
                 number(o.work + o.communication, "%.4f"), number(o.work, "%.4f"),
                 number(o.communication, "%.4f"), percent(o.overlap()),
                 number(std::max(o.work, o.communication), "%.4f")});
    };
    row("ours", ours(c));
    row("HiDup's search", theirs(c));
    row("expert parallel", expert_parallel(c));
  }
}

/// Prints table 3: the most gigabytes that a rank needs on one machine of 4 GPUs.
void memory(arguments const& args) {
  csv_file table(path_of(args, "memory"), "net,ours,hidup,data_parallel,expert_parallel");
  for (auto const& name : hidup_nets) {
    cell const c{name, 1, 4};
    table.row({name, gigabytes(ours(c).memory), gigabytes(theirs(c).memory),
               gigabytes(data_parallel(c).memory), gigabytes(expert_parallel(c).memory)});
  }
}

/// Prints table 5: the seconds of plans that were searched for wrongly measured machines, in per
/// cent of the seconds of the plan that was searched for the true machine. All seconds are those on
/// the true machine.
void noise(arguments const& args) {
  csv_file table(path_of(args, "noise"), "noise,trials,mean,worst");
  cell const c{"bert-sgmoe", 2, 4, 100};
  auto const truth = c.machine();
  int const trials = args.quick ? 1 : 10;
  auto net = problem_of(c, 2);
  net.interleaved = 2;
  auto const seconds = [&](ashlar::machine const& supposed) {
    return timed(net, ours_in(c, 2, c.mesh(), supposed).plan, truth, true).seconds;
  };
  double const least = seconds(truth);
  auto const row = [&](char const* what, std::vector<ashlar::machine> const& machines) {
    double sum = 0, worst = 0;
    for (auto const& m : machines) {
      double const relative = seconds(m) / least;
      sum += relative;
      worst = std::max(worst, relative);
    }
    table.row({what, std::to_string(machines.size()),
               number(100 * sum / double(machines.size()), "%.2f"), number(100 * worst, "%.2f")});
  };
  for (int most : {20, 50}) {
    std::vector<ashlar::machine> machines;
    for (int k = 1; k <= trials; ++k)
      machines.push_back(
          ashlar_test::disturbed(truth, most / 100.0, static_cast<std::uint64_t>(k)));
    row(most == 20 ? "random 20 %" : "random 50 %", machines);
  }
  if (args.quick) return;
  for (auto const& [name, factor] :
       std::vector<std::pair<char const*, double>>{{"communication +20 %", 1.2},
                                                   {"communication +50 %", 1.5},
                                                   {"communication -20 %", 0.8},
                                                   {"communication -50 %", 0.5}}) {
    auto m = truth;
    for (auto* l : {&m.intra, &m.inter}) *l = {l->alpha * factor, l->beta * factor};
    row(name, {m});
  }
}

/// Prints figures 11 and 12, for each bandwidth: how many parameters are stored replicated, stored
/// split but gathered for use, and split in use. Of all gatings, prints how many have an input that
/// is not split over the machines, and how many have an input that is not split at all.
void placements(arguments const& args) {
  csv_file table(path_of(args, "placements"),
                 "gbit,system,replicated,gathered,split,gatings,whole_on_nodes,whole_everywhere");
  for (double gbit : {1.0, 3.0, 10.0, 30.0, 100.0, 300.0}) {
    if (args.quick && gbit < 300) continue;
    cell const c{"bert-sgmoe", 2, 4, gbit};
    auto const net = problem_of(c, 1);
    auto const row = [&](char const* system, search::plan const& plan) {
      int stored[3]{}, gatings = 0, on_nodes = 0, everywhere = 0;
      for (int i = 0; i < net.size(); ++i) {
        for (auto const& p : plan[i].parameters) {
          bool const is_split = p.store[0].is_split() || p.store[1].is_split();
          bool const is_gathered = !(p.store == p.use);
          ++stored[!is_split ? 0 : is_gathered ? 1 : 2];
        }
        if (!(net.spec(i).name == search::label("dispatch"))) continue;
        ++gatings;
        bool const nodes = plan[i].x[0].is_broadcast(), both = nodes && plan[i].x[1].is_broadcast();
        on_nodes += nodes;
        everywhere += both;
      }
      table.row({number(gbit, "%g"), system, std::to_string(stored[0]), std::to_string(stored[1]),
                 std::to_string(stored[2]), std::to_string(gatings), std::to_string(on_nodes),
                 std::to_string(everywhere)});
    };
    row("ours", ours(c).plan);
    row("HiDup's search", theirs(c).plan);
  }
}

/// Prints figure 14: the CPU seconds of the searches for different numbers of layers and of GPUs.
void search_time(arguments const& args) {
  csv_file table(path_of(args, "search_time"), "layers,nodes,gpus,ours,gap,hidup");
  auto const row = [&](cell const& c) {
    auto const a = ours_in(c, 2, c.mesh(), c.machine());
    auto const b = theirs(c);
    table.row({std::to_string(c.layers), std::to_string(c.nodes), std::to_string(c.gpus),
               number(a.cpu, "%.2f"), percent(a.plan.gap), number(b.cpu, "%.2f")});
  };
  for (int layers : {8, 16, 32, 64})
    if (!args.quick || layers == 8) row({"bert-sgmoe", 1, 4, 100, 0, layers});
  for (int gpus : {4, 16, 64, 256, 1024})
    if (!args.quick || gpus == 4) row({"bert-sgmoe", 1, gpus, 100, 0, 6});
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::pair<std::string, void (*)(arguments const&)>> const parts{
      {"nets", nets},
      {"gpus", gpus},
      {"bandwidth", bandwidth},
      {"one_axis", one_axis},
      {"batches", batches},
      {"breakdown", breakdown},
      {"memory", memory},
      {"noise", noise},
      {"placements", placements},
      {"search_time", search_time}};
  arguments args;
  CLI::App app{"Predicts the tables and figures of HiDup"};
  app.add_option("--parts", args.parts,
                 "nets, gpus, bandwidth, one_axis, batches, breakdown, memory, noise, placements, "
                 "search_time; all by default")
      ->delimiter(',');
  app.add_option("--folder", args.folder, "append each part to a file in this folder");
  app.add_flag("--quick", args.quick, "fewer cells");
  CLI11_PARSE(app, argc, argv);
  try {
    for (auto const& name : args.parts) {
      bool is_known = false;
      for (auto const& p : parts) is_known = is_known || p.first == name;
      if (!is_known) throw std::runtime_error("--parts: there is no part \"" + name + "\".");
    }
    for (auto const& [name, run] : parts)
      if (args.parts.empty() ||
          std::find(args.parts.begin(), args.parts.end(), name) != args.parts.end()) {
        std::printf("%s\n", name.c_str());
        std::fflush(stdout);
        run(args);
      }
  } catch (std::exception const& e) {
    std::cerr << "bench/hidup: " << e.what() << '\n';
    return 1;
  }
  return 0;
}
