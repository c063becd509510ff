// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The kernels with which evaluate.hpp computes operators of formulas on shards. They communicate
// nothing.

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <ashlar/device/function.hpp>
#include <ashlar/device/functor.hpp>
#include <ashlar/device/host/combine_rows.hpp>
#include <ashlar/device/host/operations.hpp>
#include <ashlar/device/host/reduce.hpp>
#include <ashlar/signature/formula/passes.hpp>
#include <ashlar/tensor/copy_letters.hpp>
#include <ashlar/tensor/repeated.hpp>
#include <ashlar/tensor/softmax_rows.hpp>

namespace ashlar::formulas::detail {

using stride_list = std::array<std::int64_t, max_rank + 1>;

/// Calls use(object) with the object of device/functor.hpp or device/function.hpp that computes f.
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

/// Writes the array `from`, read with the given strides, to the elements of z in the order of the
/// loop. A stride of 0 repeats the array along a dim.
template <class Mesh, class T>
void repeat(Mesh const& m, ashlar::detail::repeated_loop const& loop, stride_list const& strides,
            T const* from, T* z) {
  stride_list const target = ashlar::detail::row_major_strides(loop.rank, loop.extents);
  copy_strided(m.processor(), loop.rank, loop.extents.data(), from, strides.data(), z,
               target.data());
}

/// Computes z, the result of an element-wise operator of u and, if it has two operands, v.
template <class Mesh, class T>
void compute_elements(Mesh const& m, node const& n, ashlar::detail::repeated_loop const& loop,
                      T const* u, T const* v, T* z) {
  using A = accumulation_t<T>;
  auto const a = static_cast<A>(n.number);
  std::int64_t const count = loop.elements();
  auto const each = [&](auto const& f) { map(m.processor(), f, u, count, z); };
  auto const pairs = [&](auto const& f) {
    if (n.in_a == n.out && n.in_b == n.out) map(m.processor(), f, u, v, count, z);
    else ashlar::detail::map_repeated(m, f, loop, u, v, z);
  };
  auto const gradient = [&](auto const& f) {  // u has all extents, v may be repeated
    if (n.in_b == n.out) return map(m.processor(), f, u, v, count, z);
    buffer<T> const whole(m.memory(), count);
    repeat(m, loop, loop.y, v, whole.data());
    map(m.processor(), f, u, static_cast<T const*>(whole.data()), count, z);
  };
  switch (n.what) {
    case operation::scale: return each(device::scaled<A>{a});
    case operation::divide_by: return each(device::divided<A>{a});
    case operation::shift: return each(device::shifted<A>{a});
    case operation::divide_into: return each(device::dividing<A>{a});
    case operation::power: return each(device::raised<A>{a});
    case operation::apply:
      return with_function(n.f, [&]<class F>(F) { each(device::value_of<F>{}); });
    case operation::power_gradient: return gradient(device::raised_gradient<A>{a});
    case operation::apply_gradient:
      return with_function(n.f, [&]<class F>(F) { gradient(device::gradient_of<F>{}); });
    case operation::add: return pairs(device::sum_of{});
    case operation::subtract: return pairs(device::difference_of{});
    case operation::multiply: return pairs(device::product_of{});
    case operation::divide: return pairs(device::quotient_of{});
    case operation::equal: return pairs(device::equal_of{});
    case operation::keep: return pairs(device::kept_where<true>{});
    case operation::drop: return pairs(device::kept_where<false>{});
    default: return;  // all other operators have kernels of their own
  }
}

/// The sum of rows that are added a few at a time. It has the same bits as if reduce_dim had summed
/// all rows at once: the rows are summed in the blocks of device/host/combine_rows.hpp, or in the
/// lanes of device/host/reduce.hpp if a row has one element.
template <class A>
class row_sum {
 public:
  explicit row_sum(std::int64_t columns)
      : columns_(columns), sum_(static_cast<std::size_t>(columns)),
        part_(static_cast<std::size_t>(columns == 1 ? device::host::lane_count : columns)) {}

  /// Adds `rows` rows of x.
  template <class T>
  void add(T const* x, std::int64_t rows) {
    if (columns_ == 1) {
      for (std::int64_t r = 0; r < rows; ++r) {
        part_[static_cast<std::size_t>(added_)] += static_cast<A>(x[r]);
        added_ = (added_ + 1) % device::host::lane_count;
      }
      return;
    }
    while (rows > 0) {
      std::int64_t const some = std::min(rows, device::host::combined_at_once - added_);
      device::host::combine_rows<reduction::sum>(x, some, columns_, part_.data());
      x += some * columns_;
      rows -= some;
      added_ += some;
      if (added_ == device::host::combined_at_once) end_block();
    }
  }

  /// Returns the sum, one row. No rows may be added after this call.
  A const* finish() {
    if (columns_ == 1)
      sum_[0] = device::host::reduce_sum<A>(device::host::lane_count, [this](std::int64_t lane) {
        return part_[static_cast<std::size_t>(lane)];
      });
    else end_block();
    return sum_.data();
  }

 private:
  void end_block() {
    for (std::size_t c = 0; c < sum_.size(); ++c) sum_[c] += part_[c];
    std::fill(part_.begin(), part_.end(), A(0));
    added_ = 0;
  }

