// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The routes of training passes as data: they can be recorded, given and replayed. Routes name
// tokens and experts by their numbers in the whole micro-batch and the whole mixture, so routes do
// not depend on mesh and plan. Gates are not recorded: they follow from the router's parameters.
//
//   nn::record_routes(model);                     // from now on
//   trainer.step(batch);
//   auto const book = nn::recorded_routes(model);
//   nn::replay_routes(other, book);               // the passes of `other` take the same routes
//
// A rank of a pipeline records the mixtures of its own stages. Merge the books of all stages before
// you replay them in another pipeline.
//
// A book names a pass of a mixture by two numbers (mixture_pass): the number of the pass, which is
// step · micro-batches + micro-batch, and the number of the mixture's `dispatch` among the elements
// of the net. If the book has no routes for a pass, the router chooses them. Passes that do not
// train, such as those of predict(), never record or replay. A pass that replays routes is
// recorded, too. A pass whose router's logits are not finite is not recorded.

#include <string>

#include <ashlar/nn/mixture_log.hpp>
#include <ashlar/nn/routes.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::nn {

/// Returns an entry of a book with the routes `r` (layout/routing.hpp). The entry also counts the
/// tokens of each expert for the balance loss; routes of -1, which a capacity dropped, do not
/// count. Throws the errors of check_routes, for example if a route leads to an expert that does
/// not exist.
inline routes_and_loads given_routes(routing const& r) {
  check_routes(r);
  std::vector<std::int64_t> chosen_by(static_cast<std::size_t>(r.experts));
  for (auto const e : r.expert)
    if (e >= 0) ++chosen_by[static_cast<std::size_t>(e)];
  return {std::make_shared<routing const>(r), std::move(chosen_by)};
}

/// Deletes what was recorded, and records the routes of all later training passes. Each expert that
/// a token chooses takes 4 bytes. The records stay in memory until this function is called again or
/// the model is destroyed.
template <class Model>
void record_routes(Model const& model) {
  model.mixtures().recorded.clear();
  model.mixtures().records = true;
}

/// Returns the recorded routes. In a pipeline these are the routes of the mixtures that this rank's
/// stages have. Communicates nothing.
template <class Model>
route_book const& recorded_routes(Model const& model) {
  return model.mixtures().recorded;
}

/// Lets the passes that `book` names take the routes in the book, until this function is called
/// again. An empty book lets the router choose all routes. Expects the same book on all ranks of a
/// stage. Throws ashlar::error if an entry lacks its routes or the number of tokens of an expert.
/// Also throws if check_routes refuses the routes, or if they do not fit the element's numbers of
/// tokens and experts in the net. Communicates nothing.
template <class Model>
void replay_routes(Model const& model, route_book book) {
  auto const& net = model.problem();
  for (auto const& [at, given] : book) {
    if (given.routes == nullptr ||
        given.chosen_by.size() != static_cast<std::size_t>(given.routes->experts))
      throw error("replay_routes", "the routes of element " + std::to_string(at.element) +
                                       " do not say how many tokens chose each expert. Make them "
                                       "with nn::given_routes.");
    auto const& r = *given.routes;
    check_routes(r);
    search::layer_spec const spec = at.element >= 0 && at.element < net.size()
                                        ? net.spec(at.element)
                                        : search::layer_spec{};
    shape const& rows = spec.y;
    std::int64_t tokens = 1;
    for (int d = 0; d + 2 < rows.rank(); ++d) tokens *= rows[d];
    if (!search::routes_tokens(spec) || r.tokens != tokens || r.experts != rows.experts() ||
        r.chosen != rows.chosen)
      throw error("replay_routes",
                  "element " + std::to_string(at.element) + " of the net does not route " +
                      std::to_string(r.tokens) + " tokens to " + std::to_string(r.chosen) + " of " +
                      std::to_string(r.experts) +
                      " experts. Give routes that were recorded with the same net and batch.");
  }
  model.mixtures().given = std::move(book);
}

}  // namespace ashlar::nn
