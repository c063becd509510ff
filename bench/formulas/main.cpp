// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the times of layers that are written by hand in the library with those of the same
// layers written as formulas (tests/support/formula_layers.hpp), on one rank. The passes of both
// run in turn, so that disturbances of the machine affect both. One line compares the formula of
// RMS norm with the layer norm written by hand, since the library has no RMS norm written by hand.
// A line of the output:
//
//   layer,pass,by_hand_us,formula_us,speed     the least times of one pass in microseconds; the
//                                              speed is by_hand_us / formula_us
//
//   bench/formulas --rows 512 --features 1024 --trials 50

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <support/formula_layers.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/nn/rms_norm.hpp>

#include "../support/placed_layer.hpp"

namespace {

using namespace ashlar_bench;
namespace as_formula = ashlar_test::as_formula;

/// Calls `run` once and returns how many microseconds the call takes.
template <class Run>
double microseconds(Run const& run) {
  auto const begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
      .count();
}

template <int Rank, class Hand, class Formula>
void compare(char const* name, Hand const& hand, Formula const& formula, ashlar::shape const& x,
             ashlar::mesh const& m, int trials) {
  placed_layer<Hand, Rank> by_hand(hand, x, m);
  placed_layer<Formula, Rank> by_formula(formula, x, m);
  double least[2][2] = {{1e30, 1e30}, {1e30, 1e30}};
  for (int t = 0; t < trials; ++t) {
    auto const measure = [&](int which, auto& layer) {
      least[0][which] = std::min(least[0][which], microseconds([&] { layer.forward(); }));
      least[1][which] = std::min(least[1][which], microseconds([&] { layer.backward(); }));
    };
    measure(0, by_hand);
    measure(1, by_formula);
  }
  for (int pass : {0, 1})
    std::printf("%s,%s,%.1f,%.1f,%.2f\n", name, pass == 0 ? "forward" : "backward", least[pass][0],
                least[pass][1], least[pass][0] / least[pass][1]);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Layers as formulas beside layers by hand.");
  std::int64_t rows = 512, d = 1024;
  int trials = 50;
  app.add_option("--rows", rows, "rows of the input")->check(CLI::PositiveNumber);
  app.add_option("--features", d, "features of the input")->check(CLI::PositiveNumber);
  app.add_option("--trials", trials, "turns of both")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  ashlar::mpi::environment const mpi(argc, argv);
  ashlar::mesh const m(MPI_COMM_SELF, {{"rank", 1}});
  std::printf("layer,pass,by_hand_us,formula_us,speed\n");
  auto const add = [&](char const* name, auto const& hand, auto const& formula) {
    compare<2>(name, hand, formula, {rows, d}, m, trials);
  };
  namespace device = ashlar::device;
  add("linear", nn::linear(d, d), as_formula::linear(d, d));
  add("linear_no_bias", nn::linear(d, d, false), as_formula::product(d, d));
  add("output_embedding", nn::output_embedding(d, d), as_formula::output_embedding(d, d));
  add("layer_norm", nn::layer_norm(d), as_formula::layer_norm(d));
  add("rms_norm_beside_layer_norm", nn::layer_norm(d), nn::rms_norm(d));
  add("gelu", nn::gelu(), as_formula::gelu());
  add("relu", nn::relu(), as_formula::relu());
  add("silu", nn::activation<device::silu>(), as_formula::silu());
  add("tanh", nn::activation<device::hyperbolic_tangent>(), as_formula::tanh());
  add("sigmoid", nn::activation<device::logistic>(), as_formula::sigmoid());
  compare<3>("flatten", nn::flatten(), as_formula::flatten(), {rows, 16, d / 16}, m, trials);
}
