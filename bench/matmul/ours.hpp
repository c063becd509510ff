// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The two contestants of bench/matmul that are matrix products of this library:
//
//   free    with the placements that plan_matmul_layouts chooses. The mesh has one axis for each
//           prime factor of the number of ranks, so that any grid of ranks can be chosen.
//   given   with operands and result in blocks of a 2-D grid, as ScaLAPACK programs have them

#include <memory>
#include <optional>

#include <ashlar/tensor.hpp>

#include "../support/trials.hpp"
#include "problem.hpp"

namespace ashlar_bench {

/// A mesh, and the placements of A, B and C on it for the product C = A B.
struct product_layout {
  ashlar::topology mesh;
  ashlar::placement a, b, c;
};

template <class T>
product_layout free_layout(product_shape const& s, int ranks) {
  product_layout l;
  char name[] = "a";
  for (int factor = 2, rest = ranks; rest > 1; ++factor)
    for (; rest % factor == 0; rest /= factor, ++name[0]) l.mesh.axis.push_back({name, factor});
  auto const found = ashlar::plan_matmul_layouts(s.m, s.n, s.k, l.mesh, static_cast<int>(sizeof(T)),
                                                 ashlar::machines::workstation);
  l.a = found.a;
  l.b = found.b;
  l.c = found.c;
  return l;
}

inline product_layout given_layout(int rows, int columns) {
  ashlar::placement const blocks{ashlar::split(0), ashlar::split(1)};
  return {{{"row", rows}, {"column", columns}}, blocks, blocks, blocks};
}

template <class T>
struct our_product {
  ashlar::mesh mesh;
  ashlar::tensor<T, 2> a, b;
  ashlar::placement to;
  std::optional<ashlar::tensor<T, 2>> c;

  our_product(MPI_Comm comm, product_shape const& s, product_layout const& l)
      : mesh(comm, l.mesh),
        a(ashlar::from_index<T, 2>(mesh, {s.m, s.k}, l.a,
                                   [](auto const& i) { return T(value_of_a(i[0], i[1])); })),
        b(ashlar::from_index<T, 2>(mesh, {s.k, s.n}, l.b,
                                   [](auto const& i) { return T(value_of_b(i[0], i[1])); })),
        to(l.c) {}

  void run() {
    c.reset();
    c = ashlar::matmul(a, b, to);
  }

  void
  for_each_element(std::function<void(std::int64_t, std::int64_t, double)> const& visit) const {
    ashlar::box const& part = c->local_box();
    T const* value = c->data();
    for (std::int64_t i = 0; i < part[0].size; ++i)
      for (std::int64_t j = 0; j < part[1].size; ++j)
        visit(part[0].begin + i, part[1].begin + j, double(*value++));
  }
};

template <class T>
contestant ours(std::string name, MPI_Comm comm, product_shape const& s, product_layout const& l,
                std::shared_ptr<reference const> expected) {
  auto const product = std::make_shared<our_product<T>>(comm, s, l);
  return {std::move(name), role::ours, [product] { product->run(); },
          [product, expected] {
            return expected->is_product([&](auto visit) { product->for_each_element(visit); });
          }};
}

}  // namespace ashlar_bench
