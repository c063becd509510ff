// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2

// Tests that nn::verify accepts most layers of the library (tests of single layers verify the
// others), and that nn::verify rejects wrong layers and names the wrong row. Each kind of mistake
// occurs once, in a test layer whose rows and arithmetic a test case can change.

#include <functional>
#include <stdexcept>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/attention.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/describe.hpp>
#include <ashlar/nn/dropout.hpp>
#include <ashlar/nn/embedding.hpp>
#include <ashlar/nn/embedding_tables.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/group_norm.hpp>
#include <ashlar/nn/image_attention.hpp>
#include <ashlar/nn/interaction.hpp>
#include <ashlar/nn/layer_norm.hpp>
#include <ashlar/nn/linear.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/output_embedding.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/upsample.hpp>
#include <ashlar/nn/verify.hpp>

namespace ashlar_test {
namespace {

namespace nn = ashlar::nn;
using ashlar::broadcast, ashlar::partial, ashlar::split;

/// The mistakes that a test case introduces in the layer `spoilt_gain`.
struct spoiling {
  std::function<void(ashlar::search::layer_spec&)> spec = [](auto&) {};
  bool replaces_gradient = false, writes_input = false, forgets_last = false;
  bool goes_by_x = false;     ///< loops over the elements of x's shard, not of y's
  double dx_factor = 1;       ///< dx is multiplied by this factor
  bool counts_rank = false;   ///< y depends on the rank's coordinates
  bool throws_other = false;  ///< throws another exception than ashlar::error if columns are split
  bool adds_column = false;   ///< y has one column more than the spec says
};

/// A layer that computes y = x · gain. Its statistic 0 is the largest x of each row. The formula of
/// y does not use this statistic. The layer makes the mistakes that `wrong` selects.
class spoilt_gain {
 public:
  using parameters = nn::ranks<1>;
  template <int XRank>
  using statistics = nn::ranks<XRank - 1>;

  explicit spoilt_gain(spoiling wrong = {}) : wrong_(std::move(wrong)) {}

  ashlar::search::layer_spec spec(ashlar::shape const& x) const {
    ashlar::search::layer_spec s;
    s.name = "gain";
    s.x = s.y = x;
    s.parameters = {{"gain", {x[1]}, true}};
    s.statistics.push_back({x[0]});
    auto const b = broadcast(), p = partial(), rows = split(0, 0), columns = split(1, 0);
    auto const most = partial(ashlar::reduction::max);
    s.rows.push_back({b, b, b, b, {b}, {b}, {{b, b}}});
    s.rows.push_back({rows, rows, rows, rows, {b}, {p}, {{rows, rows}}});
    s.rows.push_back(
        {columns, columns, columns, columns, {split(0, 0)}, {split(0, 0)}, {{most, b}}});
    s.rows.push_back({b, b, p, p, {b}, {p}, {{b, b}}});
    wrong_.spec(s);
    return s;
  }
  static nn::initial_values initial(int) { return nn::all_equal(1); }

