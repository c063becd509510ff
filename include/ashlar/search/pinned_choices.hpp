// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says which choices of a chain's elements satisfy pins (prescribed placements, pin.hpp), as a
// filter for the search algorithms. If an element has several pins, its choice must satisfy all of
// them. If no choice does, the error lists the nearest choices. A pin on either end of a residual
// block applies to both ends.

#include <functional>

#include <ashlar/search/choices.hpp>
#include <ashlar/search/pin.hpp>
#include <ashlar/search/text.hpp>
#include <ashlar/support/stable_sorted.hpp>

namespace ashlar::search {

/// Says whether an element may have a choice. An empty filter permits every choice.
using choice_filter = std::function<bool(int, layer_choice const&)>;

/// A filter for the search algorithms. It permits the choices that satisfy all pins (prescribed
/// placements).
template <int N>
class pinned_choices {
 public:
  /// `net` must outlive this object. Throws ashlar::error if a pin names no layer or tensor of the
  /// net, or if no choice of a layer satisfies its pins.
  pinned_choices(basic_problem<N> const& net, topology const& t, std::vector<pin> const& pins)
      : net_(net), topology_(t), pins_(pins), of_(static_cast<std::size_t>(net.size())) {
    for (std::size_t k = 0; k < pins_.size(); ++k) add(k);
    std::vector<std::pair<int, std::vector<std::size_t>>> known;  // checked pairs (layer, pins)
    for (int i = 0; i < net.size(); ++i) {
      auto const& own = of_[static_cast<std::size_t>(i)];
      std::pair const key{net[i].layer, own};
      if (own.empty() || std::find(known.begin(), known.end(), key) != known.end()) continue;
      known.push_back(key);
      check_possible(i);
    }
  }

  bool operator()(int i, layer_choice const& c) const {
    for (auto const k : of(i))
      if (detail::distance(pins_[k], *detail::pinned_tensor(pins_[k], net_.spec(i), c),
                           topology_) != 0)
        return false;
    return true;
  }

  /// Returns the indices of the pins of element i. Both ends of a residual block have the same
  /// pins.
  std::vector<std::size_t> const& of(int i) const {
    bool const is_end = net_[i].kind == element_kind::residual_end;
    return of_[static_cast<std::size_t>(is_end ? net_[i].partner : i)];
  }

 private:
  void add(std::size_t k) {
    pin const& p = pins_[k];
    if (p.is_free.size() != topology_.axes())
      detail::refuse_pin(p.text, "it has " + std::to_string(p.is_free.size()) + " axes, the mesh " +
                                     to_string(topology_) + " has " +
                                     std::to_string(topology_.axes()) +
                                     ". Write * for an axis that the pin leaves free.");
    bool any = false;
    for (int i : detail::elements_of(net_, p)) {
      layer_choice empty;
      empty.parameters.resize(net_.spec(i).parameters.size());
      if (detail::pinned_tensor(p, net_.spec(i), empty) == nullptr) continue;
      any = true;
      if (net_[i].kind == element_kind::residual_end) i = net_[i].partner;
      // The turn of a branch has x and dx where the branch's end has them, and y and dy where the
      // begin has them.
      if (net_[i].kind == element_kind::branch_turn) {
        i = net_[i].partner;
        if (p.tensor == "y" || p.tensor == "dy") i = net_[i].partner;
      }
      auto& own = of_[static_cast<std::size_t>(i)];
      if (std::find(own.begin(), own.end(), k) == own.end()) own.push_back(k);
    }
    if (!any)
      detail::refuse_pin(p.text, "none of these layers has a tensor \"" + p.tensor +
                                     "\". The tensors are x, y, dy, dx and the parameters by "
                                     "name, optionally with .use, .grad, .update or .store.");
  }

  /// If no choice satisfies all pins of element i, throws an error that lists the nearest choices.
  void check_possible(int i) const {
    auto const& own = of_[static_cast<std::size_t>(i)];
    auto const& spec = net_.spec(i);
    std::vector<std::pair<int, std::string>> found;
    for (auto const& c :
         layer_choices(spec, topology_, trivial_axes::one_row, shard_orders::all,
                       net_.updates_apart ? update_places::also_apart : update_places::as_stored)) {
      int distance = 0;
      std::string text;
      for (auto const k : own) {
        auto const& lies = *detail::pinned_tensor(pins_[k], spec, c);
        distance += detail::distance(pins_[k], lies, topology_);
        text += (text.empty() ? "" : " with ") + pins_[k].tensor + "=" + to_string(lies);
      }
      if (distance == 0) return;
      if (std::none_of(found.begin(), found.end(), [&](auto const& f) { return f.second == text; }))
        found.push_back({distance, text});
    }
    found = stable_sorted(std::move(found),
                          [](auto const& a, auto const& b) { return a.first < b.first; });
    std::string pins, nearest;
    for (auto const k : own) pins += (pins.empty() ? "" : " and ") + pins_[k].text;
    for (std::size_t k = 0; k < found.size() && k < 4; ++k)
      nearest += (k > 0 ? "; " : "") + found[k].second;
    detail::refuse_pin(pins, "no choice of element " + std::to_string(i) + " (" + spec.name.text +
                                 ") satisfies this on " + to_string(topology_) +
                                 ". The nearest are " + nearest + ".");
  }

  basic_problem<N> const& net_;
  topology topology_;
  std::vector<pin> pins_;
  std::vector<std::vector<std::size_t>> of_;  ///< per element: indices of its pins
};

}  // namespace ashlar::search
