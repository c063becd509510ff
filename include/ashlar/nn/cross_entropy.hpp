// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy at the end of a net: the mean over all rows of
// -log softmax(logits)[target].
//
//   The logits are [.., classes], split by rows, split by classes, or replicated.
//   A row with a target < 0 has loss 0. The options say whether the mean counts such a row or
//   leaves it out (cross_entropy_options.hpp).
//
// If the classes are split, each rank has a part of every row. Then one all-reduce computes the
// maximum of each row. A second one computes two sums for each row: the sum of its exponentials,
// and the logit of its target. With label smoothing, the mean of the row's logits under the
// smoothed distribution takes the place of this logit. The plan contains these two reductions and
// prices them like every other redistribution.

#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/cross_entropy_options.hpp>
#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

/// A loss for logits [.., classes] and one target per row. If the classes are split, communicates
/// one value per row for the maxima and then two values per row for the sums.
class softmax_cross_entropy {
 public:
  static constexpr bool runs_on_devices = true;
  static constexpr bool is_loss = true;
  template <class T>
  using target = std::int32_t;
  template <int XRank>
  static constexpr int target_rank = XRank - 1;
  template <int XRank>
  using statistics = ranks<XRank - 1, XRank>;

  /// Throws ashlar::error if label_smoothing is not from 0 to 1.
  constexpr softmax_cross_entropy(cross_entropy_options const& options = {}) : options_(options) {
    options_.check();
  }

  static constexpr shape target_extents(shape const& x) {
    shape rows = x;
    rows.extent.pop_back();
    return rows;
  }
  /// Throws ashlar::error if a target is not below the number of classes.
  static void check_targets(std::span<std::int32_t const> targets, shape const& x) {
    auto const classes = x[x.rank() - 1];
    for (auto const target : targets)
      if (target >= classes)
        throw error("nn::softmax_cross_entropy", "target " + std::to_string(target) +
                                                     " is not one of the " +
                                                     std::to_string(classes) + " classes.");
  }

  /// Returns whether the mean of the loss with this spec leaves out the targets for which
  /// is_left_out is true.
  static constexpr bool leaves_out_targets(search::layer_spec const& spec) {
    for (auto const& k : spec.constants)
      if (k.name == search::label(left_out)) return true;
    return false;
  }
  static constexpr bool is_left_out(std::int32_t target) { return target < 0; }

  constexpr search::layer_spec spec(shape const& x) const {
    if (x.rank() < 2)
      throw error("nn::softmax_cross_entropy",
                  "the logits are " + to_string(x) + " but must be [.., classes].");
    search::layer_spec s;
    s.name = "cross_entropy";
    s.x = x;
    s.y = {};
    shape rows, pair;
    for (int d = 0; d + 1 < x.rank(); ++d) {
      rows.extent.push_back(x[d]);
      pair.extent.push_back(x[d]);
    }
    pair.extent.push_back(2);
    s.statistics = {rows, pair};
    s.rows = cross_entropy_training_rows(x.rank());
    s.forward_values = (is_smoothed() ? 4 : 3) * static_cast<double>(x.elements());
    s.backward_values = 3 * static_cast<double>(x.elements());
    s.saved_values = static_cast<double>(x.elements());
    if (is_smoothed()) s.constants.push_back({"label_smoothing", options_.label_smoothing});
    if (options_.ignored == ignored_rows::left_out) s.constants.push_back({left_out, 1});
    return s;
  }

  /// The forward pass has three parts. Each works on this rank's logits:
  ///
  /// - Part 0 computes the maximum of each row.
  /// - Part 1 computes each row's sum of exponentials, and the logit of its target. With label
  ///   smoothing, it computes the mean of the row's logits under the smoothed distribution instead
  ///   of this logit.
  /// - Part 2 computes the loss.
  ///
  /// After part 0 and after part 1, the plan reduces the results over the ranks.
  template <int Part, class Call>
  auto forward(Call const& c) const {
    if constexpr (Part == 0) return local_maxima(c);
    else if constexpr (Part == 1) return local_sums(c);
    else return loss(c);
  }

