// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The names of the redistributions and exchanges of halos in a step's program. The watchdog, which
// reports a rank that waits too long, prints them (comm/watch/watchdog.hpp). A parameter has the
// path of its layer: 1.3.0.weight is `weight` of layer 0 of part 3 of part 1 of the net. The other
// names have the number of an element in the net and the name of its layer.
//
//   1.3.0.weight               the parameter, before the layer computes with it
//   gradient of 1.3.0.weight   its gradient, which is summed over the ranks
//   updated 1.3.0.weight       the updated parameter, on its way to where it is stored
//   x of 4.attention           the activation, on its way to element 4
//   dy of 4.attention          the gradient of the output of element 4, on its way to element 4
//   statistic of 7.dispatch    a statistic of element 7, for example all tokens' choices of experts
//   halo of x of 2.max_pool    the halo, the rows of x or dx that several ranks need

#include <memory>
#include <string>
#include <vector>

#include <ashlar/nn/execution.hpp>

namespace ashlar::nn {

/// Returns a name for each entry of p.moves, which are the redistributions of the program.
template <class Processor>
std::vector<std::string>
move_names(std::vector<std::unique_ptr<element_node<Processor>>> const& elements,
           step::program const& p) {
  std::vector<std::string> names;
  for (auto const& m : p.moves) {
    auto& element = *elements[static_cast<std::size_t>(m.element)];
    auto const of_element = [&](char const* what) {
      return std::string(what) + " of " + std::to_string(m.element) + "." + element.name();
    };
    switch (m.what) {
      case step::moved::activation: names.push_back(of_element("x")); break;
      case step::moved::gradient: names.push_back(of_element("dy")); break;
      case step::moved::statistic: names.push_back(of_element("statistic")); break;
      case step::moved::parameter: {
        auto const& path = element.parameters()[static_cast<std::size_t>(m.index)].path();
        names.push_back(m.phase == step::phase::synchronize ? "gradient of " + path
                        : m.phase == step::phase::renew     ? "updated " + path
                                                            : path);
      }
    }
  }
  return names;
}

/// Returns a name for each of the program's actions that exchanges a halo, and an empty text for
/// each other action.
template <class Processor>
std::vector<std::string>
halo_names(std::vector<std::unique_ptr<element_node<Processor>>> const& elements,
           step::program const& p) {
  std::vector<std::string> names(p.actions.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto const& a = p.actions[i];
    if (a.halo < 0) continue;
    names[i] = std::string("halo of ") + (a.kind == step::action_kind::add_halo ? "dx" : "x") +
               " of " + std::to_string(a.element) + "." +
               elements[static_cast<std::size_t>(a.element)]->name();
  }
  return names;
}

}  // namespace ashlar::nn
