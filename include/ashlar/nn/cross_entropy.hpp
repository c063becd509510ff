// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Softmax cross-entropy at the end of a net: the mean over all rows of -log softmax(logits)[target].
//
//   logits [.., classes], split by rows, by classes, or whole. A row with a target < 0
//   adds nothing to the sum and still counts in the mean.
//
// With the classes split, each rank has a part of every row: the row maxima are reduced, then the
// sums of exponentials and the targets' logits in one all-reduce. These two statistics are part of
// the plan and priced like every other move.

#include <ashlar/device/host/operations.hpp>
#include <ashlar/nn/kept.hpp>
#include <ashlar/nn/layer.hpp>

namespace ashlar::nn {

/// What this rank knows of a batch's loss; sums over all ranks give the batch's.
struct loss_share {
  double sum = 0;  ///< of the losses of the rows that this rank speaks for
};

template <class T, int XRank, class At>
class placed_cross_entropy {
  using A = accumulation_t<T>;
  using processor = typename At::processor_type;
  using input = input_of<T, XRank, At>;
  using rows_of =
      tensor_for<A, XRank - 1, decltype(std::declval<At>().template statistic_to<0>()), processor>;

 public:
  placed_cross_entropy(At const& at, std::int64_t classes) : at_(at), classes_(classes) {}

  /// Throws ashlar::error if a target is not below the number of classes.
  void check_targets(std::span<std::int32_t const> targets) const {
    for (auto const target : targets)
      if (target >= classes_)
        throw error("nn::softmax_cross_entropy", "target " + std::to_string(target) +
                                                     " is none of the " + std::to_string(classes_) +
                                                     " classes.");
  }

  /// Adds this rank's share of the summed loss to *total, in the processor's memory. `targets` lie
  /// whole on every rank; `scale` multiplies the gradient (1 / rows of the step).
  template <distributed Logits, distributed Targets>
  void forward(Logits const& logits, Targets const& targets, double scale, double* total) {
    x_ = redistribute(logits, at_.x());
    targets_ = redistribute(targets.as_dynamic(), rows_placement());
    scale_ = scale;
    auto const& m = x_.mesh();
    auto const& on = m.processor();
    shape rows_extents, pair_extents;
    for (int d = 0; d + 1 < XRank; ++d) {
      rows_extents.extent.push_back(x_.extents()[d]);
      pair_extents.extent.push_back(x_.extents()[d]);
    }
    pair_extents.extent.push_back(2);
    std::int64_t const columns = x_.local_size(XRank - 1);
    std::int64_t rows = 1;
    for (int d = 0; d + 1 < XRank; ++d) rows *= x_.local_size(d);

    auto local_maximum = empty<A, XRank - 1>(m, rows_extents, at_.template statistic_from<0>());
    row_max(on, x_.data(), rows, columns, local_maximum.data());
    maximum_ = redistribute(local_maximum, at_.template statistic_to<0>());

    auto local_pair = empty<A, XRank>(m, pair_extents, at_.template statistic_from<1>());
    buffer<A> columns_of(m.memory(), 2 * rows);  // sums, then target logits
    A* const sum = columns_of.data();
    A* const own = sum + rows;
    row_exp_sum(on, x_.data(), maximum_.data(), rows, columns, sum);
    cross_entropy_target_logit(on, x_.data(), targets_.data(), rows, columns,
                               x_.local_box()[XRank - 1].begin, own);
    copy_rows(on, rows, sum, 1, local_pair.data(), 2);
    copy_rows(on, rows, own, 1, local_pair.data() + 1, 2);
    auto const pair = redistribute(local_pair, at_.template statistic_to<1>());
    sum_ = kept<A>(m, rows);
    copy_rows(on, rows, pair.data(), 2, sum_.data(), 1);
    copy_rows(on, rows, pair.data() + 1, 2, own, 1);
    if (!is_representative(as_value(at_.y()), m.here())) return;
    buffer<A> losses(m.memory(), rows);
    cross_entropy_loss(on, maximum_.data(), sum_.data(), own, targets_.data(), rows, losses.data());
    add_sum(on, m.memory(), losses.data(), rows, total);
  }

  /// The gradient of the logits, times the scale of forward().
  auto backward() {
    auto dx = empty<T, XRank>(x_.mesh(), x_.extents(), at_.dx());
    cross_entropy_gradient(x_.mesh().processor(), x_.data(), targets_.data(), maximum_.data(),
                           sum_.data(), sum_.size(), x_.local_size(XRank - 1),
                           x_.local_box()[XRank - 1].begin, A(scale_), dx.data());
    x_ = {};
    maximum_ = {};
    sum_ = {};
    return dx;
  }

 private:
  /// One value a row, `from` and `to` elements apart.
  static void copy_rows(processor const& on, std::int64_t rows, A const* source, std::int64_t from,
                        A* target, std::int64_t to) {
    copy_strided(on, 1, &rows, source, &from, target, &to);
  }

  /// Where the targets of the local rows are: as the logits, the class dim aside.
  placement rows_placement() const {
    placement p = as_value(at_.x());
    for (int a = 0; a < p.axes(); ++a)
      if (p[a].is_split_of(XRank - 1)) p.axis[a] = broadcast();
    return p;
  }

  At at_;
  std::int64_t classes_;
  input x_;
  tensor<std::int32_t, XRank - 1, dynamic, processor> targets_;
  rows_of maximum_;
  kept<A> sum_;
  double scale_ = 1;
};

/// logits [.., classes] and one target per row -> the loss. Communicates, where the classes are split,
/// one value per row to find the maxima, then two per row to be summed.
class softmax_cross_entropy {
 public:
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
    s.forward_values = 3 * static_cast<double>(x.elements());
    s.backward_values = 3 * static_cast<double>(x.elements());
    s.saved_values = static_cast<double>(x.elements());
    return s;
  }

  template <class T, int XRank, class At>
  auto place(At const& at, std::int64_t classes) const {
    return placed_cross_entropy<T, XRank, At>(at, classes);
  }
};

}  // namespace ashlar::nn
