// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares sync::optimal with all builders and with random strategies on the models and clusters of
// AutoDist. Each strategy is priced by the timeline of its program. The benchmark runs in one
// process on one core. bench/run_synchronize.sh makes the page bench/results/autodist.md from the
// output.
//
//   bench/synchronize --folder FOLDER                  all parts, one file each
//   bench/synchronize --models ncf --clusters B7 --samples 20
//
//   choice       the seconds of the best strategies of each kind, and how often samples beat them
//   progress     the best of the first 1, 5, 10, ... samples
//   builders     each builder with its best division into buckets
//   chunks       all-reduces with each division into buckets
//   strategies   for each strategy that sync::optimal has chosen, its share of the parameters
//   routes       the collectives that move the gradient and the value of the largest parameter
//
// With one of these options, the program writes a table on tuning by trials instead (learning.hpp):
//
//   bench/synchronize --ranking --models ncf,bert-3l --clusters A2,B7 --seeds 3
//   bench/synchronize --transfer --models ncf --clusters B7,B3
//   bench/synchronize --published --models vgg16 --clusters A2,B7

#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>

#include <ashlar/plan/text.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/sync/explain.hpp>
#include <ashlar/sync/optimal.hpp>

#include "../support/csv.hpp"
#include "learning.hpp"
#include "trials.hpp"

namespace {

using namespace ashlar_bench;
namespace sync = ashlar::sync;

struct arguments {
  std::vector<std::string> models = paper_models, clusters;
  std::string folder;
  int samples = 200;
  int seeds = 1;
  bool ranking = false, transfer = false, published = false;
};

std::string percent(double part) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", 100 * part);
  return text;
}

/// Returns the fastest trial. If `of_paper` is true, only trials of the paper's builders count.
trial const& best_of(std::vector<trial> const& all, bool of_paper) {
  trial const* best = nullptr;
  for (auto const& it : all)
    if ((!of_paper || it.is_of_paper) && (best == nullptr || it.seconds < best->seconds))
      best = &it;
  return *best;
}

class tables {
 public:
  explicit tables(arguments const& args)
      : args_(args),
        choice_(path("choice"),
                "model,cluster,work,paper_builder,paper_division,paper_seconds,builder,division,"
                "builder_seconds,sampled,optimal,gap,hits_paper,hits_best,first_hit,"
                "first_within_2,cpu"),
        progress_(path("progress"), "model,cluster,samples,seconds"),
        builders_(path("builders"), "model,cluster,builder,division,seconds"),
        chunks_(path("chunks"), "model,cluster,division,seconds"),
        strategies_(path("strategies"), "model,cluster,strategy,share,parameters"),
        routes_(path("routes"), "model,cluster,strategy,gradient,back") {}

  void add(std::string const& model, cluster const& c) {
    auto net = model_on(model, c.mesh.ranks());
    auto const plain = ashlar::search::data_parallel(net, c.mesh, c.machine);
    net.overlap = true;
    auto const begin = std::clock();
    auto const found = sync::optimal(net, plain, c.machine);
    double const cpu = double(std::clock() - begin) / CLOCKS_PER_SEC;
    double const optimal = found.chosen.seconds;
    auto const all = builder_trials(net, plain, c.machine);
    trial const &paper = best_of(all, true), &best = best_of(all, false);
    int hits_paper = 0, hits_best = 0, first_hit = 0, first_near = 0;
    double sampled = 1e300;
    sync::strategy_space const space(net, plain, c.machine);
    sync::guided_sampler random(space, 17);
    for (int k = 1; k <= args_.samples; ++k) {
      auto const drawn = random.draw();
      double const seconds = seconds_of(net, space.plan_of(drawn), c.machine, drawn.division);
      sampled = std::min(sampled, seconds);
      hits_paper += seconds < paper.seconds;
      hits_best += seconds < best.seconds;
      if (first_hit == 0 && sampled < paper.seconds) first_hit = k;
      if (first_near == 0 && sampled <= 1.02 * optimal) first_near = k;
      for (int const at : {1, 5, 10, 20, 50, 100, 200})
        if (k == at) progress_.row({model, c.name, std::to_string(k), number(sampled, "%.6f")});
    }
    double const work =
        ashlar::search::timeline_of(ashlar::search::build(net, plain, c.machine), c.machine).work;
    std::printf("%-11s %-4s work %.4f, paper's builders %.4f (%s; %s), builders %.4f (%s; %s), "
                "sampled %.4f, optimal %.4f, gap %s %%, %.1f s\n",
                model.c_str(), c.name.c_str(), work, paper.seconds, paper.name.c_str(),
                paper.division.c_str(), best.seconds, best.name.c_str(), best.division.c_str(),
                sampled, optimal, percent(found.gap).c_str(), cpu);
    std::fflush(stdout);
    auto const counted = [&](int n) { return n > 0 ? std::to_string(n) : std::string("never"); };
    choice_.row({model, c.name, number(work, "%.6f"), paper.name, paper.division,
                 number(paper.seconds, "%.6f"), best.name, best.division,
                 number(best.seconds, "%.6f"), number(sampled, "%.6f"), number(optimal, "%.6f"),
                 percent(found.gap), percent(double(hits_paper) / args_.samples),
                 percent(double(hits_best) / args_.samples), counted(first_hit),
                 counted(first_near), number(cpu, "%.1f")});
    add_builders(model, c, all);
    add_strategies(model, c, net, found.chosen);
  }

