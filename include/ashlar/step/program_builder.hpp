// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The implementation of build.hpp. Programs are built in serial order: every end_move directly
// follows its begin_move, and every value is released right after its last reader.
//
//   for each micro-batch   forward, elements 0 .. n-1
//                          backward, elements n-1 .. 0; before the last element of a recomputed
//                          segment, the forward computations of that segment run once more
//   synchronize            elements 0 .. n-1, parameter by parameter
//   update                 elements 0 .. n-1, parameter by parameter
//
// visit.hpp decides which actions an element and a boundary contribute. A redistribution between
// equal placements makes no action: the reader of its result reads its source instead.
//
// The output y of a residual_begin is its input x itself, and the dx of a residual_end is its dy
// itself. So residual_begin computes only in the backward pass, and residual_end only in the
// forward pass. There is one exception: a residual_end without a gradient (at the end of a net
// without a loss) makes its own dx.

#include <ashlar/plan/packing.hpp>
#include <ashlar/step/memory.hpp>
#include <ashlar/step/program.hpp>
#include <ashlar/step/release.hpp>
#include <ashlar/step/visit.hpp>

namespace ashlar::search {
inline namespace step {

namespace step_detail {

template <int N>
class program_builder {
 public:
  constexpr program_builder(basic_problem<N> const& described, basic_plan<N> const& chosen,
                            machine const& m)
      : net_(described), chosen_(chosen), machine_(m) {
    made_.mesh = chosen.mesh;
    made_.micro_batches = described.micro_batches;
    made_.elements = described.size();
  }

  constexpr program build() {
    prepare();
    for (int b = 0; b < net_.micro_batches; ++b) add_micro_batch(b);
    micro_batch_ = 0;
    for (int i = 0; i < net_.size(); ++i) visit(phase::synchronize, i);
    for (int i = 0; i < net_.size(); ++i) add_updates(i);
    return with_releases(made_);
  }

  // The functions `compute` and `move` make this class a visitor: visit.hpp calls them for each
  // computation and each redistribution of a step. Each function adds actions to the program.

  constexpr void compute(phase when, computation what, int part, int parts) {
    layer_spec const& spec = net_.spec(element_);
    bool const begin = net_[element_].kind == element_kind::residual_begin;
    bool const end = net_[element_].kind == element_kind::residual_end;
    if (what == computation::forward && begin) {
      own(element_).y = input_;
      return;
    }
    if (what != computation::forward && end && gradient_ >= 0) {
      own(element_).dx = gradient_;
      return;
    }
    action a;
    a.phase = when;
    a.element = element_;
    a.part = part;
    a.micro_batch = micro_batch_;
    a.seconds = work_seconds(work_of(spec, what), machine_, net_.element_size,
                             factors_[static_cast<std::size_t>(element_)]) /
                parts;
    if (part == 0) {
      auto const halo = halo_seconds(spec, chosen_[element_], chosen_.mesh, machine_,
                                     net_.element_size);
      auto const load = halo_of(spec, chosen_[element_], chosen_.mesh);
      a.halo_seconds = halo_with(what, halo);
      a.halo_bytes = halo_with(what, load).elements * net_.element_size;
    }
    a.workspace = static_cast<std::int64_t>(spec.workspace_values) * net_.element_size;
    if (what == computation::forward) complete_forward(a, when, part, parts);
    else complete_backward(a, what);
    made_.actions.push_back(a);
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
        if (when == phase::synchronize) own(element_).gradient[index] = made;
        else used_[index] = made;
    }
  }

 private:
  /// The current values of the tensors of one element of the layer chain, as indices into
  /// program::values; -1: none.
  struct element_values {
    int y = -1, dx = -1, saved = -1;
    inplace_vector<int, max_parameters> stored, sum, gradient;
  };

  constexpr element_values& own(int i) { return values_[static_cast<std::size_t>(i)]; }

  constexpr int add_value(value_kind kind, int index, std::int64_t bytes, bool again = false) {
    made_.values.push_back({kind, element_, index, micro_batch_, again, bytes});
    return static_cast<int>(made_.values.size()) - 1;
  }
  constexpr std::int64_t bytes_of(shape const& extents, placement const& p, int size) const {
    return max_local_elements(extents, chosen_.mesh, p) * size;
  }

  /// Adds the values that outlast a step: parameters and the sums of their gradients. Counts the
  /// bytes of optimizer states and parameter copies.
  constexpr void prepare() {
    values_.resize(static_cast<std::size_t>(net_.size()));
    for (element_ = 0; element_ < net_.size(); ++element_) {
      layer_spec const& spec = net_.spec(element_);
      layer_choice const& c = chosen_[element_];
      factors_.push_back(factors_of(spec, c, chosen_.mesh, machine_));
      int const a = net_.accumulation_size;
      for (int k = 0; k < spec.parameters.size(); ++k) {
        shape const& extents = spec.parameters[k].extents;
        std::int64_t const store = bytes_of(extents, c.parameters[k].store, 1);
        own(element_).stored.push_back(add_value(value_kind::stored, k, store * a));
        own(element_).sum.push_back(
            add_value(value_kind::sum, k, bytes_of(extents, c.parameters[k].grad, a)));
        own(element_).gradient.push_back(-1);
        made_.resident += store * (stored_size(net_) - 2 * a);
      }
    }
  }

  constexpr void add_micro_batch(int b) {
    micro_batch_ = b;
    element_ = 0;
    int const n = net_.size();
    input_ = add_value(value_kind::data, 0, 0);
    for (int i = 0; i < n; ++i) {
      enter(phase::forward, i);
      visit(phase::forward, i);
    }
    gradient_ = -1;
    for (int i = n - 1; i >= 0; --i) {
      if (ends_recomputed_segment(net_, i, chosen_.recomputed)) {
        int const first = first_of_segment(net_, i);
        for (int j = first; j <= i; ++j) {
          if (j == first) input_ = kept_inputs_.back();
          else enter(phase::recompute, j);
          visit(phase::recompute, j);
        }
        kept_inputs_.pop_back();
      }
      if (i + 1 < n) {
        element_ = i;
        gradient_ = own(i + 1).dx;
        visit_boundary(phase::backward, boundary_extents(net_, i), chosen_[i + 1].dx, chosen_[i].dy,
                       *this);
      }
      visit(phase::backward, i);
    }
  }

  constexpr void enter(phase when, int i) {
    element_ = i;
    if (i == 0)
      return visit_boundary(when, net_.spec(0).x, placement::all_broadcast(chosen_.mesh.axes()),
                            chosen_[0].x, *this);
    input_ = own(i - 1).y;
    visit_boundary(when, boundary_extents(net_, i - 1), chosen_[i - 1].y, chosen_[i].x, *this);
  }
  constexpr void visit(phase when, int i) {
    element_ = i;
    if (when == phase::forward && net_.runs(i, chosen_.recomputed) == forward_runs::twice_from_here)
      kept_inputs_.push_back(input_);
    for (int k = 0; k < net_.spec(i).parameters.size(); ++k) used_[k] = own(i).stored[k];
    visit_element(when, net_.spec(i), chosen_[i], *this);
  }

  constexpr int& source_of(phase when, moved what, int index) {
    switch (what) {
      case moved::activation: return input_;
      case moved::gradient: return gradient_;
      case moved::statistic: return statistics_[index];
      case moved::parameter: break;
    }
    return when == phase::synchronize ? own(element_).sum[index] : own(element_).stored[index];
  }

  constexpr int add_move(phase when, moved what, int index, shape const& extents,
                         placement const& from, placement const& to, int source) {
    int const size = search::step::element_size(net_, what, when);
    value_kind const kinds[] = {
        value_kind::x, value_kind::dy,
        when == phase::synchronize ? value_kind::gradient : value_kind::used, value_kind::reduced};
    program_move m;
    m.phase = when;
    m.element = element_;
    m.what = what;
    m.index = index;
    m.micro_batch = micro_batch_;
    m.from = source;
    m.path = path_of(extents, size, from, to);
    m.to = add_value(kinds[static_cast<int>(what)], index, bytes_of(extents, to, size),
                     when == phase::recompute);
    action a;
    a.phase = when;
    a.element = element_;
    a.part = index;
    a.micro_batch = micro_batch_;
    a.move = static_cast<int>(made_.moves.size());
    a.kind = action_kind::begin_move;
    a.reads.push_back(source);
    made_.actions.push_back(a);
    a.kind = action_kind::end_move;
    a.reads = {};
    a.makes.push_back(m.to);
    made_.actions.push_back(a);
    made_.moves.push_back(m);
    return m.to;
  }
  constexpr int path_of(shape const& extents, int size, placement const& from,
                        placement const& to) {
    for (std::size_t i = 0; i < made_.paths.size(); ++i) {
      auto const& p = made_.paths[i];
      if (p.extents == extents && p.element_size == size && p.from == from && p.to == to)
        return static_cast<int>(i);
    }
    made_.paths.push_back(plan_redistribution(extents, size, from, to, chosen_.mesh, machine_));
    return static_cast<int>(made_.paths.size()) - 1;
  }

  constexpr void complete_forward(action& a, phase when, int part, int parts) {
    layer_spec const& spec = net_.spec(element_);
    layer_choice const& c = chosen_[element_];
    bool const again = when == phase::recompute;
    a.kind = again ? action_kind::recompute : action_kind::forward;
    a.reads.push_back(input_);
    if (net_[element_].kind == element_kind::residual_end)
      a.reads.push_back(own(net_[element_].partner).y);
    for (int k = 0; k < spec.parameters.size(); ++k) a.reads.push_back(used_[k]);
    for (int k = 0; k < part; ++k) a.reads.push_back(statistics_[k]);
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
    if ((twice && !again) || net_[element_].kind == element_kind::residual_end) return;
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
    if (net_[element_].kind == element_kind::residual_begin)
      a.reads.push_back(own(net_[element_].partner).dx);
    else if (own(element_).saved >= 0) a.reads.push_back(own(element_).saved);
    if (what != computation::weight_gradient) {
      for (int k = 0; k < spec.parameters.size(); ++k)
        if (spec.parameters[k].in_backward) a.reads.push_back(used_[k]);
      own(element_).dx = add_value(value_kind::dx, 0,
                                   bytes_of(x_extents(net_, element_), c.dx, net_.element_size));
      a.makes.push_back(own(element_).dx);
    }
    if (what != computation::input_gradient)
      for (int k = 0; k < spec.parameters.size(); ++k) a.adds.push_back(own(element_).sum[k]);
  }

  constexpr void add_updates(int i) {
    for (int k = 0; k < net_.spec(i).parameters.size(); ++k) {
      action a;
      a.kind = action_kind::update;
      a.phase = phase::synchronize;
      a.element = i;
      a.part = k;
      a.reads.push_back(own(i).gradient[k]);
      a.adds.push_back(own(i).stored[k]);
      made_.actions.push_back(a);
    }
  }

  basic_problem<N> const& net_;
  basic_plan<N> const& chosen_;
  machine const& machine_;
  program made_;
  std::vector<element_values> values_;
  std::vector<work_factors> factors_;
  std::vector<int> kept_inputs_;  // inputs of segments that will be recomputed
  int element_ = 0, micro_batch_ = 0;
  int input_ = -1, gradient_ = -1;
  int used_[max_parameters]{}, statistics_[max_statistics]{};
};

}  // namespace step_detail

/// Returns the program of one step under a plan. build.hpp calls it.
template <int N>
constexpr program include_step_program_builder_hpp(basic_problem<N> const& net,
                                                   basic_plan<N> const& chosen, machine const& m,
                                                   int) {
  return step_detail::program_builder<N>(net, chosen, m).build();
}

}  // namespace step
}  // namespace ashlar::search
