// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The implementation of build.hpp, which build_stage.hpp uses too. visit.hpp decides which actions
// an element and a boundary contribute. A redistribution between equal placements makes no action:
// the reader of its result reads its source instead. halo_writer.hpp adds the exchanges of halos.
//
// The output y of a residual_begin is its input x itself, and the dx of a residual_end is its dy
// itself. So residual_begin computes only in the backward pass, and residual_end only in the
// forward pass. There are two exceptions. A residual_end without a gradient (at the end of a net
// without a loss) makes its own dx. The end of a skip cuts its dy into two gradients. The begin and
// the end of a branch follow these rules too. Its turn never computes (branch_turn.hpp). A tied
// parameter (problem.hpp) is one value with two gradient sums, which are added at the end. Several
// micro-batches may be in flight at a time, so each has tensors of its own.

#include <ashlar/step/branch_turn.hpp>
#include <ashlar/step/check_turns.hpp>
#include <ashlar/step/halo_writer.hpp>
#include <ashlar/step/turns.hpp>
#include <ashlar/step/visit.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

template <int N>
class program_builder : public halo_writer {
 public:
  constexpr program_builder(basic_problem<N> const& described, basic_plan<N> const& chosen,
                            machine const& m)
      : halo_writer(chosen.mesh, m), net_(described), chosen_(chosen), y_arrives_(elements()),
        dx_arrives_(elements()),
        tensors_(elements() * static_cast<std::size_t>(described.micro_batches)),
        parameters_(elements()), factors_(elements()) {
    made_.micro_batches = described.micro_batches;
    made_.waits_for_forwards = !can_take_turns(described, 1);
    made_.elements = described.size();
    made_.element_size = described.element_size;
  }

  constexpr program build() {
    int const n = net_.size();
    prepare(0, n);
    for (int b = 0; b < net_.micro_batches; ++b) {
      run_forward(b, 0, n);
      run_backward(b, 0, n);
    }
    synchronize(0, n);
    update(0, n);
    renew(0, n);
    return finished();
  }

  // The following functions build a program in pieces, each for the elements first .. last - 1.

  /// Adds the values that outlast a step: parameters and the sums of their gradients. Adds up
  /// program::resident.
  constexpr void prepare(int first, int last) {
    for (element_ = first; element_ < last; ++element_) {
      layer_spec const& spec = net_.spec(element_);
      layer_choice const& c = chosen_[element_];
      factors_[static_cast<std::size_t>(element_)] = factors_of(spec, c, chosen_.mesh, machine_);
      int const a = net_.accumulation_size;
      auto& own = parameters(element_);
      for (int k = 0; k < spec.parameters.size(); ++k) {
        shape const& extents = spec.parameters[k].extents;
        parameter_choice const& p = c.parameters[k];
        bool const is_apart = p.is_updated_apart();
        std::int64_t const update = bytes_of(extents, p.updated_at(), 1);
        auto const store = bytes_of(extents, p.store, is_apart ? net_.element_size : a);
        bool const is_later = spec.parameters[k].tie == tie_role::later;
        own.stored.push_back(is_later ? stored_by_first_use(k)
                                      : add_value(value_kind::stored, k, store));
        own.master.push_back(is_apart && !is_later ? add_value(value_kind::master, k, update * a)
                                                   : -1);
        auto const sum = sum_bytes(net_, spec, c, k, chosen_.mesh);
        own.sum.push_back(add_value(value_kind::sum, k, sum));
        own.due.push_back(own.sum[k]);
        if (p.delay > 0) own.due[k] = add_value(value_kind::pending, k, sum, false, p.delay);
        own.gradient.push_back(-1);
        made_.resident += error_bytes(extents, p, a, chosen_.mesh) +
                          kept_gradient_bytes(spec.parameters[k], p, a, chosen_.mesh) +
                          (is_later ? 0 : update * (stored_size(net_) - 2 * a));
      }
    }
  }

  /// Adds the forward pass of micro-batch b. The first element reads the data, or the output of the
  /// element before it, which exists already.
  constexpr void run_forward(int b, int first, int last) {
    micro_batch_ = b;
    if (first == 0) {
      element_ = 0;
      input_ = add_value(value_kind::data, 0, 0);
    }
    for (int i = first; i < last; ++i) {
      enter(phase::forward, i);
      visit(phase::forward, i);
    }
  }

  /// Says which gradients a backward pass computes: all, those of inputs, or those of parameters. A
  /// layer that cannot separate the two computes both for `inputs`, and nothing for `weights`.
  enum class gradients : signed char { all, inputs, weights };

