// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Says where the files of another program have the values of an array. Another program may give its
// tensors other names, transpose them, or join several of them into one. A view maps a part of an
// array to a tensor in the files. Index (i, j) of the part, counted from its first index, is this
// element of the row-major tensor: offset + i strides[0] + j strides[1].

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/checkpoint/opened_file.hpp>
#include <ashlar/checkpoint/stored_array.hpp>

namespace ashlar::checkpoint {

struct source_view {
  std::string tensor;       ///< the name of the tensor in the files
  box where;                ///< the part of the array that is read from the tensor
  std::int64_t offset = 0;  ///< where the part begins in the tensor, in elements
  inplace_vector<std::int64_t, max_rank> strides;
  shape expected;             ///< the extents that the tensor must have
  bool permits_rows = false;  ///< whether the tensor may have more rows than `expected`
  /// The tensor to read instead if the files do not have `tensor`, or an empty text. It is not read
  /// if the files have another tensor with the extents `expected` that no view reads: that tensor
  /// could be `tensor` under another name.
  std::string otherwise;
  std::string advice;  ///< a sentence for the error if the files do not have the tensor, or ""
};

/// Returns the view by which a whole array with these extents is read from a tensor with the same
/// extents.
inline source_view whole_view(std::string tensor, shape const& extents) {
  source_view v;
  v.tensor = std::move(tensor);
  v.strides.resize(extents.rank());
  std::int64_t next = 1;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    v.strides[d] = next;
    next *= extents[d];
  }
  for (auto const n : extents.extent) v.where.dim.push_back({0, n});
  v.expected = extents;
  return v;
}

/// Returns the view of a matrix that the files have transposed.
inline source_view transposed_view(std::string tensor, shape const& extents) {
  source_view v = whole_view(std::move(tensor), extents);
  v.strides[0] = 1;
  v.strides[1] = extents[0];
  v.expected = {extents[1], extents[0]};
  return v;
}

namespace detail {

/// Lets each view whose tensor is not in the files read `otherwise` instead. Where the rule at
/// source_view::otherwise does not permit this, throws an ashlar::error that names the tensors that
/// could be the missing one. views[i] are the views of arrays[i].
inline void choose_tensors(std::vector<stored_array> const& arrays,
                           std::vector<std::vector<source_view>>& views,
                           io::checkpoint_index const& index) {
  std::set<std::string> read;
  for (auto const& list : views)
    for (auto const& v : list) read.insert({v.tensor, v.otherwise});
  for (std::size_t i = 0; i < views.size(); ++i)
    for (auto& v : views[i]) {
      if (index.tensors.contains(v.tensor)) continue;
      std::string others;
      for (auto const& [name, t] : index.tensors)
        if (t.extents == v.expected && !read.contains(name))
          others += (others.empty() ? "\"" : ", \"") + name + "\"";
      if (others.empty() && index.tensors.contains(v.otherwise)) {
        v.tensor = v.otherwise;
        continue;
      }
      throw error("checkpoint::load",
                  "the checkpoint has no \"" + v.tensor + "\" of shape " + to_string(v.expected) +
                      ", which this net needs for \"" + arrays[i].name + "\". " +
                      (others.empty()
                           ? "No other tensor of this shape is left."
                           : "Tensors of this shape that the net does not read: " + others + ".") +
                      (v.advice.empty() ? "" : " " + v.advice));
    }
}

/// Throws ashlar::error unless the views cover the array, each element once, and the tensors have
/// the expected extents and all elements of the views. `extents_of` returns a tensor's extents.
template <class ExtentsOf>
void check_views(stored_array const& a, std::vector<source_view> const& views,
                 ExtentsOf const& extents_of) {
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < views.size(); ++i) {
    auto const& v = views[i];
    shape const found = extents_of(v.tensor);
    shape allowed = v.expected;
    if (v.permits_rows && allowed.rank() > 0 && found.rank() == allowed.rank())
      allowed[0] = std::max(allowed[0], found[0]);
    if (!(found == allowed))
      throw error("checkpoint::load", "\"" + v.tensor + "\" has shape " + to_string(found) +
                                          ", but " + to_string(v.expected) + " is needed for \"" +
                                          a.name + "\" of this net.");
    std::int64_t last = v.offset;
    bool fits = v.where.rank() == a.extents.rank() && v.strides.size() == a.extents.rank();
    for (int d = 0; fits && d < a.extents.rank(); ++d) {
      fits = v.where[d].begin >= 0 && v.where[d].size > 0 && v.where[d].end() <= a.extents[d] &&
             v.strides[d] >= 0;
      std::int64_t length = 0;
      fits = fits && !__builtin_mul_overflow(v.where[d].size - 1, v.strides[d], &length) &&
             !__builtin_add_overflow(last, length, &last);
    }
    for (std::size_t k = 0; fits && k < i; ++k)
      fits = intersect(v.where, views[k].where).elements() == 0;
    if (!fits || v.offset < 0 || last >= found.elements())
      throw error("checkpoint::load", "\"" + a.name + "\" of shape " + to_string(a.extents) +
                                          " needs other elements than \"" + v.tensor + "\" has.");
    covered += v.where.elements();
  }
  if (covered != a.extents.elements())
    throw error("checkpoint::load", "the views of \"" + a.name + "\" cover " +
                                        std::to_string(covered) + " of its " +
                                        std::to_string(a.extents.elements()) + " elements.");
}

