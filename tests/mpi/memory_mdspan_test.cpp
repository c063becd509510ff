// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 3

// Tests shards as mdspans, and tensors over the arrays of mdspans. The test uses a minimal mdspan,
// so it also runs with compilers without <mdspan>. If the standard library has an mdspan, or the
// reference implementation of mdspan is installed, that mdspan is tested too.

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/minimal_mdspan.hpp>
#include <support/placed.hpp>

#include <ashlar/tensor/borrow_local.hpp>
#include <ashlar/tensor/mdspan.hpp>

namespace ashlar_test {
namespace {

using minimal::layout;

template <layout Layout, class T = double>
using matrix_span = minimal::mdspan<T, 2, Layout>;

ashlar::tensor<double, 2> matrix_of_rows(ashlar::mesh const& m) {
  return placed<double, 2>(m, seeded_integers({4 * m.ranks(), 3}), placement{ashlar::split(0)});
}

}  // namespace

TEST_CASE("a shard is an mdspan of the given type") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = matrix_of_rows(m);
  auto const a = ashlar::to_mdspan<matrix_span<layout::right>>(x);
  CHECK(a.data_handle() == x.data());
  CHECK(a.extent(0) == 4);
  CHECK(a.extent(1) == 3);
  CHECK(a.stride(0) == 3);
  CHECK(a.stride(1) == 1);
  auto const b = ashlar::to_mdspan<matrix_span<layout::stride, double const>>(x);
  CHECK(b.data_handle() == x.data());
  CHECK(b.stride(0) == 3);

  // A view with gaps can be an mdspan with strides, but not a row-major one.
  ashlar::strided_view<double, 2> const part{x.data(), {4, 2}, {3, 1}};
  CHECK(ashlar::to_mdspan<matrix_span<layout::stride>>(part).stride(0) == 3);
  CHECK(
      message_of([&] { ashlar::to_mdspan<matrix_span<layout::right>>(part); }) ==
      "to_mdspan: along dim 0 the mdspan has extent 4 and stride 2, but the array has extent 4 and "
      "stride 3. Use std::dextents and layout_right, or layout_stride.");
  CHECK(has(message_of([&] { ashlar::to_mdspan<matrix_span<layout::left>>(x); }),
            "along dim 0 the mdspan has extent 4 and stride 1, but"));
  auto const sum = placed<double, 2>(m, seeded_integers({2, 2}), placement{ashlar::partial()});
  CHECK(has(message_of([&] { ashlar::to_mdspan<matrix_span<layout::right>>(sum); }),
            "has addends, not values"));
  CHECK(ashlar::to_mdspan<matrix_span<layout::right>>(local_addends_view(sum)).data_handle() ==
        sum.data());
}

TEST_CASE("a tensor borrows the array of an mdspan") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = matrix_of_rows(m);
  auto const rows = ashlar::to_mdspan<matrix_span<layout::right>>(x);
  auto const y = borrow_local(m, x.extents(), x.placement(), ashlar::to_strided_view(rows));
  CHECK(y.data() == x.data());
  CHECK(y.local_extents() == x.local_extents());
  matrix_span<layout::left> const columns(
      x.data(), minimal::mapping<2, layout::left>(minimal::extents<2>(4, 3)));
  CHECK(has(message_of([&] {
              borrow_local(m, x.extents(), x.placement(), ashlar::to_strided_view(columns));
            }),
            "has strides 1x4, but a shard is row-major without gaps."));
}

#if defined(__cpp_lib_mdspan) || __has_include(<experimental/mdspan>)
TEST_CASE("a shard is an mdspan of the standard library or the reference implementation") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = matrix_of_rows(m);
  auto const a = ashlar::to_mdspan(x);
  CHECK(a.data_handle() == x.data());
  CHECK(a.extent(0) == 4);
  CHECK(a.extent(1) == 3);
  CHECK(&a[std::array{1, 2}] == x.data() + 5);
  CHECK(borrow_local(m, x.extents(), x.placement(), ashlar::to_strided_view(a)).data() == x.data());
  auto const scalar = ashlar::tensor<double, 0>(m, {}, placement::all_broadcast(1));
  CHECK(ashlar::to_mdspan(scalar).data_handle() == scalar.data());
}
#endif

}  // namespace ashlar_test
