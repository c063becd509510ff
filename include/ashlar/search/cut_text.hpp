// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes the cut of a chain into stages as text, and reads it:
//
//   embedding block*5 | block*7 | layer_norm linear softmax_cross_entropy
//
// A word stands for a range of elements that begins and ends where the chain may be cut
// (cutting_points in stages.hpp). A word with *N stands for N such ranges in a row. A bar is a cut.
//
//   block         one copy of the repeated block (find_blocks), if the chain has two or more copies
//   residual      a residual block with all its elements, if it is not a whole `block`
//   branch        a branch with all its elements, if it is not in a whole `block`
//   skip          the begin or the end of a skip. The chain may also be cut inside a skip
//   other words   a layer, by its name (layer_word)

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/search/stages.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::search {

namespace detail {

/// A word, and the number of elements for which it stands.
struct unit_word {
  std::string name;
  int size = 0;
};

/// Returns the word for a layer of this name. Characters that have a meaning in a cut become `_`. A
/// layer without a name, or with the name of the repeated block, is a `layer`.
inline std::string layer_word(std::string name) {
  for (char& c : name)
    if (std::string_view(" \t\r\n|*").find(c) != std::string_view::npos) c = '_';
  return name.empty() || name == "block" ? "layer" : name;
}

/// Returns the words that may stand for the elements from `element` on. Expects that the chain may
/// be cut before `element`. If a copy of the repeated block begins there and ends before element
/// `last`, the first word is `block`. The last word is `residual`, `branch`, or the name of one
/// element.
template <int N>
std::vector<unit_word> words_at(basic_problem<N> const& net, repeated_blocks const& blocks,
                                int element, int last) {
  std::vector<unit_word> words;
  int const into = element - blocks.first;
  if (blocks.count > 1 && into >= 0 && into % blocks.size == 0 &&
      into / blocks.size < blocks.count && element + blocks.size <= last)
    words.push_back({"block", blocks.size});
  auto const& e = net[element];
  if (e.kind == element_kind::residual_begin && ends_in_sum(net, e.partner))
    words.push_back({"residual", e.partner + 1 - element});
  else if (e.kind == element_kind::branch_begin)
    words.push_back({"branch", end_of(net, element) + 1 - element});
  else words.push_back({layer_word(net.spec(element).name.text), 1});
  return words;
}

}  // namespace detail

/// Returns the text of a cut: stage s has the elements limits[s] .. limits[s + 1] - 1.
template <int N>
std::string cut_text(basic_problem<N> const& net, std::vector<int> const& limits) {
  auto const blocks = find_blocks(net);
  std::string text;
  for (std::size_t s = 0; s + 1 < limits.size(); ++s) {
    if (s > 0) text += " |";
    for (int i = limits[s]; i < limits[s + 1];) {
      auto const name = detail::words_at(net, blocks, i, limits[s + 1]).front().name;
      int count = 0;
      for (; i < limits[s + 1]; ++count) {
        auto const word = detail::words_at(net, blocks, i, limits[s + 1]).front();
        if (word.name != name) break;
        i += word.size;
      }
      text += (text.empty() ? "" : " ") + name;
      if (count > 1) text += "*" + std::to_string(count);
    }
  }
  return text;
}

/// Parses a cut. Returns the first element of each stage and the number of all elements. Throws
/// ashlar::error if a word does not fit the elements at its place, if `*` is not followed by a
/// number, if a stage has no elements, or if the text ends before the chain.
template <int N>
std::vector<int> parse_cut(basic_problem<N> const& net, std::string_view text) {
  auto const blocks = find_blocks(net);
  std::vector<int> limits{0};
  int at = 0;
  auto const refuse = [](std::string const& why) { throw error("search::parse_cut", why); };
  while (true) {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
    if (text.empty()) break;
    if (text[0] == '|') {
      if (at == limits.back()) refuse("a stage has no elements.");
      limits.push_back(at);
      text.remove_prefix(1);
      continue;
    }
    std::string const whole(text.substr(0, text.find_first_of(" \t\r\n|")));
    text.remove_prefix(whole.size());
    auto const star = whole.find('*');
    int count = 1;
    if (star != std::string::npos) {
      auto const* const end = whole.data() + whole.size();
      auto const [read, fault] = std::from_chars(whole.data() + star + 1, end, count);
      if (fault != std::errc() || read != end || count < 1)
        refuse("\"" + whole + "\" has no number after *: write as in block*5.");
    }
    auto const name = whole.substr(0, star);
    for (; count > 0; --count) {
      std::string there;
      int size = 0;
      if (at < net.size())
        for (auto const& word : detail::words_at(net, blocks, at, net.size())) {
          if (word.name == name) size = word.size;
          there += (there.empty() ? "" : " or ") + word.name;
        }
      if (size == 0)
        refuse("\"" + whole + "\" does not fit: the net has " +
               (there.empty() ? "no more elements" : there + " at element " + std::to_string(at)) +
               ".");
      at += size;
    }
  }
  if (at < net.size())
    refuse("the text ends at element " + std::to_string(at) + " of " + std::to_string(net.size()) +
           ", where the net has " + detail::words_at(net, blocks, at, net.size()).front().name +
           ".");
  if (at == limits.back()) refuse("a stage has no elements.");
  limits.push_back(at);
  return limits;
}

}  // namespace ashlar::search