/// Reads those values of a view that belong to a shard, and writes them into the shard, which is in
/// host memory. The tensor begins at byte `position` of the file. `convert` turns elements of the
/// file, of `from` bytes each, into elements of the shard, of `to` bytes each.
template <class Convert>
void read_view(opened_file const& file, std::int64_t position, source_view const& v,
               box const& shard, std::int64_t from, std::int64_t to, std::byte* values,
               Convert const& convert) {
  box const region = intersect(v.where, shard);
  if (region.elements() == 0) return;
  int const rank = region.rank();
  int run = rank - 1;  // the dim along which elements are adjacent in the file
  for (int d = 0; d < rank; ++d)
    if (v.strides[d] == 1 && region[d].size > 1) run = d;
  bool const is_adjacent = v.strides[run] == 1;
  inplace_vector<std::int64_t, max_rank> target, index;
  target.resize(rank);
  index.resize(rank);
  std::int64_t next = 1;
  for (int d = rank - 1; d >= 0; --d) {
    target[d] = next;
    next *= shard[d].size;
    index[d] = region[d].begin;
  }
  std::int64_t length = is_adjacent ? region[run].size : 1;
  // Outer dims whose rows follow each other in the file and in the shard are read at once.
  constexpr std::int64_t most_bytes = 16 << 20;
  int first = run;
  while (is_adjacent && run == rank - 1 && first > 0 && region[first].size == shard[first].size &&
         v.strides[first - 1] == region[first].size * v.strides[first] &&
         length * region[first - 1].size * from <= most_bytes)
    length *= region[--first].size;
  std::vector<std::byte> buffer(static_cast<std::size_t>(length * from));
  while (true) {
    std::int64_t source = v.offset, at = 0;
    for (int d = 0; d < rank; ++d) {
      source += (index[d] - v.where[d].begin) * v.strides[d];
      at += (index[d] - shard[d].begin) * target[d];
    }
    file.read(position + source * from, buffer.data(), length * from);
    auto const& made = convert(buffer);
    for (std::int64_t i = 0; i < length; ++i)
      std::copy_n(made.data() + i * to, to, values + (at + i * target[run]) * to);
    int d = rank - 1;
    for (; d >= 0; --d) {
      if (is_adjacent && d >= first && d <= run) continue;
      if (++index[d] < region[d].end()) break;
      index[d] = region[d].begin;
    }
    if (d < 0) return;
  }
}

}  // namespace detail
}  // namespace ashlar::checkpoint
