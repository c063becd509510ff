// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The gradient of a parameter, if a plan keeps it in rows (step/row_exchange.hpp). It has two
// parts: the sums to which the backward passes of all micro-batches add, and the gradient itself,
// which has the sums over all ranks. Both grow with the number of rows that a step reads, not with
// the parameter.

#include <variant>

#include <ashlar/nn/row_exchange.hpp>

namespace ashlar::nn {

class gradient_rows {
 public:
  /// `type` is the type of the gradient's elements, `shard` is the rank's box of the parameter, and
  /// `axes` are the mesh axes along which the ranks sum the gradient. Throws ashlar::error if the
  /// shard has too many rows for ids of 32 bits.
  gradient_rows(char const* name, element_type type, box const& shard, axis_list const& axes)
      : axes_(axes), held_(typed<float>{row_sums<float>(shard), {}}) {
    auto const columns = shard[shard.rank() - 1].size;
    std::int64_t const rows = columns == 0 ? 0 : shard.elements() / columns;
    if (rows > std::numeric_limits<std::int32_t>::max())
      throw error(name, "the gradient is kept in rows, but the rank has " + std::to_string(rows) +
                            " rows of the parameter. Split it until a rank has fewer than 2^31.");
    if (type == element_type::f64) held_ = typed<double>{row_sums<double>(shard), {}};
  }

  /// Returns the sums to which backward passes add. T is the type of the gradient's elements.
  template <class T>
  row_sums<T>& sum() {
    return std::get<typed<T>>(held_).sum;
  }
  /// Returns the gradient. It is valid from exchange() until clear().
  template <class T>
  sorted_rows<T> const& gradient() const {
    return std::get<typed<T>>(held_).gradient;
  }
  void clear() {
    std::visit(
        [](auto& own) {
          own.sum.clear();
          own.gradient = {};  // frees its memory before the next passes
        },
        held_);
  }
  /// Makes the gradient from the sums of all ranks along the axes. All these ranks must call this
  /// function. Communicates as sum_over_ranks does.
  template <class Mesh>
  void exchange(Mesh const& m) {
    // Sorting copies all rows. If that exhausts the memory of one rank, the others must not wait.
    abandon_on_exception const guard(m.operations());
    std::visit([&](auto& own) { own.gradient = sum_over_ranks(m, axes_, own.sum.sorted()); },
               held_);
  }

 private:
  template <class T>
  struct typed {
    row_sums<T> sum;
    sorted_rows<T> gradient;
  };
  axis_list axes_;
  std::variant<typed<float>, typed<double>> held_;
};

}  // namespace ashlar::nn
