// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// One table of vectors per category, all of one size: ids [batch, tables] -> [batch, tables, features].
//
//   embedding_tables(26, 100'000, 128)
//
// Split by samples, by whole tables, by rows (the result is partial) or by columns, in any mixture
// over the axes (signature/recommendation.hpp). Ids outside the rows of a table are an error.
// Initialization: normal deviates of variance 1 / rows, about the uniform ones of DLRM.

#include <cmath>

#include <ashlar/device/host/interaction.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/signature/recommendation.hpp>

namespace ashlar::nn {

template <class T, class At>
class placed_embedding_tables {
  using input = tensor_for<std::int32_t, 2, decltype(std::declval<At>().x())>;
  using values_type = parameter_of<T, 3, 0, At>;

 public:
  placed_embedding_tables(At const& at, shape const& y, values_type values)
      : at_(at), y_extents_(y), values_(std::move(values)) {}

  /// Throws ashlar::error if an id is in no row.
  void check(std::span<std::int32_t const> ids) const {
    auto const rows = values_.value().extents()[1];
    for (auto const id : ids)
      if (id < 0 || id >= rows)
        throw error("nn::embedding_tables", "id " + std::to_string(id) + " is outside the " +
                                                std::to_string(rows) + " rows of a table.");
  }

  auto forward(input const& ids, pass const& p) {
    auto const values = values_.use();
    auto y = empty<T, 3>(ids.mesh(), y_extents_, at_.y());
    std::int32_t const* const id = ids.data();
    device::host::embedding_tables_forward(static_cast<T const*>(values.data()), id,
                                           extents(ids, values), y.data());
    if (p.saves()) ids_ = ids;
    return y;
  }

  /// Ids have no gradient; returns them so that a chain has something to pass on.
  template <distributed DY>
  input backward(DY const& dy) {
    auto& values = values_.pending();
    std::int32_t const* const id = ids_.data();
    device::host::embedding_tables_backward(static_cast<T const*>(dy.data()), id,
                                            extents(ids_, values), values.data());
    return std::move(ids_);
  }

  template <class F>
  void for_each_parameter(F f) {
    f(values_);
  }

 private:
  template <class Values>
  static device::host::table_extents extents(input const& ids, Values const& values) {
    auto const& rows = values.local_box()[1];
    return {ids.local_size(0), ids.local_size(1), rows.size, rows.begin, values.local_size(2)};
  }

  At at_;
  shape y_extents_;
  values_type values_;
  input ids_;
};

/// ids [batch, tables] -> [batch, tables, features]. Throws ashlar::error for ids outside a table.
class embedding_tables {
 public:
  static constexpr bool takes_tokens = true;
  template <int XRank>
  static constexpr int y_rank = XRank + 1;

  /// So many tables of equal size. Throws ashlar::error if one of the extents is below 1.
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
    s.rows = embedding_tables_training_rows();
    s.forward_values = 2 * static_cast<double>(s.y.elements());
    s.backward_values = 3 * static_cast<double>(s.y.elements());
    s.backward = search::backward_form::gradients_only;
    s.gradient_values = s.backward_values;
    s.saved_values = static_cast<double>(x.elements());
    return s;
  }

  template <class T, int XRank, class At>
  auto place(mesh const& m, shape const& x, At const& at, stream_counter& streams) const {
    static_assert(XRank == 2, "nn::embedding_tables: the input must be [batch, tables].");
    double const deviation = 1 / std::sqrt(static_cast<double>(extents_[1]));
    return placed_embedding_tables<T, At>(at, spec(x).y,
                                          random_parameter<T, 3, 0>("values", m, extents_, at,
                                                                    deviation, streams.seed,
                                                                    streams.next++));
  }

 private:
  shape extents_;
};

}  // namespace ashlar::nn
