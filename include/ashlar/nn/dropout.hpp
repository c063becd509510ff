// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Dropout. In training, each element becomes zero with probability p and is divided by 1 - p
// otherwise. The mask depends only on the seed, the layer, the number of the pass and the global
// index of the element. So it is the same on every mesh and at every placement. The backward pass
// computes it again instead of storing it.

#include <ashlar/nn/layer.hpp>

namespace ashlar::detail {

/// Calls the processor's function `dropout`. Inside namespace nn, name look-up would find the class
/// nn::dropout instead.
template <class Processor, class T>
void drop(Processor const& on, T const* x, std::int64_t count, double p, std::uint64_t seed,
          std::uint64_t number, std::int64_t first, T* y) {
  dropout(on, x, count, p, seed, number, first, y);
}

}  // namespace ashlar::detail

namespace ashlar::nn {

/// A layer that maps x of any extents to y of the same extents. Its passes do not communicate.
class dropout {
 public:
  static constexpr bool runs_on_devices = true;
  static constexpr int streams = 1;

  constexpr explicit dropout(double p) : p_(p) {
    if (!(p >= 0 && p < 1)) throw error("nn::dropout", "the probability must be in [0, 1).");
  }

  constexpr search::layer_spec spec(shape const& x) const {
    search::layer_spec s;
    s.name = "dropout";
    s.x = s.y = x;
    s.rows = independent_training_rows(x.rank());
    s.forward_values = s.backward_values = 2 * static_cast<double>(x.elements());
    return s;
  }

  template <class Call>
  auto forward(Call const& c) const {
    auto y = c.make_y();
    mask const m{c.pass(), 1 + c.stream()};
    apply(c, m, c.x(), y);
    return made(y, m);
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto dx = c.make_dx();
    apply(c, c.template kept<0>(), c.dy(), dx);
    return dx;
  }

 private:
  /// The numbers that determine a mask.
  struct mask {
    nn::pass pass;
    std::uint64_t layer;
  };

  template <class Call, class From, class To>
  void apply(Call const& c, mask const& m, From const& from, To& to) const {
    using T = typename Call::value_type;
    auto const& on = c.processor();
    T const* const begin = from.data();
    if (!m.pass.training || p_ == 0) {
      copy_elements(on, begin, from.local_elements(), to.data());
      return;
    }
    if (c.mesh().is_captured())
      throw error("nn::dropout", "a CUDA graph would drop the same elements at each replay. Train "
                                 "with p = 0, or without trainer_options.graph.");
    std::uint64_t const stream = (m.layer << 40) +
                                 static_cast<std::uint64_t>(m.pass.number);  // unique to each mask
    ashlar::detail::for_each_global_run(
        from.extents(), from.local_box(), begin,
        [&](std::int64_t first, std::int64_t count, T const* source) {
          ashlar::detail::drop(on, source, count, p_, m.pass.seed, stream, first,
                               to.data() + (source - begin));
        });
  }

  double p_;
};

}  // namespace ashlar::nn
