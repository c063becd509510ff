// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Parses pins: placements of single tensors that a person prescribes. The search decides everything
// else (pinned.hpp). A pin is written as
//
//   ELEMENT.TENSOR=PLACEMENT            3.x=S(0),B     linear.weight=B,S(1)     3..135/12.y=S(0),*
//
//   ELEMENT     7            the element with this number, as explain prints it
//               3..9         elements 3 to 9
//               3..9/2       every second element from 3 to 9. With the size of a repeated block in
//                            place of 2, this selects one layer in all blocks
//               linear  l*   all elements with this name; * matches any number of characters,
//                            ? matches one
//   TENSOR      x, y, dy or dx, or a parameter's name with .use, .grad, .update or .store. A
//               parameter's name alone means .use. Without problem::updates_apart, a
//               parameter's .update is its .store
//   PLACEMENT   a placement per mesh axis, such as S(0),B. A * prescribes nothing for that axis;
//               the pin then does not prescribe the shard order either
//
// Axes of extent 1 are ignored, because all placements are equivalent there.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/step/plan.hpp>

namespace ashlar::search {

struct pin {
  std::string text;             ///< the text that the user wrote
  std::string element, tensor;  ///< the parts before and after the '.' that separates them
  /// The prescribed placement, with B on axes that the pin leaves free.
  placement wanted;
  inplace_vector<bool, max_axes> is_free;  ///< per axis: whether the pin prescribes nothing

  bool any_free() const { return is_free.contains(true); }
};

namespace detail {

[[noreturn]] inline void refuse_pin(std::string_view text, std::string const& why) {
  throw error("search::pin", "\"" + std::string(text) + "\": " + why);
}

/// Returns whether `name` matches a pattern, in which '*' stands for any number of characters and
/// '?' for one. The method is greedy matching with backtracking to the last '*', which matches one
/// more character after each mismatch. Earlier '*' need not be tried again, because the pattern
/// before the last '*' matches already. So the number of steps is at most the product of the
/// lengths of pattern and name.
inline bool fits_pattern(std::string_view pattern, std::string_view name) {
  constexpr auto none = std::string_view::npos;
  // `star` is the position of the last '*' in the pattern. That '*' matches characters of the name
  // up to position taken - 1.
  std::size_t p = 0, n = 0, star = none, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else {
      if (star == none) return false;
      p = star + 1;
      n = ++taken;
    }
  }
  return pattern.find_first_not_of('*', p) == none;
}

/// Removes a decimal number from the front of a text. Returns this number, or -1 if there is none.
inline int take_number(std::string_view& text) {
  int value = -1;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9' && value < 100'000'000) {
    value = 10 * (value < 0 ? 0 : value) + (text[0] - '0');
    text.remove_prefix(1);
  }
  return value;
}

/// Returns the indices of the elements of the chain that a pin names. Throws if the pin names no
/// element.
template <int N>
std::vector<int> elements_of(basic_problem<N> const& net, pin const& p) {
  std::vector<int> list;
  std::string_view rest = p.element;
  if (int const first = take_number(rest); first >= 0) {
    int last = first, step = 1;
    if (rest.substr(0, 2) == "..") {
      rest.remove_prefix(2);
      last = take_number(rest);
      if (!rest.empty() && rest[0] == '/') {
        rest.remove_prefix(1);
        step = take_number(rest);
      }
    }
    if (!rest.empty() || last < first || step < 1)
      refuse_pin(p.text, "elements are written 7, 3..9, 3..9/2 or by name.");
    if (last >= net.size())
      refuse_pin(p.text, "there is no element " + std::to_string(last) + "; they count from 0 to " +
                             std::to_string(net.size() - 1) + ".");
    for (int i = first; i <= last; i += step) list.push_back(i);
    return list;
  }
  for (int i = 0; i < net.size(); ++i)
    if (fits_pattern(p.element, net.spec(i).name.text)) list.push_back(i);
  if (!list.empty()) return list;
  std::vector<std::string> names;
  for (int i = 0; i < net.size(); ++i)
    if (std::find(names.begin(), names.end(), net.spec(i).name.text) == names.end())
      names.push_back(net.spec(i).name.text);
  std::string all;
  for (auto const& name : names) all += (all.empty() ? "" : ", ") + name;
  refuse_pin(p.text, "no layer has this name. The layers are: " + all + ".");
}

/// Returns the placement of the tensor that a pin names, or null if the layer has no such tensor.
inline placement const* pinned_tensor(pin const& p, layer_spec const& spec, layer_choice const& c) {
  if (p.tensor == "x") return &c.x;
  if (p.tensor == "y") return &c.y;
  if (p.tensor == "dy") return &c.dy;
  if (p.tensor == "dx") return &c.dx;
  for (int k = 0; k < spec.parameters.size(); ++k) {
    std::string const name = spec.parameters[k].name.text;
    if (p.tensor == name || p.tensor == name + ".use") return &c.parameters[k].use;
    if (p.tensor == name + ".grad") return &c.parameters[k].grad;
    if (p.tensor == name + ".store") return &c.parameters[k].store;
    if (p.tensor == name + ".update") return &c.parameters[k].updated_at();
  }
  return nullptr;
}

/// Returns on how many axes the placement `found` differs from the one that the pin prescribes.
/// Axes of extent 1 and axes that the pin leaves free do not count. If only the shard order
/// differs, returns 1, or 0 if the pin leaves some axis free.
inline int distance(pin const& p, placement const& found, topology const& t) {
  int axes = 0;
  bool order = false;
  for (int a = 0; a < t.axes(); ++a) {
    if (t.extent(a) == 1 || p.is_free[a]) continue;
    axes += !same_role(found[a], p.wanted[a]);
    for (int b = 0; b < a; ++b)
      order = order ||
              (t.extent(b) > 1 &&
               (found[a].depth < found[b].depth) != (p.wanted[a].depth < p.wanted[b].depth) &&
               found[a].is_split_of(found[b].dim) && found[b].is_split());
  }
  return axes > 0 ? axes : (order && !p.any_free() ? 1 : 0);
}

}  // namespace detail

/// Parses a pin. Throws ashlar::error with the text and the reason if it is malformed.
inline pin parse_pin(std::string_view text) {
  auto const equals = text.find('=');
  auto const dot = text.substr(0, equals).find(
      '.', text.find("..") == std::string_view::npos ? 0 : text.find("..") + 2);
  if (equals == std::string_view::npos || dot == std::string_view::npos || dot == 0 ||
      dot + 1 >= equals)
    detail::refuse_pin(text, "a pin is written ELEMENT.TENSOR=PLACEMENT, such as 3.x=S(0),B.");
  pin p;
  p.text = text;
  p.element = text.substr(0, dot);
  p.tensor = text.substr(dot + 1, equals - dot - 1);
  std::string whole;  // the prescribed placement as text, with B in place of each *
  bool start = true;
  for (char const c : text.substr(equals + 1)) {
    bool const star = start && c == '*';
    if (start && c != ' ' && c != '[' && c != ']') {
      if (p.is_free.size() == max_axes) detail::refuse_pin(text, "more axes than a mesh can have.");
      p.is_free.push_back(star);
      start = false;
    }
    whole += star ? 'B' : c;
    // A comma inside parentheses, as in S(d,k), does not separate axes.
    if (c == ',' &&
        std::count(whole.begin(), whole.end(), '(') == std::count(whole.begin(), whole.end(), ')'))
      start = true;
  }
  p.wanted = parse_placement(whole);
  return p;
}

}  // namespace ashlar::search
