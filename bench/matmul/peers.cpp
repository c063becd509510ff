// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#include "peers.hpp"

#ifdef ASHLAR_BENCH_SCALAPACK
#include "../support/scalapack.hpp"
#endif
#ifdef ASHLAR_BENCH_COSMA
#include <cosma/context.hpp>
#include <cosma/cosma_pxgemm.hpp>
#include <cosma/matrix.hpp>
#include <cosma/multiply.hpp>
#include <cosma/strategy.hpp>
#endif

namespace ashlar_bench {
namespace {

#ifdef ASHLAR_BENCH_SCALAPACK
/// A block-cyclic matrix: its layout and the elements that this process holds.
template <class T>
struct cyclic_matrix {
  blacs_matrix layout;
  int block = 0, row = 0, column = 0, rows = 0, columns = 0;
  std::vector<T> values;

  cyclic_matrix(blacs_grid const& g, std::int64_t m, std::int64_t n, int nb)
      : layout(g, static_cast<int>(m), static_cast<int>(n), nb, nb), block(nb), row(g.row()),
        column(g.column()), rows(g.rows()), columns(g.columns()),
        values(static_cast<std::size_t>(layout.local_rows) *
               static_cast<std::size_t>(layout.local_columns)) {}

  static std::int64_t global(int local, int nb, int process, int processes) {
    return (std::int64_t(local / nb) * processes + process) * nb + local % nb;
  }
  /// Calls visit(i, j, element) for each local element, with its global indices.
  template <class Visit>
  void for_each(Visit visit) {
    T* value = values.data();
    for (int j = 0; j < layout.local_columns; ++j)
      for (int i = 0; i < layout.local_rows; ++i)
        visit(global(i, block, row, rows), global(j, block, column, columns), *value++);
  }
};

template <class T>
struct cyclic_product {
  product_shape shape;
  blacs_grid grid;
  cyclic_matrix<T> a, b, c;

  cyclic_product(product_shape const& s, cyclic_layout const& l)
      : shape(s), grid(l.rows, l.columns), a(grid, s.m, s.k, l.block), b(grid, s.k, s.n, l.block),
        c(grid, s.m, s.n, l.block) {
    a.for_each([](std::int64_t i, std::int64_t j, T& value) { value = T(value_of_a(i, j)); });
    b.for_each([](std::int64_t i, std::int64_t j, T& value) { value = T(value_of_b(i, j)); });
  }