  std::int64_t columns_;
  std::int64_t added_ = 0;  ///< the rows in `part_`, or the lane of the next row
  std::vector<A> sum_;      ///< the sum of the complete blocks
  std::vector<A> part_;     ///< the sum of the rows after them, or the lanes
};

/// Computes `rows` rows of z. u and v each have `rows` rows, or one row that is repeated.
template <class Mesh, class T>
void compute_rows(Mesh const& m, node const& n, std::int64_t rows, T const* u, T const* v,
                  std::int64_t u_width, std::int64_t v_width, std::int64_t z_width, T* z) {
  auto const on = m.processor();
  auto const reduced = [&](reduction op) {
    reduce_dim(on, m.memory(), op, u, rows, u_width, 1, z);
  };
  if (n.what == operation::sum) return reduced(reduction::sum);
  if (n.what == operation::largest) return reduced(reduction::max);
  if (z_width == 0) return;
  if (n.what == operation::softmax) return ashlar::detail::softmax_rows(m, u, rows, z_width, z);
  ashlar::detail::repeated_loop loop{2, {rows, z_width}, {}, {}};
  auto const strides = [&](dim_letters const& in, std::int64_t columns) {
    bool const repeats = in.length == 0 || in.text[in.length - 1] == '1';
    return stride_list{has_rows_of(in, n.out) ? columns : 0, repeats ? 0 : 1};
  };
  loop.x = strides(n.in_a, u_width);
  if (n.what == operation::repeat) return repeat(m, loop, loop.x, u, z);
  if (n.reads_b()) loop.y = strides(n.in_b, v_width);
  compute_elements(m, n, loop, u, v, z);
}

/// Computes z, the sum or the maximum of u over the dims that z lacks or has with extent 1.
/// Neighbouring reduced dims are reduced together.
template <class Mesh, class T>
void reduce(Mesh const& m, node const& n, ashlar::detail::letter_extents const& local, T const* u,
            T* z) {
  auto const op = n.what == operation::sum ? reduction::sum : reduction::max;
  int const rank = n.in_a.length;
  auto const size = [&](int d) { return local[n.in_a.text[d]]; };
  auto const summed = [&](int d) { return !n.out.has(n.in_a.text[d]); };
  // Each round reduces the last run of neighbouring reduced dims. `inner` is the number of elements
  // in the dims behind the run.
  std::int64_t inner = 1;
  std::unique_ptr<buffer<T>> previous;
  for (int d = rank - 1; d >= 0;) {
    if (!summed(d)) {
      inner *= size(d--);
      continue;
    }
    std::int64_t extent = 1, outer = 1;
    for (; d >= 0 && summed(d); --d) extent *= size(d);
    bool last = true;
    for (int e = 0; e <= d; ++e) outer *= size(e), last = last && !summed(e);
    if (last) return reduce_dim(m.processor(), m.memory(), op, u, outer, extent, inner, z);
    auto next = std::make_unique<buffer<T>>(m.memory(), outer * inner);
    reduce_dim(m.processor(), m.memory(), op, u, outer, extent, inner, next->data());
    previous = std::move(next);
    u = previous->data();
  }
}

/// Computes z = u v + beta z as a product of matrices, whose dims follow from the letters
/// (signature/einsum.hpp). An operand whose dims are in an order that gemm cannot read is copied
/// first. If the dims of the result are in such an order, the result is copied at the end, and beta
/// must be 0.
template <class Mesh, class T>
void multiply(Mesh const& m, node const& n, ashlar::detail::letter_extents const& local, T const* u,
              T const* v, accumulation_t<T> beta, T* z) {
  auto const order = order_of_contraction(n);
  auto const on = m.processor();
  auto const batch = local.product(order.batch), rows = local.product(order.m),
             columns = local.product(order.n), inner = local.product(order.k);
  buffer<T> const left(m.memory(), order.a.copied ? local.product(n.in_a) : 0),
      right(m.memory(), order.b.copied ? local.product(n.in_b) : 0),
      made(m.memory(), order.c.copied ? local.product(n.out) : 0);
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
  auto const product = [&](bool transposed_a, bool transposed_b, std::int64_t height,
                           std::int64_t k, T const* a, std::int64_t in_a, T const* b,
                           std::int64_t in_b) {
    if (batch == 1)
      gemm(on, transposed_a, transposed_b, height, k, inner, 1, a, in_a, b, in_b, beta, target, k);
    else
      gemm_batched_strided<T>(on, transposed_a, transposed_b, batch, height, k, inner, 1, a, in_a,
                              height * inner, b, in_b, inner * k, beta, target, k, height * k);
  };
  if (order.c.transposed)  // z is transposed: zᵀ = vᵀ uᵀ
    product(!order.b.transposed, !order.a.transposed, columns, rows, v, in_v, u, in_u);
  else product(order.a.transposed, order.b.transposed, rows, columns, u, in_u, v, in_v);
  if (order.c.copied)
    ashlar::detail::copy_letters(on, local, order.c.order, static_cast<T const*>(target), n.out, z);
}

}  // namespace ashlar::formulas::detail
