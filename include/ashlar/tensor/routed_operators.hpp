// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Routed tensors r [token, expert, feature] and their operators, for use without nets and training.
// In a mixture of experts, each token goes to a few experts, its routes. A routed tensor has a row
// of features for each token and each expert to which the token goes, and no others
// (layout/routing.hpp).
//
//   dispatch(x, routes)   makes r from x [token, feature]: a copy of a token's row for each expert
//                         to which the token goes
//   r | to<S<1>, B>       moves the rows to another placement (redistribute.hpp)
//   matmul(r, w)          each row times the matrix of its expert, w [expert, in, out]
//   map(r, f)             f of each element
//   combine(r)            [token, feature]: the sum of each token's rows
//
// Only the move communicates. The signature tables of dispatch and matmul are those of the
// contractions `te,td->ted` and `ted,edf->tef` (signature/routed.hpp). The table of combine is that
// of a sum over the experts. The routes must be the same on all ranks. Routed tensors exist on the
// host only.

#include <memory>
#include <utility>

#include <ashlar/signature/elementwise.hpp>
#include <ashlar/signature/routed.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/reduce.hpp>

namespace ashlar {

/// A routed tensor [token, expert, feature]. It stores only the rows of the experts to which each
/// token goes. Copies of this object share one shard.
template <class T, class Placement = dynamic>
class routed {
 public:
  using value_type = T;
  using placement_type = Placement;
  using tensor_type = tensor<T, 3, Placement>;

  explicit routed(tensor_type rows) : tensor_(std::move(rows)) { (void)rows_of(tensor_); }

  /// Returns the routed rows as a tensor whose shard is an array [rows, features].
  tensor_type const& as_tensor() const { return tensor_; }
  mesh const& on() const { return tensor_.mesh(); }
  shape const& extents() const { return tensor_.extents(); }
  ashlar::placement placement() const { return tensor_.placement(); }
  /// Returns which rows this rank has, in the order in which its shard stores them.
  routed_rows const& rows() const { return rows_of(tensor_); }
  std::shared_ptr<routing const> const& routes() const { return rows().routes; }
  T* data() const { return tensor_.data(); }

 private:
  tensor_type tensor_;
};

namespace detail {

struct dispatch_rule {
  static constexpr char const* name = "dispatch";
  static constexpr char const* sentence = ASHLAR_SAYS_DISPATCH;
  static constexpr signature_table table() { return dispatch_signatures(); }
};
struct routed_matmul_rule {
  static constexpr char const* name = "matmul";
  static constexpr char const* sentence = ASHLAR_SAYS_MATMUL_ROUTED;
  static constexpr bool takes_routed = true;
  static constexpr signature_table table() { return routed_matmul_signatures(); }
};
struct routed_map_rule : map_rule<3> {
  static constexpr bool takes_routed = true;
};
struct combine_rule : reduce_rule<3, 1u << 1, reduction::sum> {
  static constexpr bool takes_routed = true;
};

/// Adds the rows of each token to `sums`, an array [tokens, features] for the tokens of the box of
/// `rows`. The caller sets `sums` to zeros first.
template <class A, class T>
void add_rows(routed_rows const& rows, T const* values, A* sums) {
  std::int64_t const d = rows.features();
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    A* const sum = sums + rows.place[static_cast<std::size_t>(r)] * d;
    for (std::int64_t i = 0; i < d; ++i) sum[i] += A(values[r * d + i]);
  }
}

template <class T, class Placement>
auto new_routed_of(mesh const& m, shape const& extents, Placement const& p,
                   std::shared_ptr<routing const> const& routes) {
  using made = routed<T, typename placement_traits<Placement>::type>;
  return made(make_routed<typename made::tensor_type>(m, extents, as_value(p), routes));
}

}  // namespace detail

/// Returns a routed tensor (layout/routing.hpp) made from x [token, feature]. It has a copy of a
/// token's row of x for each expert to which the token goes. A route of -1, which says that the
/// token was dropped, makes no row. Communicates nothing. Throws ashlar::error if the routes are
/// for another number of tokens than x has, if a route leads to an expert that does not exist, or
/// if the experts of a token are out of order or repeated (check_routes).
template <class T, class Placement>
  requires locally_applicable<detail::dispatch_rule, tensor<T, 2, Placement>>
auto dispatch(tensor<T, 2, Placement> const& x, std::shared_ptr<routing const> const& routes) {
  auto const p = detail::result_of<detail::dispatch_rule>(x);
  check_routes(*routes);
  shape extents{x.extents()[0], routes->experts, x.extents()[1]};
  extents.chosen = routes->chosen;
  auto r = detail::new_routed_of<T>(x.mesh(), extents, p, routes);
  auto const& rows = r.rows();
  std::int64_t const d = rows.features();
  for (std::int64_t k = 0; k < rows.size(); ++k)
    std::copy_n(x.data() + rows.place[static_cast<std::size_t>(k)] * d, d, r.data() + k * d);
  return r;
}
template <class T, class Placement>
ill_formed dispatch(tensor<T, 2, Placement> const&, std::shared_ptr<routing const> const&) {
  static_assert(detail::always_false<T>, ASHLAR_SAYS_DISPATCH);
  return {};
}

