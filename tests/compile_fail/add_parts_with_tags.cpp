// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: add: the operands are not tensors of one element type, on one type of processor and with one tag. Convert one with cast<...>, or move x to the part of y with redistribute(x, y.mesh(), sbp<...>{}).

// The operands are on different parts of a mesh, which have different tags in their types.

#include <ashlar/tensor/cross_mesh.hpp>
#include <ashlar/tensor/elementwise.hpp>

using namespace ashlar::placements;
using rows = ashlar::sbp<S<0>>;

auto add_parts_with_tags(ashlar::mesh const& mesh) {
  struct encoder;
  struct decoder;
  auto const x = ashlar::empty<float, 2>(mesh.part<encoder>({0}, {{"gpu", 1}}), {4, 4}, rows{});
  auto const y = ashlar::empty<float, 2>(mesh.part<decoder>({1}, {{"gpu", 1}}), {4, 4}, rows{});
#ifdef ASHLAR_CONTROL
  return redistribute(x, y.mesh(), rows{}) + y;
#else
  return x + y;
#endif
}
