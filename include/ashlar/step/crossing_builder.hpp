// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A program builder that also adds sends to other parts of a pipeline's mesh and receives from
// them. stage_builder.hpp decides where they are.

#include <ashlar/step/program_builder.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

class crossing_builder : public program_builder<dynamic_size> {
 public:
  using program_builder::program_builder;

  /// Adds the redistribution of what element `element` makes to placement `to`, at which it goes to
  /// another part of the mesh. Adds the begin of the send, and returns its index. `forward` says
  /// that it is the output y, otherwise it is dx. `number` and `plan` are as in program_crossing.
  int begin_send(int b, int element, bool forward, placement const& to, int number, int plan) {
    micro_batch_ = b;
    element_ = element;
    auto const when = forward ? phase::forward : phase::backward;
    auto const what = forward ? moved::activation : moved::gradient;
    layer_choice const& c = chosen_[element];
    int value = forward ? own(element).y : own(element).dx;
    placement const& from = forward ? c.y : c.dx;
    if (!(from == to))
      value = add_move(when, what, 0, extents_at(element, forward), from, to, value);
    return begin_crossing({true, what, element, b, value, number, plan, when});
  }
  /// Adds the begin of a receive, and returns its index. `element` reads what is received: the
  /// output of the element before it, or if `forward` is false, the gradient from the element after
  /// it. It arrives at placement `at`.
  int begin_receive(int b, int element, bool forward, placement const& at, int number, int plan) {
    micro_batch_ = b;
    element_ = forward ? element - 1 : element + 1;
    auto const bytes = bytes_of(extents_at(element_, forward), at, net_.element_size);
    int const value = add_value(forward ? value_kind::y : value_kind::dx, 0, bytes);
    (forward ? own(element_).y : own(element_).dx) = value;
    auto& arrivals = forward ? y_arrives_ : dx_arrives_;
    arrivals[static_cast<std::size_t>(element_)] = at;
    auto const what = forward ? moved::activation : moved::gradient;
    auto const when = forward ? phase::forward : phase::backward;
    return begin_crossing({false, what, element, b, value, number, plan, when});
  }

  // A tied parameter whose two uses are on different parts of the mesh crosses twice a step: its
  // value (phase forward) to the part of the later use, and the gradient of the later use (phase
  // synchronize) to the part of the first use.

  /// Adds the begin of such a send, and returns its index. It leaves at placement `to`.
  int begin_tie_send(tie const& t, phase when, placement const& to, int number, int plan) {
    bool const value = when == phase::forward;
    int const k = enter_tie(t, value);
    auto& own = parameters(element_);
    auto const& from = chosen_[element_].parameters[k].store;
    int sent = value ? own.stored[k] : own.gradient[k];
    if (!(from == to)) sent = add_tie_move(when, k, from, to, sent);
    return begin_crossing({true, moved::parameter, element_, 0, sent, number, plan, when});
  }
  /// Adds the begin of such a receive, and returns its index. It arrives at placement `at`.
  int begin_tie_receive(tie const& t, phase when, placement const& at, int number, int plan) {
    int const k = enter_tie(t, when != phase::forward);
    auto const size = search::step::element_size(net_, moved::parameter, when);
    auto const bytes = bytes_of(net_.spec(element_).parameters[k].extents, at, size);
    int const value = add_value(kind_of_tied(when), k, bytes);
    return begin_crossing({false, moved::parameter, element_, 0, value, number, plan, when});
  }
  /// Adds the end of such a receive, and the use of what has arrived: the later use reads it, or it
  /// is added to the gradient of the first use.
  void end_tie_receive(tie const& t, phase when, placement const& at, int index) {
    end_crossing(index);
    int const k = enter_tie(t, when != phase::forward);
    int value = made_.crossings[static_cast<std::size_t>(index)].value;
    auto const& store = chosen_[element_].parameters[k].store;
    if (!(store == at)) value = add_tie_move(when, k, at, store, value);
    if (when == phase::forward) parameters(element_).stored[k] = value;
    else add_gradient(t, value);
  }

 private:
  /// Returns the extents of an element's output, or of the gradient of its input.
  shape const& extents_at(int i, bool forward) const {
    return forward ? y_extents(net_, i) : x_extents(net_, i);
  }

  /// Makes the first or the later element of a tie the current one. Returns its parameter.
  int enter_tie(tie const& t, bool first) {
    micro_batch_ = 0;
    element_ = first ? t.first : t.later;
    return first ? t.first_index : t.later_index;
  }
  static value_kind kind_of_tied(phase when) {
    return when == phase::forward ? value_kind::copy : value_kind::addend;
  }
  int add_tie_move(phase when, int k, placement const& from, placement const& to, int source) {
    return add_move(when, moved::parameter, k, net_.spec(element_).parameters[k].extents, from, to,
                    source, kind_of_tied(when));
  }
};

}  // namespace step_detail

}  // namespace step
}  // namespace ashlar::search