  /// Returns the gradient of the logits, multiplied by the forward call's scale().
  template <class Call>
  auto backward(Call const& c) const {
    using A = typename Call::accumulated;
    auto const& x = c.template kept<0>();
    auto const& sum = c.template kept<3>();
    auto dx = c.make_dx();
    cross_entropy_gradient(c.processor(), x.data(), c.template kept<1>().data(),
                           c.template kept<2>().data(), sum.data(), sum.size(), columns_of(x),
                           first_class(x), A(c.template kept<4>()), dx.data(), distribution<A>(c));
    return dx;
  }

 private:
  template <class Call>
  static auto local_maxima(Call const& c) {
    auto maxima = c.template make_statistic<0>();
    row_max(c.processor(), c.x().data(), detail::local_rows_of(c.x()), columns_of(c.x()),
            maxima.data());
    return maxima;
  }
  template <class Call>
  auto local_sums(Call const& c) const {
    using A = typename Call::accumulated;
    auto const& x = c.x();
    auto const& on = c.processor();
    std::int64_t const rows = detail::local_rows_of(x), columns = columns_of(x);
    auto const maximum = c.template statistic<0>();
    auto const targets = targets_of(c);
    auto pair = c.template make_statistic<1>();
    buffer<A> parts(c.memory(), 2 * rows);  // sums, then logits of targets
    A* const sum = parts.data();
    A* const own = sum + rows;
    row_exp_sum(on, x.data(), maximum.data(), rows, columns, sum);
    if (is_smoothed())
      cross_entropy_expected_logit(on, x.data(), targets.data(), rows, columns, first_class(x),
                                   distribution<A>(c), own);
    else
      cross_entropy_target_logit(on, x.data(), targets.data(), rows, columns, first_class(x), own);
    copy_rows(on, rows, sum, 1, pair.data(), 2);
    copy_rows(on, rows, own, 1, pair.data() + 1, 2);
    return pair;
  }
  template <class Call>
  static auto loss(Call const& c) {
    using A = typename Call::accumulated;
    auto const& x = c.x();
    auto const& on = c.processor();
    std::int64_t const rows = detail::local_rows_of(x);
    auto const maximum = c.template statistic<0>();
    auto const pair = c.template statistic<1>();
    auto const targets = targets_of(c);
    kept<A> sum(c.mesh(), rows);
    copy_rows(on, rows, pair.data(), 2, sum.data(), 1);
    if (is_representative(as_value(c.at().y()), c.mesh().coordinate())) {
      buffer<A> own(c.memory(), rows), losses(c.memory(), rows);
      copy_rows(on, rows, pair.data() + 1, 2, own.data(), 1);
      cross_entropy_loss(on, maximum.data(), sum.data(), own.data(), targets.data(), rows,
                         losses.data());
      add_sum(on, c.memory(), losses.data(), rows, c.total());
    }
    return made(no_output{}, x, targets, maximum, std::move(sum), c.scale());
  }

  template <class Call>
  static auto targets_of(Call const& c) {
    return c.template targets<std::int32_t, Call::x_rank - 1>();
  }
  template <class X>
  static std::int64_t columns_of(X const& x) {
    return x.local_size(X::rank - 1);
  }
  template <class X>
  static std::int64_t first_class(X const& x) {
    return x.local_box()[X::rank - 1].begin;
  }
  /// Copies `rows` values. Consecutive values are `from` elements apart in `source` and `to`
  /// elements apart in `target`.
  template <class Processor, class A>
  static void copy_rows(Processor const& on, std::int64_t rows, A const* source, std::int64_t from,
                        A* target, std::int64_t to) {
    copy_strided(on, 1, &rows, source, &from, target, &to);
  }

  constexpr bool is_smoothed() const { return options_.label_smoothing > 0; }
  /// Returns the distribution over all classes that stands for the target of a row.
  template <class A, class Call>
  device::target_distribution<A> distribution(Call const& c) const {
    return device::smoothed_target<A>(options_.label_smoothing, c.spec().x[Call::x_rank - 1]);
  }
  static constexpr char const* left_out = "ignored_left_out";

  cross_entropy_options options_;
};

}  // namespace ashlar::nn
