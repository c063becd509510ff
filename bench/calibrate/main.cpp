// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures the machine on which it runs, and writes the machine file. The planner and the search
// predict times from this file:
//
//   mpirun -n 8 bench/calibrate --out machine.json          one or two minutes
//   mpirun -n 8 build/default/examples/train_gpt --machine machine.json ...
//
// The program measures every collective as a step of a redistribution, within nodes and across
// them, for several tensor sizes and group sizes. It also measures products of float matrices and
// the bandwidth of memory. It fits two models to these times: α and β of each link tier and
// collective (machine/fit_link.hpp), and the speed of products (machine/fit_gemm.hpp). The tables
// show the errors of the fits: a worst error of 50 % means that some step takes 50 % more or less
// than the cost model predicts.

#include <ctime>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/device/host/blas_speed.hpp>
#include <ashlar/io/json/machine_file.hpp>
#include <ashlar/mesh/text.hpp>

#include "../support/csv.hpp"
#include "../support/nodes.hpp"
#include "../support/options.hpp"
#include "../support/others.hpp"
#include "../support/settings.hpp"
#include "../support/sizes.hpp"
#include "collectives.hpp"
#include "compute.hpp"

namespace {

using namespace ashlar_bench;
using ashlar::collective;

struct options {
  std::vector<std::string> sizes{"4KiB", "16KiB", "64KiB", "256KiB",
                                 "1MiB", "4MiB",  "16MiB", "64MiB"};
  std::string out, memory = "0", cold = "64MiB";
  std::int64_t largest_product = 1024;
  int per_node = 0;
  measuring_options measuring{{0.5, 3, 31}};
};

/// Returns the samples of all groups of this reach: within a node, across nodes, or both. If `kind`
/// is not negative, only samples of the collective with this number are returned.
std::vector<ashlar::link_sample> samples_of(std::vector<collective_sample> const& all, reach where,
                                            int kind = -1) {
  std::vector<ashlar::link_sample> some;
  for (auto const& s : all)
    if (s.of.where == where && (kind < 0 || static_cast<int>(s.what.step.kind) == kind))
      some.push_back(s.sample);
  return some;
}

ashlar::fit_error error_on(std::vector<collective_sample> const& all, reach where, int kind,
                           ashlar::machine const& m) {
  std::vector<double> predicted, measured;
  for (auto const& s : all)
    if (s.of.where == where && (kind < 0 || static_cast<int>(s.what.step.kind) == kind)) {
      predicted.push_back(predicted_seconds(s, m));
      measured.push_back(s.sample.seconds);
    }
  return ashlar::error_of(predicted, measured);
}

void print_row(char const* tier, char const* name, std::size_t samples, ashlar::link const& l,
               ashlar::fit_error const& own, ashlar::fit_error const* shared) {
  std::printf("%-6s %-15s %7zu %10.2f %10s %8.0f%% %8.0f%%", tier, name, samples, 1e6 * l.alpha,
              number(1e-9 / l.beta, "%.2f").c_str(), 100 * own.median, 100 * own.worst);
  if (shared) std::printf(" %8.0f%% %8.0f%%", 100 * shared->median, 100 * shared->worst);
  std::printf("\n");
}

/// Fits α and β of a link tier: once for all collectives together, and once for each collective.
/// Stores the fits in `m` and prints them.
void fit_tier(std::vector<collective_sample> const& all, reach where, ashlar::machine& m,
              bool prints) {
  auto const general = fit_link(samples_of(all, where));
  auto& link = where == reach::intra ? m.intra : m.inter;
  auto& links = where == reach::intra ? m.intra_of : m.inter_of;
  link = general.value;
  auto const shared = m;
  if (prints)
    print_row(to_string(where), "all of them", samples_of(all, where).size(), general.value,
              general.error, nullptr);
  for (int k = 0; k < ashlar::collective_links::kinds; ++k) {
    auto const some = samples_of(all, where, k);
    if (some.empty()) continue;  // a permute needs a square number of ranks
    auto const kind = static_cast<collective>(k);
    auto const own = fit_link(some);
    links.set(kind, own.value);
    auto const by_general = error_on(all, where, k, shared);
    if (prints)
      print_row(to_string(where), to_string(kind), some.size(), own.value, own.error, &by_general);
  }
}

ashlar::machine fit_links(std::vector<collective_sample> const& all, bool prints) {
  ashlar::machine m;
  bool const inside = !samples_of(all, reach::intra).empty();
  bool const across = !samples_of(all, reach::inter).empty();
  if (prints)
    std::printf("\n%-6s %-15s %7s %10s %10s %9s %9s %9s %9s\n%-6s %-15s %7s %10s %10s %9s %9s %9s "
                "%9s\n",
                "tier", "collective", "samples", "alpha us", "GB/s", "median", "worst", "median",
                "worst", "", "", "", "", "(1/beta)", "error", "error", "by tier's", "alone");
  if (inside) fit_tier(all, reach::intra, m, prints);
  if (across) fit_tier(all, reach::inter, m, prints);
  // If only one tier was measured, the other one is assumed to be equal.
  if (!across) m.inter = m.intra, m.inter_of = m.intra_of;
  if (!inside) m.intra = m.inter, m.intra_of = m.inter_of;
  if (prints && inside != across)
    std::printf(
        "%s\n",
        inside ? "Only one node: the links between nodes are written as those within a node."
               : "One rank per node: the links within a node are written as those between nodes.");
  if (prints && inside && across)
    for (int k = 0; k < ashlar::collective_links::kinds; ++k) {
      auto const found = error_on(all, reach::both, k, m);
      auto const count = samples_of(all, reach::both, k).size();
      if (count > 0)
        std::printf("%-6s %-15s %7zu %10s %10s %8.0f%% %8.0f%%   predicted, not fitted\n", "both",
                    to_string(static_cast<collective>(k)), count, "", "", 100 * found.median,
                    100 * found.worst);
    }
  return m;
}

void write_samples(std::vector<collective_sample> const& all, ashlar::machine const& m,
                   std::string const& path) {
  csv_file csv(path, "memory,tier,collective,members,mesh,bytes,messages,received,measured_us,"
                     "predicted_us");
  for (auto const& s : all)
    csv.row({memory_setting(), to_string(s.of.where), to_string(s.what.step.kind),
             std::to_string(s.of.members), without_commas(to_string(s.of.mesh)),
             std::to_string(s.what.extents.elements() * std::int64_t(sizeof(float))),
             number(s.sample.messages, "%.3f"), number(s.sample.bytes, "%.0f"),
             number(1e6 * s.sample.seconds, "%.3f"),
             number(1e6 * predicted_seconds(s, m), "%.3f")});
}

void print_products(std::vector<ashlar::gemm_sample> const& samples, ashlar::gemm_fit const& fit) {
  std::printf("\n%-18s %10s %10s\n", "product of float", "GF/s", "predicted");
  ashlar::machine on;
  on.flops = fit.flops;
  on.gemm_half = fit.half;
  for (auto const& s : samples) {
    double const operations = 2.0 * double(s.m) * double(s.n) * double(s.k);
    auto const text = std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
    std::printf("%-18s %10.2f %10.2f\n", text.c_str(), 1e-9 * operations / s.seconds,
                1e-9 * operations / gemm_seconds(on, operations, s.m, s.n, s.k));
  }
  std::printf(
      "peak %.1f GF/s, half of it at an extent of %.1f; median error %.0f%%, worst %.0f%%\n",
      1e-9 * fit.flops, fit.half, 100 * fit.error.median, 100 * fit.error.worst);
}

std::string note_of(int ranks, int per_node, int cores, double others) {
  char host[256] = "", day[32] = "";
  gethostname(host, sizeof host - 1);
  std::time_t const time = std::time(nullptr);
  std::strftime(day, sizeof day, "%Y-%m-%d", std::localtime(&time));
  std::string text = std::string("bench/calibrate, ") + day + ": " + std::to_string(ranks) +
                     " ranks, " + std::to_string(per_node) + " a node of " + std::to_string(cores) +
                     " cores (" + host + "), float, ASHLAR_SHARED_MEMORY " + memory_setting();
  if (others >= 0)
    text += ", other processes used " + std::to_string(int(others + 0.5)) + " % of the cores";
  return text;
}

int run(MPI_Comm world, options const& o) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(world, &ranks);
  MPI_Comm_rank(world, &rank);
  bool const prints = rank == 0;
  if (ranks < 2)
    throw std::runtime_error(
        "calibrate: one rank cannot communicate. Start it with mpirun -n 2 or more.");
  std::vector<std::int64_t> sizes;
  for (auto const& text : o.sizes) {
    sizes.push_back(parse_size(text));
    if (sizes.back() < 4)
      throw std::runtime_error("--sizes: " + text +
                               " is less than one float. Give 4 bytes or more.");
  }
  auto distinct = sizes;
  std::sort(distinct.begin(), distinct.end());
  if (std::unique(distinct.begin(), distinct.end()) - distinct.begin() < 2)
    throw std::runtime_error(
        "--sizes: one size does not determine alpha and beta. Give two or more.");
  parse_size(o.memory), parse_size(o.cold);  // Reports a wrong text before anything is measured.
  auto const folder = std::filesystem::path(o.out).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw std::runtime_error("--out: there is no folder " + folder.string() + ".");
  int const found = ranks_per_node(world, "calibrate");
  int const per_node = o.per_node > 0 ? o.per_node : found;
  if (ranks % per_node != 0)
    throw std::runtime_error("--ranks-per-node " + std::to_string(per_node) +
                             " does not divide the " + std::to_string(ranks) + " ranks.");
  int const cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (prints) {
    std::printf("%d ranks, %d on each of %d nodes of %d cores, ASHLAR_SHARED_MEMORY %s\n", ranks,
                per_node, ranks / per_node, cores, memory_setting().c_str());
    if (found > cores)
      std::printf(
          "NOTE: %d ranks share %d cores of a node. Ranks then wait for their turn on a core: "
          "these\ntimings mean little beyond %d ranks a node.\n",
          found, cores, cores);
    if (o.per_node > 0 && o.per_node != found)
      std::printf(
          "NOTE: a node has %d ranks, but they are treated as nodes of %d (--ranks-per-node).\n",
          found, per_node);
    std::fflush(stdout);
  }
  others_share const others(world);
  auto const samples = measure_collectives(world, groups_on(ranks / per_node, per_node), sizes,
                                           parse_size(o.cold), o.measuring.how);
  auto const products = measure_gemms(world, o.largest_product, o.measuring.how);
  double const pass = measure_memory(world, parse_size(o.cold), o.measuring.how);
  double const busy = others.percent();

