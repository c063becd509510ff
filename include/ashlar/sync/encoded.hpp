// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sends the gradients of a plan with a wire (plan/wire.hpp), whatever the strategy by which they
// are synchronized:
//
//   auto const int8 = wires::with_feedback(wires::int8);
//   plan = sync::encoded{int8}(problem, plan, machine);              every gradient that is summed
//   plan = sync::encoded{int8, sync::wired::where_it_pays}(…);       only where a step is faster
//   std::cout << sync::explain_wire(problem, plan, machine, int8);   seconds with and without wire
//   plan = sync::encoded{.wire = one_bit, .plain_steps = 30}(…);     from step 31 on
//
// With a wire that encodes blocks, each rank encodes its addend of a gradient once. The owner of a
// part of the sum decodes this part of all ranks' addends and sums them in float. If every rank
// needs the sum, the owner encodes it again. power_sgd sums the factors of matrices instead
// (plan/wire.hpp). Values of parameters, activations and gradients in rows are sent as they are. So
// are the gradients of biases and gains under one_bit, top_k and wires with momentum
// (summing_wire.hpp). In the first plain_steps steps of a training, all gradients are sent as they
// are. AdamW then has its second moment from exact gradients (train/sent_gradient.hpp). `optimal`
// refuses a plan with wires, so apply `optimal` before `encoded`. The builders of strategies keep
// the wires.

#include <string>
#include <vector>

#include <ashlar/plan/encoded_redistribution.hpp>
#include <ashlar/plan/text.hpp>
#include <ashlar/step/staleness.hpp>
#include <ashlar/sync/strategies.hpp>

namespace ashlar::sync {

/// Which gradients have a wire.
enum class wired : signed char { everywhere, where_it_pays };

namespace detail {

/// The seconds in which a gradient is synchronized, without a wire and with it.
struct wire_price {
  double exact = 0, encoded = 0;
  bool is_sum = false;     ///< whether the gradient is summed over ranks
  bool has_steps = false;  ///< whether any step of the synchronization can have the wire
};

constexpr wire_price wire_price_of(search::parameter_choice const& p, shape const& extents,
                                   int size, wire_format const& wire, topology const& t,
                                   machine const& m) {
  wire_price found;
  if (p.grad == p.updated_at()) return found;
  auto const plan = plan_encoded(extents, size, p.grad, p.updated_at(), wire, t, m);
  for (auto const& s : plan.steps)
    found.has_steps = found.has_steps || (!s.wire.is_exact() && reduces(s.kind));
  found.encoded = plan.seconds;
  auto const exact = plan_redistribution(extents, size, p.grad, p.updated_at(), t, m);
  for (auto const& s : exact.steps) found.is_sum = found.is_sum || reduces(s.kind);
  found.exact = exact.seconds;
  return found;
}

}  // namespace detail

/// Returns whether parameter `index` of element `element` is a table of which a step reads rows by
/// their ids, or the later use of such a table.
template <int N>
constexpr bool is_table(search::basic_problem<N> const& net, int element, int index) {
  for (auto const& t : net.ties)
    if (t.later == element && t.later_index == index)
      return net.spec(t.first).parameters[t.first_index].rows_read > 0;
  return net.spec(element).parameters[index].rows_read > 0;
}

struct encoded {
  wire_format wire;
  wired where = wired::everywhere;
  int plain_steps = 0;  ///< the number of a training's first steps that have no wires
  /// Whether embedding tables are sent exactly. A step reads few of their rows, so that coarse
  /// wires approximate their gradients badly.
  bool exact_tables = false;

