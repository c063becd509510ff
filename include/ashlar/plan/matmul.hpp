// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Plans a distributed matrix product c = a · b between given placements. A plan chooses one
// signature row for each mesh axis. The rows determine three placements: the local GEMM reads the
// operands at a' and b', and its result has placement c'. The plan then consists of three
// redistributions and the GEMM:
//
//   total = redistribute(a -> a') + redistribute(b -> b') + GEMM(local) + redistribute(c' -> c)
//
// The search prices every assignment of signature rows to axes, with every shard order and the
// cheapest redistributions. These plans include the known 1-D, 2-D, 2.5-D and 3-D algorithms
// (AutoDDL section 4.2: the paper's p0, p1 and p2 are the axes along which c' is S(0), S(1) and P).
// The cheapest plan that fits into memory wins. If none fits, the cheapest plan that fits in panels
// wins (matmul_stream.hpp). Its panels may divide any dim of the product, into 2, 4, 8, ... parts.

#include <string>

#include <ashlar/plan/matmul_paths.hpp>
#include <ashlar/plan/matmul_stream.hpp>
#include <ashlar/signature/contraction.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar {

/// The constraints on the plan of a product. A streamed dim is divided into panels, which are
/// redistributed and multiplied one after another (matmul_stream.hpp).
struct matmul_options {
  /// The most bytes that a rank may use, including its shards of operands and result; 0 means no
  /// limit.
  std::int64_t memory = 0;
  char stream = 0;  ///< letter of the dim to stream, m, n, k or b, or 0 to stream only if necessary
  int panels = 2;   ///< number of panels of the dim `stream`, at least 1
};

namespace detail {

/// Returns a copy of placement `p` in which `axis` has the role `role` (B, P or S(dim)). If the
/// role is a split, the axis becomes number `depth` among the axes that split the same dim, counted
/// from the outermost.
constexpr placement with_role(placement p, int axis, axis_placement role, int depth) {
  p.axis[axis] = role;
  if (!role.is_split()) return p;
  for (int a = 0; a < p.axes(); ++a)
    if (a != axis && p.axis[a].is_split_of(role.dim) && p.axis[a].depth >= depth) ++p.axis[a].depth;
  p.axis[axis].depth = static_cast<signed char>(depth);
  return p;
}

/// Calls visit(a, b, c) for all placements with which each rank can compute c = a · b from its own
/// shards. Tries each row of `table` for each axis from `axis` on. Axes that split the same dim of
/// the product are tried in every shard order, first in the canonical one.
template <class Visit>
constexpr void for_each_local_product(signature_table const& table, placement const& a,
                                      placement const& b, placement const& c, int axis,
                                      Visit& visit) {
  if (axis == a.axes()) return visit(a, b, c);
  for (auto const& row : table) {
    int const last = row.in[0].is_split()   ? a.split_count(row.in[0].dim)
                     : row.in[1].is_split() ? b.split_count(row.in[1].dim)
                                            : 0;
    for (int depth = last; depth >= 0; --depth)
      for_each_local_product(table, with_role(a, axis, row.in[0], depth),
                             with_role(b, axis, row.in[1], depth),
                             with_role(c, axis, row.out, depth), axis + 1, visit);
  }
}

constexpr shape product_extents(shape const& a, shape const& b, bool transpose_a,
                                bool transpose_b) {
  int const first = a.rank() - 2, second = a.rank() - 1;
  shape c = a;
  c[first] = a[transpose_a ? second : first];
  c[second] = b[transpose_b ? first : second];
  return c;
}

/// Returns the extents of rank 0's local product. No other rank has a larger one.
constexpr gemm_extents local_product(shape const& a_extents, placement const& a,
                                     shape const& b_extents, placement const& b, bool transpose_a,
                                     bool transpose_b, topology const& t) {
  box const x = local_box(a_extents, t, a, {}), y = local_box(b_extents, t, b, {});
  int const first = x.rank() - 2, second = x.rank() - 1;
  return {first == 1 ? x[0].size : 1, x[transpose_a ? second : first].size,
          y[transpose_b ? first : second].size, x[transpose_a ? first : second].size};
}

[[noreturn]] inline void refuse_panels(int panels) {
  throw error("matmul", "a dim cannot be streamed in " + std::to_string(panels) +
                            " panels. Set matmul_options::panels to 1 or more.");
}

[[noreturn]] inline void refuse_product(matmul_options const& wanted, shape const& a,
                                        shape const& b, topology const& t, std::int64_t least) {
  std::string text = "no plan of " + to_string(a) + " times " + to_string(b) + " on " +
                     std::to_string(t.ranks()) + " ranks";
  if (wanted.stream != 0)
    text += " streams " + std::to_string(wanted.panels) + " panels of '" + wanted.stream + "'";
  if (least > 0)
    text += std::string(wanted.stream != 0 ? " and" : "") + " fits " +
            std::to_string(wanted.memory) + " bytes per rank; the smallest plan needs " +
            std::to_string(least) +
            ". Allow more memory per rank (machine::memory, matmul_options::memory), or spread the "
            "operands and the result over more ranks";
  else text += ". Use fewer panels or stream another dim (m, n, k, or b for the batch)";
  throw error("matmul", text + ".");
}

/// The cheapest plan found so far.
struct matmul_choice {
  topology const& mesh;
  machine const& priced_on;
  matmul_options const& wanted;
  matmul_plan plan{};
  double best = unreachable;
  std::int64_t least = 0;  ///< the least peak bytes of the plans that do not fit, or 0 if all fit

