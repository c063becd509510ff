// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The cache of a mesh's plans. The key of a redistribution is its extents, element size, both
// placements and its wire. The key of a matrix product is its operands, transpositions, result and
// options. Apart from the key, a plan depends only on the mesh, the machine and the order of sums.
// The mesh clears the cache when its machine changes.
//
// The cache has room for `most_plans` plans of each of these two kinds. Before it adds a plan of a
// kind that is full, it removes all plans of this kind. So the next lookup may invalidate a
// returned reference. Code that needs a plan for longer, such as a pending operation, copies the
// pointer.

#include <bit>
#include <memory>
#include <unordered_map>
#include <vector>

#include <ashlar/comm/encoded_transfer.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/placement/code.hpp>
#include <ashlar/plan/encoded_redistribution.hpp>
#include <ashlar/plan/matmul.hpp>

namespace ashlar {

/// A redistribution plan, with this rank's transfer for each of its steps.
struct prepared_plan {
  redistribution_plan plan;
  std::vector<transfer> transfers;
  /// Empty if no step encodes blocks. Otherwise there is one entry per step, but only the entries
  /// of steps that encode blocks are set.
  std::vector<encoded_transfer> encoded{};
};

/// The redistribution plans for consecutive panels, in a matrix product that is computed panel by
/// panel (plan/matmul_stream.hpp). Adjacent panels with equal plans share one entry. `first` is the
/// number of the entry's first panel. The entry applies up to the panel before the `first` of the
/// next entry. `a` and `b` are the plans of the operands, and `c` is the plan of the result.
struct prepared_panels {
  int first = 0;
  prepared_plan a, b, c;
};

struct prepared_product {
  matmul_plan plan;
  prepared_plan a, b, c;                ///< redistributions of the tensors as a whole
  std::vector<prepared_panels> panels;  ///< sorted by `first`
};

/// Returns `plan` together with the transfers that the rank at coordinates `here` performs in the
/// plan's steps. Does not communicate.
ASHLAR_INLINE prepared_plan prepare(redistribution_plan const& plan, topology const& t,
                                    coordinates const& here, sum_order sums);
ASHLAR_INLINE prepared_product prepare(matmul_plan const& plan, topology const& t, machine const& m,
                                       coordinates const& here, sum_order sums);
#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE prepared_plan prepare(redistribution_plan const& plan, topology const& t,
                                    coordinates const& here, sum_order sums) {
  prepared_plan p{plan, {}};
  for (auto const& s : plan.steps) {
    if (!s.wire.in_blocks()) {
      p.transfers.push_back(make_transfer(s, plan.extents, t, here, sums));
    } else {
      p.encoded.resize(static_cast<std::size_t>(plan.steps.size()));
      auto& encoded = p.encoded[p.transfers.size()];
      encoded = make_encoded_transfer({{&s, &plan.extents}}, t, here);
      p.transfers.push_back(encoded.what);
    }
  }
  return p;
}
ASHLAR_INLINE prepared_product prepare(matmul_plan const& plan, topology const& t, machine const& m,
                                       coordinates const& here, sum_order sums) {
  auto const prepared = [&](redistribution_plan const& one) { return prepare(one, t, here, sums); };
  prepared_product p{plan, prepared(plan.a), prepared(plan.b), prepared(plan.c), {}};
  if (plan.panels.letter == 0) return p;
  redistribution_plan last[3];
  for (int i = 0; i < plan.panels.count; ++i) {
    redistribution_plan now[3];
    auto const tensors = detail::tensors_of(plan, plan.panels.letter);
    for (int x = 0; x < 3; ++x)
      now[x] = panel_plan(*tensors[x].plan, plan.panels, tensors[x].dim, i, t, m);
    if (i > 0 && now[0] == last[0] && now[1] == last[1] && now[2] == last[2]) continue;
    p.panels.push_back({i, prepared(now[0]), prepared(now[1]), prepared(now[2])});
    for (int x = 0; x < 3; ++x) last[x] = now[x];
  }
  return p;
}
#endif

