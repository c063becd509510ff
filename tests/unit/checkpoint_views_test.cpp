// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests which views of files are refused. Views must cover each element of an array once, and must
// stay within their tensors.

#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/checkpoint/source_view.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
using views = std::vector<checkpoint::source_view>;

/// Returns the error of views of an array "x" of 2 rows and 3 columns. Each tensor in the files has
/// these extents, too.
std::string said_of(views const& all) {
  checkpoint::stored_array array;
  array.name = "x";
  array.extents = {2, 3};
  return message_of([&] {
    checkpoint::detail::check_views(array, all, [&](std::string const&) { return array.extents; });
  });
}

checkpoint::source_view whole() { return checkpoint::whole_view("t", {2, 3}); }

/// Returns the view that reads row `number` of the array from row `number` of the tensor "t".
checkpoint::source_view row(std::int64_t number) {
  auto v = whole();
  v.where.dim[0] = {number, 1};
  v.offset = 3 * number;
  return v;
}

}  // namespace

TEST_CASE("views must cover an array, each element once") {
  CHECK(said_of({whole()}) == "nothing was thrown");
  CHECK(said_of({row(1), row(0)}) == "nothing was thrown");
  CHECK(said_of({row(0)}) == "checkpoint::load: the views of \"x\" cover 3 of its 6 elements.");
  CHECK(said_of({}) == "checkpoint::load: the views of \"x\" cover 0 of its 6 elements.");
  // Two views of the same row have as many elements as the array, but cover only half of it.
  CHECK(has(said_of({row(0), row(0)}), "needs other elements than \"t\" has."));
}

TEST_CASE("views must stay within the array and within their tensors") {
  auto const refused = [](auto change) {
    auto v = whole();
    change(v);
    CHECK(said_of({v}) ==
          "checkpoint::load: \"x\" of shape 2x3 needs other elements than \"t\" has.");
  };
  refused([](auto& v) { v.offset = 1; });
  refused([](auto& v) { v.offset = -1; });
  refused([](auto& v) { v.strides[0] = 4; });
  refused([](auto& v) { v.strides[1] = -1; });
  refused([](auto& v) { v.where.dim[0] = {1, 2}; });
  refused([](auto& v) { v.where.dim[0] = {-1, 2}; });
}

}  // namespace ashlar_test
