// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the nodes of a formula (signature/formula/graph.hpp) on this rank's shards, with the
// operations of the mesh's processor. It knows no placement: the rows of the formula guarantee that
// each operator is local, so its result on shards is a shard of its result. Nothing is
// communicated.
//
// The extents of all shards follow from those of the leaves. A result is computed into the caller's
// memory if it is wanted there, otherwise into the memory of one of its operands if that is no
// longer needed, otherwise into a block of the mesh's memory that is released after its last use.

#include <array>
#include <memory>
#include <vector>

#include <ashlar/comm/mesh.hpp>
#include <ashlar/device/function.hpp>
#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/formula/passes.hpp>
#include <ashlar/tensor/copy_letters.hpp>
#include <ashlar/tensor/repeated.hpp>
#include <ashlar/tensor/softmax_rows.hpp>

namespace ashlar::formulas {

namespace detail {

/// Calls use(F) with the class of device/functor.hpp or device/function.hpp that computes `f`.
template <class Use>
void with_function(function f, Use const& use) {
  switch (f) {
    case function::exp: return use(device::exponential());
    case function::log: return use(device::natural_log());
    case function::sqrt: return use(device::square_root());
    case function::rsqrt: return use(device::inverse_square_root());
    case function::tanh: return use(device::hyperbolic_tangent());
    case function::sigmoid: return use(device::logistic());
    case function::silu: return use(device::silu());
    case function::erf: return use(device::error_function());
    case function::abs: return use(device::magnitude());
    case function::relu: return use(device::relu());
    case function::gelu: return use(device::gelu());
  }
}

}  // namespace detail

/// One pass of a formula on one rank. T is the type of all its tensors except the sums of
/// gradients, which are of type accumulation_t<T>.
template <class T, class Processor>
class evaluation {
 public:
  using mesh_type = basic_mesh<Processor>;
  using accumulated = accumulation_t<T>;
  using local_extents = std::array<std::int64_t, max_rank>;

  evaluation(mesh_type const& m, differentiated_formula const& f) : mesh_(m), f_(f), g_(f.g) {}

  /// States the extents of this rank's shard of x (node f.x) or of a weight.
  void set_extents(int leaf, local_extents const& extents) { at(leaf).extents = extents; }
  /// Computes the extents of all other shards. Call it after set_extents and before all below.
  void infer_extents() {
    for (int i = 0; i < g_.size(); ++i) infer(i);
  }
  /// Returns the number of elements of this rank's shard of a node.
  std::int64_t elements(int i) const {
    std::int64_t n = 1;
    for (int d = 0; d < g_[i].extents.rank(); ++d) n *= size(i, d);
    return n;
  }

  /// Gives the values of a leaf, or of a node that an earlier pass kept.
  void read(int i, T const* values) { at(i).data = values; }
  /// Asks for the values of a node in `target`.
  void write_to(int i, T* target) { wanted_.push_back({i, target, nullptr}); }
  /// Asks that the values of a node be added to `sum`.
  void add_to(int i, accumulated* sum) { wanted_.push_back({i, nullptr, sum}); }

  /// Computes the nodes of a pass, and what was asked for.
  void run(pass_nodes const& pass) {
    for (int i = 0; i < g_.size(); ++i) {
      if (!pass.computes[i]) continue;
      ++at(g_[i].a).uses;
      if (g_[i].reads_b()) ++at(g_[i].b).uses;
    }
    for (auto const& w : wanted_) ++at(w.node).uses;
    for (int i = 0; i < g_.size(); ++i)
      if (pass.computes[i]) compute(i);
    for (auto& w : wanted_)
      if (!w.done) finish(w);
  }

 private:
  /// A block of the mesh's memory.
  using memory_type = std::remove_reference_t<decltype(std::declval<mesh_type const&>().memory())>;
  struct releasing {
    memory_type* memory = nullptr;
    std::size_t bytes = 0;
    void operator()(T* block) const { memory->release(block, bytes); }
  };
  struct value {
    T const* data = nullptr;
    std::unique_ptr<T, releasing> own;
    local_extents extents{};
    int uses = 0;
  };
  struct wish {
    int node;
    T* target;
    accumulated* sum;
    bool done = false;
  };