 private:
  std::string path(std::string const& part) const {
    return args_.folder.empty() ? "" : args_.folder + "/" + part + ".csv";
  }

  void add_builders(std::string const& model, cluster const& c, std::vector<trial> const& all) {
    std::map<std::string, trial> best;
    for (auto const& it : all) {
      auto const [at, is_new] = best.try_emplace(it.name, it);
      if (!is_new && it.seconds < at->second.seconds) at->second = it;
      if (it.name == "all-reduce")
        chunks_.row({model, c.name, it.division, number(it.seconds, "%.6f")});
    }
    for (auto const& [name, it] : best)
      builders_.row({model, c.name, name, it.division, number(it.seconds, "%.6f")});
  }

  void add_strategies(std::string const& model, cluster const& c, search::problem const& net,
                      search::plan const& chosen) {
    std::map<std::string, std::pair<double, int>> by_name;
    double total = 0, most = 0;
    search::parameter_choice largest;
    ashlar::shape extents;
    for (int i = 0; i < net.size(); ++i)
      for (int k = 0; k < chosen[i].parameters.size(); ++k) {
        auto const& spec = net.spec(i).parameters[k];
        if (spec.tie == search::tie_role::later) continue;
        auto const& p = chosen[i].parameters[k];
        double const elements = double(spec.extents.elements());
        auto& own = by_name[sync::strategy_text(p, chosen.mesh)];
        own.first += elements;
        own.second += 1;
        total += elements;
        if (elements > most) most = elements, largest = p, extents = spec.extents;
      }
    for (auto const& [name, own] : by_name)
      strategies_.row({model, c.name, without_commas(name), percent(own.first / total),
                       std::to_string(own.second)});
    auto const route = [&](ashlar::placement const& from, ashlar::placement const& to) {
      std::string text;
      for (auto const& s :
           ashlar::plan_redistribution(extents, 4, from, to, chosen.mesh, c.machine).steps) {
        if (!communicates(s.kind)) continue;
        text += (text.empty() ? "" : "; ") + std::string(to_string(s.kind)) + " along";
        for (auto const a : s.axes) text += " " + std::string(chosen.mesh.axis[a].name.view());
      }
      return text.empty() ? std::string("-") : text;
    };
    routes_.row({model, c.name, without_commas(sync::strategy_text(largest, chosen.mesh)),
                 route(largest.grad, largest.updated_at()),
                 route(largest.updated_at(), largest.use)});
  }

  arguments const& args_;
  csv_file choice_, progress_, builders_, chunks_, strategies_, routes_;
};

}  // namespace

int main(int argc, char** argv) {
  arguments args;
  for (auto const& c : paper_clusters()) args.clusters.push_back(c.name);
  CLI::App app{"Compares strategies of synchronization on AutoDist's models and clusters"};
  app.add_option("--models", args.models, "vgg16, resnet101, densenet121, bert-large, bert-3l, ncf")
      ->delimiter(',');
  app.add_option("--clusters", args.clusters, "A1, A2, B1, B3, B5, B7, B8, B11")->delimiter(',');
  app.add_option("--samples", args.samples, "random strategies for each cell")
      ->check(CLI::PositiveNumber);
  app.add_flag("--ranking", args.ranking, "how well tuning by trials ranks strategies");
  app.add_flag("--transfer", args.transfer, "the same with trials of the first cluster as a start");
  app.add_flag("--published", args.published, "AutoDist's Algorithm 1 beside sync::optimal");
  app.add_option("--seeds", args.seeds, "cases of --ranking and --transfer for each cell")
      ->check(CLI::PositiveNumber);
  app.add_option("--folder", args.folder, "append each part to a file in this folder");
  CLI11_PARSE(app, argc, argv);
  try {
    learning_tables const learning{args.folder, args.models, args.clusters, args.seeds};
    if (args.ranking) learning.ranking();
    if (args.transfer) learning.transfer();
    if (args.published) learning.published();
    if (args.ranking || args.transfer || args.published) return 0;
    tables all(args);
    for (auto const& model : args.models)
      for (auto const& name : args.clusters) all.add(model, cluster_named(name));
  } catch (std::exception const& e) {
    std::cerr << "bench/synchronize: " << e.what() << '\n';
    return 1;
  }
  return 0;
}
