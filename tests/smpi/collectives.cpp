// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the pairwise and the ring algorithm of collectives on several nodes. The ranks of a node
// share the node's link to other nodes. With the pairwise algorithm, the data of a rank crosses
// that link once for every member on another node. With the ring, the data crosses the link only
// once.
//
// The simulated seconds of both algorithms must agree with formulas in α and β within 3 %. The
// results of both algorithms must be bitwise equal. The default table must choose an algorithm that
// takes at most a fifth longer than the faster algorithm. The last arguments are the numbers of
// elements of the arrays, which are multiples of the number of ranks.
//
// run: node=4,gpu=4 latency:gpu_cluster 16384 65536 262144 1048576
// run: node=8,gpu=8 latency:gpu_cluster 65536 524288

#include <cstdlib>
#include <fstream>

#include <smpi/simulated.hpp>

namespace {

using namespace ashlar_test;
using ashlar::collective;
using ashlar::placement;

/// Returns a mesh that always uses this algorithm for collectives. "default" means the choice of
/// the default table.
ashlar::mesh mesh_by(arguments const& given, ashlar::mpi::environment const& env,
                     std::string const& algorithm) {
  char const* const folder = std::getenv("TMPDIR");
  std::string const name = std::string(folder != nullptr ? folder : ".") + "/table-" + algorithm;
  if (env.rank() == 0) {  // only rank 0 reads the file, when the mesh is made
    std::ofstream out(name);
    for (char const* kind : {"all-gather", "reduce-scatter", "all-reduce"})
      out << kind << " 2 0 any " << algorithm << '\n';
  }
  if (algorithm == "default") unsetenv("ASHLAR_COLLECTIVES");
  else setenv("ASHLAR_COLLECTIVES", name.c_str(), 1);
  return {env.world(), given.topology, given.machine};
}

struct timed {
  double seconds;
  ashlar::tensor<float, 2> result;
};

timed time_one(ashlar::mesh const& m, ashlar::redistribution_step const& s, std::int64_t elements) {
  auto const x = numbered(m, {elements, 1}, s.from);
  ashlar::tensor<float, 2> y(m, {elements, 1}, s.to);
  auto const what = make_transfer(s, {elements, 1}, m.topology(), m.coordinate());
  auto const go = [&] { m.run(what, ashlar::element_type::f32, x.data(), y.data()); };
  go();
  double const mine = simulated_seconds(go);
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return {slowest, y};
}

int run(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  arguments const given(argc, argv);
  auto const& t = given.topology;
  auto const& machine = given.machine;
  auto const pairs = mesh_by(given, env, "pairwise"), ring = mesh_by(given, env, "ring"),
             usual = mesh_by(given, env, "default");
  int const p = t.ranks(), g = t.ranks_per_node();
  verdict all;
  ashlar::axis_list axes;
  auto const whole = placement::all_broadcast(t.axes());
  auto rows = whole, sums = whole;
  for (signed char a = 0; a < t.axes(); ++a) {
    axes.push_back(a);
    rows = rows.with_split(a, 0);
    sums = sums.with(a, ashlar::partial());
  }
  if (env.rank() == 0)
    std::printf("%-14s %9s %12s %12s %12s  pairs / planned, ring / planned\n", "", "bytes",
                "pairs us", "ring us", "default us");
  for (std::size_t i = 0; i < given.rest.size(); ++i)
    for (auto const& s : {ashlar::redistribution_step{collective::all_gather, axes, rows, whole},
                          ashlar::redistribution_step{collective::reduce_scatter, axes, sums, rows},
                          ashlar::redistribution_step{collective::all_reduce, axes, sums, whole}}) {
      std::int64_t const elements = given.number(i);
      auto const by_pairs = time_one(pairs, s, elements), by_ring = time_one(ring, s, elements),
                 by_default = time_one(usual, s, elements);
      int const halves = s.kind == collective::all_reduce ? 2 : 1;
      double const bytes = 4.0 * static_cast<double>(elements);
      double const moved = halves * bytes * (p - 1) / p * machine.inter.beta;
      // Pairwise messages are posted at once, so they wait for α at the same time. In a ring, each
      // message waits for α after the previous one has arrived.
      double const pairs_planned = halves * machine.inter.alpha + moved * g * (p - g) / (p - 1);
      double const ring_planned = halves * (p - 1) * machine.inter.alpha + moved;
      if (env.rank() == 0)
        std::printf("%-14s %9.0f %12.1f %12.1f %12.1f  %.3f %.3f\n", to_string(s.kind), bytes,
                    by_pairs.seconds * 1e6, by_ring.seconds * 1e6, by_default.seconds * 1e6,
                    by_pairs.seconds / pairs_planned, by_ring.seconds / ring_planned);
      auto const near = [](double a, double b) { return a < 1.03 * b && b < 1.03 * a; };
      auto const name = std::string(to_string(s.kind));
      all.check(near(by_pairs.seconds, pairs_planned), name + " by pairs is not as planned");
      all.check(near(by_ring.seconds, ring_planned), name + " by a ring is not as planned");
      double const better = std::min(by_pairs.seconds, by_ring.seconds);
      all.check(by_default.seconds < 1.2 * better, name + ": the default is not the better one");
      for (std::int64_t j = 0; j < by_ring.result.local_elements(); ++j)
        all.check(by_ring.result.data()[j] == by_pairs.result.data()[j],
                  name + ": the two algorithms give different results");
    }
  return all.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv); }