/// Returns r at another placement. Communicates the collectives of the cheapest plan, which
/// plan_redistribution returns. How many bytes these collectives send depends on the routes.
template <class T, class Placement, placement_argument Target>
auto redistribute(routed<T, Placement> const& r, Target const& target) {
  auto moved = redistribute(r.as_tensor(), target);
  return routed<T, typename decltype(moved)::placement_type>(std::move(moved));
}
template <class T, class Placement, class... Tags>
auto operator|(routed<T, Placement> const& r, to_placement<Tags...>) {
  return redistribute(r, sbp<Tags...>{});
}
/// Returns the plan that redistribute(r, target) runs. The bytes in the plan assume that the routes
/// are distributed evenly. Communicates nothing.
template <class T, class Placement, placement_argument Target>
plan_report plan_redistribution(routed<T, Placement> const& r, Target const& target) {
  return plan_redistribution(r.as_tensor(), target);
}

/// Returns each row times the matrix of its expert, where w is [expert, in, out]. Communicates
/// nothing. Throws ashlar::error if the extents do not fit.
template <class T, class P, class Q>
  requires locally_applicable<detail::routed_matmul_rule, tensor<T, 3, P>, tensor<T, 3, Q>>
auto matmul(routed<T, P> const& r, tensor<T, 3, Q> const& w) {
  auto const p = detail::result_of<detail::routed_matmul_rule>(r.as_tensor(), w);
  auto extents = r.extents();
  if (w.extents()[0] != extents[1] || w.extents()[1] != extents[2])
    throw error("matmul", "the extents do not fit: rows " + to_string(extents) + " times " +
                              to_string(w.extents()) + ". Give one matrix for each expert.");
  extents[2] = w.extents()[2];
  auto y = detail::new_routed_of<T>(r.on(), extents, p, r.routes());
  auto const& first = r.rows().first;
  std::int64_t const d = r.rows().features(), f = y.rows().features();
  for (std::size_t e = 0; e + 1 < first.size(); ++e)
    if (std::int64_t const n = first[e + 1] - first[e]; n > 0 && f > 0)
      gemm(r.on().processor(), false, false, n, f, d, accumulation_t<T>(1),
           static_cast<T const*>(r.data()) + first[e] * d, d,
           static_cast<T const*>(w.data()) + static_cast<std::int64_t>(e) * d * f, f,
           accumulation_t<T>(0), y.data() + first[e] * f, f);
  return y;
}
template <class T, class P, class Q>
ill_formed matmul(routed<T, P> const&, tensor<T, 3, Q> const&) {
  static_assert(detail::always_false<T>, ASHLAR_SAYS_MATMUL_ROUTED);
  return {};
}

/// Returns f of each element. Communicates nothing.
template <class T, class P, class F>
  requires locally_applicable<detail::routed_map_rule, tensor<T, 3, P>>
auto map(routed<T, P> const& r, F f) {
  auto y = detail::new_routed_of<T>(
      r.on(), r.extents(), detail::result_of<detail::routed_map_rule>(r.as_tensor()), r.routes());
  auto const n = r.rows().size() * r.rows().features();
  map(r.on().processor(), f, static_cast<T const*>(r.data()), n, y.data());
  return y;
}
template <class T, class P, class F>
ill_formed map(routed<T, P> const&, F) {
  static_assert(detail::always_false<T>, ASHLAR_SAYS_MAP_PARTIAL("map", "map(r | to<B, ...>, f)"));
  return {};
}

/// Returns the sum of the rows of each token, as a tensor [token, feature]. Adds in the order of
/// the experts and rounds once. The result is partial on axes that split the experts. Communicates
/// nothing.
template <class T, class P>
  requires locally_applicable<detail::combine_rule, tensor<T, 3, P>>
auto combine(routed<T, P> const& r) {
  using A = accumulation_t<T>;
  auto const p = detail::result_of<detail::combine_rule>(r.as_tensor());
  auto y = empty<T, 2>(r.on(), {r.extents()[0], r.extents()[2]}, p);
  buffer<A> sums(r.on().memory(), y.local_elements());
  std::fill_n(sums.data(), y.local_elements(), A(0));
  detail::add_rows(r.rows(), static_cast<T const*>(r.data()), sums.data());
  std::transform(sums.data(), sums.data() + y.local_elements(), y.data(),
                 [](A sum) { return static_cast<T>(sum); });
  return y;
}
template <class T, class P>
ill_formed combine(routed<T, P> const&) {
  static_assert(detail::always_false<T>, ASHLAR_SAYS_REDUCE("combine", "combine(r | to<B, ...>)"));
  return {};
}

}  // namespace ashlar
