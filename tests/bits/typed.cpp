// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Typed nets (their training plans are known at compile time), on 2, 4 and 6 ranks. Some plans are
// found by the search, which the compiler evaluates. The others are drawn pseudo-randomly. One of
// the plans recomputes a segment.

#include <ashlar/search/in_compiler.hpp>

#include "suite.hpp"

namespace ashlar_bits {
namespace {

constexpr ashlar::topology pair{{"gpu", 2}};
constexpr ashlar::topology line{{"gpu", 4}};
constexpr ashlar::topology square{{"node", 2}, {"gpu", 2}};
constexpr ashlar::topology oblong{{"node", 2}, {"gpu", 3}};

constexpr auto features = nn::chain(nn::linear(6, 7), nn::gelu(), nn::residual(nn::linear(7, 7)),
                                    nn::dropout(0.1), nn::layer_norm(7), nn::linear(7, 5, false));
constexpr nn::feature_batch feature_rows{5, 6, 2};
constexpr auto features_problem = nn::describe<double>(features, feature_rows);
constexpr auto searched_pair = search::optimal(features_problem, pair, slow_ranks);
constexpr auto searched_square = search::optimal(features_problem, square, slow_ranks);

/// The type of the training plan of a search problem.
template <auto const& Problem>
using plan_of = decltype(search::optimal(Problem, pair, slow_ranks));

constexpr auto drawn_oblong = scattered<plan_of<features_problem>>(features_problem, oblong, 8);

constexpr auto segments = nn::chain(nn::linear(6, 7),
                                    nn::repeat<2>(nn::chain(nn::dropout(0.3), nn::linear(7, 7))),
                                    nn::linear(7, 5));
constexpr auto segments_problem = nn::describe<double>(segments, feature_rows);
constexpr auto one_again = [] {
  auto plan = scattered<plan_of<segments_problem>>(segments_problem, square, 3);
  plan.recomputed = 1;
  return plan;
}();

constexpr auto tokens = nn::chain(nn::embedding(9, 4), nn::repeat<1>(nn::gpt_block(4, 2)),
                                  nn::linear(4, 9));
constexpr nn::token_batch token_rows{3, 4};
constexpr auto tokens_problem = nn::describe<double>(tokens, token_rows);
constexpr auto drawn_tokens = scattered<plan_of<tokens_problem>>(tokens_problem, square, 2);

constexpr auto images = nn::chain(nn::convolution(2, 3, 3, {.padding = 1}), nn::max_pool(2),
                                  nn::linear<3, 1>({3, 2, 3}, {5}));
constexpr nn::image_batch image_rows{5, 2, 4, 6};
constexpr auto images_problem = nn::describe<double>(images, image_rows);
constexpr auto searched_line = search::optimal(images_problem, line, bandwidth_bound);

}  // namespace

void run_typed(suite& all) {
  all.run_typed<double, searched_pair>("features", features, feature_rows, slow_ranks, 0, 5);
  all.run_typed<double, searched_square>("features", features, feature_rows, slow_ranks, 0, 5);
  all.run_typed<double, drawn_oblong>("features", features, feature_rows, bandwidth_bound, 0, 5);
  all.run_typed<double, one_again>("segments", segments, feature_rows, slow_ranks, 0, 5);
  all.run_typed<double, drawn_tokens>("tokens", tokens, token_rows, bandwidth_bound, 9, 9);
  all.run_typed<double, searched_line>("images", images, image_rows, bandwidth_bound, 0, 5);
}

}  // namespace ashlar_bits