  if (!prints) return 0;
  ashlar::machine m = fit_links(samples, true);
  auto const fit = ashlar::fit_gemm(products);
  m.flops = fit.flops;
  m.gemm_half = fit.half;
  m.memory_bandwidth = pass;
  m.memory = parse_size(o.memory);
  print_products(products, fit);
  std::printf("a pass over %s: %.2f GB/s read and written by each rank\n",
              size_text(parse_size(o.cold)).c_str(), 1e-9 * pass);
  if (busy >= 0) std::printf("other processes used %.0f %% of the cores meanwhile\n", busy);
  write_samples(samples, m, o.measuring.csv);
  if (o.out.empty()) return 0;
  ashlar::io::save_machine(o.out, m, note_of(ranks, per_node, cores, busy));
  std::printf("saved %s\n", o.out.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app{"Measures collectives, products and memory, and writes the machine file with which "
               "plans are priced"};
  app.add_option("--out", o.out,
                 "the machine file to write; without it, only the tables are printed");
  app.add_option("--sizes", o.sizes, "bytes of the tensors that groups move; two sizes or more")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--memory", o.memory, "memory per rank to write into the file; 0: no limit")
      ->capture_default_str();
  app.add_option("--largest-product", o.largest_product, "extent of the largest product of float")
      ->check(CLI::Range(32, 16384))
      ->capture_default_str();
  app.add_option("--cold", o.cold,
                 "bytes that do not fit in any cache: collectives use buffers of this size in "
                 "turn, and the pass over memory reads this size")
      ->capture_default_str();
  app.add_option("--ranks-per-node", o.per_node,
                 "treat N consecutive ranks as a node, whatever MPI reports")
      ->check(CLI::PositiveNumber);
  add_to(app, o.measuring, "group and size, and for all products");
  if (auto const ended = parse(app, o.measuring, argc, argv, env.rank())) return *ended;
  if (env.rank() == 0) std::cerr << ashlar::device::host::slow_blas_warning();
  return run(env.world(), o);
}
