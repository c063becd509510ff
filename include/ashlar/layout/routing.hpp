// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Describes the routes of a mixture of experts: to which experts each token goes. The routes say
// which rows of a routed tensor [tokens.., experts, features] exist (shape.hpp), and so which rows
// each rank has.
//
//   routing       the experts of all tokens of a micro-batch; every rank has the routes of all
//                 tokens
//   routed_rows   the rows of a box of the tensor, sorted by expert and then by token
//
// The number of a token is its position in the row-major order of all tokens of the micro-batch.
// All ranks have the same routes and the same order of rows. So each rank knows without any message
// which rows every other rank has, and a redistribution sends rows without counts and indices. The
// price is one exchange beforehand, in which every rank gets the routes of all tokens
// (nn/dispatch.hpp).

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/layout/layout.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

struct routing {
  std::int64_t tokens = 0;
  int experts = 0;
  int chosen = 0;  ///< the number of experts of each token
  /// To which experts each token goes: [tokens, chosen] numbers of experts, for each token in
  /// ascending order. An expert that has dropped the token is replaced by -1 where it stood, so a
  /// -1 may stand anywhere among the ascending numbers.
  std::vector<std::int32_t> expert;

  std::int32_t const* experts_of(std::int64_t token) const {
    return expert.data() + token * chosen;
  }
};

/// Throws ashlar::error if `tokens` is below 0, `experts` or `chosen` is below 1, or the number of
/// routes is not tokens · chosen. Every route must be the number of an expert, or -1 for a dropped
/// token. Apart from -1, the routes of each token must be in ascending order without repetition.
inline void check_routes(routing const& r) {
  if (r.tokens < 0 || r.experts < 1 || r.chosen < 1)
    throw error("routes", std::to_string(r.tokens) + " tokens cannot go to " +
                              std::to_string(r.chosen) + " of " + std::to_string(r.experts) +
                              " experts each. Give at least one expert, and at least one route for "
                              "each token; a route of -1 means that the token is dropped.");
  if (r.expert.size() != static_cast<std::size_t>(r.tokens * r.chosen))
    throw error("routes", std::to_string(r.expert.size()) + " routes for " +
                              std::to_string(r.tokens) + " tokens with " +
                              std::to_string(r.chosen) + " experts each.");
  for (std::int64_t t = 0; t < r.tokens; ++t) {
    std::int64_t last = -1;
    for (int k = 0; k < r.chosen; ++k) {
      auto const e = r.experts_of(t)[k];
      if (e < -1 || e >= r.experts)
        throw error("routes",
                    "token " + std::to_string(t) + " goes to expert " + std::to_string(e) +
                        ", but there are " + std::to_string(r.experts) +
                        " experts. Number them from 0; -1 means that the token is dropped.");
      if (e >= 0 && e <= last)
        throw error("routes", "the experts of token " + std::to_string(t) +
                                  " are not in ascending order, or one of them is there twice.");
      if (e >= 0) last = e;
    }
  }
}

/// The rows of a routed tensor (see above) that lie in a box of the tensor, in the order in which a
/// rank stores them.
struct routed_rows {
  std::shared_ptr<routing const> routes;
  box within;
  std::vector<std::int64_t> token;  ///< for each row: the number of its token among all tokens
  std::vector<std::int64_t>
      place;  ///< for each row: the position of its token among the tokens of the box
  /// For each expert of the box: the number of its first row. The last entry is size().
  std::vector<std::int64_t> first;

  std::int64_t size() const { return first.back(); }
  std::int64_t features() const { return within[within.rank() - 1].size; }
  interval experts() const { return within[within.rank() - 2]; }
};

namespace detail {

/// Calls visit(token, place) for each token of the box, in ascending order. `token` is the token's
/// number among all tokens, and `place` is its position among the tokens of the box.
template <class Visit>
void for_each_token(shape const& extents, box const& b, Visit const& visit) {
  int const dims = extents.rank() - 2;
  std::int64_t places = 1;
  for (int d = 0; d < dims; ++d) places *= b[d].size;
  for (std::int64_t place = 0; place < places; ++place) {
    std::int64_t token = 0, rest = place, stride = 1;
    for (int d = dims - 1; d >= 0; --d) {
      token += (b[d].begin + rest % b[d].size) * stride;
      rest /= b[d].size;
      stride *= extents[d];
    }
    visit(token, place);
  }
}

inline bool has(interval const& range, std::int64_t index) {
  return index >= range.begin && index < range.end();
}

inline bool has_token(shape const& extents, box const& b, std::int64_t token) {
  for (int d = extents.rank() - 3; d >= 0; --d) {
    if (!has(b[d], token % extents[d])) return false;
    token /= extents[d];
  }
  return true;
}

}  // namespace detail

