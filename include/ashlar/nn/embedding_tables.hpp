// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Embedding tables of equal size, one per category: ids [batch, tables] ->
// [batch, tables, features].
//
//   embedding_tables(26, 100'000, 128)
//
// Plans may split samples, tables, the rows of tables (which makes the result partial) or columns,
// in any combination over the axes (signature/recommendation.hpp). Ids outside the rows of a table
// are an error. Initialization: normal deviates of variance 1 / rows. DLRM has a uniform
// distribution of mean 0 and a third of this variance.

#include <cmath>

#include <ashlar/device/host/interaction.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/recommendation.hpp>

namespace ashlar::nn {

/// A layer that maps ids [batch, tables] to [batch, tables, features]. Throws ashlar::error for ids
/// outside a table.
class embedding_tables {
 public:
  static constexpr bool takes_tokens = true;
  using parameters = ranks<3>;
  template <int XRank>
  static constexpr int y_rank = XRank + 1;

  /// Makes `tables` tables of equal size. Throws ashlar::error if one of the extents is below 1.
  constexpr embedding_tables(std::int64_t tables, std::int64_t rows, std::int64_t features)
      : extents_{tables, rows, features} {
    if (tables < 1 || rows < 1 || features < 1)
      throw error("nn::embedding_tables", "tables of " + to_string(extents_) +
                                              ": the number of tables, their rows and their "
                                              "features must be 1 or more.");
  }

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() != 2 || x[1] != extents_[0])
      throw error("nn::embedding_tables", "the input is " + to_string(x) + " but must be [batch, " +
                                              std::to_string(extents_[0]) + " tables].");
    search::layer_spec s;
    s.name = "embedding_tables";
    s.x = x;
    s.y = {x[0], x[1], extents_[2]};
    s.parameters.push_back({"values", extents_, false});
    s.parameters[0].rows_read = x.elements();
    s.rows = embedding_tables_training_rows();
    s.forward_values = 2 * static_cast<double>(s.y.elements());
    s.backward_values = 3 * static_cast<double>(s.y.elements());
    s.backward = search::backward_form::gradients_only;
    s.gradient_values = s.backward_values;
    s.saved_values = static_cast<double>(x.elements());
    return s;
  }

  initial_values initial(int) const {
    return normal_deviates(1 / std::sqrt(static_cast<double>(extents_[1])));
  }

  /// Throws ashlar::error if an id is outside the rows of a table.
  void check(std::span<std::int32_t const> ids) const {
    for (auto const id : ids)
      if (id < 0 || id >= extents_[1])
        throw error("nn::embedding_tables", "id " + std::to_string(id) + " is outside the " +
                                                std::to_string(extents_[1]) + " rows of a table.");
  }

  template <class Call>
  auto forward(Call const& c) const {
    static_assert(Call::x_rank == 2, "nn::embedding_tables: the input must be [batch, tables].");
    auto const values = c.template parameter<0>();
    auto y = c.make_y();
    device::host::embedding_tables_forward(detail::constants_of(values),
                                           detail::constants_of(c.x()),
                                           of_shards(c.x(), values.local_box()), y.data());
    return made(y, c.x());
  }
  /// Computes the gradient of the tables only, since ids have no gradient.
  template <class Call>
  void weight_gradient(Call const& c) const {
    auto const& ids = c.template kept<0>();
    if (auto* const sums = c.template rows<0>())
      return device::host::embedding_tables_backward(
          detail::constants_of(c.dy()), detail::constants_of(ids), of_shards(ids, sums->shard()),
          [=](std::int64_t row) { return sums->row(row); });
    auto const& values = c.template gradient<0>();
    device::host::embedding_tables_backward(detail::constants_of(c.dy()), detail::constants_of(ids),
                                            of_shards(ids, values.local_box()), values.data());
  }

 private:
  /// Returns the extents of this rank's shards of the ids and of the tables. `values` is the box of
  /// the shard of the tables.
  template <class Ids>
  static device::host::table_extents of_shards(Ids const& ids, box const& values) {
    return {ids.local_size(0), ids.local_size(1), values[1].size, values[1].begin, values[2].size};
  }

  shape extents_;
};

}  // namespace ashlar::nn
