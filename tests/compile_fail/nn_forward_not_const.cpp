// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: nn: the passes of a layer are const functions of a call: forward(call) const and backward(call) const

#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/place.hpp>

namespace nn = ashlar::nn;

struct layer_that_changes_forward {
  ashlar::search::layer_spec spec(ashlar::shape const& x) const {
    ashlar::search::layer_spec s;
    s.name = "changes";
    s.x = s.y = x;
    s.rows = ashlar::independent_training_rows(x.rank());
    return s;
  }
  template <class Call>
#ifdef ASHLAR_CONTROL
  auto forward(Call const& c) const {
#else
  auto forward(Call const& c) {
#endif
      return c.make_y();
} template <class Call>
auto backward(Call const& c) const {
  return c.make_dx();
}
}
;

void place(ashlar::mesh const& m, ashlar::search::plan const& plan) {
  nn::place<float>(nn::chain(nn::linear(4, 3), layer_that_changes_forward()), m, plan);
}
