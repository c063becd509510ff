// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that check_rows() works in the compiler: a constexpr net does not compile if a row of a
// layer's rule table is wrong.

#include <ashlar/step/check_rows.hpp>

namespace {

using namespace ashlar;

constexpr search::layer_spec spec(axis_placement y, axis_placement use) {
  search::layer_spec s;
  s.name = "layer";
  s.x = s.y = {4, 3};
  s.parameters = {{"weight", {3}, true}};
  s.rows.push_back({split(1, 0), y, split(1, 0), split(1, 0), {use}, {split(0, 0)}});
  return s;
}
constexpr bool passes(search::layer_spec const& s) {
  search::check_rows(s);
  return true;
}
template <auto Y, auto Use>
concept may_be = requires { typename std::bool_constant<passes(spec(Y, Use))>; };

static_assert(passes(spec(split(1, 0), split(0, 0))));
static_assert(may_be<split(1, 0), split(0, 0)>);
static_assert(!may_be<split(2, 0), split(0, 0)>);
static_assert(!may_be<split(1, 0), split(1, 0)>);

}  // namespace
