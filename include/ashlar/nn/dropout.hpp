// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Dropout: in training, each element is zero with probability p and 1 / (1 - p) times itself
// otherwise. The mask is a function of (seed, layer, pass number, global index), so it is the same
// on every mesh and placement, and the backward pass makes it again instead of storing it.

#include <ashlar/nn/layer.hpp>

namespace ashlar::detail {

/// The processor's dropout: in nn that is the name of the layer.
template <class Processor, class T>
void drop(Processor const& on, T const* x, std::int64_t count, double p, std::uint64_t seed,
          std::uint64_t number, std::int64_t first, T* y) {
  dropout(on, x, count, p, seed, number, first, y);
}

}  // namespace ashlar::detail

namespace ashlar::nn {

template <class T, int XRank, class At>
class placed_dropout {
  using input = input_of<T, XRank, At>;

 public:
  placed_dropout(At const& at, double p, std::uint64_t layer) : at_(at), p_(p), layer_(layer) {}

  auto forward(input const& x, pass const& p) {
    pass_ = p;
    auto y = empty<T, XRank>(x.mesh(), x.extents(), at_.y());
    apply(x, y);
    return y;
  }
  template <distributed DY>
  auto backward(DY const& dy) {
    auto dx = empty<T, XRank>(dy.mesh(), dy.extents(), at_.dx());
    apply(dy, dx);
    return dx;
  }
  template <class F>
  void for_each_parameter(F) {}

 private:
  template <class From, class To>
  void apply(From const& from, To& to) const {
    auto const& on = from.mesh().processor();
    T const* const begin = from.data();
    if (!pass_.training || p_ == 0) {
      copy_elements(on, begin, from.local_elements(), to.data());
      return;
    }
    if (from.mesh().is_captured())
      throw error("nn::dropout", "a CUDA graph would drop the same elements at each replay. Train "
                                 "with p = 0, or without trainer_options.graph.");
    std::uint64_t const stream = (layer_ << 40) + static_cast<std::uint64_t>(
                                                      pass_.number);  // no two masks share one
    ashlar::detail::for_each_global_run(
        from.extents(), from.local_box(), begin,
        [&](std::int64_t first, std::int64_t count, T const* source) {
          ashlar::detail::drop(on, source, count, p_, pass_.seed, stream, first,
                               to.data() + (source - begin));
        });
  }

  At at_;
  double p_;
  std::uint64_t layer_;
  pass pass_;
};

/// x of any extents -> y of the same. Communicates nothing of its own.
class dropout {
 public:
  template <int XRank>
  static constexpr int y_rank = XRank;

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

  template <class T, int XRank, class At, class Mesh>
  auto place(Mesh const&, shape const&, At const& at, stream_counter& streams) const {
    return placed_dropout<T, XRank, At>(at, p_, 1 + streams.next++);
  }

 private:
  double p_;
};

}  // namespace ashlar::nn
