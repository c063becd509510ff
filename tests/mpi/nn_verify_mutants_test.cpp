// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1

// Tests that nn::verify rejects wrong signature rows. In each row of several layers, each entry
// except those of statistics is replaced by every other placement in turn. nn::verify must reject
// the changed row, with two exceptions. The changed row may be another row of the layer's table.
// Also, P(max) may replace B as the placement of y, because the maximum of equal copies is the copy
// itself.

#include <algorithm>

#include <doctest/doctest.h>

#include <ashlar/nn/attention.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/interaction.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/verify.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;

/// A layer whose signature table has only the given row.
template <class Layer>
struct with_one_row : Layer {
  ashlar::training_row row;

  with_one_row(Layer const& layer, ashlar::training_row const& r) : Layer(layer), row(r) {}
  ashlar::search::layer_spec spec(ashlar::shape const& x) const {
    auto s = Layer::spec(x);
    s.rows = {};
    s.rows.push_back(row);
    return s;
  }
};

/// Calls visit(entry, number of dimensions of its tensor) for each entry of a row, except those of
/// statistics.
template <class Visit>
void for_each_entry(ashlar::search::layer_spec const& s, ashlar::training_row& row, Visit visit) {
  visit(row.x, s.x.rank());
  visit(row.y, s.y.rank());
  visit(row.dy, s.y.rank());
  visit(row.dx, s.x.rank());
  for (int k = 0; k < s.parameters.size(); ++k) {
    visit(row.use[k], s.parameters[k].extents.rank());
    visit(row.grad[k], s.parameters[k].extents.rank());
  }
}

template <class Layer, int Rank>
void refuse_mutants(Layer const& layer, std::int64_t const (&x)[Rank], int at_least) {
  auto const spec = layer.spec(ashlar::detail::shape_of(x));
  auto const most = ashlar::partial(ashlar::reduction::max);
  int refused = 0;
  for (auto const& right : spec.rows) {
    auto row = right;
    for_each_entry(spec, row, [&](ashlar::axis_placement& entry, int rank) {
      auto const before = entry;
      std::vector<ashlar::axis_placement> roles{ashlar::broadcast(), ashlar::partial(), most};
      for (int d = 0; d < rank; ++d) roles.push_back(ashlar::split(d, 0));
      for (auto const& role : roles) {
        entry = role;
        if (std::find(spec.rows.begin(), spec.rows.end(), row) != spec.rows.end()) continue;
        if (&entry == &row.y && before.is_broadcast() && role == most) continue;
        with_one_row<Layer> const mutant(layer, row);
        auto const text = ashlar::search::row_text(mutant.spec(spec.x), 0);
        CAPTURE(text);
        CHECK_THROWS_AS(nn::verify(mutant, x), ashlar::error);
        ++refused;
      }
      entry = before;
    });
  }
  CHECK(refused >= at_least);
}

}  // namespace

TEST_CASE("a row in which one entry is replaced is refused") {
  refuse_mutants(nn::linear(5, 4), {7, 5}, 100);
  refuse_mutants(nn::layer_norm(4), {5, 4}, 60);
  refuse_mutants(nn::attention_core(), {2, 5, 3, 6}, 80);
  refuse_mutants(nn::convolution(3, 4, 2), {3, 3, 3, 3}, 200);
  refuse_mutants(nn::max_pool(2), {3, 5, 4, 4}, 80);
  refuse_mutants(nn::interaction(), {5, 3, 4}, 60);
}

}  // namespace ashlar_test
