// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Functions that make tensors. Values depend only on the global index and the arguments, such as a
// seed, never on the mesh or the placement. So a program gives the same numbers on any number of
// ranks.
//
//   zeros, full           normal, uniform {.seed, .stream}       from_full       from_index
//
// Values of bfloat16 are computed in float and rounded once.
//
// If the placement has partial axes, the ranks at coordinate 0 of all partial axes hold the values.
// The other ranks hold the identity of the reduction (0 for a sum), so reducing the tensor gives
// the values. Factories communicate nothing, except that from_full compares the values of the ranks
// in the checked mode of the mesh.

#include <vector>

#include <ashlar/device/host/elements.hpp>
#include <ashlar/support/accumulation.hpp>
#include <ashlar/support/content_hash.hpp>
#include <ashlar/tensor/region.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {

/// The seed and the parameters of random tensors. Different values of `stream` give independent
/// tensors from one seed. The parameters of a net take the streams 0, 1, .. of the seed that
/// nn::place gets, 0 by default. So with these defaults, `normal` draws the same numbers as the
/// first random parameter of such a net. Give data another seed.
struct random_options {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
  double mean = 0;       ///< for normal: the mean
  double deviation = 1;  ///< for normal: the standard deviation
  double low = 0;        ///< for uniform: the lower end
  double high = 1;       ///< for uniform: the upper end, excluded
};

namespace detail {

/// Calls visit(index, count, out) for each run of elements of the shard that have consecutive
/// indices in the full row-major tensor:
///
///   index   the index of the run's first element in the full tensor
///   count   the number of elements of the run
///   out     the address of the run in the shard, which begins at `target`
template <class T, class Visit>
void for_each_global_run(shape const& extents, box const& b, T* target, Visit visit) {
  int const rank = extents.rank();
  if (b.elements() == 0) return;
  // A run covers all trailing dims that the shard has completely, and the shard's part of the dim
  // before them.
  int d = rank;
  std::int64_t run = 1;
  while (d > 0) {
    --d;
    run *= b[d].size;
    if (b[d].size != extents[d]) break;
  }
  std::int64_t const runs = b.elements() / run;
  for (std::int64_t r = 0; r < runs; ++r) {
    std::int64_t rest = r, index = 0, stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      std::int64_t const local = i < d ? rest % b[i].size : 0;
      if (i < d) rest /= b[i].size;
      index += (b[i].begin + local) * stride;
      stride *= extents[i];
    }
    visit(index, run, target + r * run);
  }
}

/// Fills a shard of box `b` with normal deviates. Each deviate depends only on the seed, the stream
/// and the element's index in the full tensor.
template <class T, class Processor>
void fill_normal_shard(Processor const& on, shape const& extents, box const& b, T* shard,
                       random_options const& o) {
  using A = accumulation_t<T>;
  for_each_global_run(extents, b, shard, [&](std::int64_t first, std::int64_t count, T* out) {
    fill_normal(on, o.seed, o.stream, first, count, A(o.mean), A(o.deviation), out);
  });
}

/// Returns whether this rank's shard of a new tensor gets values. On a partial axis, only the ranks
/// at coordinate 0 get values. The other shards get the identity of the reduction.
template <distributed Tensor>
bool holds_value(Tensor const& t) {
  auto const p = t.placement();
  for (int a = 0; a < p.axes(); ++a)
    if (p[a].is_partial() && t.mesh().coordinate()[static_cast<std::size_t>(a)] != 0) return false;
  return true;
}

/// Fills `t` and returns it. Calls write(t) if holds_value(t), and otherwise fills the shard with
/// the identity of the reduction.
template <class Tensor, class Write>
Tensor make(Tensor t, Write write) {
  using T = typename Tensor::value_type;
  if (holds_value(t)) write(t);
  else fill(t.mesh().processor(), identity_of<T>(t.placement().op()), t.local_elements(), t.data());
  return t;
}

/// Calls write(pointer) with a pointer to host memory that has room for the shard. On the host,
/// this memory is the shard itself. Otherwise it is a temporary array, which is then copied to the
/// device.
template <class Tensor, class Write>
void write_from_host(Tensor& t, Write write) {
  using T = typename Tensor::value_type;
  if constexpr (Tensor::processor_type::is_host) {
    write(t.data());
  } else {
    std::vector<T> shard(static_cast<std::size_t>(t.local_elements()));
    write(shard.data());
    upload(t.mesh().processor(), static_cast<T const*>(shard.data()), t.local_elements(), t.data());
  }
}

}  // namespace detail

/// Returns a tensor in which every element is `value`.
template <class T, int Rank, placement_argument Placement, class Processor>
auto full(basic_mesh<Processor> const& m, std::int64_t const (&extents)[Rank], Placement const& p,
          accumulation_t<T> value) {
  return detail::make(
      tensor_for<T, Rank, Placement, Processor>(m, detail::shape_of(extents), as_value(p)),
      [value](auto& t) {
        fill(t.mesh().processor(), static_cast<T>(value), t.local_elements(), t.data());
      });
}

