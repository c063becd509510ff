// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Shows placements of tensors and the cost of moving them. Run it on four ranks:
//
//   mpirun -n 4 hello_placements

#include <iostream>

#include <ashlar/tensor.hpp>

using namespace ashlar::placements;  // S<dim>, B, P

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  ashlar::mesh mesh(env.world(), {{"node", 2}, {"gpu", 2}});

  // The rows of x are split over the nodes, and the columns of w over the ranks of a node.
  auto x = ashlar::normal<float>(mesh, {512, 1024}, ashlar::sbp<S<0>, B>{}, {.seed = 1});
  auto w = ashlar::normal<float>(mesh, {1024, 4096}, ashlar::sbp<B, S<1>>{}, {.seed = 2});

  auto y = ashlar::matmul(x, w);     // tensor<float, 2, sbp<S<0>, S<1>>>: nothing moves
  auto z = y | ashlar::to<S<0>, B>;  // one all-gather along "gpu"
  auto s = ashlar::sum<0>(y);        // tensor<float, 1, sbp<P, S<0>>>: still nothing moves

  ashlar::placement p = ashlar::parse_placement("S(1),B");
  ashlar::tensor<float, 2> d = ashlar::redistribute(y, p);  // the placement is a run-time value

  if (mesh.rank() == 0)
    std::cout << "x  " << x << "\ny  " << y << "\nz  " << z << "\ns  " << s << "\nd  " << d
              << "\n\nfrom y to d:\n"
              << ashlar::plan_redistribution(y, p) << "\nfrom s to all ranks:\n"
              << ashlar::plan_redistribution(s, ashlar::sbp<B, B>{});
}
