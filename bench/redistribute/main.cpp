// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures redistributions of the library in turns with other programs, in one run: with bare MPI
// calls on the same bytes, with ScaLAPACK and COSTA if they can do the same, and with memcpy.
// Results are checked before anything is timed.
//
//   mpirun -n 4 bench/redistribute --sizes 256KiB,16MiB --cases all-to-all --csv table.csv
//   ASHLAR_SHARED_MEMORY=off mpirun -n 4 bench/redistribute         messages only
//
// A line of output is one case at one size. The size is the number of bytes of the whole tensor of
// double. The line contains ratios of times, such as bare/ours (the time of bare MPI divided by the
// library's time), some times in microseconds, and the missed targets (verdict.hpp).

#include <cstring>
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>

#include <ashlar/tensor.hpp>

#include "../support/csv.hpp"
#include "../support/options.hpp"
#include "../support/others.hpp"
#include "../support/settings.hpp"
#include "../support/sizes.hpp"
#include "../support/trials.hpp"
#include "cases.hpp"
#include "peers.hpp"
#include "values.hpp"
#include "verdict.hpp"

namespace {

using namespace ashlar_bench;

char const* const heading =
    "ranks,memory,transport,group,case,mesh,from,to,bytes,ours_us,ours_min_us,typed_us,bare_us,"
    "bare_min_us,bare,block_us,packed_us,scalapack_us,costa_us,pass_us,shard_us,trials,others,bare/"
    "ours,"
    "block/ours,ours/pass,wanted,missed";

/// Returns a contestant (a program to be measured) that is a memcpy of `elements` doubles.
contestant copy_of(std::string name, std::int64_t elements) {
  auto const n = static_cast<std::size_t>(elements);
  auto from = std::make_shared<std::vector<double>>(n, 1.0);
  auto to = std::make_shared<std::vector<double>>(n, 0.0);
  return {std::move(name),
          role::limit,
          [from, to, n] { std::memcpy(to->data(), from->data(), n * sizeof(double)); },
          {}};
}

/// Returns all programs that are measured in turns for the case `c`, with tensors of these extents.
/// Collective.
std::vector<contestant> contestants_of(redistribution_case const& c, ashlar::mesh const& m,
                                       ashlar::shape const& extents) {
  int const addends = m.topology().group_size(partial_axes(c.from));
  subject const ours = c.make(m, extents);
  fill(m, extents, c.from, addends, ours.input);
  ashlar::placement const to = c.to;
  auto const checked = [m, extents, to, addends](std::function<double const*()> result) {
    return [=] { return holds_totals(m, extents, to, addends, result()); };
  };
  std::vector<contestant> all;
  auto const keep = ours.keep;
  all.push_back({"ours", role::ours, [keep, run = ours.run] { run(); }, checked(ours.result)});
  all.push_back({"ours, typed", role::typed, [keep, run = ours.run_typed] { run(); },
                 checked(ours.typed_result)});

  auto const from_box = local_box(extents, m.topology(), c.from, m.coordinate());
  auto const to_box = local_box(extents, m.topology(), c.to, m.coordinate());
  auto const input = std::make_shared<std::vector<double>>(ours.input,
                                                           ours.input + from_box.elements());
  for (auto const& p : c.programs) {
    auto const program = std::make_shared<bare_program>(m, extents, c.from, p.stages);
    auto const result = std::make_shared<double const*>(nullptr);
    auto const run = [=](bool packing) {
      return [=] { *result = program->run(input->data(), packing); };
    };
    auto const right = checked([result] { return *result; });
    bool const packs = program->needs_packing();
    all.push_back({p.name, role::bare, run(false), packs ? std::function<bool()>() : right});
    if (packs) all.push_back({p.name + " and packing", role::packed, run(true), right});
  }
  for (auto& peer : scalapack_copy(m, extents, c.from, c.to, input->data())) all.push_back(peer);
  for (auto& peer : costa_transform(m, extents, c.from, c.to, input->data())) all.push_back(peer);
  all.push_back(copy_of("copy pass", extents.elements() / m.ranks()));
  all.push_back(
      copy_of("copy of the larger shard", std::max(from_box.elements(), to_box.elements())));
  return all;
}

/// Assigns the times of the measured programs to the columns of the table.
case_times columns_of(std::vector<contestant> const& all, std::vector<timing> const& times) {
  case_times c;
  auto const keep_fastest = [](timing& best, timing const& t) {
    if (best.trials == 0 || t.median < best.median) best = t;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& [name, plays, run, is_right] = all[i];
    timing const& t = times[i];
    if (plays == role::ours) c.ours = t;
    if (plays == role::typed) c.typed = t;
    if (plays == role::bare) {
      if (c.bare.trials == 0 || t.median < c.bare.median) c.bare_name = name;
      keep_fastest(c.bare, t);
      if (name == "MPI_Reduce_scatter_block") c.block = t;
    }
    if (plays == role::packed) keep_fastest(c.packed, t);
    if (name == "ScaLAPACK pdgemr2d") c.scalapack = t;
    if (name == "COSTA") c.costa = t;
    if (name == "copy pass") c.pass = t;
    if (name == "copy of the larger shard") c.shard = t;
  }
  if (c.packed.trials == 0) c.packed = c.bare;  // no program needs packing
  return c;
}

struct options : measuring_options {
  options() : measuring_options{{0.7, 3, 31}} {}
  std::vector<std::string> sizes{"4KiB", "64KiB", "256KiB", "1MiB", "16MiB", "128MiB"};
  std::string cases, only;
};

/// Prints and records one case at one size. Returns the number of targets that it missed.
int report(redistribution_case const& c, ashlar::mesh const& m, std::int64_t bytes,
           case_times const& t, double others, csv_file& csv) {
  bool const messages = memory_setting() == "off";
  bool const is_copy = c.name == "all-to-all 0 to 1" || c.name == "all-to-all 1 to 0" ||
                       c.name == "all-gather dim 0" || c.name == "reduce-scatter dim 0";
  std::string wanted, missed;
  int count = 0;
  for (auto const& goal : targets_of(t, messages, c.group == "step", is_copy, bytes)) {
    wanted += (wanted.empty() ? "" : "; ") + goal.wanted;
    if (goal.met) continue;
    ++count;
    missed += (missed.empty() ? "" : "; ") + goal.wanted + " but " + number(goal.reached, "%.2f");
  }
  double const ours = t.ours.median;
  auto const us = [](timing const& x) { return number(x.median * 1e6, "%.2f"); };
  // For small sizes the ratio to a memcpy means nothing, because the memcpy takes no longer than a
  // message.
  bool const tells = bytes >= 1024 * 1024 && t.pass.trials > 0;
  std::string const passes = tells ? number(ours / t.pass.median, "%.2f") : "-";
  auto const ratio = [&](timing const& x) { return number(x.median / ours, "%.2f"); };
  std::printf("%-38s %8s | %6s %6s %6s %6s %6s | %10s %10s | %s\n", c.name.c_str(),
              size_text(bytes).c_str(), ratio(t.bare).c_str(), ratio(t.packed).c_str(),
              ratio(t.scalapack).c_str(), ratio(t.costa).c_str(), passes.c_str(),
              us(t.ours).c_str(), us(t.bare).c_str(), missed.empty() ? "ok" : missed.c_str());
  std::fflush(stdout);
  csv.row({std::to_string(m.ranks()),
           memory_setting(),
           transport_setting(),
           c.group,
           c.name,
           without_commas(to_string(m.topology())),
           without_commas(to_string(c.from)),
           without_commas(to_string(c.to)),
           std::to_string(bytes),
           us(t.ours),
           number(t.ours.least * 1e6, "%.2f"),
           us(t.typed),
           us(t.bare),
           number(t.bare.least * 1e6, "%.2f"),
           t.bare_name,
           us(t.block),
           us(t.packed),
           us(t.scalapack),
           us(t.costa),
           us(t.pass),
           us(t.shard),
           std::to_string(t.ours.trials),
           others_text(others),
           ratio(t.bare),
           ratio(t.block),
           passes,
           wanted,
           missed.empty() ? "-" : missed});
  return count;
}

int run(MPI_Comm world, options const& o) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(world, &ranks);
  MPI_Comm_rank(world, &rank);
  if (ranks != 2 && ranks != 4 && ranks != 8)
    throw std::runtime_error("the cases are for 2, 4 and 8 ranks, not " + std::to_string(ranks) +
                             ". Start it with mpirun -n 2, 4 or 8.");
  std::vector<std::int64_t> sizes;
  for (auto const& text : o.sizes) sizes.push_back(parse_size(text));
  csv_file csv(rank == 0 ? o.csv : "", heading);
  if (rank == 0) {
    std::printf("%d ranks, ASHLAR_SHARED_MEMORY %s, single-copy mechanism %s\n\n", ranks,
                memory_setting().c_str(), transport_setting().c_str());
    std::printf("%-38s %8s | %6s %6s %6s %6s %6s | %10s %10s |\n", "", "bytes", "bare/", "packed/",
                "ScaLA/", "COSTA/", "ours/", "ours us", "bare us");
    std::printf("%-38s %8s | %6s %6s %6s %6s %6s |\n", "", "", "ours", "ours", "ours", "ours",
                "pass");
  }
  int measured = 0, missed = 0;
  for (auto const& c : all_cases(ranks)) {
    if (c.name.find(o.cases) == std::string::npos) continue;
    ashlar::mesh const m(world, c.mesh);
    for (std::int64_t const bytes : sizes) {
      auto all = contestants_of(c, m, extents_of(c.rank, bytes));
      std::erase_if(all, [&](contestant const& x) { return x.name.find(o.only) == x.name.npos; });
      check(world, all, c.name + " of " + size_text(bytes));
      auto const times = measure_alone(world, all, o.how, o.others);
      case_times const t = columns_of(all, times.of);
      if (rank == 0) missed += report(c, m, bytes, t, times.others, csv);
      ++measured;
    }
  }
  if (measured == 0) throw std::runtime_error("--cases " + o.cases + ": no case has this name.");
  if (rank == 0)
    std::printf("\n%d measurements, all results right, %d targets missed\n", measured, missed);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  options o;
  CLI::App app{"Measures redistributions beside bare MPI calls, ScaLAPACK and COSTA"};
  app.add_option("--sizes", o.sizes, "bytes of the whole tensor: powers of two of at least 4KiB")
      ->delimiter(',');
  app.add_option("--cases", o.cases, "only cases whose name contains this text");
  app.add_option("--only", o.only,
                 "only contestants whose name contains this text, to profile them");
  add_to(app, o, "case and size");
  if (auto const status = parse(app, o, argc, argv, env.rank())) return *status;
  return run(env.world(), o);
}