/// Returns how many rows of a routed tensor with these routes and extents lie in box b.
inline std::int64_t count_rows(routing const& routes, shape const& extents, box const& b) {
  std::int64_t rows = 0;
  auto const& experts = b[b.rank() - 2];
  if (experts.size == 0) return 0;
  detail::for_each_token(extents, b, [&](std::int64_t token, std::int64_t) {
    for (int k = 0; k < routes.chosen; ++k)
      rows += detail::has(experts, routes.experts_of(token)[k]) ? 1 : 0;
  });
  return rows;
}

/// Returns the rows of a routed tensor with these routes and extents that lie in box b.
inline routed_rows rows_in(std::shared_ptr<routing const> const& routes, shape const& extents,
                           box const& b) {
  routed_rows rows{routes, b, {}, {}, {}};
  auto const& experts = b[b.rank() - 2];
  std::vector<std::int64_t> next(static_cast<std::size_t>(experts.size) + 1);
  auto const for_each_row = [&](auto const& visit) {
    detail::for_each_token(extents, b, [&](std::int64_t token, std::int64_t place) {
      for (int k = 0; k < routes->chosen; ++k)
        if (auto const e = routes->experts_of(token)[k]; detail::has(experts, e))
          visit(static_cast<std::size_t>(e - experts.begin), token, place);
    });
  };
  for_each_row([&](std::size_t e, std::int64_t, std::int64_t) { ++next[e + 1]; });
  for (std::size_t e = 1; e < next.size(); ++e) next[e] += next[e - 1];
  rows.first = next;
  rows.token.resize(static_cast<std::size_t>(rows.size()));
  rows.place.resize(rows.token.size());
  for_each_row([&](std::size_t e, std::int64_t token, std::int64_t place) {
    auto const row = static_cast<std::size_t>(next[e]++);
    rows.token[row] = token;
    rows.place[row] = place;
  });
  return rows;
}

/// Returns for each rank how many rows of a routed tensor it has at placement p. Takes time
/// proportional to the number of tokens, plus the number of ranks times the number of experts.
inline std::vector<std::int64_t> rows_by_rank(routing const& routes, shape const& extents,
                                              topology const& t, placement const& p) {
  // For each distinct box of tokens and each expert e, this has the number of the box's rows for
  // the experts 0 .. e - 1.
  std::map<std::vector<std::int64_t>, std::vector<std::int64_t>> before;
  std::vector<std::int64_t> rows;
  for (int r = 0; r < t.ranks(); ++r) {
    box const b = local_box(extents, t, p, t.coordinates_of(r));
    std::vector<std::int64_t> tokens;
    for (int d = 0; d + 2 < b.rank(); ++d) {
      tokens.push_back(b[d].begin);
      tokens.push_back(b[d].size);
    }
    auto const [at, is_new] = before.try_emplace(std::move(tokens));
    auto& sums = at->second;
    if (is_new) {
      sums.resize(static_cast<std::size_t>(routes.experts) + 1);
      detail::for_each_token(extents, b, [&](std::int64_t token, std::int64_t) {
        for (int k = 0; k < routes.chosen; ++k)
          if (auto const e = routes.experts_of(token)[k]; e >= 0)
            ++sums[static_cast<std::size_t>(e) + 1];
      });
      for (std::size_t e = 1; e < sums.size(); ++e) sums[e] += sums[e - 1];
    }
    auto const own = b[b.rank() - 2];
    rows.push_back(own.size == 0 ? 0
                                 : sums[static_cast<std::size_t>(own.end())] -
                                       sums[static_cast<std::size_t>(own.begin)]);
  }
  return rows;
}

/// Calls visit(row) with the number of each row of `rows` that lies in the box `region`, in
/// ascending order.
template <class Visit>
void for_each_row_in(routed_rows const& rows, shape const& extents, box const& region,
                     Visit const& visit) {
  auto const own = rows.experts(), wanted = region[region.rank() - 2];
  for (std::int64_t e = 0; e < own.size; ++e) {
    if (!detail::has(wanted, own.begin + e)) continue;
    for (auto r = rows.first[static_cast<std::size_t>(e)];
         r < rows.first[static_cast<std::size_t>(e) + 1]; ++r)
      if (detail::has_token(extents, region, rows.token[static_cast<std::size_t>(r)])) visit(r);
  }
}

}  // namespace ashlar
