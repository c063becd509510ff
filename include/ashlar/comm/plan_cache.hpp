// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans that a mesh has made, so that each is made once: redistributions by (extents, element size,
// both ends), matrix products by (both operands, transpositions, result). Plans depend on nothing
// else but the mesh and the machine; the mesh clears the cache when its machine changes.

#include <map>
#include <string>
#include <vector>

#include <ashlar/comm/transfer.hpp>
#include <ashlar/plan/matmul.hpp>

namespace ashlar {

/// A plan and what this rank does in each of its steps.
struct prepared_plan {
  redistribution_plan plan;
  std::vector<transfer> transfers;
};

struct prepared_product {
  matmul_plan plan;
  prepared_plan a, b, c;
};

inline prepared_plan prepare(redistribution_plan const& plan, topology const& t,
                             coordinates const& here) {
  prepared_plan p{plan, {}};
  for (auto const& s : plan.steps) p.transfers.push_back(make_transfer(s, plan.extents, t, here));
  return p;
}
inline prepared_product prepare(matmul_plan const& plan, topology const& t,
                                coordinates const& here) {
  return {plan, prepare(plan.a, t, here), prepare(plan.b, t, here), prepare(plan.c, t, here)};
}

class plan_cache {
 public:
  prepared_plan const& redistribution(shape const& extents, int element_size, placement const& from,
                                      placement const& to, topology const& t, machine const& m,
                                      coordinates const& here) {
    key k;
    k.add(element_size).add(extents).add(from).add(to);
    auto const found = redistributions_.find(k.text);
    if (found != redistributions_.end()) return found->second;
    return redistributions_
        .emplace(k.text,
                 prepare(plan_redistribution(extents, element_size, from, to, t, m), t, here))
        .first->second;
  }

  prepared_product const& product(shape const& a_extents, placement const& a,
                                  shape const& b_extents, placement const& b, bool transpose_a,
                                  bool transpose_b, placement const& c, int element_size,
                                  topology const& t, machine const& m, matmul_options const& wanted,
                                  coordinates const& here) {
    key k;
    k.add(element_size).add(transpose_a).add(transpose_b);
    k.add(wanted.memory).add(wanted.stream).add(wanted.panels);
    k.add(a_extents).add(a).add(b_extents).add(b).add(c);
    auto const found = products_.find(k.text);
    if (found != products_.end()) return found->second;
    return products_
        .emplace(k.text, prepare(plan_matmul(a_extents, a, b_extents, b, transpose_a, transpose_b,
                                             c, element_size, t, m, wanted),
                                 t, here))
        .first->second;
  }

  void clear() {
    redistributions_.clear();
    products_.clear();
  }

 private:
  struct key {
    std::string text;

    key() { text.reserve(96); }
    key& add(std::int64_t number) {
      text.append(reinterpret_cast<char const*>(&number), sizeof number);
      return *this;
    }
    key& add(shape const& s) {
      for (auto const n : s.extent) add(n);
      text += ';';
      return *this;
    }
    key& add(placement const& p) {
      for (auto const& a : p.axis) {
        text += static_cast<char>(a.kind);
        text += static_cast<char>(a.dim);
        text += static_cast<char>(a.depth);
        text += static_cast<char>(a.op);
      }
      return *this;
    }
  };

  std::map<std::string, prepared_plan> redistributions_;
  std::map<std::string, prepared_product> products_;
};

}  // namespace ashlar