  constexpr bool found() const { return best < unreachable; }

  /// Keeps the plan `p` if it fits into memory and is the cheapest so far. `p.seconds` and
  /// `p.peak_bytes` must be set. `weight` is the seconds by which plans are compared, possibly with
  /// a small addition that breaks ties.
  constexpr void take(matmul_plan const& p, double weight) {
    if (wanted.memory > 0 && p.peak_bytes > wanted.memory) {
      if (least == 0 || p.peak_bytes < least) least = p.peak_bytes;
    } else if (weight < best) {
      best = weight;
      plan = p;
    }
  }

  /// Considers the plan `p` in `count` panels of the dim `letter`. Returns false if `p` cannot run
  /// in these panels.
  constexpr bool take_streamed(matmul_plan p, char letter, int count) {
    p.panels = {letter, count, {}};
    if (!choose_chunks(p, mesh)) return false;
    finish_stream(p, mesh, priced_on);
    take(p, p.seconds);
    return true;
  }

  /// Considers the plan `p` in panels. If `wanted` has a letter, uses the letter and the number of
  /// panels of `wanted`. Otherwise tries every letter, with 2, 4, 8, ... panels.
  constexpr void take_all_streamed(matmul_plan const& p) {
    if (wanted.stream != 0) {
      take_streamed(p, wanted.stream, wanted.panels);
      return;
    }
    for (char const letter :
         p.letters().a.size() == 3 ? std::string_view("mnkb") : std::string_view("mnk"))
      for (int count = 2; count <= 1 << 20 && take_streamed(p, letter, count); count *= 2) {
      }
  }
};

}  // namespace detail

