// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures ashlar's matrix products in turns with those of ScaLAPACK and COSMA. The speed that a
// local dgemm reaches on all ranks at once is measured in the same run. Every result is checked
// before anything is timed.
//
//   mpirun -n 4 bench/matmul --shapes 2048x2048x2048 --csv table.csv
//   mpirun -n 4 bench/matmul --float                  the square shapes in float
//   mpirun -n 4 bench/matmul --bytes                  counts received bytes and measures no times
//
// The library takes part with two contestants (ours.hpp), which have these targets:
//
//   free      The library chooses the placements. Target: as fast as the faster of COSMA and
//             ScaLAPACK, each with its best layout.
//   given     The matrices are in blocks of a 2-D grid. Target: as fast as the faster of ScaLAPACK
//             and COSMA's pdgemm.
//
// With --bytes only "free" has a target: the largest number of bytes that a rank receives in one
// product must equal the bytes of the best grid (grid.hpp). All ranks then communicate by messages.

#include <cmath>
#include <cstdlib>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/device/host/blas_speed.hpp>
#include <ashlar/tensor.hpp>

#include "../support/csv.hpp"
#include "../support/grid_rows.hpp"
#include "../support/options.hpp"
#include "../support/others.hpp"
#include "../support/settings.hpp"
#include "../support/trials.hpp"
#include "grid.hpp"
#include "ours.hpp"
#include "peers.hpp"
#include "traffic.hpp"

namespace {

using namespace ashlar_bench;

char const* const heading =
    "ranks,memory,transport,type,shape,grid,process_grid,block,roof_gflops,free_gflops,"
    "given_gflops,scalapack_gflops,cosma_gflops,cosma_pdgemm_gflops,trials,others,free/roof,free/"
    "peer,"
    "given/peer,missed";
char const* const bytes_heading =
    "ranks,type,shape,grid,best_bytes,free_bytes,given_bytes,scalapack_bytes,cosma_bytes,"
    "cosma_pdgemm_bytes,free=best";

struct options : measuring_options {
  options() : measuring_options{{6.0, 3, 9}} {}
  std::vector<std::string> shapes;
  bool in_float = false, bytes = false;
};

std::vector<product_shape> shapes_of(options const& o) {
  std::vector<std::string> texts = o.shapes;
  if (texts.empty()) texts = {"1024x1024x1024", "2048x2048x2048", "4096x4096x4096"};
  if (o.shapes.empty() && !o.in_float)
    texts.insert(texts.end(), {"512x512x32768", "16384x512x512", "4096x4096x256"});
  std::vector<product_shape> list;
  for (auto const& text : texts) list.push_back(parse_product_shape(text));
  return list;
}

/// Returns the two process grids of `ranks` ranks that are closest to a square: one with at most as
/// many rows as columns, and its transpose. If the two grids are equal, returns only one.
std::vector<cyclic_layout> process_grids(int ranks) {
  int const rows = grid_rows(ranks);
  std::vector<cyclic_layout> list{{rows, ranks / rows, 128}};
  if (rows != ranks / rows) list.push_back({ranks / rows, rows, 128});
  return list;
}

/// Returns the process grid and block size with which ScaLAPACK is fastest. Runs each candidate
/// twice and times the second run.
template <class T>
cyclic_layout best_for_scalapack(MPI_Comm comm, product_shape const& s,
                                 std::shared_ptr<reference const> const& expected) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  cyclic_layout best = process_grids(ranks)[0];
  double least = 1e300;
  auto const consider = [&](cyclic_layout const& l) {
    for (auto const& c : scalapack_product<T>(comm, s, l, expected)) {
      c.run();
      double const t = most_of_ranks(comm, {trial_seconds(comm, c.run, 1)})[0];
      if (t >= least) continue;
      least = t;
      best = l;
    }
  };
  for (auto l : process_grids(ranks)) consider(l);
  for (int const block : {64, 256}) {
    cyclic_layout l = best;
    l.block = block;
    consider(l);
  }
  return best;
}