class plan_cache {
 public:
  static constexpr std::size_t most_plans = 1024;

  template <class Prepared>
  using pointer = std::shared_ptr<Prepared const>;

  pointer<prepared_plan> const& redistribution(shape const& extents, int element_size,
                                               placement const& from, placement const& to,
                                               topology const& t, machine const& m,
                                               coordinates const& here,
                                               wire_format const& wire = {});
  pointer<prepared_product> const& product(shape const& a_extents, placement const& a,
                                           shape const& b_extents, placement const& b,
                                           bool transpose_a, bool transpose_b, placement const& c,
                                           int element_size, topology const& t, machine const& m,
                                           matmul_options const& wanted, coordinates const& here);

  /// The order of sums in the plans that are made from now on.
  sum_order sums() const { return sums_; }
  /// Sets this order, and removes all plans from the cache.
  void set_sums(sum_order sums) {
    sums_ = sums;
    clear();
  }
  void clear() {
    redistributions_.clear();
    products_.clear();
  }

 private:
  /// The key of a plan. It contains all values on which the plan depends, except the mesh, the
  /// machine and the order of sums.
  struct key {
    inplace_vector<std::uint64_t, 24> words;

    key& add(std::int64_t number) {
      words.push_back(static_cast<std::uint64_t>(number));
      return *this;
    }
    key& add(shape const& s) {
      for (auto const n : s.extent) add(n);
      if (s.is_routed()) add(-s.chosen).add(s.fullest);
      return *this;
    }
    key& add(placement const& p) {
      words.push_back(code_of(p));
      return *this;
    }
    friend bool operator==(key const&, key const&) = default;
  };
  struct hash {
    std::size_t operator()(key const& k) const {
      std::uint64_t h = static_cast<std::uint64_t>(k.words.size());
      for (auto const w : k.words) h = (std::rotl(h, 5) ^ w) * 0x9e3779b97f4a7c15ull;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };

  template <class Prepared>
  using plans = std::unordered_map<key, pointer<Prepared>, hash>;

  template <class Prepared, class Make>
  static pointer<Prepared> const& found_or_made(plans<Prepared>& in, key const& k, Make make) {
    auto const found = in.find(k);
    if (found != in.end()) return found->second;
    auto made = std::make_shared<Prepared const>(make());
    if (in.size() == most_plans) in.clear();
    return in.emplace(k, std::move(made)).first->second;
  }

  sum_order sums_ = sum_order::around_ring;
  plans<prepared_plan> redistributions_;
  plans<prepared_product> products_;
};

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE plan_cache::pointer<prepared_plan> const&
plan_cache::redistribution(shape const& extents, int element_size, placement const& from,
                           placement const& to, topology const& t, machine const& m,
                           coordinates const& here, wire_format const& wire) {
  key k;
  k.add(element_size).add(extents).add(from).add(to);
  for (int const part : wire.parts()) k.add(part);
  return found_or_made(redistributions_, k, [&] {
    return prepare(plan_encoded(extents, element_size, from, to, wire, t, m), t, here, sums_);
  });
}
ASHLAR_INLINE plan_cache::pointer<prepared_product> const&
plan_cache::product(shape const& a_extents, placement const& a, shape const& b_extents,
                    placement const& b, bool transpose_a, bool transpose_b, placement const& c,
                    int element_size, topology const& t, machine const& m,
                    matmul_options const& wanted, coordinates const& here) {
  key k;
  k.add(element_size).add(transpose_a).add(transpose_b);
  k.add(wanted.memory).add(wanted.stream).add(wanted.panels);
  k.add(a_extents).add(a).add(b_extents).add(b).add(c);
  return found_or_made(products_, k, [&] {
    return prepare(plan_matmul(a_extents, a, b_extents, b, transpose_a, transpose_b, c,
                               element_size, t, m, wanted),
                   t, m, here, sums_);
  });
}
#endif

}  // namespace ashlar
