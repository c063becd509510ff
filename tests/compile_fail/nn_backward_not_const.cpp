// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn: this layer has no backward pass that is a const function of a call

#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

struct layer_that_changes_backward {
  ashlar::search::layer_spec spec(ashlar::shape const& x) const {
    ashlar::search::layer_spec s;
    s.name = "changes";
    s.x = s.y = x;
    s.rows = ashlar::independent_training_rows(x.rank());
    return s;
  }
  template <class Call>
  auto forward(Call const& c) const {
    return c.make_y();
  }
  template <class Call>
#ifdef ASHLAR_CONTROL
  auto backward(Call const& c) const {
#else
  auto backward(Call const& c) {
#endif
      return c.make_dx();
}
}
;

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(nn::chain(nn::linear(4, 3), layer_that_changes_backward()), m, plan);
}