/// Returns a contestant that computes a local square product of order n on every rank, without
/// communication. Its speed is about the highest that the other contestants can reach.
template <class T>
contestant roof(std::int64_t n) {
  auto const a = std::make_shared<std::vector<T>>(static_cast<std::size_t>(n * n), T(0.5));
  auto const c = std::make_shared<std::vector<T>>(*a);
  return {"roof",
          role::limit,
          [a, c, n] {
            ashlar::device::host::gemm(false, false, n, n, n, T(1), a->data(), n, a->data(), n,
                                       T(0), c->data(), n);
          },
          {}};
}

template <class T>
std::vector<contestant> contestants_of(MPI_Comm comm, product_shape const& s,
                                       cyclic_layout const& cyclic) {
  int ranks = 1;
  MPI_Comm_size(comm, &ranks);
  auto const expected = std::make_shared<reference const>(comm, s);
  std::vector<contestant> all{
      roof<T>(1024), ours<T>("free", comm, s, free_layout<T>(s, ranks), expected),
      ours<T>("given", comm, s, given_layout(cyclic.rows, cyclic.columns), expected)};
  for (auto& c : scalapack_product<T>(comm, s, cyclic, expected)) all.push_back(c);
  for (auto& c : cosma_product<T>(comm, s, expected)) all.push_back(c);
  for (auto& c : cosma_pdgemm_product<T>(comm, s, cyclic, expected)) all.push_back(c);
  return all;
}

/// Returns the element of `values` that belongs to the contestant with this name, or 0 if there is
/// none.
double of(std::vector<contestant> const& all, std::vector<double> const& values,
          std::string const& name) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].name == name) return values[i];
  return 0;
}

template <class T>
class program {
 public:
  program(MPI_Comm comm, options const& o)
      : comm_(comm), options_(o),
        csv_(rank() == 0 ? o.csv : "", o.bytes ? bytes_heading : heading) {}

  void run() {
    auto const shapes = shapes_of(options_);
    if (rank() == 0) {
      std::cerr << ashlar::device::host::slow_blas_warning();
      print_heading();
    }
    int good = 0;
    for (auto const& s : shapes) good += options_.bytes ? count(s) : time(s);
    if (rank() != 0) return;
    int const all = static_cast<int>(shapes.size());
    if (options_.bytes)
      std::printf("\nall results right; bytes equal to the best grid: %d of %d\n", good, all);
    else std::printf("\nall results right; targets met: %d of %d\n", good, all);
  }

 private:
  int ranks() const {
    int n = 1;
    MPI_Comm_size(comm_, &n);
    return n;
  }
  int rank() const {
    int r = 0;
    MPI_Comm_rank(comm_, &r);
    return r;
  }
  static char const* type() { return std::is_same_v<T, float> ? "float" : "double"; }

  void print_heading() const {
    std::printf("%d ranks, %s, ASHLAR_SHARED_MEMORY %s, single-copy mechanism %s\n\n", ranks(),
                type(), memory_setting().c_str(), transport_setting().c_str());
    if (options_.bytes)
      std::printf("%-18s %-6s | %14s %14s %14s %14s %14s %14s  bytes received, most of any rank\n",
                  "m x n x k", "grid", "best grid", "free", "given", "ScaLAPACK", "COSMA",
                  "COSMA pdgemm");
    else
      std::printf("%-18s %-6s | %6s %6s %6s | %7s %7s %7s %7s %7s %7s  GF/s | targets\n",
                  "m x n x k", "grid", "free/", "free/", "given/", "roof", "free", "given", "ScaLA",
                  "COSMA", "C.pdg");
  }

