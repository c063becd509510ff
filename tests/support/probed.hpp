// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Wraps layers to test whether their tensors have static placements (placements that are part of
// the type). In a typed model every tensor of a forward or backward pass must have a static
// placement.

#include <type_traits>

#include <ashlar/placement/tags.hpp>

namespace ashlar_test {

/// The numbers of passes of probed layers since the last reset.
struct probed_calls {
  static inline int typed = 0;    ///< passes whose tensors have their placements in their types
  static inline int dynamic = 0;  ///< all other passes

  static void reset() { typed = dynamic = 0; }
  template <bool Typed>
  static void count() {
    ++(Typed ? typed : dynamic);
  }
};

/// A layer with at least one parameter. Its passes compile only if x, y, dy, the first parameter
/// and its gradient all have static placements, or none has. Counts the passes of both kinds
/// (probed_calls).
template <class Layer>
class probed : public Layer {
 public:
  using Layer::Layer;

  template <class Call>
  auto forward(Call const& c) const {
    constexpr bool typed = ashlar::static_placement<decltype(c.at().x())>;
    static_assert(std::remove_cvref_t<decltype(c.x())>::is_static == typed);
    static_assert(decltype(c.template parameter<0>())::is_static == typed);
    static_assert(decltype(c.make_y())::is_static == typed);
    probed_calls::count<typed>();
    return Layer::forward(c);
  }
  template <class Call>
  void weight_gradient(Call const& c) const {
    constexpr bool typed = ashlar::static_placement<decltype(c.at().x())>;
    static_assert(std::remove_cvref_t<decltype(c.dy())>::is_static == typed);
    static_assert(decltype(c.template gradient<0>())::is_static == typed);
    probed_calls::count<typed>();
    Layer::weight_gradient(c);
  }
};

}  // namespace ashlar_test
