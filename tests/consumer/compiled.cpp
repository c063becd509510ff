// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A program that links the target ashlar::compiled. It makes a mesh, redistributes a tensor and
// searches a plan.

#include <iostream>

#include <ashlar/ashlar.hpp>

int main(int argc, char** argv) {
  using namespace ashlar::placements;
  ashlar::mpi::environment env(argc, argv);
  ashlar::mesh mesh(env.world(), {{"gpu", env.size()}});
  auto const x = ashlar::full<float>(mesh, {4, 4}, ashlar::sbp<S<0>>{}, 1.0f) | ashlar::to<B>;
  auto const problem = ashlar::nn::describe(ashlar::nn::chain(ashlar::nn::linear(4, 8)),
                                            ashlar::nn::feature_batch{4, 4});
  auto const plan = ashlar::search::optimal(problem, mesh.topology(), mesh.machine());
  bool const right = x.local_elements() == 16 && plan.size() > 0;
  std::cout << "ashlar::compiled is " << (right ? "here" : "wrong") << '\n';
  return right ? 0 : 1;
}