  template <int Part, class Call>
  auto forward(Call const& c) const {
    auto const& x = c.x();
    std::int64_t const n = x.local_size(1);
    if constexpr (Part == 0) {
      auto most = c.template make_statistic<0>();
      for (std::int64_t r = 0; r < most.local_elements(); ++r) {
        most.data()[r] = -1e300;
        for (std::int64_t i = 0; i < n; ++i)
          most.data()[r] = std::max(most.data()[r], x.data()[r * n + i]);
      }
      return most;
    } else {
      if (wrong_.throws_other && n < 4) throw std::out_of_range("no column 3");
      auto const g = c.template parameter<0>();
      auto y = c.make_y();
      if (wrong_.adds_column) {
        auto extents = y.extents();
        ++extents[1];
        return nn::made(decltype(y)(c.mesh(), extents, y.placement()), x);
      }
      std::int64_t const count = wrong_.goes_by_x ? x.local_elements() : y.local_elements();
      std::int64_t const m = y.local_size(1);
      for (std::int64_t i = 0; i < count - (wrong_.forgets_last ? 1 : 0); ++i)
        y.data()[i] = g.data()[m == 0 ? 0 : i % m] * x.data()[i];
      if (wrong_.writes_input && count > 0) x.data()[0] = 0;
      if (wrong_.counts_rank && count > 0) y.data()[0] += c.mesh().coordinate()[0];
      return nn::made(y, x);
    }
  }
  template <class Call>
  auto backward(Call const& c) const {
    auto const g = c.template parameter<0>();
    auto const& x = c.template kept<0>();
    auto dx = c.make_dx();
    auto* const sum = c.template gradient<0>().data();
    std::int64_t const n = dx.local_size(1);
    if (wrong_.replaces_gradient) std::fill_n(sum, n, 0);
    for (std::int64_t i = 0; i < dx.local_elements(); ++i) {
      dx.data()[i] = wrong_.dx_factor * g.data()[i % n] * c.dy().data()[i];
      sum[i % n] += x.data()[i] * c.dy().data()[i];
    }
    return dx;
  }