  /// Adds the backward pass of micro-batch b, or the half of it that `wanted` names: first
  /// `inputs`, in a later call `weights`. Element last - 1 reads the gradient that element `last`
  /// has made; the last element of the net reads none.
  constexpr void run_backward(int b, int first, int last, gradients wanted = gradients::all) {
    micro_batch_ = b;
    wanted_ = wanted;
    if (wanted == gradients::weights) return run_weight_gradients(first, last);
    gradient_ = -1;
    for (int i = last - 1; i >= first; --i) {
      if (ends_recomputed_segment(net_, i, chosen_.recomputed)) {
        int const begin = first_of_segment(net_, i);
        for (int j = begin; j <= i; ++j) {
          if (j == begin) input_ = own(j).input;
          else enter(phase::recompute, j);
          visit(phase::recompute, j);
        }
      }
      if (i + 1 < net_.size()) {
        element_ = i;
        gradient_ = own(i + 1).dx;
        visit_boundary(phase::backward, boundary_extents(net_, i), dx_at(i + 1), chosen_[i].dy,
                       *this);
      }
      own(i).dy = gradient_;
      visit(phase::backward, i);
    }
    wanted_ = gradients::all;
  }

  /// Adds the redistributions of the gradients of parameters.
  constexpr void synchronize(int first, int last) { visit_once(phase::synchronize, first, last); }
  constexpr void update(int first, int last) {
    for (int i = first; i < last; ++i)
      for (int k = 0; k < net_.spec(i).parameters.size(); ++k) {
        if (net_.spec(i).parameters[k].tie == tie_role::later) continue;
        auto const& own = parameters(i);
        add_once(action_kind::update, i, k, own.gradient[k],
                 own.master[k] >= 0 ? own.master[k] : own.stored[k]);
      }
  }
  /// Adds the redistributions that bring updated parameters to their storage placements.
  constexpr void renew(int first, int last) { visit_once(phase::renew, first, last); }
  constexpr program finished() const { return with_releases(made_); }

  // These functions make this class a visitor: visit.hpp calls them for each computation, exchange
  // of rows and redistribution of a step. Each function adds actions to the program.

  constexpr void compute(phase when, computation what, int part, int parts) {
    if (wanted_ == gradients::inputs && what == computation::weight_gradient) return;
    layer_spec const& spec = net_.spec(element_);
    if (net_[element_].kind == element_kind::branch_turn)
      return turn(net_, element_, what, input_, [this](int i) -> auto& { return own(i); });
    if (what == computation::forward && begins_block(net_[element_].kind))
      return void(own(element_).y = input_);
    if (what != computation::forward && ends_in_sum(net_, element_) && gradient_ >= 0)
      return void(own(element_).dx = gradient_);
    action a{.phase = when, .element = element_, .part = part, .micro_batch = micro_batch_};
    a.seconds = work_seconds(work_of(spec, what), machine_, net_.element_size,
                             factors_[static_cast<std::size_t>(element_)]) /
                parts;
    a.workspace = workspace_bytes(spec, chosen_[element_], chosen_.mesh, net_.element_size);
    if (what == computation::forward) {
      if (part == 0) x_halo_ = exchange_halo(halo_user_here(), when, input_);
      complete_forward(a, when, part, parts);
    } else {
      complete_backward(a, what);
    }
    made_.actions.push_back(a);
    if (!a.makes.empty() && made_.value_of(a.makes[0]).kind == value_kind::dx_halo)
      add_halo(halo_user_here(), a.makes[0], add_dx());
  }

  constexpr void exchange_rows(int k) {
    auto const rows = row_exchange_of(net_.spec(element_), chosen_[element_], k, chosen_.mesh,
                                      net_.micro_batches);
    auto& own = parameters(element_);
    own.gradient[k] = add_row_exchange(rows, net_.accumulation_size, element_, k, own.sum[k]);
  }

  constexpr void move(phase when, moved what, int index, shape const& extents,
                      placement const& from, placement const& to) {
    int& source = source_of(when, what, index);
    int const made = from == to ? source : add_move(when, what, index, extents, from, to, source);
    switch (what) {
      case moved::activation: input_ = made; break;
      case moved::gradient: gradient_ = made; break;
      case moved::statistic: statistics_[index] = made; break;
      case moved::parameter:
        if (repeats(when)) used_[index] = made;
        if (when != phase::synchronize) break;
        parameters(element_).gradient[index] = made;
        if (auto const* t = tie_of_later(index); t != nullptr && has(t->first))
          add_gradient(*t, made);
    }
  }

