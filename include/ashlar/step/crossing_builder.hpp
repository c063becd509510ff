// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Adds to a program the sends and receives of one part of a pipeline. These tensors cross to
// another part:
//
//   between neighbouring stages   forward, the output y of the last element of the earlier stage;
//                                 backward, the gradient dx of the first element of the later stage
//   for a skip whose ends are on  forward, the input x of the skip; backward, its gradient
//   different stages
//
// begin_send and begin_receive add the action with which a crossing (a send or a receive) begins,
// and return the index of the crossing in program::crossings. end_crossing adds the action with
// which it ends. If `forward`, an activation goes to a later stage. If not, a gradient goes back.
// `b` is the micro-batch. `number` is the crossing's place in the common order of all crossings,
// and `plan` is the index of its plan (program_crossing in program.hpp). cut_skips.hpp finds the
// skips.

#include <ashlar/step/cut_skips.hpp>
#include <ashlar/step/program_builder.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class crossing_builder : public program_builder<dynamic_size> {
 public:
  using program_builder<dynamic_size>::program_builder;

  /// Adds the move that brings the tensor made by element `element` to placement `to`, unless it is
  /// there already. Then adds the action that begins to send this tensor to another part.
  int begin_send(int b, int element, bool forward, placement const& to, int number, int plan) {
    enter(b, element);
    layer_choice const& c = chosen_[element];
    return send(forward, forward ? own(element).y : own(element).dx, extents_at(element, forward),
                forward ? c.y : c.dx, to, number, plan);
  }
  /// Adds the action that begins to receive a tensor that element `element` reads: the output of
  /// the element before, or the gradient that the element after makes. The tensor arrives at
  /// placement `at`.
  int begin_receive(int b, int element, bool forward, placement const& at, int number, int plan) {
    enter(b, forward ? element - 1 : element + 1);
    auto const bytes = bytes_of(extents_at(element_, forward), at, net_.element_size);
    int const value = add_value(forward ? value_kind::y : value_kind::dx, 0, bytes);
    (forward ? own(element_).y : own(element_).dx) = value;
    auto& arrivals = forward ? y_arrives_ : dx_arrives_;
    arrivals[static_cast<std::size_t>(element_)] = at;
    return begin_crossing({false, what(forward), element, b, value, number, plan, when(forward)});
  }

  /// The following two functions begin to send and to receive the input of a skip, or the gradient
  /// of this input.
  int begin_send(int b, cut_skip const& skip, bool forward, placement const& to, int number,
                 int plan) {
    enter(b, forward ? skip.begin : skip.end);
    layer_choice const& c = chosen_[element_];
    return send(forward, forward ? own(skip.begin).y : own(skip.end).skipped,
                net_.spec(skip.begin).x, forward ? c.y : c.dx, to, number, plan);
  }
  int begin_receive(int b, cut_skip const& skip, bool forward, placement const& at, int number,
                    int plan) {
    enter(b, forward ? skip.begin : skip.end);
    auto const bytes = bytes_of(net_.spec(skip.begin).x, at, net_.element_size);
    int const value = add_value(forward ? value_kind::y : value_kind::skipped, 0, bytes);
    (forward ? own(skip.end).arrived : own(skip.end).skipped) = value;
    return begin_crossing({false, what(forward), forward ? skip.end : skip.begin, b, value, number,
                           plan, when(forward)});
  }
  /// Redistributes the received input of a skip from `at`, the placement at which it arrived, to
  /// the placement at which the end of the skip reads it. If `forward` is false, redistributes the
  /// received gradient in the same way for the begin of the skip. Expects that the receive has
  /// ended.
  void bring(int b, cut_skip const& skip, bool forward, placement const& at) {
    enter(b, forward ? skip.end : skip.begin);
    int& value = forward ? own(skip.end).arrived : own(skip.end).skipped;
    placement const& to = forward ? chosen_[skip.end].x : chosen_[skip.begin].dy;
    if (!(at == to))
      value = add_move(when(forward), what(forward), 0, net_.spec(skip.begin).x, at, to, value);
  }

  // A tied parameter whose two uses are on different parts of the mesh crosses twice a step: its
  // value (phase forward) to the part of the later use, and the gradient of the later use (phase
  // synchronize) to the part of the first use.

  /// Adds the action that begins to send a tied parameter, or the gradient of its later use.
  /// Returns the index of the crossing that carries the tensor. The tensor leaves its part of the
  /// mesh at placement `to`.
  int begin_tie_send(tie const& t, phase when, placement const& to, int number, int plan) {
    bool const value = when == phase::forward;
    int const k = enter_tie(t, value);
    auto& own = parameters(element_);
    auto const& chosen = chosen_[element_].parameters[k];
    auto const& from = value ? chosen.store : chosen.updated_at();
    int sent = value ? own.stored[k] : own.gradient[k];
    if (!(from == to)) sent = add_tie_move(when, k, from, to, sent);
    return begin_crossing({true, moved::parameter, element_, 0, sent, number, plan, when});
  }
  /// Adds the action that begins to receive, on the other part, the tensor that begin_tie_send
  /// sends. Returns the index of the crossing. The tensor arrives at placement `at`.
  int begin_tie_receive(tie const& t, phase when, placement const& at, int number, int plan) {
    int const k = enter_tie(t, when != phase::forward);
    auto const size = search::step::element_size(net_, moved::parameter, when);
    auto const bytes = bytes_of(net_.spec(element_).parameters[k].extents, at, size);
    int const value = add_value(kind_of_tied(when), k, bytes);
    return begin_crossing({false, moved::parameter, element_, 0, value, number, plan, when});
  }
  /// Adds the action that ends a receive which begin_tie_receive has begun; `index` is the
  /// crossing. After this action, the later use reads the received parameter, or the received
  /// gradient is added to that of the first use.
  void end_tie_receive(tie const& t, phase when, placement const& at, int index) {
    end_crossing(index);
    int const k = enter_tie(t, when != phase::forward);
    int value = made_.crossings[static_cast<std::size_t>(index)].value;
    auto const& chosen = chosen_[element_].parameters[k];
    auto const& to = when == phase::forward ? chosen.store : chosen.updated_at();
    if (!(to == at)) value = add_tie_move(when, k, at, to, value);
    if (when == phase::forward) parameters(element_).stored[k] = value;
    else add_gradient(t, value);
  }

 private:
  static constexpr phase when(bool forward) { return forward ? phase::forward : phase::backward; }
  static constexpr moved what(bool forward) {
    return forward ? moved::activation : moved::gradient;
  }
  /// Returns the extents of the tensor that element i sends to another part: its output y if
  /// `forward`, otherwise the gradient of its input x.
  shape const& extents_at(int i, bool forward) const {
    return forward ? y_extents(net_, i) : x_extents(net_, i);
  }

  void enter(int b, int element) {
    micro_batch_ = b;
    element_ = element;
  }

  int send(bool forward, int value, shape const& extents, placement const& from,
           placement const& to, int number, int plan) {
    if (!(from == to)) value = add_move(when(forward), what(forward), 0, extents, from, to, value);
    return begin_crossing(
        {true, what(forward), element_, micro_batch_, value, number, plan, when(forward)});
  }

  /// Makes the first or the later element of a tie the current one. Returns the index of its
  /// parameter.
  int enter_tie(tie const& t, bool first) {
    micro_batch_ = 0;
    element_ = first ? t.first : t.later;
    return first ? t.first_index : t.later_index;
  }
  static value_kind kind_of_tied(phase when) {
    return when == phase::forward ? value_kind::copy : value_kind::addend;
  }
  /// Adds the redistribution of a tied tensor before or after its crossing. It has no wire
  /// (plan/wire.hpp), because only the sum of a gradient over ranks uses one.
  int add_tie_move(phase when, int k, placement const& from, placement const& to, int source) {
    return add_actions_of({when, element_, moved::parameter, k, micro_batch_, source},
                          kind_of_tied(when), net_.spec(element_).parameters[k].extents,
                          search::step::element_size(net_, moved::parameter, when), from, to);
  }
};

}  // namespace step_detail

}  // namespace step
}  // namespace ashlar::search
