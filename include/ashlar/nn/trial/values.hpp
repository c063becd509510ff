// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Functions for nn::verify, which simulates the ranks of a mesh in one process. They cut whole
// tensors into the shards that the ranks would have, and compare shards with whole tensors.
//
//   cut           Fills a rank's shard from a whole tensor, according to the shard's placement. The
//                 ranks' addends of a partial sum differ in size and in sign. For a partial maximum
//                 (minimum), one rank has the value and the others have less (more). Which rank has
//                 the value differs between elements.
//   halos_added   Removes the halos of gradients: adds the values that several ranks have for the
//                 same element.
//   compare       Compares the shards of all ranks with a whole tensor. Every replica is compared.
//                 Partial values are reduced first.
//
// All numbers are handled as double, whatever the element type. A routed tensor (tensor/routed.hpp)
// counts as the dense tensor with its extents, which has zeros where the routed tensor has no row.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <ashlar/layout/halo_layout.hpp>
#include <ashlar/tensor/any_tensor.hpp>
#include <ashlar/tensor/routed.hpp>

namespace ashlar::nn::detail {

using host_tensor = any_tensor<device::host::processor>;

/// The values of a whole tensor, in row-major order.
struct whole_values {
  shape extents;
  std::vector<double> values;
};

/// Returns a pseudo-random number in [-1, 1) for a stream and an index.
inline double noise(std::uint64_t stream, std::int64_t index) {
  std::uint64_t z = stream * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(index) + 1;
  for (int i = 0; i < 2; ++i) {  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-52 - 1;
}

/// Calls f with a typed pointer to the first element of the shard. Expects an element type that
/// layers use on the host: float, double, int32 or int64.
template <class F>
decltype(auto) with_elements(host_tensor const& t, F const& f) {
  switch (t.type()) {
    case element_type::f32: return f(static_cast<float*>(t.data()));
    case element_type::i32: return f(static_cast<std::int32_t*>(t.data()));
    case element_type::i64: return f(static_cast<std::int64_t*>(t.data()));
    default: return f(static_cast<double*>(t.data()));
  }
}

/// Returns which rows a shard of a routed tensor has.
inline routed_rows const& rows_of_tensor(host_tensor const& t) {
  return ashlar::detail::rows_of_shard<device::host::processor>(t.shard());
}

/// Returns the box of the whole tensor that a shard covers. The box of a routed tensor also has the
/// pairs of a token and an expert for which the shard stores no row.
inline box dense_box(host_tensor const& t) {
  box b = t.extents().is_routed() ? rows_of_tensor(t).within : t.local_box();
  b.chosen = 0;
  return b;
}

/// Calls visit(i, l) for each element that a shard stores. i is its position in the shard, and l is
/// its position among the elements of dense_box(t) in row-major order.
template <class Visit>
void for_each_stored(host_tensor const& t, Visit const& visit) {
  if (!t.extents().is_routed()) {
    auto const n = static_cast<std::size_t>(t.local_box().elements());
    for (std::size_t i = 0; i < n; ++i) visit(i, i);
    return;
  }
  auto const& rows = rows_of_tensor(t);
  auto const experts = static_cast<std::size_t>(rows.experts().size);
  auto const features = static_cast<std::size_t>(rows.features());
  for (std::size_t e = 0; e < experts; ++e)
    for (auto r = static_cast<std::size_t>(rows.first[e]);
         r < static_cast<std::size_t>(rows.first[e + 1]); ++r)
      for (std::size_t k = 0; k < features; ++k)
        visit(r * features + k,
              (static_cast<std::size_t>(rows.place[r]) * experts + e) * features + k);
}

/// Returns the values of dense_box(t).
inline std::vector<double> shard_values(host_tensor const& t) {
  std::vector<double> values(static_cast<std::size_t>(dense_box(t).elements()));
  with_elements(t, [&](auto const* p) {
    for_each_stored(t, [&](auto i, auto l) { values[l] = static_cast<double>(p[i]); });
  });
  return values;
}
inline void set_shard(host_tensor const& t, std::vector<double> const& values) {
  with_elements(t, [&](auto* p) {
    for_each_stored(t, [&](auto i, auto l) {
      p[i] = static_cast<std::remove_cvref_t<decltype(*p)>>(values[l]);
    });
  });
}

/// Returns the row-major indices of a box's elements in the whole tensor.
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

/// Returns the text of an element's indices, such as "[1,0,2]".
inline std::string index_text(shape const& extents, std::int64_t index) {
  std::string text;
  for (int d = extents.rank() - 1; d >= 0; --d) {
    text = std::to_string(index % extents[d]) + (text.empty() ? "" : ",") + text;
    index /= extents[d];
  }
  return "[" + text + "]";
}

/// Returns the axes along which a placement is partial.
inline axis_list partial_axes(placement const& p) {
  axis_list axes;
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial()) axes.push_back(static_cast<signed char>(a));
  return axes;
}

/// Returns the contribution of one of `members` ranks to a partial value. The reduction `op` of all
/// contributions is `value`. `member` is the index of the rank, and `index` that of the element.
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

/// Fills `to`, this rank's shard of `whole`, according to the placement of `to`.
inline void cut(whole_values const& whole, host_tensor const& to) {
  auto const& p = to.placement();
  auto const& t = to.mesh().topology();
  auto const addends = partial_axes(p);
  int const members = t.group_size(addends);
  int const member = t.index_in_group(to.mesh().coordinate(), addends);
  std::vector<double> shard;
  for (auto const i : global_indices(whole.extents, dense_box(to))) {
    double const v = whole.values[static_cast<std::size_t>(i)];
    shard.push_back(members == 1 ? v : addend(v, p.op(), member, members, i));
  }
  set_shard(to, shard);
}

/// Returns the shards of all ranks without halos, as the program's action add_halo makes them. A
/// rank gets, for each element of its shard, the sum of the values that all ranks computed for it.
inline std::vector<host_tensor> halos_added(std::vector<host_tensor> const& with_halo,
                                            halo_layout const& layout) {
  auto const& t = with_halo[0].mesh().topology();
  std::vector<host_tensor> made;
  for (auto const& of : with_halo) {
    host_tensor const sum(of.mesh(), of.extents(), of.placement(), of.type());
    auto const own = global_indices(of.extents(), sum.local_box());
    std::map<std::int64_t, double> values;
    for (auto const i : own) values[i] = 0;
    for (int j = 0; j < t.group_size(layout.axes); ++j) {
      auto const member = t.rank_of(t.member(of.mesh().coordinate(), layout.axes, j));
      auto const& other = with_halo[static_cast<std::size_t>(member)];
      auto const addends = shard_values(other);
      auto addend = addends.begin();
      for (auto const i : global_indices(of.extents(), other.local_box())) {
        if (auto const at = values.find(i); at != values.end()) at->second += *addend;
        ++addend;
      }
    }
    std::vector<double> shard;
    for (auto const i : own) shard.push_back(values[i]);
    set_shard(sum, shard);
    made.push_back(sum);
  }
  return made;
}

/// An element whose value in a shard is wrong.
struct difference {
  int rank;  ///< a rank that has the wrong value or an addend of it
  std::int64_t index;
  double found, expected;
};

/// Returns whether two elements of a tensor are equal up to rounding. `scale` is the largest
/// absolute value in the tensor.
inline bool is_near(double a, double b, double tolerance, double scale) {
  return a == b || std::abs(a - b) <= tolerance * (1 + scale);
}

/// Returns the largest finite absolute value in a tensor.
inline double scale_of(whole_values const& whole) {
  double scale = 0;
  for (double const v : whole.values)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  return scale;
}

/// Compares the shards of all ranks, placed as `p`, with `expected`. Returns the first element that
/// differs, or nothing.
inline std::optional<difference> compare(std::vector<host_tensor> const& shards, placement const& p,
                                         whole_values const& expected, double tolerance) {
  auto const& t = shards[0].mesh().topology();
  auto const addends = partial_axes(p);
  double const scale = scale_of(expected);
  std::map<int, std::vector<double>> made;  // reduced values, by the first rank of each group
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
                                        dense_box(shards[static_cast<std::size_t>(rank)]));
    for (std::size_t l = 0; l < indices.size(); ++l) {
      double const right = expected.values[static_cast<std::size_t>(indices[l])];
      if (!is_near(values[l], right, tolerance, scale))
        return difference{rank, indices[l], values[l], right};
    }
  }
  return std::nullopt;
}

}  // namespace ashlar::nn::detail
