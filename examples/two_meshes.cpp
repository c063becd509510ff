// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Two parts of a mesh run different computations, and a tensor crosses from one part to the other.
// All ranks run the same program. An operation on a tensor does nothing on ranks outside the
// tensor's mesh. Run it on eight ranks:
//
//   mpirun -n 8 two_meshes

#include <iostream>

#include <ashlar/tensor.hpp>

using namespace ashlar::placements;  // S<dim>, B, P

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  ashlar::mesh mesh(env.world(), {{"stage", 2}, {"node", 2}, {"gpu", 2}});
  auto const stage = mesh.split("stage");  // two meshes of node=2,gpu=2

  // The first stage holds x, split by rows over all its ranks, and multiplies x by its weight w.
  auto x = ashlar::normal<float>(stage[0], {512, 256}, ashlar::sbp<S<0>, S<0>>{}, {.seed = 1});
  auto w = ashlar::normal<float>(stage[0], {256, 384}, ashlar::sbp<B, B>{}, {.seed = 2});
  auto y = ashlar::matmul(x, w);

  // The product moves to the second stage. There its columns are split over the nodes, and the
  // ranks of a node have copies of the same columns. The plan lists the data that cross between the
  // stages and the data that move inside a stage.
  auto z = y | ashlar::to<S<1>, B>.on(stage[1]);
  auto u = ashlar::normal<float>(stage[1], {384, 128}, ashlar::sbp<S<0>, B>{}, {.seed = 3});
  auto v = ashlar::matmul(z, u);  // tensor<float, 2, sbp<P, B>>: a partial sum over the nodes

  if (mesh.rank() == 0)
    std::cout << "y  " << y << "\nz  " << z << "\nv  " << v << "\n\nfrom y to z:\n"
              << ashlar::plan_redistribution(y, stage[1], ashlar::sbp<S<1>, B>{});
}