  /// Returns the plan `chosen` of `net` in which gradients that are summed over ranks have the
  /// wire, priced on machine `m`. All other gradients are sent as they are. So are the gradients of
  /// matrices that have fewer rows or columns than the rank of power_sgd. If only one use of a tied
  /// parameter can have a wire with momentum, the gradients of both uses are sent as they are.
  /// Communicates nothing. Throws ashlar::error in these cases:
  ///
  ///   - `chosen` is a plan of another net, or it has a staleness while gradients get the wire.
  ///   - The net's gradients are of double, or the wire's numbers are not valid.
  ///   - plain_steps is below 0.
  ///   - Gradients get the wire, and either plain_steps is 0 while the wire has momentum, or
  ///     plain_steps is above 0 while gradients are delayed.
  ///   - `where` is wired::everywhere, gradients of matrices are summed, and none of these matrices
  ///     can have the wire (wire_fault).
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> chosen, machine const& m) const {
    detail::check_wire("sync::encoded", net, chosen, wire);
    // The first summed matrix that cannot have the wire: the reason, or null if there is none.
    char const* refused = nullptr;
    int refused_element = 0, refused_index = 0;
    bool some_fit = false;
    int i = 0;
    for (auto& c : chosen.choices) {
      for (int k = 0; k < c.parameters.size(); ++k) {
        auto& p = c.parameters[k];
        auto const& spec = net.spec(i).parameters[k];
        p.wire = {};
        if (wire.is_exact() || p.in_rows || !is_for(wire, spec.extents) ||
            (exact_tables && is_table(net, i, k)))
          continue;
        auto const price = detail::wire_price_of(p, spec.extents, net.accumulation_size, wire,
                                                 chosen.mesh, m);
        char const* const wrong = wire_fault(wire, spec.extents, p.grad, chosen.mesh);
        if (price.is_sum && spec.extents.rank() > 1) {
          some_fit = some_fit || wrong == nullptr;
          if (wrong != nullptr && refused == nullptr) {
            refused = wrong;
            refused_element = i;
            refused_index = k;
          }
        }
        bool const pays = where == wired::everywhere || price.encoded < price.exact;
        if (price.has_steps && pays && wrong == nullptr) p.wire = wire;
      }
      ++i;
    }
    for (auto const& t : net.ties) {
      auto& first = (chosen.choices.begin() + t.first)->parameters[t.first_index].wire;
      auto& later = (chosen.choices.begin() + t.later)->parameters[t.later_index].wire;
      // Updates take the sum of both gradients, so either both uses send momentum or neither.
      if (is_half_momentum(first, later)) first = later = {};
    }
    if (auto const& spec = net.spec(refused_element);
        where == wired::everywhere && !some_fit && refused != nullptr)
      throw error("sync::encoded", "element " + std::to_string(refused_element) + " (" +
                                       spec.name.text + "), parameter " +
                                       spec.parameters[refused_index].name.text + ": " + refused);
    chosen.plain_steps = plain_steps;
    for (char const* const wrong :
         {search::staleness_fault(chosen), search::plain_steps_fault(chosen)})
      if (wrong != nullptr) throw error("sync::encoded", wrong);
    price_again(chosen, net, m);
    return chosen;
  }
};

/// Returns a table of the seconds that it takes to synchronize each gradient on machine `m`: as it
/// is, and with the wire. The table also has the seconds that the wire saves or costs. Equal
/// parameters share a line. Gradients that cannot have the wire have no line. Communicates nothing.
/// Throws ashlar::error if `chosen` is a plan of another net, if the net's gradients are of double,
/// or if the wire's numbers are not valid.
template <int N>
std::string explain_wire(search::basic_problem<N> const& net, search::basic_plan<N> const& chosen,
                         machine const& m, wire_format const& wire) {
  detail::check_wire("sync::explain_wire", net, chosen, wire);
  struct line {
    std::string name;
    shape extents;
    detail::wire_price price;
    int count = 1;
  };
  std::vector<line> lines;
  int left_exact = 0;
  for (int i = 0; i < net.size(); ++i)
    for (int k = 0; k < chosen[i].parameters.size(); ++k) {
      auto const& spec = net.spec(i).parameters[k];
      if (chosen[i].parameters[k].in_rows) continue;
      auto const price = detail::wire_price_of(chosen[i].parameters[k], spec.extents,
                                               net.accumulation_size, wire, chosen.mesh, m);
      bool const fits = is_for(wire, spec.extents);
      left_exact += price.is_sum && !fits;
      if (!price.has_steps || !fits) continue;
      std::string const name = std::string(net.spec(i).name.text) + "." + spec.name.text;
      line* same = nullptr;
      for (auto& it : lines)
        if (it.name == name && it.extents == spec.extents && it.price.exact == price.exact &&
            it.price.encoded == price.encoded)
          same = &it;
      if (same != nullptr) ++same->count;
      else lines.push_back({name, spec.extents, price});
    }
  std::string text = "gradients as " + to_string(wire) + ":\n";
  for (auto const& it : lines) {
    double const saved = it.price.exact - it.price.encoded;
    text += it.name + (it.count > 1 ? " x " + std::to_string(it.count) : "") + " " +
            to_string(it.extents) + ": " + seconds_text(it.price.exact) + " exact, " +
            seconds_text(it.price.encoded) + " encoded, " +
            (saved > 0 ? "saves " + seconds_text(saved)
                       : "does not pay by " + seconds_text(-saved)) +
            '\n';
  }
  if (lines.empty()) text += "no gradient that is summed over ranks can have it\n";
  if (left_exact > 0)
    text += std::to_string(left_exact) + " biases and gains, of one dim, are sent exactly\n";
  return text;
}

}  // namespace ashlar::sync
