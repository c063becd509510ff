// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The checked mode of a mesh: before each transfer, the members of its group compare what they are
// about to do. If this is not the same on all members, every member throws an error that shows what
// each member is about to do. Without the checked mode, such ranks would exchange wrong values, or
// would wait for each other forever.
//
//   ASHLAR_CHECK=on, off     all meshes; unset: on in builds without NDEBUG, such as debug builds
//   mesh.set_checked(true)   one mesh, and parts of it that are made later, but not earlier parts
//
// The comparison is an all-reduce of two numbers in the group, whose result the host reads. So
// transfers of a captured graph (mesh::capture) are not compared. The comparison finds ranks that
// ask for different placements, shapes, element types or collectives along the same mesh axes. It
// does not find ranks that wait along different axes, since these ranks never compare anything with
// each other.

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ashlar/comm/agreement_in_maxima.hpp>
#include <ashlar/comm/host_values.hpp>
#include <ashlar/comm/transfer_text.hpp>
#include <ashlar/support/content_hash.hpp>

namespace ashlar {

/// Returns whether meshes are in the checked mode when they are made. Throws ashlar::error if the
/// environment variable ASHLAR_CHECK is neither on nor off.
inline bool wants_checks() {
  char const* const text = std::getenv("ASHLAR_CHECK");
  std::string_view const value = text == nullptr ? "" : text;
#ifndef NDEBUG
  if (value.empty()) return true;
#endif
  if (value != "on" && value != "off" && value != "")
    throw error("mesh", "ASHLAR_CHECK is \"" + std::string(value) + "\". Give on or off.");
  return value == "on";
}

namespace detail {

/// Throws ashlar::error on every member of a transfer's group unless all members are about to make
/// the same transfer. `plain` is the transport without decorators. Communicates: an all-reduce of
/// 16 bytes in the group, and before an error a larger all-reduce. Communication logs record
/// neither of them.
template <class Backend>
void compare_with_group(Backend& back, operation_queue& queue, communicator& plain,
                        transfer const& what, element_type type, topology const& t,
                        coordinates const& here) {
  if (what.members == 1) return;
  auto const reduce = [&](auto values, reduction op) {
    carry(back, queue, plain, values,
          flat_all_reduce(static_cast<std::int64_t>(values.size()), what.axes, t, here, op));
  };
  auto const mine = to_string(title_of(what, type), t);
  auto bounds = bounds_of(content_hash(mine.data(), mine.size()));
  reduce(std::span<std::int64_t>(bounds), reduction::max);
  if (all_agree(bounds)) return;

  constexpr std::size_t most = 160;  // characters of each member's text
  std::vector<std::int32_t> letters(most * static_cast<std::size_t>(what.members));
  std::copy_n(mine.begin(), std::min(mine.size(), most),
              letters.begin() + static_cast<std::ptrdiff_t>(most) * what.index);
  reduce(std::span(letters), reduction::sum);
  std::vector<std::string> texts;
  std::string views;
  for (int j = 0; j < what.members; ++j) {
    auto const* const first = letters.data() + most * static_cast<std::size_t>(j);
    texts.emplace_back(first, std::find(first, first + most, 0));
  }
  for (auto text = texts.begin(); text != texts.end(); ++text) {
    if (std::find(texts.begin(), text, *text) != text) continue;  // listed with an earlier rank
    auto const more = std::count(texts.begin(), texts.end(), *text) - 1;
    auto const member = t.member(here, what.axes, static_cast<int>(text - texts.begin()));
    views += (views.empty() ? "Rank " : "; rank ") + std::to_string(t.rank_of(member)) +
             (more > 0 ? " and " + std::to_string(more) + " more: " : ": ") + *text;
  }
  queue.abandon();
  throw error("mesh", "the ranks are at different transfers. " + views +
                          ". All ranks must make the same calls in the same order.");
}

}  // namespace detail
}  // namespace ashlar