/// Returns the cheapest plan of c = op(a) · op(b) that `wanted` allows, for matrices or for batches
/// of matrices (rank 3). op transposes a matrix or does nothing. If plans cost the same, the one
/// with earlier rows of the signature table wins. Throws ashlar::error if no plan fits into memory,
/// if the letter of `wanted` cannot be streamed, or if `wanted` streams in less than one panel.
constexpr matmul_plan plan_matmul(shape const& a_extents, placement const& a,
                                  shape const& b_extents, placement const& b, bool transpose_a,
                                  bool transpose_b, placement const& c, int element_size,
                                  topology const& t, machine const& m,
                                  matmul_options const& wanted) {
  if (wanted.stream != 0 && wanted.panels < 1) detail::refuse_panels(wanted.panels);
  int const rank = a_extents.rank();
  auto const table = product_signatures(rank, transpose_a, transpose_b);
  shape const c_extents = detail::product_extents(a_extents, b_extents, transpose_a, transpose_b);
  placement_graph const graph(rank, t);
  matmul_paths const from_a(graph, a_extents, element_size, a, path_direction::from_end, m);
  matmul_paths const from_b(graph, b_extents, element_size, b, path_direction::from_end, m);
  matmul_paths const to_c(graph, c_extents, element_size, c, path_direction::to_end, m);

  struct candidate {
    int a, b, c;
    gemm_extents gemm;
    double weight;
  };
  // The plan of a candidate without its seconds and its peak of memory, which depend on whether it
  // runs in panels.
  auto const unpriced = [&](candidate const& it) {
    return matmul_plan{from_a.plan(it.a),
                       from_b.plan(it.b),
                       to_c.plan(it.c),
                       transpose_a,
                       transpose_b,
                       it.gemm,
                       {},
                       gemm_seconds(m, it.gemm),
                       0,
                       0};
  };
  auto const plan_of = [&](candidate const& it) {
    matmul_plan plan = unpriced(it);
    plan.seconds = plan.a.seconds + plan.b.seconds + plan.c.seconds + plan.gemm_seconds;
    plan.peak_bytes = whole_peak_bytes(plan, t);
    return plan;
  };
  detail::matmul_choice choice{t, m, wanted};
  candidate cheapest{};
  double least = unreachable;
  bool const any_memory = wanted.memory <= 0 && wanted.stream == 0;
  auto const consider = [&](placement const& pa, placement const& pb, placement const& pc) {
    candidate it{graph.find(pa), graph.find(pb), -1, {}, 0};
    it.weight = from_a.weight(it.a) + from_b.weight(it.b);
    if (any_memory && it.weight >= least) return;
    it.gemm = detail::local_product(a_extents, pa, b_extents, pb, transpose_a, transpose_b, t);
    it.weight += gemm_seconds(m, it.gemm);
    if (any_memory && it.weight >= least) return;
    it.c = graph.find(pc);
    it.weight += to_c.weight(it.c);
    if (any_memory) {
      if (it.weight < least) cheapest = it, least = it.weight;
    } else if (wanted.stream != 0) {
      choice.take_all_streamed(unpriced(it));
    } else if (it.weight < choice.best) {
      choice.take(plan_of(it), it.weight);
    }
  };
  auto const whole = placement::all_broadcast(t.axes());
  detail::for_each_local_product(table, whole, whole, whole, 0, consider);
  if (any_memory) return plan_of(cheapest);
  if (!choice.found() && wanted.stream == 0) {
    auto const in_panels = [&](placement const& pa, placement const& pb, placement const& pc) {
      choice.take_all_streamed(unpriced(
          {graph.find(pa), graph.find(pb), graph.find(pc),
           detail::local_product(a_extents, pa, b_extents, pb, transpose_a, transpose_b, t), 0}));
    };
    detail::for_each_local_product(table, whole, whole, whole, 0, in_panels);
  }
  if (!choice.found()) detail::refuse_product(wanted, a_extents, b_extents, t, choice.least);
  return choice.plan;
}

/// Returns the cheapest plan of c = op(a) · op(b) among those for which no rank needs more memory
/// than `m` has. op transposes a matrix or does nothing.
constexpr matmul_plan plan_matmul(shape const& a_extents, placement const& a,
                                  shape const& b_extents, placement const& b, bool transpose_a,
                                  bool transpose_b, placement const& c, int element_size,
                                  topology const& t, machine const& m) {
  return plan_matmul(a_extents, a, b_extents, b, transpose_a, transpose_b, c, element_size, t, m,
                     {m.memory});
}

}  // namespace ashlar
