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

#include <algorithm>

#include <ashlar/device/host/cross_entropy.hpp>
#include <ashlar/device/host/softmax.hpp>
#include <ashlar/nn/layer.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::nn {

/// What this rank knows of a batch's loss; sums over all ranks give the batch's.
struct loss_share {
  double sum = 0;  ///< of the losses of the rows that this rank speaks for
};

template <class T, int XRank, class At>
class placed_cross_entropy {
  using input = tensor_for<T, XRank, decltype(std::declval<At>().x())>;

 public:
  explicit placed_cross_entropy(At const& at) : at_(at) {}

  /// `targets` lie whole on every rank; `scale` multiplies the gradient (1 / rows of the step).
  /// Throws ashlar::error on every rank if a target is not below the number of classes.
  template <distributed Logits, distributed Targets>
  loss_share forward(Logits const& logits, Targets const& targets, double scale) {
    check_targets(targets.local(), logits.extents()[XRank - 1]);
    x_ = redistribute(logits, at_.x());
    targets_ = redistribute(targets.as_dynamic(), rows_placement());
    scale_ = scale;
    auto const& m = x_.mesh();
    shape rows_extents, pair_extents;
    for (int d = 0; d + 1 < XRank; ++d) {
      rows_extents.extent.push_back(x_.extents()[d]);
      pair_extents.extent.push_back(x_.extents()[d]);
    }
    pair_extents.extent.push_back(2);
    std::int64_t const columns = x_.local_size(XRank - 1);
    std::int64_t rows = 1;
    for (int d = 0; d + 1 < XRank; ++d) rows *= x_.local_size(d);
    T const* const logit = x_.data();
    std::int32_t const* const target = targets_.data();
    std::int64_t const first = x_.local_box()[XRank - 1].begin;

    auto local_maximum = empty<T, XRank - 1>(m, rows_extents, at_.template statistic_from<0>());
    if (columns > 0) device::host::row_max(logit, rows, columns, local_maximum.data());
    else std::fill_n(local_maximum.data(), rows, identity_of<T>(reduction::max));
    auto const maximum = redistribute(local_maximum, at_.template statistic_to<0>());

    auto local_pair = empty<T, XRank>(m, pair_extents, at_.template statistic_from<1>());
    buffer<T> columns_of(m.memory(), 2 * rows);  // sums, then target logits
    T* const sum = columns_of.data();
    T* const own = sum + rows;
    device::host::cross_entropy_exp_sum(logit, static_cast<T const*>(maximum.data()), rows, columns,
                                        sum);
    device::host::cross_entropy_target_logit(logit, target, rows, columns, first, own);
    for (std::int64_t r = 0; r < rows; ++r) {
      local_pair.data()[2 * r] = sum[r];
      local_pair.data()[2 * r + 1] = own[r];
    }
    auto const pair = redistribute(local_pair, at_.template statistic_to<1>());
    maximum_.assign(maximum.data(), maximum.data() + rows);
    sum_.resize(static_cast<std::size_t>(rows));
    for (std::int64_t r = 0; r < rows; ++r) {
      sum_[static_cast<std::size_t>(r)] = pair.data()[2 * r];
      own[r] = pair.data()[2 * r + 1];
    }

    buffer<T> losses(m.memory(), rows);
    device::host::cross_entropy_loss(static_cast<T const*>(maximum_.data()),
                                     static_cast<T const*>(sum_.data()), static_cast<T const*>(own),
                                     target, rows, losses.data());
    loss_share share;
    if (is_representative(as_value(at_.y()), m.here()))
      for (std::int64_t r = 0; r < rows; ++r) share.sum += static_cast<double>(losses.data()[r]);
    return share;
  }

  /// The gradient of the logits, times the scale of forward().
  auto backward() {
    auto dx = empty<T, XRank>(x_.mesh(), x_.extents(), at_.dx());
    std::int64_t const columns = x_.local_size(XRank - 1);
    device::host::cross_entropy_gradient(
        static_cast<T const*>(x_.data()), static_cast<std::int32_t const*>(targets_.data()),
        static_cast<T const*>(maximum_.data()), static_cast<T const*>(sum_.data()),
        static_cast<std::int64_t>(sum_.size()), columns, x_.local_box()[XRank - 1].begin, T(scale_),
        dx.data());
    x_ = {};
    return dx;
  }

 private:
  static void check_targets(std::span<std::int32_t const> targets, std::int64_t classes) {
    for (auto const target : targets)
      if (target >= classes)
        throw error("nn::softmax_cross_entropy", "target " + std::to_string(target) +
                                                     " is none of the " + std::to_string(classes) +
                                                     " classes.");
  }

  /// Where the targets of the local rows are: as the logits, the class dim aside.
  placement rows_placement() const {
    placement p = as_value(at_.x());
    for (int a = 0; a < p.axes(); ++a)
      if (p[a].is_split_of(XRank - 1)) p.axis[a] = broadcast();
    return p;
  }

  At at_;
  input x_;
  tensor<std::int32_t, XRank - 1, dynamic> targets_;
  std::vector<T> maximum_, sum_;
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
  auto place(At const& at) const {
    return placed_cross_entropy<T, XRank, At>(at);
  }
};

}  // namespace ashlar::nn
