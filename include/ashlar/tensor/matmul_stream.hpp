// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Runs a product in panels (plan/matmul_stream.hpp has the rule, the conditions and the memory).
// How each tensor is handled depends on the streamed letter:
//
//   the tensor ...                  operand a or b             result c
//   lacks the letter                moved whole at the start   all GEMMs add to one c', moved last
//   has it and needs no move (1)    read in place              written in place
//   has it and must move            slice copied out, moved    moved, copied to its slices
//
// (1) panels_in_place holds: the GEMM works on a part of the shard, by means of leading dimensions.
//
// While the GEMM of panel i runs, panel i + 1 of the operands and panel i - 1 of the result move.
// The GEMM makes them progress between its strips of rows. Slices that are contiguous in memory
// move without being copied out. Sums over panels of k are rounded to the element type once per
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

/// A part of a shard on which a GEMM works, and the tensor that owns it.
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
  /// Makes the part of x that covers `range` of dim `dim`, in global indices.
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

/// Calls visit(region, packed) for each slice of panel `i` that the shard of x holds. `region` is
/// the slice's box in x, and `packed` is the box of the panel's shard, shifted so that `region` has
/// its place in it.
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

/// One of the three tensors of a product in panels.
template <distributed Tensor>
class panel_tensor {
  using T = typename Tensor::value_type;
  using block_type = matmul_block<Tensor>;

 public:
  /// `moves` selects this tensor's plan among the plans of a panel.
  panel_tensor(Tensor const& x, prepared_plan prepared_panels::*moves,
               std::shared_ptr<prepared_product const> const& product,
               redistribution_plan const& whole, int dim)
      : x_(x), moves_(moves), product_(product), whole_(whole), panels_(product->plan.panels),
        dim_(dim), in_place_(dim >= 0 && panels_in_place(product->plan, whole, x.placement(), dim,
                                                         x.mesh().topology())) {}

  using moving = moving_tensor<Tensor>;

  /// Begins to move panel `i` of an operand. Returns nothing if there is no such panel or it needs
  /// no move.
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
  /// Returns the block of panel `i` of an operand that the GEMM reads. Waits for the panel's move,
  /// which start() returned as `panel`, if there is one.
  block_type arrived(int i, std::optional<moving> panel) const {
    if (panel) return block_type(panel->wait());
    return dim_ < 0 ? block_type(x_) : part(i);
  }

  /// Returns the block into which the GEMM writes panel `i` of the result.
  block_type result(int i) const {
    if (dim_ < 0) return block_type(x_);
    return in_place_ ? part(i) : block_type(made(i));
  }
  /// Begins to move panel `i` of the result. Returns nothing if it needs no move.
  std::optional<moving> start_result(int i, block_type block) const {
    if (dim_ < 0 || in_place_) return {};
    return moving(std::exchange(block.owner, {}), shared_moves(i));
  }
  /// Copies panel `i` of the result to its slices, after waiting for the panel's move, which
  /// start_result() returned as `panel`. Does nothing without a move.
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
  /// Returns the plan of panel `i` as a pointer that keeps the whole product's plan alive.
  std::shared_ptr<prepared_plan const> shared_moves(int i) const { return {product_, &moves(i)}; }
  /// Returns an uninitialized panel `i` at the placement where its moves begin.
  Tensor made(int i) const {
    auto const& plan = moves(i).plan;
    return {x_.mesh(), plan.extents, plan.from};
  }
  /// Returns panel `i` at the placement where its moves begin, as a view of the shard.
  Tensor viewed(int i) const {
    auto const& plan = moves(i).plan;
    auto const block = part(i);
    return {x_.mesh(), plan.extents, plan.from, std::shared_ptr<T>(x_.shard(), block.data)};
  }
  block_type part(int i) const {  // expects a shard of one chunk
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

/// Computes c = op(a) · op(b) on blocks, and adds it to the old c if `adds`. Pending transfers
/// progress meanwhile.
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

/// Runs a plan that streams, on operands whose placements are those of the plan.
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
