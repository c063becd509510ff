// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// DLRM (Naumov et al. 2019) as a chain. It predicts clicks, so it has two classes.
//
//   dlrm(o)              tables, interaction, top MLP. It has no numeric features, and it can be
//                        trained.
//   dlrm_described(o)    tables, bottom MLP, interaction, top MLP. This is the whole net, for the
//                        search only; placing it is a compile error (nn/bottom_mlp.hpp).
//
// The default extents are those of MLPerf's DLRM, with 26 tables of a million rows each: bottom
// 13-512-256-128, top 479-1024-1024-512-256. There are two differences: MLPerf's tables differ in
// size, and its last layer is a sigmoid.

#include <ashlar/nn/activation.hpp>
#include <ashlar/nn/bottom_mlp.hpp>
#include <ashlar/nn/chain.hpp>
#include <ashlar/nn/embedding_tables.hpp>
#include <ashlar/nn/interaction.hpp>
#include <ashlar/nn/linear.hpp>

namespace ashlar::nn {

struct dlrm_options {
  std::int64_t tables = 26;
  std::int64_t rows = 1'000'000;  ///< rows of each table
  std::int64_t features = 128;    ///< the length of each vector
  std::int64_t numeric = 13;      ///< the number of numeric features of a sample
  std::int64_t bottom[2] = {512, 256};
  std::int64_t top[4] = {1024, 1024, 512, 256};
};

namespace detail {

constexpr auto dlrm_top(std::int64_t in, dlrm_options const& o) {
  return chain(linear(in, o.top[0]), relu(), linear(o.top[0], o.top[1]), relu(),
               linear(o.top[1], o.top[2]), relu(), linear(o.top[2], o.top[3]), relu(),
               linear(o.top[3], 2));
}

}  // namespace detail

/// Returns the net without numeric features. Input: category_batch; output: [batch, 2].
constexpr auto dlrm(dlrm_options const& o = {}) {
  return chain(embedding_tables(o.tables, o.rows, o.features), interaction(),
               detail::dlrm_top(o.tables * (o.tables - 1) / 2, o));
}

/// Returns the whole net with the numeric features, for the search only.
constexpr auto dlrm_described(dlrm_options const& o = {}) {
  return chain(embedding_tables(o.tables, o.rows, o.features),
               bottom_mlp(o.numeric, {o.bottom[0], o.bottom[1], o.features}),
               interaction(interaction::first::kept),
               detail::dlrm_top(o.features + (o.tables + 1) * o.tables / 2, o));
}

}  // namespace ashlar::nn