 protected:
  /// Returns whether this program has element i. Expects an element with parameters.
  constexpr bool has(int i) { return net_.spec(i).parameters.size() == parameters(i).sum.size(); }
  /// Returns the tie whose later use is parameter k of the current element, or null.
  constexpr tie const* tie_of_later(int k) const {
    for (auto const& t : net_.ties)
      if (t.later == element_ && t.later_index == k) return &t;
    return nullptr;
  }
  /// Returns the value that the first use of a tied parameter stores, or -1 if another part of the
  /// mesh stores it. Expects that parameter k of this element is the later use.
  constexpr int stored_by_first_use(int k) {
    auto const& t = *tie_of_later(k);
    return has(t.first) ? parameters(t.first).stored[t.first_index] : -1;
  }
  /// Adds the gradient of a later use to that of the first use.
  constexpr void add_gradient(tie const& t, int gradient) {
    add_once(action_kind::add_gradient, t.first, t.first_index, gradient,
             parameters(t.first).gradient[t.first_index]);
  }

  constexpr std::size_t elements() const { return static_cast<std::size_t>(net_.size()); }
  /// The tensors of element i in the current micro-batch.
  constexpr element_tensors& own(int i) {
    return tensors_[static_cast<std::size_t>(micro_batch_) * elements() +
                    static_cast<std::size_t>(i)];
  }
  constexpr element_parameters& parameters(int i) {
    return parameters_[static_cast<std::size_t>(i)];
  }
  constexpr int add_move(phase when, moved what, int index, shape const& extents,
                         placement const& from, placement const& to, int source) {
    bool const is_addend = what == moved::parameter && when == phase::synchronize &&
                           net_.spec(element_).parameters[index].tie == tie_role::later;
    program_move const m{when, element_, what, index, micro_batch_, source};
    return add_actions_of(m, is_addend ? value_kind::addend : result_of(when, what), extents,
                          search::step::element_size(net_, what, when), from, to,
                          wire_of(chosen_[element_], what, when, index));
  }
  constexpr int add_value(value_kind kind, int index, std::int64_t bytes, bool again = false,
                          int delay = 0) {
    return program_writer::add_value({kind, element_, index, micro_batch_, again, bytes, delay});
  }

  basic_problem<N> const& net_;
  basic_plan<N> const& chosen_;
  // By element: the placement at which its y or dx is received from another part of the mesh. It
  // has no axes if this part makes the tensor itself.
  std::vector<placement> y_arrives_, dx_arrives_;
  int element_ = 0, micro_batch_ = 0;

 private:
  /// Returns the placement at which the output y of element i is made here, or is received.
  constexpr placement const& y_at(int i) const {
    auto const& arrives = y_arrives_[static_cast<std::size_t>(i)];
    return arrives.axes() > 0 ? arrives : chosen_[i].y;
  }
  constexpr placement const& dx_at(int i) const {
    auto const& arrives = dx_arrives_[static_cast<std::size_t>(i)];
    return arrives.axes() > 0 ? arrives : chosen_[i].dx;
  }

  /// Adds the weight_gradient actions of the layers that compute these gradients apart from dx.
  constexpr void run_weight_gradients(int first, int last) {
    for (int i = last - 1; i >= first; --i) {
      if (net_[i].kind != element_kind::layer || !has_own_weight_gradient(net_.spec(i).backward))
        continue;
      element_ = i;
      gradient_ = own(i).dy;
      compute(phase::backward, computation::weight_gradient, 0, 1);
    }
  }

  constexpr void enter(phase when, int i) {
    element_ = i;
    if (i == 0)
      return visit_boundary(when, net_.spec(0).x, placement::all_broadcast(chosen_.mesh.axes()),
                            chosen_[0].x, *this);
    input_ = own(i - 1).y;
    visit_boundary(when, boundary_extents(net_, i - 1), y_at(i - 1), chosen_[i].x, *this);
  }
  /// Adds the actions of a phase that runs once per step.
  constexpr void visit_once(phase when, int first, int last) {
    micro_batch_ = 0;
    for (int i = first; i < last; ++i) visit(when, i);
  }
  constexpr void visit(phase when, int i) {
    element_ = i;
    if (when == phase::forward && net_.runs(i, chosen_.recomputed) == forward_runs::twice_from_here)
      own(i).input = input_;
    for (int k = 0; k < net_.spec(i).parameters.size(); ++k) used_[k] = parameters(i).stored[k];
    visit_element(when, net_.spec(i), chosen_[i], *this);
  }

  constexpr int& source_of(phase when, moved what, int index) {
    switch (what) {
      case moved::activation: return input_;
      case moved::gradient: return gradient_;
      case moved::statistic: return statistics_[index];
      case moved::parameter: break;
    }
    auto& own_parameters = parameters(element_);
    return when == phase::synchronize ? own_parameters.due[index]
           : when == phase::renew     ? own_parameters.master[index]
                                      : own_parameters.stored[index];
  }

