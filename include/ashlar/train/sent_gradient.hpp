// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Decides what an optimizer gets as a gradient that is sent with a wire (plan/wire.hpp), and
// whether the optimizer may square it. AdamW divides by an average of squared gradients. one_bit
// sends elements of equal magnitude in each block, so AdamW would become momentum with one learning
// rate for the block. top_k sends an element only in some steps. So after plain steps, which send
// exact gradients, what these two wires send is not squared. In the table, g is the exact gradient:
//
//   wire after n plain steps              steps 1 .. n       later steps
//   none                                  g, squared         g, squared
//   bf16, half, int8, power_sgd           g, squared         g as sent, squared
//   one_bit, top_k                        g, squared         g as sent, not squared
//   any with momentum                     g, squared         the average of g as sent, not squared
//
// Without plain steps (n = 0) there are no exact gradients, and the gradients that one_bit and
// top_k have sent are squared. Momentum needs plain steps.
//
// The bias correction of an average of squares uses the number of squares in it, which may be below
// the number of updates. A checkpoint keeps these numbers, and a training with another plan
// continues them.
//
// Wires with momentum average the gradients of a step before the trainer knows whether the step
// fails. If it fails, the averages contain its gradients, so neither another step nor a checkpoint
// can follow.
//
// Source: Tang et al., "1-bit Adam: Communication Efficient Large-Scale Training with Adam's
// Convergence Speed", 2021, which calls the number of plain steps freeze_step.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <ashlar/step/plan.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/train/optimizer.hpp>

namespace ashlar::train {

/// Keeps, for each parameter, how many gradients the updates of a training have squared.
class sent_gradients {
 public:
  /// Writes to `scale` whether the gradient of a parameter is a momentum in step number `step`,
  /// counted from 0, and whether it may be squared. `index` is the number of the parameter, and
  /// `number` that of the update, counted from 1. Must be called once before each update.
  /// Communicates nothing.
  template <class Model, class Parameter>
  void note(Model const& model, Parameter const& p, std::size_t index, std::int64_t number,
            std::int64_t step, update_scale& scale) {
    scale.is_momentum = scale.keeps_squares = false;
    auto const& plan = model.plan();
    auto const& problem = model.problem();
    auto const use = [&](int element, int k) {
      auto const& choice = plan[element].parameters[k];
      if (choice.grad == choice.updated_at()) return;  // the gradient is not sent
      if (choice.wire.distorts_squares() && number > plan.plain_steps) scale.keeps_squares = true;
      if (choice.wire.momentum && !search::is_plain_step(plan, step)) scale.is_momentum = true;
    };
    auto const& parameters = problem.spec(p.element()).parameters;
    for (int k = 0; plan.plain_steps > 0 && k < parameters.size(); ++k) {
      if (parameters[k].name.text != std::string_view(p.name())) continue;
      use(p.element(), k);
      for (auto const& t : problem.ties)
        if (t.first == p.element() && t.first_index == k) use(t.later, t.later_index);
    }
    if (index >= squares_.size()) squares_.resize(index + 1, all);
    auto& squares = squares_[index];
    if (squares == all && scale.keeps_squares) squares = number - 1;
    else if (squares != all && !scale.keeps_squares) ++squares;
    scale.squares = squares == all ? number : squares;
  }

  /// Must be called on every rank before the gradients of step number `step` are computed. Throws
  /// ashlar::error if an earlier step was not accepted and wires have averaged its gradients.
  template <class Model>
  void begin(Model const& model, std::int64_t step) {
    require_accepted();
    auto const& plan = model.plan();
    is_averaging_ = !search::is_plain_step(plan, step) &&
                    any_parameter(plan, [](auto const& p) { return p.wire.momentum; });
  }
  /// Must be called after every step that has not failed, before the next begin().
  void accept() { is_averaging_ = false; }

  /// Says that a training begins in which all earlier updates have squared their gradients.
  void clear() {
    squares_.clear();
    is_averaging_ = false;
  }

  /// Returns how many squared gradients the average of a parameter contains after `further` more
  /// updates. Each of these squares its gradient, and note() was not called for it. Returns a
  /// negative number if every update has squared a gradient.
  std::int64_t squares_after(std::size_t index, std::int64_t further) const {
    return index < squares_.size() && squares_[index] != all ? squares_[index] + further : all;
  }

  /// Returns the text that continue_after() reads. It has a line for each parameter for which some
  /// update has squared no gradient: the result of squares_after() for `further` more updates, and
  /// the parameter's path. Throws ashlar::error in the same case as begin().
  template <class Model>
  std::string text(Model& model, std::int64_t further = 0) const {
    require_accepted();
    std::string text;
    std::size_t index = 0;
    model.for_each_parameter([&](auto const& p) {
      if (auto const squares = squares_after(index++, further); squares != all)
        text += std::to_string(squares) + ' ' + p.path() + '\n';
    });
    return text;
  }

  /// Continues with the numbers of squares in `text`, which an earlier text() returned. For each
  /// parameter that `text` does not name, every update has squared a gradient. Throws
  /// ashlar::error, and changes nothing, if a line does not have the form of text().
  template <class Model>
  void continue_after(Model& model, std::string_view text) {
    std::vector<std::int64_t> squares;
    while (!text.empty()) {
      auto const line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      auto const parts = parts_of(line);  // Clang 14 lets no lambda use structured bindings
      std::size_t index = 0;
      model.for_each_parameter([&](auto const& p) {
        auto const k = index++;
        if (p.path() != parts.second) return;
        if (k >= squares.size()) squares.resize(k + 1, all);
        squares[k] = parts.first;
      });
    }
    clear();
    squares_ = std::move(squares);
  }

 private:
  /// Returns the number and the path in a line of text(). Throws ashlar::error if the line does not
  /// have this form.
  static std::pair<std::int64_t, std::string_view> parts_of(std::string_view line) {
    std::int64_t count = 0;
    char const* const last = line.data() + line.size();
    auto const [end, fault] = std::from_chars(line.data(), last, count);
    std::string_view const rest(end, static_cast<std::size_t>(last - end));
    if (fault != std::errc() || count < 0 || rest.size() < 2 || rest.front() != ' ')
      throw error("trainer", "the numbers of squares of a checkpoint have the line \"" +
                                 std::string(line) +
                                 "\", which is not a number, a space and the path of a parameter. "
                                 "Resume from another checkpoint.");
    return {count, rest.substr(1)};
  }
  void require_accepted() const {
    if (is_averaging_)
      throw error("trainer", "an earlier step failed after wires with momentum had averaged its "
                             "gradients, so this training cannot go on. Resume it from a "
                             "checkpoint of an earlier step.");
  }

  static constexpr std::int64_t all = -1;  ///< every update has squared its gradient

  std::vector<std::int64_t> squares_;  // numbers of squares, by parameter
  bool is_averaging_ = false;          // whether a step has begun that averages gradients
};

}  // namespace ashlar::train