  value& at(int i) { return values_[static_cast<std::size_t>(i)]; }
  value const& at(int i) const { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t size(int i, int d) const { return at(i).extents[static_cast<std::size_t>(d)]; }

  void infer(int i) {
    node const& n = g_[i];
    if (n.what == operation::output_gradient) at(i).extents = at(f_.y).extents;
    if (n.is_leaf()) return;
    if (n.what == operation::repeat) {
      at(i).extents = at(n.b).extents;
      return;
    }
    for (int d = 0; d < n.extents.rank(); ++d) {
      char const letter = n.out.text[d];
      std::int64_t& extent = at(i).extents[static_cast<std::size_t>(d)];
      auto const in_a = n.in_a.view().find(letter), in_b = n.in_b.view().find(letter);
      if (letter == '1') extent = 1;
      else if (in_a != std::string_view::npos) extent = size(n.a, static_cast<int>(in_a));
      else if (in_b != std::string_view::npos) extent = size(n.b, static_cast<int>(in_b));
      else extent = n.extents[d];  // a dim that a reshape makes, which is whole
    }
  }

  /// Returns memory for the result of node i, whose operands are still there.
  T* place(int i) {
    for (auto& w : wanted_)
      if (w.node == i && w.target != nullptr && !w.done) {
        w.done = true;
        --at(i).uses;
        at(i).data = w.target;
        return w.target;
      }
    node const& n = g_[i];
    if (n.may_overwrite())
      for (int const from : {n.a, n.b})
        if (from >= 0 && at(from).own && at(from).uses == (n.a == n.b ? 2 : 1) &&
            elements(from) == elements(i)) {
          at(i).own = std::move(at(from).own);
          at(i).data = at(i).own.get();
          return at(i).own.get();
        }
    auto const bytes = static_cast<std::size_t>(elements(i)) * sizeof(T);
    auto& memory = mesh_.memory();
    at(i).own = std::unique_ptr<T, releasing>(static_cast<T*>(memory.allocate(bytes)),
                                              releasing{&memory, bytes});
    at(i).data = at(i).own.get();
    return at(i).own.get();
  }
  void used(int i) {
    if (--at(i).uses == 0) at(i).own.reset();
  }

  void compute(int i) {
    node const& n = g_[i];
    if (n.what == operation::contract && adds_product(i)) return;
    T* const z = place(i);
    T const *const u = at(n.a).data, *const v = n.b < 0 ? nullptr : at(n.b).data;
    std::int64_t const count = elements(i);
    auto const a = static_cast<accumulated>(n.number);
    using A = accumulated;
    auto const each = [&](auto const& f) { map(mesh_.processor(), f, u, count, z); };
    auto const pairs = [&](auto const& f) { write_pairs(n, f, u, v, i, z); };
    switch (n.what) {
      case operation::scale: each(device::scaled<A>{a}); break;
      case operation::divide_by: each(device::divided<A>{a}); break;
      case operation::shift: each(device::shifted<A>{a}); break;
      case operation::divide_into: each(device::dividing<A>{a}); break;
      case operation::power: each(device::raised<A>{a}); break;
      case operation::apply:
        detail::with_function(n.f, [&]<class F>(F) { each(device::value_of<F>{}); });
        break;
      case operation::power_gradient:
        write_gradient(n, device::raised_gradient<A>{a}, u, v, i, z);
        break;
      case operation::apply_gradient:
        detail::with_function(
            n.f, [&]<class F>(F) { write_gradient(n, device::gradient_of<F>{}, u, v, i, z); });
        break;
      case operation::add: pairs(device::sum_of{}); break;
      case operation::subtract: pairs(device::difference_of{}); break;
      case operation::multiply: pairs(device::product_of{}); break;
      case operation::divide: pairs(device::quotient_of{}); break;
      case operation::contract: multiply(i, 0, z); break;
      case operation::sum: reduce(i, reduction::sum, u, z); break;
      case operation::largest: reduce(i, reduction::max, u, z); break;
      case operation::equal: pairs(device::equal_of{}); break;
      case operation::softmax:
        if (std::int64_t const columns = size(i, n.extents.rank() - 1); count > 0)
          ashlar::detail::softmax_rows(mesh_, u, count / columns, columns, z);
        break;
      case operation::permute:
        ashlar::detail::copy_letters(mesh_.processor(), letter_extents_of(n), n.in_a, u, n.out, z);
        break;
      case operation::reshape:
        if (z != u) copy_elements(mesh_.processor(), u, count, z);
        break;
      case operation::repeat: spread(n.in_a, n.a, i, z); break;
      default: break;  // a leaf is not computed
    }
    used(n.a);
    if (n.reads_b()) used(n.b);
  }

  /// Computes f of each pair of elements, of which one may be repeated.
  template <class F>
  void write_pairs(node const& n, F const& f, T const* u, T const* v, int i, T* z) {
    if (n.in_a == n.out && n.in_b == n.out) return map(mesh_.processor(), f, u, v, elements(i), z);
    if (elements(i) == 0) return;
    ashlar::detail::repeated_loop loop{
        n.extents.rank(), {}, strides_in(n.in_a, n.a, i), strides_in(n.in_b, n.b, i)};
    for (int d = 0; d < loop.rank; ++d) loop.extents[static_cast<std::size_t>(d)] = size(i, d);
    ashlar::detail::map_repeated(mesh_, f, loop, u, v, z);
  }
  /// Computes a gradient, whose first operand has all extents. The second operand is first repeated
  /// if it does not have them.
  template <class F>
  void write_gradient(node const& n, F const& f, T const* u, T const* v, int i, T* z) {
    std::int64_t const count = elements(i);
    if (n.in_b == n.out) return map(mesh_.processor(), f, u, v, count, z);
    buffer<T> const whole(mesh_.memory(), count);
    spread(n.in_b, n.b, i, whole.data());
    map(mesh_.processor(), f, u, static_cast<T const*>(whole.data()), count, z);
  }

  using stride_list = std::array<std::int64_t, max_rank + 1>;
  /// Returns the strides of node `from` in the dims of node `to`: 0 where it is repeated.
  stride_list strides_in(dim_letters const& letters, int from, int to) const {
    return ashlar::detail::repeated_strides(letters, g_[to].extents.rank(),
                                            [&](int d) { return size(from, d); });
  }
  /// Writes node `from` to `z`, repeated to the extents of node `to`.
  void spread(dim_letters const& letters, int from, int to, T* z) {
    if (elements(to) == 0) return;
    auto const strides = strides_in(letters, from, to);
    stride_list extents{}, target{};
    int const rank = g_[to].extents.rank();
    std::int64_t step = 1;
    for (int d = rank - 1; d >= 0; step *= size(to, d--)) {
      target[static_cast<std::size_t>(d)] = step;
      extents[static_cast<std::size_t>(d)] = size(to, d);
    }
    copy_strided(mesh_.processor(), rank, extents.data(), at(from).data, strides.data(), z,
                 target.data());
  }

  /// Returns the extents of the shards of the operands, by the letters of their dims.
  ashlar::detail::letter_extents letter_extents_of(node const& n) const {
    ashlar::detail::letter_extents local;
    for (int d = 0; d < n.in_a.length; ++d) local.set(n.in_a.text[d], size(n.a, d));
    for (int d = 0; d < n.in_b.length; ++d) local.set(n.in_b.text[d], size(n.b, d));
    return local;
  }

  /// Computes z, the sum or the maximum of u over dims. Neighbouring dims are reduced together.
  void reduce(int i, reduction op, T const* u, T* z) {
    node const& n = g_[i];
    int const rank = g_[n.a].extents.rank();
    auto const summed = [&](int d) { return !n.out.has(n.in_a.text[d]); };
    // Each round sums the last run of summed dims, so `inner` is what follows the run.
    std::int64_t inner = 1, rest = elements(n.a);
    std::unique_ptr<buffer<T>> previous;
    for (int d = rank - 1; d >= 0;) {
      if (!summed(d)) {
        inner *= size(n.a, d--);
        continue;
      }
      std::int64_t extent = 1, outer = 1;
      for (; d >= 0 && summed(d); --d) extent *= size(n.a, d);
      bool last = true;
      for (int e = 0; e <= d; ++e) outer *= size(n.a, e), last = last && !summed(e);
      rest = outer * inner;
      if (last)
        return reduce_dim(mesh_.processor(), mesh_.memory(), op, u, outer, extent, inner, z);
      auto next = std::make_unique<buffer<T>>(mesh_.memory(), rest);
      reduce_dim(mesh_.processor(), mesh_.memory(), op, u, outer, extent, inner, next->data());
      previous = std::move(next);
      u = previous->data();
    }
  }

  /// Adds a product to the only place where it is wanted. Returns whether it did.
  bool adds_product(int i) {
    if constexpr (std::is_same_v<T, accumulated>) {
      if (at(i).uses != 1 || order_of_contraction(g_[i]).c.copied) return false;
      for (auto& w : wanted_)
        if (w.node == i && w.sum != nullptr) {
          multiply(i, 1, w.sum);
          w.done = true;
          used(g_[i].a);
          used(g_[i].b);
          return true;
        }
    }
    return false;
  }

  /// Computes z = u v + beta z by matrices, as the letters say (signature/einsum.hpp). An operand or a
  /// result that lies in another order is copied. Then beta must be 0.
  void multiply(int i, accumulated beta, T* z) {
    node const& n = g_[i];
    auto const order = order_of_contraction(n);
    auto const local = letter_extents_of(n);
    auto const on = mesh_.processor();
    auto const batch = local.product(order.batch), rows = local.product(order.m),
               columns = local.product(order.n), inner = local.product(order.k);
    T const *u = at(n.a).data, *v = at(n.b).data;
    buffer<T> const left(mesh_.memory(), order.a.copied ? elements(n.a) : 0),
        right(mesh_.memory(), order.b.copied ? elements(n.b) : 0),
        made(mesh_.memory(), order.c.copied ? elements(i) : 0);
    if (order.a.copied) {
      ashlar::detail::copy_letters(on, local, n.in_a, u, order.a.order, left.data());
      u = left.data();
    }
    if (order.b.copied) {
      ashlar::detail::copy_letters(on, local, n.in_b, v, order.b.order, right.data());
      v = right.data();
    }
    std::int64_t const in_u = order.a.transposed ? rows : inner,
                       in_v = order.b.transposed ? inner : columns;
    T* const target = order.c.copied ? made.data() : z;
    auto const product = [&](bool transposed_a, bool transposed_b, std::int64_t m, std::int64_t k,
                             T const* a, std::int64_t in_a, T const* b, std::int64_t in_b) {
      if (batch == 1)
        gemm(on, transposed_a, transposed_b, m, k, inner, 1, a, in_a, b, in_b, beta, target, k);
      else
        gemm_batched_strided<T>(on, transposed_a, transposed_b, batch, m, k, inner, 1, a, in_a,
                                m * inner, b, in_b, inner * k, beta, target, k, m * k);
    };
    if (order.c.transposed)  // the transpose of z is that of v times that of u
      product(!order.b.transposed, !order.a.transposed, columns, rows, v, in_v, u, in_u);
    else product(order.a.transposed, order.b.transposed, rows, columns, u, in_u, v, in_v);
    if (order.c.copied)
      ashlar::detail::copy_letters(on, local, order.c.order, static_cast<T const*>(target), n.out,
                                   z);
  }

  /// Writes or adds the values of a node that could not be computed in place.
  void finish(wish& w) {
    T const* const values = at(w.node).data;
    std::int64_t const n = elements(w.node);
    auto const on = mesh_.processor();
    if (w.target != nullptr) {
      copy_elements(on, values, n, w.target);
    } else if constexpr (std::is_same_v<T, accumulated>) {
      map(on, device::sum_of{}, static_cast<T const*>(w.sum), values, n, w.sum);
    } else {
      buffer<accumulated> const wide(mesh_.memory(), n);
      convert(on, values, n, wide.data());
      map(on, device::sum_of{}, static_cast<accumulated const*>(w.sum),
          static_cast<accumulated const*>(wide.data()), n, w.sum);
    }
    used(w.node);
  }

  mesh_type const& mesh_;
  differentiated_formula const& f_;
  graph const& g_;
  std::array<value, max_nodes> values_{};
  std::vector<wish> wanted_;
};

}  // namespace ashlar::formulas