  constexpr halo_user halo_user_here() const {
    return {net_.spec(element_), chosen_[element_], element_, micro_batch_, net_.element_size};
  }
  constexpr int add_dx() {
    auto const& at = chosen_[element_].dx;
    auto const bytes = bytes_of(x_extents(net_, element_), at, net_.element_size);
    return own(element_).dx = add_value(value_kind::dx, 0, bytes);
  }

  constexpr void complete_forward(action& a, phase when, int part, int parts) {
    layer_spec const& spec = net_.spec(element_);
    layer_choice const& c = chosen_[element_];
    bool const again = when == phase::recompute;
    a.kind = again ? action_kind::recompute : action_kind::forward;
    a.reads.push_back(x_halo_ >= 0 ? x_halo_ : input_);
    bool const is_sum = ends_in_sum(net_, element_);
    if (is_sum || makes_two_gradients(net_, element_))
      a.reads.push_back(own(element_).arrived >= 0 ? own(element_).arrived
                                                   : own(net_[element_].partner).y);
    for (int k = 0; k < spec.parameters.size(); ++k) a.reads.push_back(used_[k]);
    for (int k = 0; k < part; ++k) a.reads.push_back(statistics_[k]);
    if (x_halo_ >= 0) a.reads.push_back(input_);
    if (part + 1 < parts) {
      statistics_[part] = add_value(
          value_kind::statistic, part,
          bytes_of(spec.statistics[part], c.statistics[part].from, net_.accumulation_size), again);
      a.makes.push_back(statistics_[part]);
      return;
    }
    own(element_).y = add_value(value_kind::y, 0,
                                bytes_of(y_extents(net_, element_), c.y, net_.element_size), again);
    a.makes.push_back(own(element_).y);
    bool const twice = net_.runs(element_, chosen_.recomputed) != forward_runs::once;
    if ((twice && !again) || is_sum || net_[element_].kind == element_kind::residual_end) return;
    own(element_).saved = add_value(value_kind::saved, 0, saved_bytes(net_, spec, c, chosen_.mesh),
                                    again);
    a.makes.push_back(own(element_).saved);
  }

  constexpr void complete_backward(action& a, computation what) {
    layer_spec const& spec = net_.spec(element_);
    layer_choice const& c = chosen_[element_];
    a.kind = what == computation::weight_gradient  ? action_kind::weight_gradient
             : what == computation::input_gradient ? action_kind::input_gradient
                                                   : action_kind::backward;
    if (gradient_ >= 0) a.reads.push_back(gradient_);
    if (int const next = net_[element_].partner; begins_block(net_[element_].kind))
      a.reads.push_back(net_[next].kind == element_kind::branch_turn
                            ? own(next).dy
                            : gradient_of_first_input(net_, next, own(next)));
    else if (own(element_).saved >= 0) a.reads.push_back(own(element_).saved);
    if (what != computation::weight_gradient) {
      for (int k = 0; k < spec.parameters.size(); ++k)
        if (spec.parameters[k].in_backward) a.reads.push_back(used_[k]);
      auto const halo = halo_memory_of(spec, c, chosen_.mesh, net_.element_size);
      a.makes.push_back(halo.has_dx ? add_value(value_kind::dx_halo, 0, halo.dx) : add_dx());
      a.workspace = halo.during_backward(a.workspace, bytes_of(spec.x, c.dx, net_.element_size));
      if (makes_two_gradients(net_, element_)) {
        shape const first = skipped_extents(net_[element_].kind, spec);
        own(element_).skipped = add_value(value_kind::skipped, 0,
                                          bytes_of(first, c.dx, net_.element_size));
        a.makes.push_back(own(element_).skipped);
      }
    }
    if (what != computation::input_gradient)
      for (int k = 0; k < spec.parameters.size(); ++k)
        a.adds.push_back(parameters(element_).sum[k]);
  }

  std::vector<element_tensors> tensors_;  // tensors of each micro-batch and element
  std::vector<element_parameters> parameters_;
  std::vector<work_factors> factors_;
  gradients wanted_ = gradients::all;
  int input_ = -1, gradient_ = -1, x_halo_ = -1;
  int used_[max_parameters]{}, statistics_[max_statistics]{};
};

}  // namespace step_detail

/// Returns the program of one step under a plan. build.hpp calls it.
template <int N>
constexpr program include_step_program_builder_hpp(basic_problem<N> const& net,
                                                   basic_plan<N> const& chosen, machine const& m,
                                                   int) {
  return take_turns(step_detail::program_builder<N>(net, chosen, m).build(), net.interleaved).made;
}

}  // namespace step
}  // namespace ashlar::search
