// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A sequence of layers whose first and last layer have one parameter in common:
//
//   tied(embedding(vocabulary, features), body, output_embedding(features, vocabulary))
//
// Parameter 0 of the first layer is also parameter 0 of the last one. The parameter is stored once,
// has one optimizer state, and counts once in the norm of the gradients. Checkpoints use the name
// that it has in the first layer, which also gives its initial values.
//
//   gradients    Each use has a gradient sum of its own. Both sums are reduced over the ranks to
//                the placement at which the parameter is updated. Then the sum of the last layer is
//                added to the sum of the first one. This order is the same with and without
//                pipeline stages, and so are the bits.
//   placements   A plan may let the two layers read the parameter at different placements. Its
//                stored placement is the same for both (search/tied_storage.hpp).
//   pipelines    If the two layers are in stages on different ranks, the parameter crosses to the
//                last layer at the start of each step, and the gradient of the last layer crosses
//                back at the end of the step (step/build_stage.hpp).

#include <utility>

#include <ashlar/nn/chain.hpp>

namespace ashlar::nn {

/// A chain of two or more parts, of which the first and the last are layers with one parameter in
/// common.
template <class First, class... Rest>
class tied_chain : public chain<First, Rest...> {
  using base = chain<First, Rest...>;

 public:
  constexpr explicit tied_chain(First first, Rest... rest)
      : base(std::move(first), std::move(rest)...) {}

  /// Throws ashlar::error if one of the two layers has no parameter, if the extents of the two
  /// parameters 0 differ, if one of these parameters is in another tie, or if the problem has too
  /// many ties (step/problem.hpp).
  template <class Problem>
  constexpr shape describe_into(Problem& problem, shape const& x) const {
    int const first = problem.size();
    auto const y = base::describe_into(problem, x);
    problem.add_tie({first, 0, problem.size() - 1, 0});
    return y;
  }
};

namespace detail {

template <class Last>
constexpr bool is_single(std::type_identity<Last>) {
  return blueprint<Last>;
}
template <class, class Second, class... Rest>
constexpr bool last_is_single() {
  if constexpr (sizeof...(Rest) == 0) return is_single(std::type_identity<Second>());
  else return last_is_single<Second, Rest...>();
}

}  // namespace detail

/// Returns a sequence of layers, such as a GPT, whose first and last layer have one parameter in
/// common: parameter 0 of both. The extents of the two parameters 0 must be equal.
template <class First, class Second, class... Rest>
constexpr auto tied(First first, Second second, Rest... rest) {
  static_assert(blueprint<First> && detail::last_is_single<First, Second, Rest...>(),
                "nn::tied: the first and the last part must be layers with a parameter, not nets. "
                "Write nn::tied(embedding, body, output_embedding).");
  return tied_chain<First, Second, Rest...>(std::move(first), std::move(second),
                                            std::move(rest)...);
}

}  // namespace ashlar::nn