 private:
  spoiling wrong_;
};

std::string verified(spoiling const& wrong) {
  return message_of([&] { nn::verify(spoilt_gain(wrong), {5, 4}); });
}
template <class Spoil>
std::string with_rows(Spoil spoil) {
  return verified({.spec = [spoil](auto& s) { spoil(s.rows); }});
}
template <class Spoil>
std::string described_with(Spoil spoil) {
  return message_of([&] {
    spoiling const wrong{.spec = [spoil](auto& s) { spoil(s); }};
    nn::describe(nn::chain(nn::linear(4, 4), spoilt_gain(wrong)), nn::feature_batch{6, 4});
  });
}
std::string const nothing = "nothing was thrown";

}  // namespace

TEST_CASE("every layer of the library passes") {
  nn::verify(nn::linear(5, 4), {7, 5});
  nn::verify(nn::linear(5, 4, false), {3, 5});
  nn::verify(nn::linear<1, 2>({4}, {2, 3}), {3, 5, 4});
  nn::verify(nn::linear<2, 1>({3, 2}, {5}, false), {2, 3, 3, 2});
  nn::verify(nn::gelu(), {5, 3});
  nn::verify(nn::relu(), {3, 5, 2});
  nn::verify(nn::layer_norm(4), {3, 5, 4});
  nn::verify(nn::attention_core(), {2, 5, 3, 6});
  nn::verify(nn::attention_core(nn::attention_mask::none), {3, 4, 2, 6});
  nn::verify(nn::attention_core(nn::attention_mask::none), {3, 2, 3, 2, 3});
  nn::verify(nn::context_attention({3, 4}), {3, 5, 2, 2});
  nn::verify(nn::context_attention({3, 1}), {2, 9, 2, 2});
  nn::verify(nn::context_attention({2, 1}), {2, 3, 3, 2, 2});
  nn::verify(nn::context_attention({1, 1}), {2, 1, 1, 1});
  nn::verify(nn::channels_last(), {2, 3, 4, 5});
  nn::verify(nn::channels_first(), {3, 2, 2, 4});
  nn::verify(nn::embedding(7, 3), {3, 5});
  nn::verify(nn::embedding(5, 4, nn::no_positions), {4, 3});
  nn::verify(nn::output_embedding(3, 7), {2, 5, 3});
  nn::verify(nn::output_embedding(4, 3), {5, 4});
  nn::verify(nn::dropout(0.3), {5, 7});
  nn::verify(nn::flatten(), {3, 5, 1, 1});
  nn::verify(nn::flatten(), {3, 2, 2, 3});
  nn::verify(nn::convolution(3, 4, 3, {.padding = 1}), {3, 3, 4, 5});
  nn::verify(nn::convolution(2, 3, 2, {.stride = 2, .bias = false, .halo = true}), {2, 2, 4, 4});
  nn::verify(nn::convolution(2, 2, 3, {.padding = 1, .halo = true}), {2, 2, 7, 3});
  nn::verify(nn::convolution(1, 2, 5, {.stride = 2, .padding = 3, .halo = true}), {1, 1, 5, 4});
  nn::verify(nn::convolution(8, 2, 3, {.padding = 2, .halo = true}), {1, 8, 12, 12});
  nn::verify(nn::max_pool(2), {3, 5, 4, 4});
  nn::verify(nn::max_pool(3, {.stride = 2, .padding = 1, .halo = true}), {2, 3, 9, 4});
  nn::verify(nn::average_pool(3, {.stride = 1, .halo = true}), {2, 1, 6, 4});
  nn::verify(nn::average_pool(1, {.stride = 3, .halo = true}), {2, 1, 8, 4});
  nn::verify(nn::average_pool(3, {.stride = 1, .padding = 1}), {2, 3, 4, 3});
  nn::verify(nn::group_norm(6, 3), {3, 6, 2, 3});
  nn::verify(nn::group_norm(8, 4), {2, 8, 3, 1});
  nn::verify(nn::group_norm(3, 3), {2, 3, 2, 2});
  nn::verify(nn::group_norm(4, 1), {3, 4, 1, 2});
  nn::verify(nn::upsample(2), {3, 5, 2, 3});
  nn::verify(nn::upsample(3), {2, 2, 1, 2});
  nn::verify(nn::interaction(), {5, 3, 4});
  nn::verify(nn::interaction(nn::interaction::first::kept), {4, 4, 5});
  nn::verify(nn::embedding_tables(3, 5, 4), {4, 3});
  nn::verify(nn::softmax_cross_entropy(), {5, 7});
  nn::verify(nn::softmax_cross_entropy(), {2, 3, 4});
  nn::verify(nn::mean_squared_error(), {5, 3});
  nn::verify(nn::mean_squared_error(), {3, 2, 2, 3});
  nn::verify(spoilt_gain(), {5, 4});
}

TEST_CASE("queries may be split if every rank repeats at most a sixteenth of the flops") {
  auto const rows = [](nn::context_size const& context, ashlar::shape const& x) {
    return nn::context_attention(context).spec(x).rows.size();
  };
  // For 8 queries, keys and values take 8 of 8 + 14 · 8 parts of the flops, which is more than a
  // sixteenth. For 9 queries, they take 8 of 8 + 14 · 9 parts, which is less.
  CHECK(rows({3, 1}, {2, 8, 2, 2}) == 4);
  CHECK(rows({3, 1}, {2, 9, 2, 2}) == 5);
  CHECK(rows({2, 1}, {2, 2, 4, 3, 2}) == 4);
  CHECK(rows({2, 1}, {2, 3, 3, 3, 2}) == 6);
}

TEST_CASE("float is verified with its own tolerance") {
  nn::verify<float>(nn::linear(5, 4), {7, 5});
  nn::verify<float>(nn::layer_norm(4), {3, 5, 4});
}

TEST_CASE("ranks of a mesh share the rows and get the same error") {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", ranks}});
  nn::verify(nn::linear(5, 4), {7, 5}, m);
  auto const wrong_in = [&](int row) {
    spoiling const wrong{.spec = [row](auto& s) { s.rows[row].grad[0] = broadcast(); }};
    return message_of([&] { nn::verify(spoilt_gain(wrong), {5, 4}, m); });
  };
  for (int const row : {1, 2, 3}) {
    auto const text = wrong_in(row);
    CAPTURE(text);
    CHECK(has(text, "gain, rows[" + std::to_string(row) + "] ("));
  }
  spoiling const throws{.throws_other = true};
  auto const text = message_of([&] { nn::verify(spoilt_gain(throws), {5, 4}, m); });
  CHECK(has(text, "nn::verify: gain, rows[2] ("));
  CHECK(has(text, "forward<1> on rank 0 throws: no column 3"));
  spoiling const no_spec{.spec = [](auto&) { throw std::out_of_range("no spec"); }};
  CHECK(message_of([&] {
          nn::verify(spoilt_gain(no_spec), {5, 4}, m);
        }) == "nn::verify: the layer throws: no spec");
}

TEST_CASE("a gradient declared broadcast where it is partial") {
  auto const text = with_rows([](auto& rows) { rows[1].grad[0] = broadcast(); });
  CHECK(text == "nn::verify: gain, rows[1] (x S(0), y S(0), dy S(0), dx S(0), gain B, gradient of "
                "gain B, statistic 0 from S(0) to S(0)) on rank=2 ranks: the gradient of gain of "
                "backward is wrong: on rank 0 the gradient of gain[0] is -0.55245, one process "
                "computes -0.82125. The shards are right as P, but the row says B.");
}
TEST_CASE("a gradient declared partial where every rank has all of it") {
  auto const text = with_rows([](auto& rows) { rows[0].grad[0] = partial(); });
  CHECK(has(text, "gain, rows[0] ("));
  CHECK(has(text, "the sum over the ranks of the gradient of gain[0] is"));
  CHECK(has(text, "The shards are right as B, but the row says P."));
}
TEST_CASE("a y with another placement than the computed one") {
  auto const whole = with_rows([](auto& rows) { rows[1].y = broadcast(); });
  CHECK(has(whole, "gain, rows[1] ("));
  CHECK(has(whole, "y of forward is wrong: on rank 0 y["));
  CHECK(has(whole, "is not a number"));
  auto const columns = with_rows([](auto& rows) { rows[1].y = split(1, 0); });
  CHECK(has(columns, "gain, rows[1] ("));
  CHECK(has(columns, "y of forward is wrong"));
  auto const sum = with_rows([](auto& rows) { rows[3].y = partial(); });
  CHECK(has(sum, "gain, rows[3] ("));
  CHECK(has(sum, "The shards are right as B, but the row says P."));
}
TEST_CASE("a pass that writes beyond the shard that the row declares") {
  spoiling const wrong{.spec = [](auto& s) { s.rows[0].y = split(0, 0); }, .goes_by_x = true};
  auto const text = verified(wrong);
  CHECK(has(text, "gain, rows[0] ("));
  CHECK(has(text, "forward<1> on rank 0 writes outside the shards that it was given or made."));
}
TEST_CASE("a dy that is read beyond its shard or is too small") {
  auto const text = with_rows([](auto& rows) { rows[0].dy = split(0, 0); });
  CHECK(has(text, "gain, rows[0] ("));
  CHECK(has(text, "dx of backward is wrong: on rank 0 dx["));
  CHECK(has(text, "is not a number: the pass does not write it, reads beyond a shard"));
  auto const other = with_rows([](auto& rows) { rows[2].dy = split(0, 0); });
  CHECK(has(other, "gain, rows[2] ("));
  CHECK(has(other, "dx of backward is wrong"));
}
TEST_CASE("a split of a parameter that is missing or superfluous") {
  auto const whole = with_rows([](auto& rows) { rows[2].use[0] = broadcast(); });
  CHECK(has(whole, "gain, rows[2] ("));
  CHECK(has(whole, "y of forward is wrong: on rank 1 y["));
  auto const parts = with_rows([](auto& rows) { rows[1].use[0] = split(0, 0); });
  CHECK(has(parts, "gain, rows[1] ("));
  CHECK(has(parts, "y of forward is wrong"));
}
TEST_CASE("a wrong statistic") {
  auto const sum = with_rows([](auto& rows) { rows[2].stat[0].from = partial(); });
  CHECK(has(sum, "gain, rows[2] ("));
  CHECK(
      has(sum, "statistic 0 of forward<0> is wrong: the sum over the ranks of statistic 0[0] is"));
  CHECK(has(sum, "The shards are right as P(max), but the row says P."));
  auto const same = with_rows([](auto& rows) { rows[2].stat[0].from = broadcast(); });
  CHECK(has(same, "gain, rows[2] ("));
  CHECK(has(same, "The shards are right as P(max), but the row says B."));
}
TEST_CASE("a wrong dx") {
  auto const of_row = with_rows([](auto& rows) { rows[3].dx = broadcast(); });
  CHECK(has(of_row, "gain, rows[3] ("));
  CHECK(has(of_row, "dx of backward is wrong: on rank 0 dx[0,0] is"));
  CHECK(has(of_row, "The shards are right as P, but the row says B."));
  auto const of_pass = verified({.dx_factor = 1.01});
  CHECK(has(of_pass, "gain on one process: dx is wrong: dx[0,0] is "));
  CHECK(has(of_pass, "finite differences of the forward pass give"));
}
TEST_CASE("a backward pass that replaces the gradient's sum") {
  auto const text = verified({.replaces_gradient = true});
  CHECK(has(text, "gain on one process: the gradient of gain is wrong"));
  CHECK(has(text, "The pass must add to the gradient, not replace what the sum held."));
}
TEST_CASE("passes that write too much or too little") {
  CHECK(has(verified({.writes_input = true}),
            "gain on one process: forward<1> writes into one of its inputs"));
  CHECK(has(verified({.forgets_last = true}),
            "gain on one process: y[4,3] of forward is not a number"));
  CHECK(has(verified({.adds_column = true}),
            "gain on one process: y does not have the extents 5x4 that the spec says. Make it with "
            "make_y()"));
  auto const rank = verified({.counts_rank = true});
  CHECK(has(rank, "gain, rows[0] ("));
  CHECK(has(rank, "y of forward is wrong: on rank 1 y[0,0] is"));
}
TEST_CASE("a split dx in passes that need a parameter that they do not declare") {
  spoiling const wrong{.spec = [](auto& s) { s.parameters[0].in_backward = false; }};
  auto const text = verified(wrong);
  CHECK(has(text, "gain on one process: backward throws: gain: the pass reads parameter gain"));
}

TEST_CASE("errors in the spec are refused by describe and by verify") {
  auto const both = [](auto spoil, std::string const& expected) {
    CHECK(described_with(spoil) == expected);
    CHECK(verified({.spec = [spoil](auto& s) { spoil(s); }}) == expected);
  };
  both([](auto& s) { s.rows[1].use = {}; },
       "gain: rows[1] (x S(0), y S(0), dy S(0), dx S(0), gradient of gain P, statistic 0 from S(0) "
       "to S(0)) has 0 uses but the layer has 1 parameters. A row has one entry for each.");
  both(
      [](auto& s) { s.rows[2].grad.push_back(broadcast()); },
      "gain: rows[2] (x S(1), y S(1), dy S(1), dx S(1), gain S(0), gradient of gain S(0), "
      "statistic 0 from P(max) to B) has 2 gradients but the layer has 1 parameters. A row has one "
      "entry for each.");
  both([](auto& s) { s.rows[3].stat = {}; },
       "gain: rows[3] (x B, y B, dy P, dx P, gain B, gradient of gain P) has 0 moves but the layer "
       "has 1 statistics. A row has one entry for each.");
  both([](auto& s) { s.rows[1].dy = split(2, 0); },
       "gain: rows[1] (x S(0), y S(0), dy S(2), dx S(0), gain B, gradient of gain P, statistic 0 "
       "from S(0) to S(0)) splits dim 2 of dy, which has 2 dims. Dims count from 0.");
  both(
      [](auto& s) { s.rows[2].use[0] = split(1, 0); },
      "gain: rows[2] (x S(1), y S(1), dy S(1), dx S(1), gain S(1), gradient of gain S(0), "
      "statistic 0 from P(max) to B) splits dim 1 of parameter 0, which has 1 dim. Dims count from "
      "0.");
  both(
      [](auto& s) { s.rows[2].stat[0].to = split(-1, 0); },
      "gain: rows[2] (x S(1), y S(1), dy S(1), dx S(1), gain S(0), gradient of gain S(0), "
      "statistic 0 from P(max) to S(-1)) splits dim -1 of statistic 0, which has 1 dim. Dims count "
      "from 0.");
  both(
      [](auto& s) { s.rows[0].dx = partial(ashlar::reduction::max); },
      "gain: rows[0] (x B, y B, dy B, dx P(max), gain B, gradient of gain B, statistic 0 from B to "
      "B) has dx as P(max), but gradients add up: write partial(), split(dim, 0) or broadcast().");
  both([](auto& s) { s.rows = {}; }, "gain: the spec has no rows, so no plan can place the layer. "
                                     "Add at least the row in which every tensor is replicated.");
  both([](auto& s) { s.turns_together = 0; },
       "gain: layer_spec::turns_together is 0, but must be 1 or more: it is the number of "
       "micro-batches whose forward passes come before their backward passes.");
  both(
      [](auto& s) {
        s.halo = {2, {3, 1, 1}};
      },
      "gain: layer_spec::halo names dim 2, which x or y does not have. Dims count from 0.");
  both(
      [](auto& s) {
        s.halo = {1, {3, 0, 1}};
      },
      "gain: layer_spec::halo: the window and its stride must be 1 or more.");
  both(
      [](auto& s) {
        s.halo = {1, {3, 1, 3}};
      },
      "gain: layer_spec::halo: the padding must be 0 or more and less than the window, so that "
      "every window sees at least one element.");
  both(
      [](auto& s) {
        s.blocks = {1, 3};
      },
      "gain: layer_spec::blocks asks for 3 equal blocks of dim 1 of x. Give a dim of x, and a "
      "number that divides its extent.");
  both(
      [](auto& s) {
        s.halo = {1, {3, 1, 0}};
      },
      "gain: the window of layer_spec::halo has 2 places in dim 1, but y has 4. Give the layer's "
      "own window.");
  both(
      [](auto& s) {
        s.halo = {1, {3, 1, 1}};
        s.rows[2].dx = ashlar::broadcast();
      },
      "gain: rows[2] (x S(1), y S(1), dy S(1), dx B, gain S(0), gradient of gain S(0), statistic 0 "
      "from P(max) to B) splits dim 1, along which the window slides, in only some of x, y, dy and "
      "dx. Split it in all of them, as halo_row does, or in none.");
  both(
      [](auto& s) {
        s.parameters.push_back({"bias", {4}, false});
      },
      "gain: the spec has 2 parameters, but the layer's type declares 1. Write using parameters = "
      "nn::ranks<...>, with the number of dims of each.");
  both(
      [](auto& s) {
        s.parameters[0].extents = {4, 1};
      },
      "gain: parameter gain is 4x1, but the layer's type declares 1 dims for it in `parameters`.");
}
TEST_CASE("a window of another extent than the layer's is found") {
  // A pooling layer with a wrong spec. According to its halo_spec, the windows at neighboring
  // positions have one row in common, but in fact they have two rows in common.
  struct pool : nn::max_pool {
    using nn::max_pool::max_pool;
    ashlar::search::layer_spec spec(ashlar::shape const& x) const {
      auto s = nn::max_pool::spec(x);
      s.halo.window = {2, 1, 0};
      s.y = {x[0], x[1], s.halo.window.places(x[2]), s.y[3]};
      return s;
    }
  };
  CHECK_THROWS_AS(nn::verify(pool(3, {.stride = 1, .halo = true}), {1, 2, 6, 5}), ashlar::error);
}
TEST_CASE("the type of a layer must fit its spec") {
  CHECK(verified({.spec = [](auto& s) { s.backward = ashlar::search::backward_form::halves; }}) ==
        "gain: its spec says in layer_spec::backward that it has the pass weight_gradient, but it "
        "has none.");
  auto const more = [](auto& s) {
    s.statistics.push_back({s.x[0]});
    for (auto& row : s.rows) row.stat.push_back({broadcast(), broadcast()});
  };
  CHECK(verified({.spec = more}) ==
        "gain: the spec has 2 statistics, but the layer's type declares 1. Write template <int "
        "XRank> using statistics = nn::ranks<...>, with the number of dims of each.");
}

}  // namespace ashlar_test
