// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 5 6 7 8

// Tests products of random matrices, and of batches of matrices, on random meshes. The placements
// of both operands and of the result are random, and each operand may be transposed. A product is
// computed at once, or in panels one after another. Results must equal those of three nested loops,
// and the moved bytes must equal the bytes of the plan.

#include <doctest/doctest.h>
#include <support/dense_product.hpp>
#include <support/placement_cases.hpp>
#include <support/shared_property.hpp>
#include <support/step_census.hpp>
#include <support/traffic_check.hpp>

#include <ashlar/tensor/matmul.hpp>

namespace ashlar_test {
namespace {

struct product_case {
  mesh_case mesh;
  bool in_double = false, transpose_a = false, transpose_b = false;
  int batch = -1;  // -1: not batched
  int m = 1, n = 1, k = 1;
  placement a, b, c;
  char stream = 0;
  int panels = 2;
  int seed = 0;

  int rank() const { return batch < 0 ? 2 : 3; }
  index extents(int rows, int columns, bool transposed) const {
    if (transposed) std::swap(rows, columns);
    return batch < 0 ? index{rows, columns} : index{batch, rows, columns};
  }
  friend std::ostream& operator<<(std::ostream& out, product_case const& c) {
    return out << (c.in_double ? "double " : "float ")
               << to_string(to_shape(c.extents(c.m, c.k, c.transpose_a))) << ' ' << to_string(c.a)
               << (c.transpose_a ? " transposed" : "") << " times "
               << to_string(to_shape(c.extents(c.k, c.n, c.transpose_b))) << ' ' << to_string(c.b)
               << (c.transpose_b ? " transposed" : "") << " -> " << to_string(c.c)
               << (c.stream == 0 ? std::string()
                                 : " in " + std::to_string(c.panels) + " panels of " + c.stream)
               << " @" << c.mesh << ", values of seed " << c.seed;
  }
};

rc::Gen<product_case> products() {
  return rc::gen::exec([] {
    product_case c;
    // Meshes have at most three axes, because planning a product on four axes may take seconds.
    c.mesh = *meshes(3);
    c.in_double = *between(0, 1) == 1;
    c.transpose_a = *between(0, 1) == 1;
    c.transpose_b = *between(0, 1) == 1;
    c.batch = any_of<int>({-1, -1, 1, 2, 3, 5, 0});
    std::vector<int> const extents{2, 1, 3, 5, 7, 11, 13, 4, 0};
    c.m = any_of(extents);
    c.n = any_of(extents);
    c.k = any_of(extents);
    int const axes = c.mesh.topology.axes();
    bool const of_sums = *between(0, 4) > 0;
    auto const draw = [&] {
      return draw_placement(c.rank(), axes, of_sums ? reduction::sum : draw_reduction());
    };
    c.a = draw();
    c.b = draw();
    c.c = draw();
    c.stream = any_of<char>({0, 0, 0, 0, 'm', 'n', 'k', c.rank() == 3 ? 'b' : 'k'});
    c.panels = *between(1, 4);
    c.seed = *between(0, 999);
    return c;
  });
}

step_census products_tried;
int in_panels = 0;

template <class A, class B>
std::string multiply(product_case const& c, ashlar::mesh const& m, A const& a, B const& b,
                     dense const& expected) {
  ashlar::matmul_options wanted{0, c.stream, c.panels};
  ashlar::matmul_plan plan;
  try {
    plan = plan_matmul(a, b, c.c, wanted);
  } catch (ashlar::error const&) {  // panels along this letter are not possible here
    if (c.stream == 0) throw;
    wanted = {};
    plan = plan_matmul(a, b, c.c, wanted);
  }
  in_panels += plan.panels.letter != 0;
  for (auto const* part : {&plan.a, &plan.b, &plan.c}) products_tried.add(*part, m.topology());
  traffic_check const traffic(m, c.mesh.on);
  auto const product = matmul(a, b, c.c, wanted);
  std::string wrong = traffic.difference(predicted(m, plan), plan.panels.letter == 0);
  if (!(product.placement() == c.c)) wrong += " the result has another placement;";
  return wrong + wrong_with(product, expected);
}

template <class T, int Rank>
std::string try_product(product_case const& c) {
  auto const& m = mesh_of(c.mesh);
  std::mt19937 random(static_cast<unsigned>(c.seed));
  dense const x = random_integers(random, c.extents(c.m, c.k, c.transpose_a), -5, 5);
  dense const y = random_integers(random, c.extents(c.k, c.n, c.transpose_b), -5, 5);
  auto const a = placed<T, Rank>(m, x, c.a, 1);
  auto const b = placed<T, Rank>(m, y, c.b, 2);
  auto const expected = product(x, y, c.transpose_a, c.transpose_b);
  if (c.transpose_a && c.transpose_b) return multiply(c, m, transposed(a), transposed(b), expected);
  if (c.transpose_a) return multiply(c, m, transposed(a), b, expected);
  if (c.transpose_b) return multiply(c, m, a, transposed(b), expected);
  return multiply(c, m, a, b, expected);
}

std::string try_any_product(product_case const& c) {
  if (c.in_double) return c.rank() == 2 ? try_product<double, 2>(c) : try_product<double, 3>(c);
  return c.rank() == 2 ? try_product<float, 2>(c) : try_product<float, 3>(c);
}

}  // namespace

TEST_CASE("products of any tensors from any placements to any placement") {
  if (!for_all("matmul", 200, products(), try_any_product)) return;
  CHECK(mpi_traffic::balanced());

  using ashlar::collective;
  if (world_rank() == 0) MESSAGE(products_tried.text() << ", products in panels " << in_panels);
  CHECK(in_panels > 0);
  if (world_size() == 1) return;
  for (auto const kind : {collective::all_gather, collective::reduce_scatter,
                          collective::all_reduce, collective::all_to_all, collective::slice}) {
    CAPTURE(to_string(kind));
    CHECK(products_tried.among_ranks(kind) > 0);
  }
}

}  // namespace ashlar_test
