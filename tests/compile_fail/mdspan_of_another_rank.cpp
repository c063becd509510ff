// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: to_mdspan: the mdspan has another number of dimensions than the tensor.

// An mdspan of three dims cannot view a matrix.

#include <support/minimal_mdspan.hpp>

#include <ashlar/tensor/mdspan.hpp>

#ifdef ASHLAR_CONTROL
constexpr int rank = 2;
#else
constexpr int rank = 3;
#endif

float first(ashlar::strided_view<float, 2> const& v) {
  using ashlar_test::minimal::layout;
  return *ashlar::to_mdspan<ashlar_test::minimal::mdspan<float, rank, layout::right>>(v)
              .data_handle();
}
