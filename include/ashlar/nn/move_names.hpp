// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The names of a program's moves, for the watchdog's messages (comm/watch/watchdog.hpp):
//
//   1.3.0.weight               a parameter, before the layer computes with it
//   gradient of 1.3.0.weight   the gradient of a parameter, summed over the ranks
//   updated 1.3.0.weight       a parameter, on its way to where it is stored
//   x of 4.gpt_attention       an activation on its way to element 4
//   dy of 4.gpt_attention      the gradient of an activation
//   statistic of 7.linear      a statistic, such as a maximum over a split dim
//   halo of x of 2.max_pool    an exchange of halos, of x or of dx

#include <memory>
#include <string>
#include <vector>

#include <ashlar/nn/execution.hpp>

namespace ashlar::nn {

/// Returns the name of each of the program's moves.
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

/// Returns, for each of the program's actions, the name of its exchange of halos. The names of
/// other actions are empty.
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
