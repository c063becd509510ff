// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A rank of a stale training whose values say which gradients they contain. Element i of the values
// of an owner counts the gradients of worker i mod (number of workers). So the values alone show,
// without the owner's update_clock, whether they miss a gradient that the staleness requires, and
// whether they are torn: partly of another version.

#include <algorithm>
#include <vector>

#include <ashlar/comm/stale_exchange.hpp>

namespace ashlar_test {

struct stale_read_counts {
  std::int64_t reads = 0;
  std::int64_t torn = 0;       ///< reads of values in which parts are of different versions
  std::int64_t too_old = 0;    ///< reads that miss a gradient that the staleness requires
  std::int64_t unsettled = 0;  ///< reads at the end that do not contain exactly all gradients
  std::int64_t stalest = 0;    ///< the most steps by which a read was behind its worker
};

template <class Mailbox>
class counting_worker {
 public:
  static constexpr std::size_t elements = 4000;  ///< of each owner
  using exchange_type = ashlar::stale_exchange<float, Mailbox>;

  counting_worker(int rank, int ranks, int staleness)
      : exchange(
            rank, staleness,
            std::vector<typename exchange_type::part>(static_cast<std::size_t>(ranks),
                                                      {elements, elements * sizeof(float)}),
            [this](std::span<float const> gradient, std::int64_t) {
              for (std::size_t i = 0; i < elements; ++i) values_[i] += gradient[i];
            },
            [this](std::span<std::byte> to) { std::memcpy(to.data(), values_.data(), to.size()); }),
        rank_(rank), ranks_(ranks), staleness_(staleness), values_(elements) {}
  counting_worker(counting_worker const&) = delete;
  counting_worker& operator=(counting_worker const&) = delete;

  /// Waits for the values of a step, and checks them. serve() takes letters.
  template <class Serve>
  void begin_step(std::int64_t step, Serve const& serve) {
    if (step == 0) exchange.read(0);
    while (!exchange.has_arrived()) serve();
    exchange.for_each_answer([&](int, std::span<std::byte const> bytes) {
      auto const contained = contained_in(bytes);
      ++counts.reads;
      for (int w = 0; w < ranks_; ++w) {
        auto const n = contained[static_cast<std::size_t>(w)];
        auto const required = w == rank_ ? step : std::max<std::int64_t>(step - staleness_, 0);
        counts.too_old += n < required || (staleness_ == 0 && n != step);
        counts.stalest = std::max(counts.stalest, step - n);
      }
    });
  }
  /// Pushes the gradient of step `step`, and asks for the values of the next step.
  void end_step(std::int64_t step) {
    exchange.push(step, [&](int, std::span<float> gradient) {
      for (std::size_t i = 0; i < gradient.size(); ++i)
        gradient[i] = static_cast<int>(i % static_cast<std::size_t>(ranks_)) == rank_ ? 1.0f : 0.0f;
    });
    exchange.read(step + 1);
  }
  /// Waits until the values contain all gradients of `steps` steps.
  template <class Serve>
  void settle(std::int64_t steps, Serve const& serve) {
    while (!exchange.has_arrived()) serve();
    exchange.read(steps, 0);
    while (!exchange.has_arrived()) serve();
    exchange.for_each_answer([&](int, std::span<std::byte const> bytes) {
      for (auto const n : contained_in(bytes)) counts.unsettled += n != steps;
    });
  }

  exchange_type exchange;
  stale_read_counts counts;

 private:
  /// Returns for each worker how many of its gradients the values contain. Counts the read as torn
  /// if the values do not all contain the same gradients.
  std::vector<std::int64_t> contained_in(std::span<std::byte const> bytes) {
    std::vector<float> values(elements);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    auto const n = static_cast<std::size_t>(ranks_);
    bool torn = false;
    for (std::size_t i = n; i < elements; ++i) torn = torn || values[i] != values[i - n];
    counts.torn += torn;
    return {values.begin(), values.begin() + ranks_};
  }

  int rank_, ranks_, staleness_;
  std::vector<float> values_;
};

}  // namespace ashlar_test
