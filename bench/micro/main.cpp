// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs microbenchmarks with Google Benchmark, on any number of ranks. Rank 0 runs Google Benchmark
// and accepts all of its options. conductor.hpp describes the work of the other ranks and how times
// are measured.
//
//   mpirun -n 4 bench/micro --benchmark_filter=all_gather --benchmark_format=json
//   bench/micro --benchmark_filter='^kernel/' --benchmark_out=kernels.json
//
// In the output, "Time" is the time of the slowest rank. "CPU" is the CPU time of rank 0 alone, and
// includes the work between trials. Counters that are zero are not printed:
//
//   bytes          the bytes of one run (counts::bytes in suite.hpp)
//   algbw, busbw   algorithm and bus bandwidth in bytes per second (bandwidth.hpp)
//   flops          floating-point operations per second of all ranks together
//   least          the seconds of one run in the fastest trial

#include <cstdio>
#include <cstring>

#include <benchmark/benchmark.h>

#include "../support/settings.hpp"
#include "conductor.hpp"

namespace {

using namespace ashlar_bench;
using namespace ashlar_bench::micro;

/// Thrown by show_usage(). Without this exception, Google Benchmark would exit the process after
/// printing its usage, and the other ranks would wait forever.
struct usage_shown {};

void show_usage() {
  std::printf("Microbenchmarks of ashlar: mpirun -n RANKS bench/micro, or alone, with options of "
              "Google Benchmark:\n\n");
  benchmark::PrintDefaultHelp();
  std::fflush(stdout);
  throw usage_shown();
}

bool asks_for_help(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::strncmp(argv[i], "--help", 6) == 0) return true;
  return false;
}

void add_counters(benchmark::State& state, counts const& of, timing const& t) {
  auto const rate = [](double value) {
    return benchmark::Counter(value, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (of.bytes > 0) {
    state.counters["bytes"] = of.bytes;
    state.counters["algbw"] = rate(of.bytes);
  }
  if (of.bytes * of.bus_factor > 0) state.counters["busbw"] = rate(of.bytes * of.bus_factor);
  if (of.flops > 0) state.counters["flops"] = rate(of.flops);
  state.counters["least"] = t.least;
}

/// Runs Google Benchmark on rank 0. Returns the exit status.
int lead(conductor& ranks, suite const& all, int argc, char** argv) {
  bool const helps = asks_for_help(argc, argv);
  try {
    benchmark::Initialize(&argc, argv, show_usage);
  } catch (usage_shown const&) {
    if (!helps) std::fprintf(stderr, "error: the value of an option is none of those above.\n");
    return helps ? 0 : 1;
  }
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("ranks", std::to_string(all.ranks()));
  benchmark::AddCustomContext("ASHLAR_SHARED_MEMORY", memory_setting());
  int wrong = 0;
  for (std::size_t k = 0; k < all.cases().size(); ++k) {
    auto const measure = [&ranks, &wrong, k](benchmark::State& state) {
      if (!ranks.prepare(k)) {
        ++wrong;
        return state.SkipWithError("the result is wrong");
      }
      auto const runs = static_cast<std::int64_t>(state.max_iterations);
      timing t;
      while (state.KeepRunningBatch(state.max_iterations)) {
        t = ranks.run(runs);
        state.SetIterationTime(t.median * static_cast<double>(runs));
      }
      add_counters(state, ranks.prepared().per_run, t);
    };
    benchmark::RegisterBenchmark(all.cases()[k].name.c_str(), measure)->UseManualTime();
  }
  bool const found = benchmark::RunSpecifiedBenchmarks() > 0;
  benchmark::Shutdown();
  return found && wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  suite all(env.size());
  for (auto const add : families()) add(all);
  conductor ranks(env.world(), all);
  if (!ranks.leads()) return ranks.follow();
  return ranks.end(lead(ranks, all, argc, argv));
}
