// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Checks a problem at the start of every search, so that nothing overflows later:
//
//   elements   The chain has at least one element. The begin and the end of a residual block refer
//              to each other, as do the begin, the turn and the end of a branch. The end can join
//              tensors of the extents of its two inputs.
//   extents    at least 1 for every tensor of every layer
//   counts     micro-batches, micro-batches in flight and element size at least 1, accumulation
//              size at least the element size, optimizer states at least 0
//   turns      micro-batches can take turns as the problem says (step/check_turns.hpp)
//   overlap    problem::overlap is off. optimal_plan.hpp handles problems with overlap before it
//              calls a search
//   bytes      fewer than 2^63 in total, for all tensors together with their gradients and
//              optimizer states. Also fewer than 2^63 for each single tensor, counted as if every
//              rank held a full copy, and fewer than 2^62 for the values that an element saves
//              besides its tensors
//
// A mesh axis with more ranks than a dim has indices is not an error (explain.hpp prints a note).

#include <ashlar/machine/machine_fault.hpp>
#include <ashlar/step/check_turns.hpp>
#include <ashlar/support/checked.hpp>

namespace ashlar::search {
namespace detail {

[[noreturn]] inline void refuse_problem(std::string const& what) { throw error("search", what); }

[[noreturn]] inline void refuse_extents(int element, label const& layer, char const* tensor,
                                        shape const& s, char const* why) {
  refuse_problem("element " + std::to_string(element) + " (" + layer.text + "): " + tensor + " " +
                 to_string(s) + why);
}

/// Adds the bytes of `copies` copies of a tensor to `sum`. Throws if an extent is less than 1, or
/// if one copy on each rank would take 2^63 or more bytes in total.
template <int N>
constexpr void check_tensor(basic_problem<N> const& net, int i, char const* name, shape const& s,
                            topology const& t, int copies, checked_count& sum) {
  checked_count bytes = net.accumulation_size;
  for (int d = 0; d < s.rank(); ++d) {
    if (s[d] < 1)
      refuse_extents(i, net.spec(i).name, name, s, " has an empty dim. Every extent is 1 or more.");
    bytes = bytes * s[d];
  }
  sum = sum + bytes * copies;
  if (!(bytes * t.ranks()).fits())
    refuse_extents(i, net.spec(i).name, name, s,
                   " has too many bytes on all ranks together. There must be fewer than 2^63.");
}

/// Throws unless the block that ends with element i either adds its two inputs or concatenates them
/// along one dim. Also throws if a row of the block splits the dim along which it concatenates.
template <int N>
constexpr void check_joint(basic_problem<N> const& net, int i) {
  layer_spec const &end = net.spec(i), &begin = net.spec(net[i].partner);
  int joined = 0;
  bool fits = begin.x == begin.y && end.x.rank() == begin.x.rank() &&
              end.y.rank() == begin.x.rank();
  for (int d = 0; fits && d < end.y.rank(); ++d) {
    if (end.x[d] == begin.x[d] && end.y[d] == begin.x[d]) continue;
    ++joined;
    fits = end.y[d] == end.x[d] + begin.x[d];
    for (auto const* rows : {&begin.rows, &end.rows})
      for (auto const& row : *rows)
        for (auto const* role : {&row.x, &row.y, &row.dy, &row.dx})
          if (role->is_split() && role->dim == d)
            refuse_problem("element " + std::to_string(i) + " (" + end.name.text +
                           "): the dim in which a skip joins its two branches must not be split.");
  }
  if (!fits || joined > 1)
    refuse_problem("element " + std::to_string(i) + " (" + end.name.text +
                   "): a residual adds two tensors of equal extents, or concatenates two along one "
                   "dim.");
}

/// Checks the branch that contains element i. Throws if its begin, its turn and its end do not name
/// each other, in this order, as `partner`. Also throws if one of its two nets is empty, if a
/// segment begins or ends inside the branch, or if its extents do not fit.
template <int N>
constexpr void check_branch(basic_problem<N> const& net, int i) {
  auto const refuse = [&](char const* why) {
    refuse_problem("element " + std::to_string(i) + " (" + net.spec(i).name.text + "): " + why);
  };
  int at = i;
  for (int k = 0; k < 3; ++k) {
    int const next = net[at].partner;
    bool const known = next >= 0 && next < net.size();
    bool const fits = known && (net[at].kind == element_kind::branch_begin
                                    ? net[next].kind == element_kind::branch_turn && next > at + 1
                                : net[at].kind == element_kind::branch_turn
                                    ? ends_branch(net[next].kind) && next > at + 1
                                    : net[next].kind == element_kind::branch_begin && next < at);
    if (!fits)
      refuse("the begin, the turn and the end of a branch must name each other, and each of its "
             "two nets has one element or more.");
    at = next;
  }
  if (at != i) refuse("the begin, the turn and the end of a branch must name each other.");
  if (net[i].kind != element_kind::branch_turn) return;
  int const end = net[i].partner, begin = net[end].partner;
  for (int k = begin; k <= end; ++k)
    if (net[k].segment != net[begin].segment) refuse("no segment begins or ends inside a branch.");
  layer_spec const &first = net.spec(begin), &turn = net.spec(i), &last = net.spec(end);
  bool const by_formula = net[end].kind == element_kind::branch_formula;
  bool fits = first.x == first.y && turn.y == first.x && turn.x.rank() == last.x.rank();
  if (by_formula) {
    if (!fits || !(turn.x == last.x))
      refuse("the formula that ends a branch joins two tensors of equal extents.");
    return;
  }
  fits = fits && last.y.rank() == last.x.rank();
  int joined = 0;
  for (int d = 0; fits && d < last.x.rank(); ++d) {
    if (last.y[d] == last.x[d] && turn.x[d] == last.x[d]) continue;
    fits = net[end].kind == element_kind::branch_join && last.y[d] == last.x[d] + turn.x[d];
    ++joined;
  }
  if (!fits || joined > 1)
    refuse("a branch joins two tensors of equal extents, or concatenates two along one dim.");
}

}  // namespace detail

/// Throws ashlar::error if the problem cannot be searched on mesh `t`, or if a figure of the
/// machine is outside of its limits (machine_fault.hpp).
template <int N>
constexpr void check_problem(basic_problem<N> const& net, topology const& t, machine const& m) {
  check_machine(m, "search");
  if (net.size() == 0)
    detail::refuse_problem("the chain has no layers. Describe a net with one or more.");
  if (net.in_flight < 1)
    detail::refuse_problem(std::to_string(net.in_flight) +
                           " micro-batches are in flight; at least 1 is required.");
  if (net.micro_batches < 1 || net.element_size < 1 || net.accumulation_size < net.element_size ||
      net.optimizer_states < 0)
    detail::refuse_problem("micro-batches and element size must be 1 or more, accumulation size no "
                           "less than element size, and optimizer states 0 or more; they are " +
                           std::to_string(net.micro_batches) + ", " +
                           std::to_string(net.element_size) + ", " +
                           std::to_string(net.accumulation_size) + " and " +
                           std::to_string(net.optimizer_states) + ".");
  check_turns(net, "search");
  if (net.overlap)
    throw error("search",
                "problem::overlap asks for the least overlapped time. Only search::optimal and "
                "search::exact minimize it, at run time. Leave it off for other searches.");
  checked_count sum;
  int const parameter_copies = 4 + net.optimizer_states +
                               (net.accumulation_size == net.element_size ? 0 : 1) +
                               (net.updates_apart ? 1 : 0);
  for (int i = 0; i < net.size(); ++i) {
    layer_spec const& spec = net.spec(i);
    bool const begin = net[i].kind == element_kind::residual_begin;
    if (is_of_branch(net[i].kind)) {
      detail::check_branch(net, i);
    } else if (net[i].kind != element_kind::layer) {
      int const other = net[i].partner;
      if (other < 0 || other >= net.size() || net[other].partner != i || (other > i) != begin ||
          net[other].kind == net[i].kind || net[other].kind == element_kind::layer ||
          is_of_branch(net[other].kind))
        detail::refuse_problem("element " + std::to_string(i) + " (" + spec.name.text +
                               "): a residual's begin and end must name each other.");
      detail::check_joint(net, begin ? other : i);
    }
    detail::check_tensor(net, i, "x", spec.x, t, 1 + net.in_flight, sum);
    detail::check_tensor(net, i, "y", spec.y, t, 2, sum);
    for (auto const& p : spec.parameters)
      detail::check_tensor(net, i, p.name.text, p.extents, t, parameter_copies, sum);
    for (auto const& s : spec.statistics) detail::check_tensor(net, i, "a statistic", s, t, 1, sum);
    double saved = spec.saved_values;
    for (auto const& part : spec.saved_beside) saved += part.values;
    saved *= double(net.element_size) * net.in_flight;
    if (!(saved >= 0 && saved < 0x1p62))
      detail::refuse_problem(
          "element " + std::to_string(i) + " (" + spec.name.text +
          ") keeps too many bytes for the backward pass. There must be fewer than 2^62.");
    sum = sum + static_cast<std::int64_t>(saved);
    if (!sum.fits())
      detail::refuse_problem("the tensors up to element " + std::to_string(i) + " (" +
                             spec.name.text +
                             ") have too many bytes. There must be fewer than 2^63.");
  }
}

}  // namespace ashlar::search
