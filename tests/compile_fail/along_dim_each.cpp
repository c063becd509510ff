// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// expect: argmax: the tensor does not have this dimension. Dimensions count from 0 to rank - 1.
// expect: argmin: the tensor does not have this dimension. Dimensions count from 0 to rank - 1.
// expect: cumulative_sum: the tensor does not have this dimension. Dimensions count from 0 to rank - 1.
// expect: split_into: the tensor does not have this dimension. Dimensions count from 0 to rank - 1.
// expect: argmin: the dimension is split, or the tensor is partial, and the index of an element in a shard is not its index in the tensor. Gather it first, as in argmin<0>(x | to<B, ...>).
// expect: argmax: the tensor is not whole on every rank, and the index of an element in a shard is not its index in the tensor. Bring it to every rank first, as in argmax(x | to<B, ...>).
// expect: argmin: the tensor is not whole on every rank, and the index of an element in a shard is not its index in the tensor. Bring it to every rank first, as in argmin(x | to<B, ...>).

// A matrix has the dims 0 and 1, but no dim 2. argmin<0>(x) runs along the split dim, where a rank
// knows only the smallest element of its own shard. argmax(x) and argmin(x) return an index in the
// tensor, which cannot be found from one shard of rows.

#include <ashlar/tensor/along_dim.hpp>
#include <ashlar/tensor/split_into.hpp>

using namespace ashlar::placements;
using ashlar::sbp;
using ashlar::tensor;

using rows = tensor<float, 2, sbp<S<0>>>;
#ifdef ASHLAR_CONTROL
constexpr int dim = 1, other = 1;
using all = tensor<float, 2, sbp<B>>;
#else
constexpr int dim = 2, other = 0;
using all = rows;
#endif

auto largest(rows const& x) { return ashlar::argmax<dim>(x); }
auto smallest(rows const& x) { return ashlar::argmin<dim>(x); }
auto sums(rows const& x) { return ashlar::cumulative_sum<dim>(x); }
auto parts(rows const& x) { return ashlar::split_into<dim>(x, {1, 2}); }
auto smallest_of_split(rows const& x) { return ashlar::argmin<other>(x); }
auto largest_of_all(all const& x) { return argmax(x); }
auto smallest_of_all(all const& x) { return argmin(x); }
