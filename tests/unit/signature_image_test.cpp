// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks the signature tables of the layers on images against all possible rows
// (support/role_prover.hpp). Also checks each operator of their training rows: the forward pass, dx
// and the gradients of the parameters.

#include <doctest/doctest.h>
#include <support/check_table.hpp>
#include <support/image_kernels.hpp>
#include <support/naive_kernels.hpp>

#include <ashlar/placement/text.hpp>
#include <ashlar/signature/image.hpp>

using namespace ashlar_test;

namespace {

// Windows with and without overlap and padding. No window has extent 1, because for such a window
// more rows are valid than the tables contain.
std::vector<naive_window> const windows{{3, 1, 1}, {2, 2, 0}, {3, 2, 2}};

template <class Make>
std::vector<operation> for_all_windows(Make make) {
  std::vector<operation> all;
  for (auto const& w : windows) all.push_back(make(w));
  return all;
}

}  // namespace

TEST_CASE("convolution may be split by images and channels, and no other row holds") {
  check_table(ashlar::convolution_signatures(),
              for_all_windows([](auto const& w) { return convolution(w, 0); }));
}

TEST_CASE("the two gradients of a convolution are the contractions of its letters") {
  check_table(ashlar::contraction_signatures("no", "oc", "nc"),
              for_all_windows([](auto const& w) { return convolution(w, 1); }));
  check_table(ashlar::contraction_signatures("nc", "no", "oc"),
              for_all_windows([](auto const& w) { return convolution(w, 2); }));
}

TEST_CASE("maximum pooling acts on planes; maxima of maxima are left out") {
  check_table(ashlar::max_pool_signatures(),
              for_all_windows([](auto const& w) { return pooling(w, true, 0); }),
              {"P(max) -> P(max)"});
}

TEST_CASE("average pooling acts on planes and is linear") {
  check_table(ashlar::average_pool_signatures(),
              for_all_windows([](auto const& w) { return pooling(w, false, 0); }));
}

TEST_CASE("upsampling acts on planes and is linear") {
  check_table(ashlar::upsample_signatures(), {upsampling(2, 0), upsampling(3, 0)},
              {"P(max) -> P(max)", "P(min) -> P(min)"});
}

TEST_CASE("group norm may be split by images and by whole groups, and no other row holds") {
  check_table(ashlar::group_norm_signatures(), {group_norm(0)},
              {"B,B,P(max) -> P(max)", "B,B,P(min) -> P(min)"});
}

TEST_CASE("flatten keeps a split of channels only if a channel is one pixel") {
  check_table(ashlar::flatten_signatures(false), {flattening(true)},
              {"P(max) -> P(max)", "P(min) -> P(min)"});
  check_table(ashlar::flatten_signatures(true), {flattening(false)},
              {"P(max) -> P(max)", "P(min) -> P(min)"});
}

TEST_CASE("each row of a convolution's training table holds in all its parts") {
  for (bool bias : {false, true})
    for (auto const& row : ashlar::convolution_training_rows(bias))
      for (auto const& w : windows) {
        check_part("y", convolution(w, 0), {row.x, row.use[0]}, row.y);
        check_part("dx", convolution(w, 1), {row.dy, row.use[0]}, row.dx);
        check_part("dweight", convolution(w, 2), {row.x, row.dy}, row.grad[0]);
      }
  // A convolution has as many rows as a linear layer without a sequence dimension.
  CHECK(ashlar::convolution_training_rows(true).size() ==
        ashlar::linear_training_rows("mk", "kn", "mn", "n").size());
}

TEST_CASE("each row of pooling's training tables holds in all its parts") {
  for (auto const& w : windows) {
    for (auto const& row : ashlar::max_pool_training_rows()) {
      check_part("y", pooling(w, true, 0), {row.x}, row.y);
      check_part("dx", pooling(w, true, 1), {row.dy, row.x}, row.dx);
    }
    for (auto const& row : ashlar::average_pool_training_rows()) {
      check_part("y", pooling(w, false, 0), {row.x}, row.y);
      // The gradient of average pooling does not depend on the values of x. The operand x only
      // gives the extents of dx.
      auto const planes = row.dy.is_split() ? row.dy : ashlar::broadcast();
      check_part("dx", pooling(w, false, 1), {row.dy, planes}, row.dx);
    }
  }
}

TEST_CASE("each row of the training tables of upsampling and group norm holds in all its parts") {
  for (auto const& row : ashlar::upsample_training_rows()) {
    check_part("y", upsampling(2, 0), {row.x}, row.y);
    check_part("dx", upsampling(2, 1), {row.dy}, row.dx);
  }
  for (auto const& row : ashlar::group_norm_training_rows()) {
    check_part("y", group_norm(0), {row.x, row.use[0], row.use[1]}, row.y);
    check_part("dx", group_norm(1), {row.x, row.use[0], row.dy}, row.dx);
    check_part("dgain", group_norm(2), {row.x, row.use[0], row.dy}, row.grad[0]);
    check_part("dbias", group_norm(3), {row.x, row.use[0], row.dy}, row.grad[1]);
  }
}

TEST_CASE("attention among the pixels of an image has the rows of attention among tokens") {
  check_table(ashlar::attention_signatures(5), {on_images(attention(0, false), {1}, true)});
  for (auto const& row : ashlar::attention_training_rows(5)) {
    check_part("y", on_images(attention(0, false), {1}, true), {row.x}, row.y);
    check_part("dx", on_images(attention(1, false), {1, 1}, true), {row.x, row.dy}, row.dx);
  }
}

TEST_CASE("attention to a context may be split by queries and by heads, and no other row holds") {
  check_table(ashlar::context_attention_signatures(4), {context_attention(0)});
  for (int rank : {4, 5}) {
    auto const seen = [rank](int result) {
      auto const op = context_attention(result);
      return rank == 4 ? op : on_images(op, {1, 0, 0, 1}, result < 2);
    };
    auto const table = ashlar::context_attention_training_rows(rank);
    CHECK(table.size() == rank + 1);
    for (auto const& row : ashlar::context_attention_training_rows(rank, false))
      CHECK((!row.x.is_split() || row.x.dim == 0 || row.x.dim == rank - 2));
    for (auto const& row : table) {
      auto const context = row.x.is_split_of(0) ? row.x : ashlar::broadcast();
      check_part("y", seen(0), {row.x, context, row.use[0]}, row.y);
      check_part("dx", seen(1), {row.x, context, row.use[0], row.dy}, row.dx);
      check_part("dweight", seen(2), {row.x, context, row.use[0], row.dy}, row.grad[0]);
    }
  }
}