  void run() {
    int const m = static_cast<int>(shape.m), n = static_cast<int>(shape.n);
    int const k = static_cast<int>(shape.k), first = 1;
    T const one = 1, zero = 0;
    int const* const da = a.layout.descriptor.data();
    int const* const db = b.layout.descriptor.data();
    int const* const dc = c.layout.descriptor.data();
    if constexpr (std::is_same_v<T, double>)
      pdgemm_("N", "N", &m, &n, &k, &one, a.values.data(), &first, &first, da, b.values.data(),
              &first, &first, db, &zero, c.values.data(), &first, &first, dc);
    else
      psgemm_("N", "N", &m, &n, &k, &one, a.values.data(), &first, &first, da, b.values.data(),
              &first, &first, db, &zero, c.values.data(), &first, &first, dc);
  }

#ifdef ASHLAR_BENCH_COSMA
  void run_by_cosma() {
    cosma::pxgemm<T>('N', 'N', static_cast<int>(shape.m), static_cast<int>(shape.n),
                     static_cast<int>(shape.k), T(1), a.values.data(), 1, 1,
                     a.layout.descriptor.data(), b.values.data(), 1, 1, b.layout.descriptor.data(),
                     T(0), c.values.data(), 1, 1, c.layout.descriptor.data());
  }
#endif
};

template <class T>
std::function<bool()> check_of(std::shared_ptr<cyclic_product<T>> product,
                               std::shared_ptr<reference const> expected) {
  return [product, expected] {
    return expected->is_product([&](auto visit) {
      product->c.for_each(
          [&](std::int64_t i, std::int64_t j, T& value) { visit(i, j, double(value)); });
    });
  };
}
#endif

}  // namespace

#ifdef ASHLAR_BENCH_SCALAPACK
template <class T>
std::vector<contestant> scalapack_product(MPI_Comm, product_shape const& s, cyclic_layout const& l,
                                          std::shared_ptr<reference const> expected) {
  auto const product = std::make_shared<cyclic_product<T>>(s, l);
  return {{"ScaLAPACK", role::peer, [product] { product->run(); },
           check_of<T>(product, std::move(expected))}};
}
#else
template <class T>
std::vector<contestant> scalapack_product(MPI_Comm, product_shape const&, cyclic_layout const&,
                                          std::shared_ptr<reference const>) {
  return {};
}
#endif

#ifdef ASHLAR_BENCH_COSMA
template <class T>
std::vector<contestant> cosma_product(MPI_Comm comm, product_shape const& s,
                                      std::shared_ptr<reference const> expected) {
  struct state {
    cosma::Strategy strategy;
    cosma::context<T> context = cosma::make_context<T>();
    cosma::CosmaMatrix<T> a, b, c;
    state(product_shape const& p, int ranks, int rank)
        : strategy(static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k),
                   static_cast<std::size_t>(ranks)),
          a(context, 'A', strategy, rank), b(context, 'B', strategy, rank),
          c(context, 'C', strategy, rank) {}
  };
  int ranks = 1, rank = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &rank);
  auto const p = std::make_shared<state>(s, ranks, rank);
  auto const fill = [](cosma::CosmaMatrix<T>& x, auto value) {
    for (std::size_t l = 0; l < x.matrix_size(); ++l) {
      auto const [i, j] = x.global_coordinates(static_cast<int>(l));
      x.matrix_pointer()[l] = T(value(i, j));
    }
  };
  fill(p->a, value_of_a);
  fill(p->b, value_of_b);
  return {{"COSMA", role::peer,
           [p, comm] { cosma::multiply<T>(p->a, p->b, p->c, p->strategy, comm, T(1), T(0)); },
           [p, expected] {
             return expected->is_product([&](auto visit) {
               for (std::size_t l = 0; l < p->c.matrix_size(); ++l) {
                 auto const [i, j] = p->c.global_coordinates(static_cast<int>(l));
                 visit(i, j, double(p->c.matrix_pointer()[l]));
               }
             });
           }}};
}

template <class T>
std::vector<contestant> cosma_pdgemm_product(MPI_Comm, product_shape const& s,
                                             cyclic_layout const& l,
                                             std::shared_ptr<reference const> expected) {
  auto const product = std::make_shared<cyclic_product<T>>(s, l);
  return {{"COSMA pdgemm", role::peer, [product] { product->run_by_cosma(); },
           check_of<T>(product, std::move(expected))}};
}
#else
template <class T>
std::vector<contestant> cosma_product(MPI_Comm, product_shape const&,
                                      std::shared_ptr<reference const>) {
  return {};
}
template <class T>
std::vector<contestant> cosma_pdgemm_product(MPI_Comm, product_shape const&, cyclic_layout const&,
                                             std::shared_ptr<reference const>) {
  return {};
}
#endif

template std::vector<contestant> scalapack_product<float>(MPI_Comm, product_shape const&,
                                                          cyclic_layout const&,
                                                          std::shared_ptr<reference const>);
template std::vector<contestant> scalapack_product<double>(MPI_Comm, product_shape const&,
                                                           cyclic_layout const&,
                                                           std::shared_ptr<reference const>);
template std::vector<contestant> cosma_product<float>(MPI_Comm, product_shape const&,
                                                      std::shared_ptr<reference const>);
template std::vector<contestant> cosma_product<double>(MPI_Comm, product_shape const&,
                                                       std::shared_ptr<reference const>);
template std::vector<contestant> cosma_pdgemm_product<float>(MPI_Comm, product_shape const&,
                                                             cyclic_layout const&,
                                                             std::shared_ptr<reference const>);
template std::vector<contestant> cosma_pdgemm_product<double>(MPI_Comm, product_shape const&,
                                                              cyclic_layout const&,
                                                              std::shared_ptr<reference const>);

}  // namespace ashlar_bench