/// Returns a tensor of zeros.
template <class T, int Rank, placement_argument Placement, class Processor>
auto zeros(basic_mesh<Processor> const& m, std::int64_t const (&extents)[Rank],
           Placement const& p) {
  return full<T>(m, extents, p, accumulation_t<T>{});
}

/// Returns a tensor whose element at global index i is value(i), where i is a std::array with one
/// index per dim.
template <class T, int Rank, placement_argument Placement, class Value, class Processor>
auto from_index(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
                Value value) {
  return detail::make(tensor_for<T, Rank, Placement, Processor>(m, extents, as_value(p)),
                      [&](auto& t) {
                        std::array<std::int64_t, static_cast<std::size_t>(Rank)> index{};
                        box const& b = t.local_box();
                        detail::write_from_host(t, [&](T* out) {
                          for (std::int64_t i = 0; i < t.local_elements(); ++i) {
                            std::int64_t rest = i;
                            for (int d = Rank - 1; d >= 0; --d) {
                              index[static_cast<std::size_t>(d)] = b[d].begin + rest % b[d].size;
                              rest /= b[d].size;
                            }
                            *out++ = static_cast<T>(value(index));
                          }
                        });
                      });
}

/// Returns a tensor of normal deviates. Each deviate depends only on the seed, the stream and the
/// element's index in the full tensor.
template <class T, int Rank, placement_argument Placement, class Processor>
auto normal(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
            random_options o = {}) {
  static_assert(!std::is_integral_v<T>, ASHLAR_SAYS_RANDOM_INTEGERS);
  return detail::make(
      tensor_for<T, Rank, Placement, Processor>(m, extents, as_value(p)), [&](auto& t) {
        detail::fill_normal_shard(m.processor(), extents, t.local_box(), t.data(), o);
      });
}

/// Returns a tensor of uniform deviates in [low, high). Each deviate depends only on the seed, the
/// stream and the element's index in the full tensor.
template <class T, int Rank, placement_argument Placement, class Processor>
auto uniform(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
             random_options o = {}) {
  static_assert(!std::is_integral_v<T>, ASHLAR_SAYS_RANDOM_INTEGERS);
  using A = accumulation_t<T>;
  return detail::make(
      tensor_for<T, Rank, Placement, Processor>(m, extents, as_value(p)), [&](auto& t) {
        detail::for_each_global_run(
            extents, t.local_box(), t.data(), [&](std::int64_t first, std::int64_t count, T* out) {
              fill_uniform(m.processor(), o.seed, o.stream, first, count, A(o.low), A(o.high), out);
            });
      });
}

/// Overload of normal that takes the extents as a braced list.
template <class T, int Rank, placement_argument Placement, class Processor>
auto normal(basic_mesh<Processor> const& m, std::int64_t const (&extents)[Rank], Placement const& p,
            random_options o = {}) {
  return normal<T, Rank>(m, detail::shape_of(extents), p, o);
}
/// Overload of uniform that takes the extents as a braced list.
template <class T, int Rank, placement_argument Placement, class Processor>
auto uniform(basic_mesh<Processor> const& m, std::int64_t const (&extents)[Rank],
             Placement const& p, random_options o = {}) {
  return uniform<T, Rank>(m, detail::shape_of(extents), p, o);
}

/// Values in contiguous memory: a std::vector, an array or a std::span.
template <class Values>
concept values_in_memory = requires(Values const& values) { std::span(values); };

/// Makes a tensor from its full, row-major values, which every rank passes in. Each rank copies its
/// own part. Throws ashlar::error if the number of values does not match the extents. In the
/// checked mode of the mesh, the ranks compare hashes of their values by an all-reduce, and all
/// ranks throw if the values differ.
template <int Rank, values_in_memory Values, placement_argument Placement, class Processor>
auto from_full(basic_mesh<Processor> const& m, shape const& extents, Placement const& p,
               Values const& all) {
  std::span const values(all);
  using value = std::remove_cv_t<typename decltype(values)::value_type>;
  tensor_for<value, Rank, Placement, Processor> made(m, extents, as_value(p));
  // The ranks agree first, so that no rank waits for one that has thrown. The hash includes the
  // number of values.
  if (m.is_checked())
    m.require_agreement(content_hash(std::span<value const>(values)), "from_full",
                        "the ranks pass different values");
  if (static_cast<std::int64_t>(values.size()) != extents.elements())
    throw error("from_full", std::to_string(values.size()) + " values do not fill shape " +
                                 to_string(extents) + ".");
  return detail::make(std::move(made), [&](auto& t) {
    box const whole = local_box(extents, m.topology(), placement::all_broadcast(m.axes()), {});
    detail::write_from_host(t, [&](value* shard) {
      copy_region(t.local_box(), whole, static_cast<value const*>(values.data()), t.local_box(),
                  shard);
    });
  });
}

}  // namespace ashlar
