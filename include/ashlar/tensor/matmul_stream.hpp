// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes a matrix product c = a · b in panels, so that only the panels in use are in memory. a is
// m x k and b is k x n, or both are batches of such matrices. One dim is cut into panels: m, n, k
// or the batch dim. It is called the streamed dim. The GEMM runs once per panel, and so do the
// redistributions of tensors that have the streamed dim. With k as the streamed dim, this is the
// algorithm SUMMA. plan/matmul_stream.hpp defines panels and describes when a product runs in
// panels.
//
// The table shows how each tensor is handled. A move is a redistribution.
//
//   the tensor ...                        operand a or b               result c
//   has no streamed dim                   moves whole at the start     adds up GEMMs, then moves
//   has one, panels_in_place (1)          is read in place             is written in place
//   has one, otherwise                    each panel is copied         each panel moves, then is
//                                         out of the shard and moves   copied into the shard
//
// (1) The tensor needs no move, and its shards are single chunks. So the GEMM works on a part of
//     the shard. The leading dimension of that part is the row length of the shard.
//
// While the GEMM of panel i runs, panel i + 1 of the operands and panel i - 1 of the result move.
// The GEMM of a panel computes its result in strips of rows (gemm_in_strips.hpp). Between the
// strips, the host makes the transfers progress. An operand panel that is contiguous in the shard
// moves without being copied out. If k is streamed, the sum is rounded to the element type once per
// panel.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <ashlar/plan/matmul_stream.hpp>
#include <ashlar/tensor/gemm_in_strips.hpp>
#include <ashlar/tensor/redistribute_async.hpp>
#include <ashlar/tensor/region.hpp>

namespace ashlar::detail {

/// The part of a shard on which a GEMM works, and the tensor that owns the shard.
template <distributed Tensor>
struct matmul_block {
  using T = typename Tensor::value_type;
  static constexpr int Rank = Tensor::rank;

  Tensor owner;
  T* data = nullptr;
  std::array<std::int64_t, Rank> size{};

  explicit matmul_block(Tensor const& x) : owner(x), data(x.data()) {
    for (int d = 0; d < Rank; ++d) size[static_cast<std::size_t>(d)] = x.local_size(d);
  }
  /// Selects the part of x's shard with the global indices `range` of dim `dim`.
  matmul_block(Tensor const& x, int dim, interval range) : matmul_block(x) {
    box part = x.local_box();
    part.dim[dim] = range;
    if (part.elements() > 0) data += offset_of(x.local_box(), part);
    size[static_cast<std::size_t>(dim)] = range.size;
  }
  std::int64_t extent(int dim) const { return size[static_cast<std::size_t>(dim)]; }
  std::int64_t row_stride() const { return owner.local_size(Rank - 1); }
  std::int64_t batch_stride() const { return owner.local_size(Rank - 2) * row_stride(); }
};

/// Calls visit(region, packed) for each slice of panel `i` in this rank's shard of x. A panel
/// consists of slices of dim `dim` that are consecutive in the panel, but not in x. `region` and
/// `packed` are boxes in global indices of x, for copy_region:
///
///   region   the slice
///   packed   the box of the panel's shard, shifted such that the slice is at `region`
template <distributed Tensor, class Visit>
void for_each_slice(Tensor const& x, Tensor const& panel, int dim, panel_stream const& panels,
                    int i, Visit visit) {
  panel_cuts const cuts{x.extents()[dim], panels};
  interval const mine = x.local_box()[dim];
  std::int64_t done = 0;
  for (int q = 0; q < cuts.chunks(); ++q) {
    interval const slice = cuts.slice(q, i);
    if (intersect(slice, mine).size == 0) continue;
    box region = x.local_box(), packed = x.local_box();
    region.dim[dim] = slice;
    packed.dim[dim] = {slice.begin - done, panel.local_size(dim)};
    visit(region, packed);
    done += slice.size;
  }
}

/// An operand or the result of a product that runs in panels.
template <distributed Tensor>
class panel_tensor {
  using T = typename Tensor::value_type;
  using block_type = matmul_block<Tensor>;

 public:
  /// Describes one operand or the result of a product:
  ///
  ///   x         the operand or the result
  ///   moves     selects the redistribution of this tensor's panels: &prepared_panels::a, b or c
  ///   product   the plan of the product
  ///   whole     the redistribution of the whole tensor
  ///   dim       the dim of x that is cut into panels, or -1 if x has none
  panel_tensor(Tensor const& x, prepared_plan prepared_panels::*moves,
               std::shared_ptr<prepared_product const> const& product,
               redistribution_plan const& whole, int dim)
      : x_(x), moves_(moves), product_(product), whole_(whole), panels_(product->plan.panels),
        dim_(dim), in_place_(dim >= 0 && panels_in_place(product->plan, whole, x.placement(), dim,
                                                         x.mesh().topology())) {}

  using moving = moving_tensor<Tensor>;

  /// Begins to redistribute panel `i` of an operand. Returns an empty optional if there is no panel
  /// `i` or if the GEMM reads the panel in place.
  std::optional<moving> start(int i) const {
    if (dim_ < 0 || in_place_ || i >= panels_.count) return {};
    if (slices_are_runs(panels_, whole_, dim_, x_.mesh().topology()))
      return moving(viewed(i), shared_moves(i));
    auto panel = made(i);
    for_each_slice(x_, panel, dim_, panels_, i, [&](box const& region, box const& packed) {
      copy_region(x_.mesh().processor(), region, x_.local_box(), static_cast<T const*>(x_.data()),
                  packed, panel.data());
    });
    return moving(std::exchange(panel, {}), shared_moves(i));
  }
  /// Returns the block of panel `i` of an operand, which the GEMM reads. `panel` is the result of
  /// start(i). If it is not empty, first waits until the panel has been redistributed.
  block_type arrived(int i, std::optional<moving> panel) const {
    if (panel) return block_type(panel->wait());
    return dim_ < 0 ? block_type(x_) : part(i);
  }

