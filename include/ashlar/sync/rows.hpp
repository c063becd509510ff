// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Sparse rows: the gradient of an embedding table consists of the rows that a step has read, and
// their ids. Ranks exchange these rows only, and an optimizer updates these rows only. So a step
// does not pass over the table and allocates nothing of its size. There are two exceptions: the
// checked mode, and the moments of Adam, which the first step allocates.
//
//   gradient                              update   store   back
//   P -> B, the rows that were read       B        B       –
//
// The table stays as its layer reads it: whole, or split as the layer's placement splits it. All
// other parameters are synchronized as by all_reduce. step/row_exchange.hpp describes the two ways
// of the exchange and their bytes. Which way is cheaper depends on how many ids the ranks have in
// common, so each step chooses anew.
//
// Sums add the addends of the ranks in the order of the ranks, whatever mesh.sum_order() is. So if
// gradients are summed along one axis, train::sgd without momentum and weight decay gives the same
// bits as with all_reduce and sum_order::by_rank. Optimizers that change rows that a step does not
// read refuse gradients in rows. train::adam_w_rows is a variant of Adam that changes only the rows
// of a step.

#include <ashlar/sync/changed_plan.hpp>

namespace ashlar::sync {

struct rows {
  /// Returns why the gradient of a parameter cannot be in rows under this strategy, or null if it
  /// can.
  static constexpr char const* fault(search::parameter_choice p,
                                     search::parameter_spec const& spec) {
    p.store = stored_as_used(p);
    p.update = {};
    return search::rows_fault(p, spec);
  }

  /// Returns the plan in which every gradient that can be in rows is kept in rows, and all other
  /// gradients are synchronized as by all_reduce. Throws ashlar::error if no gradient can be in
  /// rows; other errors are those of changed_plan.
  template <int N>
  constexpr search::basic_plan<N> operator()(search::basic_problem<N> const& net,
                                             search::basic_plan<N> const& chosen,
                                             machine const& m) const {
    check_plan_of("sync::rows", net, chosen);
    std::vector<bool> in_rows;  // in the order in which changed_plan asks
    bool any = false;
    for (int i = 0; i < net.size(); ++i)
      for (int k = 0; k < chosen[i].parameters.size(); ++k) {
        auto const& spec = net.spec(i).parameters[k];
        if (spec.tie == search::tie_role::later) continue;
        in_rows.push_back(fault(chosen[i].parameters[k], spec) == nullptr);
        any = any || in_rows.back();
      }
    if (!any)
      throw error("sync::rows",
                  "no parameter of the net can have a gradient in rows. Only the tables of "
                  "nn::embedding and nn::embedding_tables can, unless they are tied. Use "
                  "sync::all_reduce.");
    std::size_t next = 0;
    return changed_plan("sync::rows", net, chosen, m,
                        [&](search::parameter_choice& p, shape const&) {
                          p.store = stored_as_used(p);
                          p.update = {};
                          p.in_rows = in_rows[next++];
                          if (!p.in_rows) return;
                          p.wire = {};  // rows are sent exactly
                          p.delay = 0;  // rows are sent in the step that has made them
                        });
  }
};

}  // namespace ashlar::sync
