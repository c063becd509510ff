// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Whole tensors in the memory of one process, and the shards that the ranks of a mesh would have of them:
// what nn::verify gives the passes of a layer and compares with what they make.
//
//   cut       a rank's shard is filled: a split takes its part, a broadcast everything. The addends of a
//             sum are uneven and have signs; of a maximum (minimum) one rank has the value, the others less
//             (more), and which rank that is changes from element to element.
//   compare   the shards of all ranks, put together as a placement says, against the whole tensor: shards
//             of copies are each compared, addends are reduced first.
//
// All numbers are handled as double, whatever the element type.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::nn::detail {

using host_tensor = any_tensor<device::host::processor>;

/// A whole tensor.
struct whole_values {
  shape extents;
  std::vector<double> values;
};

/// In [-1, 1), from any numbers.
inline double noise(std::uint64_t stream, std::int64_t index) {
  std::uint64_t z = stream * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(index) + 1;
  for (int i = 0; i < 2; ++i) {  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-52 - 1;
}

/// Calls f with a pointer to the first element of the shard, of its type. Expects one of the host's layers.
template <class F>
decltype(auto) with_elements(host_tensor const& t, F const& f) {
  switch (t.type()) {
    case element_type::f32: return f(static_cast<float*>(t.data()));
    case element_type::i32: return f(static_cast<std::int32_t*>(t.data()));
    case element_type::i64: return f(static_cast<std::int64_t*>(t.data()));
    default: return f(static_cast<double*>(t.data()));
  }
}

inline std::vector<double> shard_values(host_tensor const& t) {
  return with_elements(t, [&](auto const* p) {
    std::vector<double> values(static_cast<std::size_t>(t.local_box().elements()));
    for (auto& v : values) v = static_cast<double>(*p++);
    return values;
  });
}
inline void set_shard(host_tensor const& t, std::vector<double> const& values) {
  with_elements(t, [&](auto* p) {
    for (auto const v : values) *p++ = static_cast<std::remove_cvref_t<decltype(*p)>>(v);
  });
}

/// The indices in the whole tensor of the elements of a box.
inline std::vector<std::int64_t> global_indices(shape const& extents, box const& b) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(b.elements()));
  for (std::size_t l = 0; l < all.size(); ++l) {
    std::int64_t rest = static_cast<std::int64_t>(l), stride = 1;
    for (int d = extents.rank() - 1; d >= 0; --d) {
      all[l] += (b[d].begin + rest % b[d].size) * stride;
      rest /= b[d].size;
      stride *= extents[d];
    }
  }
  return all;
}

/// "[1,0,2]": an element by its indices.
inline std::string index_text(shape const& extents, std::int64_t index) {
  std::string text;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    text = std::to_string(index % extents[d]) + (text.empty() ? "" : ",") + text;
    index /= extents[d];
  }
  return "[" + text + "]";
}

/// A tensor of T whose number of dims only the run time knows; its shard is not initialized.
template <class T, int Rank = 0>
host_tensor make_tensor(mesh const& m, shape const& extents, placement const& p) {
  if constexpr (Rank < max_rank)
    if (extents.rank() != Rank) return make_tensor<T, Rank + 1>(m, extents, p);
  return tensor<T, Rank>(m, extents, p);
}

/// The axes of a placement that are partial.
inline axis_list partial_axes(placement const& p) {
  axis_list axes;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) axes.push_back(static_cast<signed char>(a));
  return axes;
}

/// What rank `member` of `members` holds of a value that they have as addends.
inline double addend(double value, reduction op, int member, int members, std::int64_t index) {
  auto const share = [&](int k) { return 3 * noise(77 + static_cast<std::uint64_t>(k), index); };
  if (op == reduction::sum) {
    if (member > 0) return share(member);
    for (int k = 1; k < members; ++k) value -= share(k);
    return value;
  }
  auto const owner = static_cast<int>((noise(76, index) + 1) / 2 * members);
  double const away = member == owner ? 0 : 1.5 + share(member) / 3;
  return op == reduction::max ? value - away : value + away;
}

/// Fills a rank's shard of `whole`, as the tensor lies.
inline void cut(whole_values const& whole, host_tensor const& to) {
  auto const& p = to.placement();
  auto const& t = to.mesh().topology();
  auto const addends = partial_axes(p);
  int const members = t.group_size(addends);
  int const member = t.index_in_group(to.mesh().coordinate(), addends);
  std::vector<double> shard;
  for (auto const i : global_indices(whole.extents, to.local_box())) {
    double const v = whole.values[static_cast<std::size_t>(i)];
    shard.push_back(members == 1 ? v : addend(v, p.op(), member, members, i));
  }
  set_shard(to, shard);
}

/// Where shards are not what they should be.
struct difference {
  int rank;  ///< one that has the wrong element
  std::int64_t index;
  double found, expected;
};

/// Whether both are one number up to rounding; `scale`: of the numbers around.
inline bool is_near(double a, double b, double tolerance, double scale) {
  return a == b || std::abs(a - b) <= tolerance * (1 + scale);
}

/// The largest absolute value that is finite.
inline double scale_of(whole_values const& whole) {
  double scale = 0;
  for (double const v : whole.values)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  return scale;
}

/// The first element in which the shards of all ranks, read as `p`, are not `expected`.
inline std::optional<difference> compare(std::vector<host_tensor> const& shards, placement const& p,
                                         whole_values const& expected, double tolerance) {
  auto const& t = shards[0].mesh().topology();
  auto const addends = partial_axes(p);
  double const scale = scale_of(expected);
  std::map<int, std::vector<double>> made;  // by the first rank of each group that is reduced
  for (int r = 0; r < t.ranks(); ++r) {
    int const first = t.rank_of(t.member(t.coordinates_of(r), addends, 0));
    auto const values = shard_values(shards[static_cast<std::size_t>(r)]);
    auto const [at, is_new] = made.emplace(first, values);
    for (std::size_t l = 0; !is_new && l < values.size(); ++l) {
      double& v = at->second[l];
      bool const none = std::isnan(v) || std::isnan(values[l]);
      v = none || p.op() == reduction::sum ? v + values[l]
          : p.op() == reduction::max       ? std::max(v, values[l])
                                           : std::min(v, values[l]);
    }
  }
  for (auto const& [rank, values] : made) {
    auto const indices = global_indices(expected.extents,
                                        local_box(expected.extents, t, p, t.coordinates_of(rank)));
    for (std::size_t l = 0; l < indices.size(); ++l) {
      double const right = expected.values[static_cast<std::size_t>(indices[l])];
      if (!is_near(values[l], right, tolerance, scale))
        return difference{rank, indices[l], values[l], right};
    }
  }
  return std::nullopt;
}

}  // namespace ashlar::nn::detail
