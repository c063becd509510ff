// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A product C = A B and the check of its result. The elements of A and B are integers from -4 to 4,
// computed from their global indices. All sums are therefore exact, in double and in float, and in
// every order. The check is, for one vector x of positive integers, whether
//
//   C x  =  A (B x)
//
// A wrong element of C changes the left side. The right side is computed from the formulas of A and
// B, without the library. A contestant passes its local elements of C with their global indices, so
// that every layout can be checked.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <mpi.h>

namespace ashlar_bench {

struct product_shape {
  std::int64_t m = 0, n = 0, k = 0;
  double flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

inline std::string to_string(product_shape const& s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
}

/// Parses a shape such as "4096x4096x256". Throws if it is not a shape, or if an extent is below 1
/// or above 2^20.
inline product_shape parse_product_shape(std::string const& text) {
  long long m = 0, n = 0, k = 0;
  char rest = 0;
  bool const three = std::sscanf(text.c_str(), "%lldx%lldx%lld%c", &m, &n, &k, &rest) == 3;
  for (long long const extent : {m, n, k})
    if (!three || extent < 1 || extent > 1 << 20)
      throw std::runtime_error("\"" + text +
                               "\" is not a shape. Write m, n and k as 4096x4096x256.");
  return {m, n, k};
}

inline int small_integer(std::int64_t i, std::int64_t j, std::uint64_t salt) {
  std::uint64_t const mixed = (static_cast<std::uint64_t>(i) * 40503u + salt) * 2654435761u +
                              static_cast<std::uint64_t>(j) * 2246822519u;
  return static_cast<int>(((mixed >> 15) ^ (mixed >> 29)) % 9) - 4;
}
inline int value_of_a(std::int64_t i, std::int64_t j) { return small_integer(i, j, 1); }
inline int value_of_b(std::int64_t i, std::int64_t j) { return small_integer(i, j, 77); }
inline double value_of_x(std::int64_t j) { return static_cast<double>(1 + j * 7 % 97); }

/// The vector A (B x). A product C = A B is checked by comparing C x with it.
class reference {
 public:
  /// Computes the vector. Collective: each rank computes a part.
  reference(MPI_Comm comm, product_shape const& s) : comm_(comm), shape_(s) {
    int ranks = 1, rank = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    std::vector<double> bx(static_cast<std::size_t>(s.k), 0.0);
    for (std::int64_t i = rank; i < s.k; i += ranks)
      for (std::int64_t j = 0; j < s.n; ++j)
        bx[static_cast<std::size_t>(i)] += value_of_b(i, j) * value_of_x(j);
    sum(bx);
    expected_.assign(static_cast<std::size_t>(s.m), 0.0);
    for (std::int64_t i = rank; i < s.m; i += ranks)
      for (std::int64_t j = 0; j < s.k; ++j)
        expected_[static_cast<std::size_t>(i)] += value_of_a(i, j) *
                                                  bx[static_cast<std::size_t>(j)];
    sum(expected_);
  }

  /// A function that calls visit(i, j, value) for every element of C that this rank holds.
  using elements = std::function<void(std::function<void(std::int64_t, std::int64_t, double)>)>;

  /// Returns whether C x is equal to the vector. It is if the ranks together hold every element of
  /// C once, with the right value. Collective.
  bool is_product(elements const& local) const {
    std::vector<double> cx(static_cast<std::size_t>(shape_.m), 0.0);
    local([&](std::int64_t i, std::int64_t j, double value) {
      cx[static_cast<std::size_t>(i)] += value * value_of_x(j);
    });
    sum(cx);
    return cx == expected_;
  }

 private:
  void sum(std::vector<double>& values) const {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM,
                  comm_);
  }
  MPI_Comm comm_;
  product_shape shape_;
  std::vector<double> expected_;
};

}  // namespace ashlar_bench
