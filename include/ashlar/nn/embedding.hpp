// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Token embedding with learned positions, ids [batch, seq] -> [batch, seq, features].
//
//   embedding(vocabulary, features)                      with one vector per position in a sequence
//   embedding(vocabulary, features, no_positions)
//
// Plans may split the table by columns (features) or by rows (vocabulary). With split rows, an id
// whose row is on another rank gives zero, and the result is partial. The ids may be split by
// sequences or by positions. Ids outside the vocabulary are an error.

#include <ashlar/nn/layer.hpp>
#include <ashlar/nn/token_cache.hpp>

namespace ashlar::nn {

/// Throws ashlar::error, which begins with `where`, if the number of tokens is negative or above
/// 2^31, since ids are of type int32.
constexpr void check_vocabulary(std::int64_t vocabulary, char const* where) {
  if (vocabulary < 0 || vocabulary > std::int64_t{1} << 31)
    throw error(where, "the vocabulary has " + std::to_string(vocabulary) +
                           " tokens, but a token is a number from 0 to 2^31 - 1.");
}

struct no_positions_tag {};
inline constexpr no_positions_tag no_positions{};

/// A layer that maps ids [batch, seq] to [batch, seq, features]. Throws ashlar::error for ids
/// outside the vocabulary.
class embedding {
 public:
  static constexpr bool takes_tokens = true;
  static constexpr bool runs_on_devices = true;
  using parameters = ranks<2, 2>;
  template <int XRank>
  static constexpr int y_rank = XRank + 1;

  constexpr embedding(std::int64_t vocabulary, std::int64_t features)
      : vocabulary_(vocabulary), features_(features) {}
  constexpr embedding(std::int64_t vocabulary, std::int64_t features, no_positions_tag)
      : vocabulary_(vocabulary), features_(features), positions_(false) {}

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() != 2)
      throw error("nn::embedding", "the input is " + to_string(x) + " but must be [batch, seq].");
    check_vocabulary(vocabulary_, "nn::embedding");
    search::layer_spec s;
    s.name = "embedding";
    s.x = x;
    s.y = {x[0], x[1], features_};
    s.parameters.push_back({"table", {vocabulary_, features_}, false});
    s.parameters[0].rows_read = x.elements();
    if (positions_) s.parameters.push_back({"positions", {x[1], features_}, false});
    s.rows = embedding_training_rows(positions_);
    s.forward_values = (positions_ ? 4.0 : 2.0) * static_cast<double>(s.y.elements());
    s.backward_values = (positions_ ? 6.0 : 3.0) * static_cast<double>(s.y.elements());
    s.backward = search::backward_form::gradients_only;
    s.gradient_values = s.backward_values;
    s.saved_values = static_cast<double>(x.elements());
    s.continues_positions = positions_;
    return s;
  }

  static initial_values initial(int) { return normal_deviates(0.02); }  // the deviation of GPT-2

  /// Throws ashlar::error if an id is outside the vocabulary.
  void check(std::span<std::int32_t const> ids) const {
    for (auto const id : ids)
      if (id < 0 || id >= vocabulary_)
        throw error("nn::embedding", "token " + std::to_string(id) +
                                         " is outside the vocabulary of " +
                                         std::to_string(vocabulary_) + ".");
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 2, "nn::embedding: the input must be [batch, seq].");
    auto const& ids = c.x();
    auto const table = c.template parameter<0>();
    auto y = c.make_y();
    auto const& rows = table.local_box()[0];
    std::int64_t const columns = y.local_size(2), tokens = ids.local_elements();
    embedding_forward(c.processor(), table.data(), rows.begin, rows.size, columns, ids.data(),
                      tokens, y.data());
    if (positions_ && tokens > 0)
      add_positions(c.processor(),
                    c.template parameter<1>().data() + first_position(c.pass().cache) * columns,
                    ids.local_size(1), columns, 0, tokens, y.data());
    return made(y, ids);
  }
  /// Computes the gradients of the parameters only, since ids have no gradient.
  template <class Call>
  void weight_gradient(Call const& c) const {
    auto const& ids = c.template kept<0>();
    auto const& dy = c.dy();
    std::int64_t const columns = dy.local_size(2), tokens = ids.local_elements();
    if (auto* const sums = c.template rows<0>()) {
      if constexpr (Call::processor_type::is_host)
        device::host::embedding_backward(dy.data(), ids.data(), tokens, sums->shard()[0].begin,
                                         sums->shard()[0].size, columns,
                                         [=](std::int64_t row) { return sums->row(row); });
    } else {
      auto const& table = c.template gradient<0>();
      auto const& rows = table.local_box()[0];
      embedding_backward(c.processor(), c.memory(), dy.data(), ids.data(), tokens, rows.begin,
                         rows.size, columns, table.data());
    }
    if (positions_ && tokens > 0)
      add_positions_backward(c.processor(), dy.data(), ids.local_size(1), columns, 0, tokens,
                             c.template gradient<1>().data());
  }

 private:
  std::int64_t vocabulary_, features_;
  bool positions_ = true;
};

}  // namespace ashlar::nn
