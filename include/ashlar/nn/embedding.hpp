// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Token embedding with learned positions: ids [batch, seq] -> [batch, seq, features].
//
//   embedding(vocabulary, features)                      with positions, one row per place in a sequence
//   embedding(vocabulary, features, no_positions)
//
// The table may be split by columns (features) or by rows (vocabulary: ids that are elsewhere give
// zero and the result is partial); ids by sequences or places. Ids outside the vocabulary are an error.

#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

struct no_positions_tag {};
inline constexpr no_positions_tag no_positions{};

template <class T, class At>
class placed_embedding {
  using input = input_of<std::int32_t, 2, At>;
  using table_type = parameter_of<T, 2, 0, At>;
  using positions_type = parameter_of<T, 2, 1, At>;

 public:
  placed_embedding(At const& at, std::int64_t features, table_type table,
                   std::optional<positions_type> positions)
      : at_(at), features_(features), table_(std::move(table)), positions_(std::move(positions)) {}

  /// Throws ashlar::error if an id is outside the vocabulary.
  void check(std::span<std::int32_t const> ids) const {
    auto const vocabulary = table_.value().extents()[0];
    for (auto const id : ids)
      if (id < 0 || id >= vocabulary)
        throw error("nn::embedding", "token " + std::to_string(id) +
                                         " is outside the vocabulary of " +
                                         std::to_string(vocabulary) + ".");
  }

  auto forward(input const& ids, pass const& p) {
    auto const table = table_.use();
    auto y = empty<T, 3>(ids.mesh(), shape{ids.extents()[0], ids.extents()[1], features_}, at_.y());
    auto const& rows = table.local_box()[0];
    std::int64_t const columns = y.local_size(2), tokens = ids.local_elements();
    auto const& on = ids.mesh().processor();
    embedding_forward(on, table.data(), rows.begin, rows.size, columns, ids.data(), tokens,
                      y.data());
    if (positions_) {
      auto const positions = positions_->use();
      if (tokens > 0)
        add_positions(on, positions.data(), ids.local_size(1), columns, 0, tokens, y.data());
    }
    if (p.saves()) ids_ = ids;
    return y;
  }

  /// Ids have no gradient; returns them so that a chain has something to pass on.
  template <distributed DY>
  input backward(DY const& dy) {
    auto& table = table_.pending();
    auto const& rows = table.local_box()[0];
    std::int64_t const columns = dy.local_size(2), tokens = ids_.local_elements();
    auto const& on = dy.mesh().processor();
    embedding_backward(on, dy.mesh().memory(), dy.data(), ids_.data(), tokens, rows.begin,
                       rows.size, columns, table.data());
    if (positions_ && tokens > 0)
      add_positions_backward(on, dy.data(), ids_.local_size(1), columns, 0, tokens,
                             positions_->pending().data());
    return std::move(ids_);
  }

  template <class F>
  void for_each_parameter(F f) {
    f(table_);
    if (positions_) f(*positions_);
  }

 private:
  At at_;
  std::int64_t features_;
  table_type table_;
  std::optional<positions_type> positions_;
  input ids_;
};

/// ids [batch, seq] -> [batch, seq, features]. Throws ashlar::error for ids outside the vocabulary.
class embedding {
 public:
  static constexpr bool takes_tokens = true;
  template <int XRank>
  static constexpr int y_rank = XRank + 1;

  constexpr embedding(std::int64_t vocabulary, std::int64_t features)
      : vocabulary_(vocabulary), features_(features) {}
  constexpr embedding(std::int64_t vocabulary, std::int64_t features, no_positions_tag)
      : vocabulary_(vocabulary), features_(features), positions_(false) {}

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() != 2)
      throw error("nn::embedding", "the input is " + to_string(x) + " but must be [batch, seq].");
    search::layer_spec s;
    s.name = "embedding";
    s.x = x;
    s.y = {x[0], x[1], features_};
    s.parameters.push_back({"table", {vocabulary_, features_}, false});
    if (positions_) s.parameters.push_back({"positions", {x[1], features_}, false});
    s.rows = embedding_training_rows(positions_);
    s.forward_values = (positions_ ? 4.0 : 2.0) * static_cast<double>(s.y.elements());
    s.backward_values = (positions_ ? 6.0 : 3.0) * static_cast<double>(s.y.elements());
    s.backward = search::backward_form::gradients_only;
    s.gradient_values = s.backward_values;
    s.saved_values = static_cast<double>(x.elements());
    return s;
  }

  template <class T, int XRank, class At, class Mesh>
  auto place(Mesh const& m, shape const& x, At const& at, stream_counter& streams) const {
    static_assert(XRank == 2, "nn::embedding: the input must be [batch, seq].");
    constexpr double deviation = 0.02;  // GPT-2's
    auto table = random_parameter<T, 2, 0>("table", m, {vocabulary_, features_}, at, deviation,
                                           streams.seed, streams.next++);
    std::optional<parameter_of<T, 2, 1, At>> positions;
    if (positions_)
      positions.emplace(random_parameter<T, 2, 1>("positions", m, {x[1], features_}, at, deviation,
                                                  streams.seed, streams.next++));
    return placed_embedding<T, At>(at, features_, std::move(table), std::move(positions));
  }

 private:
  std::int64_t vocabulary_, features_;
  bool positions_ = true;
};

}  // namespace ashlar::nn
