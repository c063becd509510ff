// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The last layer of a mixture of experts. A token has one row from each of its experts, and its
// result is the sum of these rows, added in the order of the experts. If a plan splits the experts,
// each rank makes partial sums.

#include <algorithm>

#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/routed.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/routed_operators.hpp>

namespace ashlar::nn {

/// Sums routed rows [tokens.., experts, features] over the experts. Communicates nothing.
class combine {
 public:
  static constexpr bool takes_rows = true;
  template <int XRank>
  static constexpr int y_rank = XRank - 1;

  constexpr search::layer_spec spec(shape const& x) const {
    if (!x.is_routed())
      throw error("nn::combine", "the input is " + to_string(x) +
                                     " but must be rows of experts. Put nn::experts before it.");
    search::layer_spec s;
    s.name = "combine";
    s.x = x;
    for (int d = 0; d + 2 < x.rank(); ++d) s.y.extent.push_back(x[d]);
    s.y.extent.push_back(x[x.rank() - 1]);
    s.rows = combine_training_rows(x.rank());
    s.forward_values = s.backward_values = static_cast<double>(x.elements() + s.y.elements());
    s.temporary_values = static_cast<double>(s.y.elements());  // the sums in the forward pass
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    using T = typename Call::value_type;
    using A = typename Call::accumulated;
    auto y = c.make_y();
    auto const& rows = rows_of(c.x());
    buffer<A> sums(c.memory(), y.local_elements());
    std::fill_n(sums.data(), y.local_elements(), A(0));
    ashlar::detail::add_rows(rows, static_cast<T const*>(c.x().data()), sums.data());
    for (std::int64_t i = 0; i < y.local_elements(); ++i)
      y.data()[i] = static_cast<T>(sums.data()[i]);
    return made(y, rows.routes);
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto dx = make_routed<decltype(c.make_dx())>(c.mesh(), c.spec().x, as_value(c.at().dx()),
                                                 c.template kept<0>());
    auto const& rows = rows_of(dx);
    std::int64_t const d = rows.features();
    for (std::int64_t r = 0; r < rows.size(); ++r)
      std::copy_n(c.dy().data() + rows.place[static_cast<std::size_t>(r)] * d, d,
                  dx.data() + r * d);
    return dx;
  }
};

}  // namespace ashlar::nn
