// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Pipeline schedules for tests: the schedules of the builders, and all possible orders of passes.

#include <vector>

#include <ashlar/step/pipeline/costs.hpp>
#include <ashlar/step/pipeline/delayed_weights.hpp>
#include <ashlar/step/pipeline/dual_pipe_v.hpp>
#include <ashlar/step/pipeline/interleaved.hpp>
#include <ashlar/step/pipeline/split_backward.hpp>
#include <ashlar/step/pipeline/warm_up.hpp>

namespace ashlar_test {

/// Returns costs of equal stages. The passes F, I and W take f, i and w seconds, and a transfer
/// takes c seconds in both directions.
inline ashlar::pipelines::pipeline_costs equal(int stages, double f, double i, double w, double c) {
  return ashlar::pipelines::pipeline_costs(static_cast<std::size_t>(stages), {f, i, w, c, c});
}

/// Returns the schedules of all builders that permit s positions and m micro-batches. The
/// interleaved schedules have one to four chunks at each position.
inline std::vector<ashlar::pipelines::schedule> all_schedules(int s, int m) {
  using namespace ashlar::pipelines;
  std::vector<schedule> all{gpipe(s, m), one_f_one_b(s, m), eager(s, m),          zb_h1(s, m),
                            zb_h2(s, m), zb_v(s, m),        delayed_weights(s, m)};
  for (int v = 1; v <= 4; ++v)
    if (m % s == 0) all.push_back(interleaved(s, m, v));
  if (m >= 2 * s) all.push_back(dual_pipe_v(s, m));
  return all;
}

/// Makes all orders of one part's passes. In each order, every stage takes the micro-batches in
/// ascending order. F is a forward pass, and B a whole backward pass. I (the gradient of the input)
/// and W (the gradients of the parameters) are the halves of a split one. Flags:
///
///   split      backward passes are I and W instead of B
///   possible   makes only orders that a part by itself could run: F before B or I, and I before W
class part_orders {
 public:
  part_orders(int chunks, int micro_batches, bool split, bool possible)
      : chunks_(chunks), micro_batches_(micro_batches), possible_(possible) {
    using ashlar::pipelines::pass;
    kinds_ = {pass::forward, pass::backward};
    if (split) kinds_ = {pass::forward, pass::input_gradient, pass::weight_gradient};
    next_.assign(kinds_.size() * static_cast<std::size_t>(chunks), 0);
    extend();
  }
  std::vector<std::vector<ashlar::pipelines::action>> const& all() const { return all_; }

 private:
  void extend() {
    if (now_.size() == next_.size() * static_cast<std::size_t>(micro_batches_)) {
      all_.push_back(now_);
      return;
    }
    for (int c = 0; c < chunks_; ++c)
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        auto const at = static_cast<std::size_t>(c) * kinds_.size() + k;
        int const m = next_[at];
        if (m == micro_batches_ || (possible_ && k > 0 && m >= next_[at - 1])) continue;
        ++next_[at];
        now_.push_back({kinds_[k], m, c});
        extend();
        now_.pop_back();
        --next_[at];
      }
  }

  int chunks_, micro_batches_;
  bool possible_;
  std::vector<ashlar::pipelines::pass> kinds_;
  std::vector<int> next_;  // the next micro-batch of each chunk and kind of pass
  std::vector<ashlar::pipelines::action> now_;
  std::vector<std::vector<ashlar::pipelines::action>> all_;
};

/// Calls f(schedule) for every way to give one of these orders to each of `shape`'s positions.
template <class F>
void for_each_schedule(ashlar::pipelines::schedule shape, part_orders const& orders, F const& f) {
  auto const& all = orders.all();
  std::vector<std::size_t> choice(static_cast<std::size_t>(shape.positions), 0);
  shape.order.assign(choice.size(), all[0]);
  for (std::size_t p = 0; p < choice.size();) {
    f(shape);
    for (p = 0; p < choice.size(); ++p) {  // goes to the next combination
      choice[p] = (choice[p] + 1) % all.size();
      shape.order[p] = all[choice[p]];
      if (choice[p] != 0) break;
    }
  }
}

}  // namespace ashlar_test