  int time(product_shape const& s) {
    grid const best = best_grid(s, ranks());
    cyclic_layout const cyclic = best_for_scalapack<T>(comm_, s,
                                                       std::shared_ptr<reference const>());
    auto const all = contestants_of<T>(comm_, s, cyclic);
    check(comm_, all, to_string(s));
    auto const [times, share] = measure_alone(comm_, all, options_.how, options_.others);
    if (rank() != 0) return 0;

    std::vector<double> rates;
    for (std::size_t i = 0; i < all.size(); ++i)
      rates.push_back((all[i].name == "roof" ? ranks() * 2.0 * 1024 * 1024 * 1024 : s.flops()) /
                      times[i].median / 1e9);
    double const peak = of(all, rates, "roof"), free = of(all, rates, "free");
    double const given = of(all, rates, "given"), scalapack = of(all, rates, "ScaLAPACK");
    double const cosma = of(all, rates, "COSMA"), pdgemm = of(all, rates, "COSMA pdgemm");
    double const peer = std::max(cosma, scalapack), given_peer = std::max(scalapack, pdgemm);
    std::string missed;
    if (free < peer) missed = "free/peer >= 1 but " + number(free / peer, "%.3f");
    if (given < given_peer)
      missed += (missed.empty() ? "" : "; ") +
                ("given/peer >= 1 but " + number(given / given_peer, "%.3f"));
    auto const ratio = [](double a, double b) { return b > 0 ? number(a / b, "%.2f") : "-"; };
    auto const rate = [](double x) { return number(x, "%.1f"); };
    std::printf("%-18s %-6s | %6s %6s %6s | %7s %7s %7s %7s %7s %7s       | %s\n",
                to_string(s).c_str(), to_string(best).c_str(), ratio(free, peak).c_str(),
                ratio(free, peer).c_str(), ratio(given, given_peer).c_str(), rate(peak).c_str(),
                rate(free).c_str(), rate(given).c_str(), rate(scalapack).c_str(),
                rate(cosma).c_str(), rate(pdgemm).c_str(), missed.empty() ? "ok" : missed.c_str());
    std::fflush(stdout);
    csv_.row({std::to_string(ranks()),
              memory_setting(),
              transport_setting(),
              type(),
              to_string(s),
              to_string(best),
              std::to_string(cyclic.rows) + "x" + std::to_string(cyclic.columns),
              std::to_string(cyclic.block),
              rate(peak),
              rate(free),
              rate(given),
              rate(scalapack),
              rate(cosma),
              rate(pdgemm),
              std::to_string(times[0].trials),
              others_text(share),
              ratio(free, peak),
              ratio(free, peer),
              ratio(given, given_peer),
              missed.empty() ? "-" : missed});
    return missed.empty() ? 1 : 0;
  }

  int count(product_shape const& s) {
    grid const best = best_grid(s, ranks());
    auto const all = contestants_of<T>(comm_, s, process_grids(ranks())[0]);
    // The check runs each contestant once, which creates communicators, plans and buffers. The
    // messages of this setup are therefore not counted below.
    check(comm_, all, to_string(s));
    std::vector<double> bytes;
    for (auto const& c : all) {
      received const r = count_received(comm_, c.run);
      bytes.push_back(r.is_complete ? double(r.most) : -1);
    }
    if (rank() != 0) return 0;
    double const least = received_elements(s, best) * sizeof(T);
    double const free = of(all, bytes, "free");
    bool const equal = free == std::ceil(least);
    std::vector<std::string> fields{std::to_string(ranks()), type(), to_string(s), to_string(best),
                                    number(least, "%.0f")};
    for (char const* name : {"free", "given", "ScaLAPACK", "COSMA", "COSMA pdgemm"})
      fields.push_back(number(of(all, bytes, name), "%.0f"));
    std::printf("%-18s %-6s | %14s %14s %14s %14s %14s %14s  %s\n", fields[2].c_str(),
                fields[3].c_str(), fields[4].c_str(), fields[5].c_str(), fields[6].c_str(),
                fields[7].c_str(), fields[8].c_str(), fields[9].c_str(),
                equal ? "equal" : "not equal");
    std::fflush(stdout);
    fields.push_back(equal ? "yes" : "no");
    csv_.row(fields);
    return equal ? 1 : 0;
  }

  MPI_Comm comm_;
  options options_;
  csv_file csv_;
};

}  // namespace

int main(int argc, char** argv) {
  // The variable must be set before any mesh exists. Only messages can be counted, not reads of
  // shared memory.
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--bytes") setenv("ASHLAR_SHARED_MEMORY", "off", 1);
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app{"Measures matrix products beside ScaLAPACK and COSMA"};
  app.add_option("--shapes", o.shapes,
                 "shapes m x n x k; default: six, or only the square ones with --float")
      ->delimiter(',');
  app.add_flag("--float", o.in_float, "use float instead of double");
  app.add_flag("--bytes", o.bytes, "count received bytes instead of measuring times");
  add_to(app, o, "shape");
  if (auto const status = parse(app, o, argc, argv, env.rank())) return *status;
  if (o.in_float) program<float>(env.world(), o).run();
  else program<double>(env.world(), o).run();
}