  /// Returns the block into which the GEMM writes panel `i` of the result.
  block_type result(int i) const {
    if (dim_ < 0) return block_type(x_);
    return in_place_ ? part(i) : block_type(made(i));
  }
  /// Begins to redistribute panel `i` of the result, which the GEMM has written to `block`. Returns
  /// an empty optional if the GEMM has written into the shard of the result.
  std::optional<moving> start_result(int i, block_type block) const {
    if (dim_ < 0 || in_place_) return {};
    return moving(std::exchange(block.owner, {}), shared_moves(i));
  }
  /// Waits until panel `i` of the result has been redistributed, and copies it into the shard of
  /// the result. `panel` is what start_result(i) returned. If it is empty, does nothing.
  void put(int i, std::optional<moving> panel) const {
    if (!panel) return;
    auto const arrived = panel->wait();
    for_each_slice(x_, arrived, dim_, panels_, i, [&](box const& region, box const& packed) {
      copy_region(x_.mesh().processor(), region, packed, static_cast<T const*>(arrived.data()),
                  x_.local_box(), x_.data());
    });
  }

 private:
  prepared_plan const& moves(int i) const {
    auto const* at = &product_->panels.front();
    for (auto const& group : product_->panels)
      if (group.first <= i) at = &group;
    return at->*moves_;
  }
  /// Returns the redistribution of panel `i`. The pointer keeps the plan of the product alive.
  std::shared_ptr<prepared_plan const> shared_moves(int i) const { return {product_, &moves(i)}; }
  /// Returns an uninitialized tensor for panel `i`, at the placement that it has before its
  /// redistribution.
  Tensor made(int i) const {
    auto const& plan = moves(i).plan;
    return {x_.mesh(), plan.extents, plan.from};
  }
  /// Returns panel `i` as a view of this rank's shard, at the placement that it has before its
  /// redistribution.
  Tensor viewed(int i) const {
    auto const& plan = moves(i).plan;
    auto const block = part(i);
    return {x_.mesh(), plan.extents, plan.from, std::shared_ptr<T>(x_.shard(), block.data)};
  }
  /// Returns panel `i` as a part of this rank's shard. Requires that the panel is contiguous along
  /// dim_ in the shard (shards_are_chunks).
  block_type part(int i) const {
    return {x_, dim_, balanced_part(x_.local_box()[dim_], panels_.count, i)};
  }

  Tensor x_;
  prepared_plan prepared_panels::*moves_;
  std::shared_ptr<prepared_product const> const& product_;
  redistribution_plan const& whole_;
  panel_stream const& panels_;
  int dim_;
  bool in_place_;
};

/// Computes c = op(a) · op(b) on blocks, or c += op(a) · op(b) if `adds`. op transposes a matrix or
/// does nothing. Pending transfers progress meanwhile.
template <distributed Tensor>
void multiply_blocks(matmul_plan const& plan, matmul_block<Tensor> const& a,
                     matmul_block<Tensor> const& b, bool adds, matmul_block<Tensor> const& c) {
  constexpr int Rank = Tensor::rank;
  gemm_in_strips<typename Tensor::value_type>(
      c.owner.mesh(), plan.transpose_a, plan.transpose_b, Rank == 3 ? c.extent(0) : 1,
      c.extent(Rank - 2), c.extent(Rank - 1), a.extent(Rank - (plan.transpose_a ? 2 : 1)), a.data,
      a.row_stride(), a.batch_stride(), b.data, b.row_stride(), b.batch_stride(), adds, c.data,
      c.row_stride(), c.batch_stride());
}

/// Returns the product of a and b, computed in panels by the plan of `product`. The operands must
/// have the placements for which this plan was made.
template <distributed Tensor>
Tensor run_streamed(Tensor const& a, Tensor const& b,
                    std::shared_ptr<prepared_product const> const& product) {
  auto const& plan = product->plan;
  auto const names = plan.letters();
  char const letter = plan.panels.letter;
  int const in_a = names.dim_of(names.a, letter), in_b = names.dim_of(names.b, letter),
            in_c = names.dim_of(names.c, letter);
  Tensor c;
  {
    panel_tensor<Tensor> const x(in_a < 0 ? run_plan(a, product->a) : a, &prepared_panels::a,
                                 product, plan.a, in_a);
    panel_tensor<Tensor> const w(in_b < 0 ? run_plan(b, product->b) : b, &prepared_panels::b,
                                 product, plan.b, in_b);
    c = {a.mesh(), plan.c.extents, in_c < 0 ? plan.c.from : plan.c.to};
    panel_tensor<Tensor> const y(c, &prepared_panels::c, product, plan.c, in_c);
    auto next_x = x.start(0), next_w = w.start(0);
    decltype(next_x) last_y;
    for (int i = 0; i < plan.panels.count; ++i) {
      auto const left = x.arrived(i, std::move(next_x));
      auto const right = w.arrived(i, std::move(next_w));
      next_x = x.start(i + 1);
      next_w = w.start(i + 1);
      auto block = y.result(i);
      multiply_blocks(plan, left, right, in_c < 0 && i > 0, block);
      y.put(i - 1, std::exchange(last_y, {}));
      last_y = y.start_result(i, std::move(block));
    }
    y.put(plan.panels.count - 1, std::move(last_y));
  }
  return in_c < 0 ? run_plan(std::move(c), product->c) : c;
}

}  // namespace ashlar::detail
