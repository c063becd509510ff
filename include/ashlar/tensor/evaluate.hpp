// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Computes the nodes of a formula (signature/formula/graph.hpp) on this rank's shards, with the
// operations of the mesh's processor. The signature rows of the formula guarantee that each
// operator is local: the operator on shards of its operands makes a shard of its result. So this
// code needs no placements and communicates nothing.
//
// The extents of all shards follow from those of the leaves. A result is computed into the caller's
// memory if the caller wants it there. Otherwise it takes the memory of an operand that is no
// longer needed, or else a block of the mesh's memory until its last use. Operators on the same
// rows form groups (signature/formula/row_groups.hpp). The host computes a group a few rows at a
// time, and results that only nodes of one group need are in a buffer of a few rows.

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include <ashlar/comm/mesh.hpp>
#include <ashlar/signature/formula/passes.hpp>
#include <ashlar/tensor/formula_kernels.hpp>
#include <ashlar/tensor/formula_selection.hpp>

namespace ashlar::formulas {

/// One pass of a formula on one rank. T is the type of all its tensors except the sums of
/// gradients, which are of type accumulation_t<T>.
template <class T, class Processor>
class evaluation {
 public:
  using mesh_type = basic_mesh<Processor>;
  using accumulated = accumulation_t<T>;
  using local_extents = std::array<std::int64_t, max_rank>;

  evaluation(mesh_type const& m, differentiated_formula const& f) : mesh_(m), f_(f), g_(f.g) {}
  ~evaluation();

  /// States the extents of this rank's shard of a leaf: x (node f.x), a weight or the targets.
  void set_extents(int leaf, local_extents const& extents) { at(leaf).extents = extents; }
  /// Computes the extents of all other shards. Must be called after set_extents and before any of
  /// the functions below.
  void infer_extents() {
    for (int i = 0; i < g_.size(); ++i) infer(i);
  }
  /// Returns the number of elements of this rank's shard of a node.
  std::int64_t elements(int i) const { return detail::product_of(extents_of(i)); }
  /// Makes `values` the values of node i, a leaf or a node whose values an earlier pass kept.
  void read(int i, T const* values) { at(i).data = values; }
  /// Makes run() write the values of node i to `target`.
  void write_to(int i, T* target) { wanted_.push_back({i, target, nullptr}); }
  /// Makes run() add the values of node i to `sum`.
  void add_to(int i, accumulated* sum) { wanted_.push_back({i, nullptr, sum}); }

  /// Computes the nodes of a pass. Writes or adds values as write_to and add_to have asked.
  void run(pass_nodes const& pass);

 private:
  /// The mesh's memory, and a deleter that releases a block to it.
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
  std::span<std::int64_t const> extents_of(int i) const {
    return std::span(at(i).extents).first(static_cast<std::size_t>(g_[i].extents.rank()));
  }

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
      else extent = n.extents[d];  // a dim that the operator makes: no axis splits it
    }
  }

  /// Returns memory for the result of node i. The operands of node i must still be in memory.
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
    if (int const product = g_.joined(i); product >= 0) {
      bool const is_first = product == n.a;
      spread(is_first ? n.in_b : n.in_a, is_first ? n.b : n.a, i, z);
      multiply(product, 1, z);
      for (int const u : {n.a, n.b, g_[product].a, g_[product].b}) used(u);
      return;
    }
    T const* const u = at(n.a).data;
    std::int64_t const count = elements(i);
    switch (n.what) {
      case operation::contract: multiply(i, 0, z); break;
      case operation::sum:
      case operation::largest: detail::reduce(mesh_, n, letter_extents_of(n), u, z); break;
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
      default: {
        T const* const v = n.b < 0 ? nullptr : at(n.b).data;
        auto const extents = [&](int k) { return extents_of(k); };
        if (n.is_selection()) detail::select(mesh_, g_, i, extents, u, v, z);
        if (n.is_selection() || count == 0) break;
        ashlar::detail::repeated_loop loop{n.extents.rank(), {}, strides_in(n.in_a, n.a, i), {}};
        if (n.b >= 0) loop.y = strides_in(n.in_b, n.b, i);
        for (int d = 0; d < loop.rank; ++d) loop.extents[static_cast<std::size_t>(d)] = size(i, d);
        detail::compute_elements(mesh_, n, loop, u, v, z);
      }
    }
    used(n.a);
    if (n.reads_b()) used(n.b);
  }

  /// The rows of a group that are computed together have at most this many elements of its widest
  /// tensor, unless one row has more. A few blocks of this size fit into a first-level cache.
  static constexpr std::int64_t tile = 2048;

  /// Says where the rows of one node are while its group is computed.
  struct row_place {
    T* first = nullptr;       ///< the first row in memory
    bool is_scratch = false;  ///< whether memory holds only the rows that are being computed
    int slot = 0;             ///< if is_scratch: the number of the slot that holds these rows
    std::unique_ptr<detail::row_sum<accumulated>> sum;  ///< of the rows so far, or null
  };

  /// Computes the nodes of a group (signature/formula/row_groups.hpp), a few rows at a time.
  void compute_group(int const* nodes, int count) {
    std::array<int, max_nodes> inside{};  // by node: its future uses in this group
    std::int64_t widest = 1;
    for (int p = 0; p < count; ++p) {
      node const& n = g_[nodes[p]];
      ++inside[static_cast<std::size_t>(n.a)];
      if (n.reads_b()) ++inside[static_cast<std::size_t>(n.b)];
      widest = std::max({widest, width(nodes[p]), width(n.a)});
    }
    int const some = sums_rows(g_, nodes[0]) ? g_[nodes[0]].a : nodes[0];
    std::int64_t const rows = rows_of(some), step = std::max<std::int64_t>(1, tile / widest);
    std::array<int, max_nodes> slot{};
    inplace_vector<int, max_nodes> free_slots;
    std::vector<row_place> places(static_cast<std::size_t>(count));
    std::array<row_place*, max_nodes> place_of{};
    int slot_count = 0;
    for (int p = 0; p < count; ++p) {
      int const i = nodes[p];
      node const& n = g_[i];
      row_place& here = places[static_cast<std::size_t>(p)];
      place_of[static_cast<std::size_t>(i)] = &here;
      here.is_scratch = at(i).uses == inside[static_cast<std::size_t>(i)];
      // A slot becomes free after the last use of its node. If the result of that use may overwrite
      // the operand, the slot becomes free before the use, so that the result gets the same slot.
      auto const release = [&](int u, bool before) {
        auto const k = static_cast<std::size_t>(u);
        if (place_of[k] == nullptr || !place_of[k]->is_scratch || inside[k] != 0 || slot[k] < 0)
          return;
        bool const replaces = n.may_overwrite() && (u != n.a || n.in_a == n.out) &&
                              (u != n.b || n.in_b == n.out);
        if (before && !replaces) return;
        free_slots.push_back(slot[k]);
        slot[k] = -1;
      };
      --inside[static_cast<std::size_t>(n.a)];
      if (n.reads_b()) --inside[static_cast<std::size_t>(n.b)];
      release(n.a, true);
      if (n.reads_b()) release(n.b, true);
      if (here.is_scratch) {
        if (free_slots.empty()) free_slots.push_back(slot_count++);
        here.slot = slot[static_cast<std::size_t>(i)] = free_slots.back();
        free_slots.pop_back();
      } else {
        here.first = place(i);
        if (sums_rows(g_, i)) here.sum = std::make_unique<detail::row_sum<accumulated>>(width(i));
      }
      release(n.a, false);
      if (n.reads_b()) release(n.b, false);
    }
    auto const scratch = std::make_unique_for_overwrite<T[]>(
        static_cast<std::size_t>(slot_count * step * widest));
    for (int p = 0; p < count; ++p)
      if (auto& here = places[static_cast<std::size_t>(p)]; here.is_scratch)
        here.first = scratch.get() + here.slot * step * widest;
    for (std::int64_t row = 0; row < rows; row += step) {
      std::int64_t const here = std::min(step, rows - row);
      auto const rows_at = [&](int u) {
        auto const* const in_group = place_of[static_cast<std::size_t>(u)];
        if (in_group == nullptr) return at(u).data + row * width(u);
        return static_cast<T const*>(in_group->first + (in_group->is_scratch ? 0 : row * width(u)));
      };
      for (int p = 0; p < count; ++p) {
        row_place& to = places[static_cast<std::size_t>(p)];
        int const i = nodes[p];
        node const& n = g_[i];
        if (to.sum) to.sum->add(rows_at(n.a), here);
        else {
          auto const operand = [&](int u, dim_letters const& in) {
            bool const is_along_row = n.what == operation::sum || n.what == operation::largest;
            return is_along_row || has_rows_of(in, n.out) ? rows_at(u) : at(u).data;
          };
          detail::compute_rows(mesh_, n, here, operand(n.a, n.in_a),
                               n.reads_b() ? operand(n.b, n.in_b) : nullptr, width(n.a),
                               n.reads_b() ? width(n.b) : 0, width(i),
                               to.first + (to.is_scratch ? 0 : row * width(i)));
        }
      }
    }
    for (int p = 0; p < count; ++p) {
      node const& n = g_[nodes[p]];
      if (auto& here = places[static_cast<std::size_t>(p)]; here.sum)
        convert(mesh_.processor(), here.sum->finish(), width(nodes[p]), here.first);
      used(n.a);
      if (n.reads_b()) used(n.b);
    }
  }

  /// Returns the extent of the last dim of a node, or 1 if it has no dims.
  std::int64_t width(int i) const {
    int const rank = g_[i].extents.rank();
    return rank == 0 ? 1 : size(i, rank - 1);
  }
  std::int64_t rows_of(int i) const {
    std::int64_t rows = 1;
    for (int d = 0; d + 1 < g_[i].extents.rank(); ++d) rows *= size(i, d);
    return rows;
  }

  /// Returns the strides of node `from` for a loop over the dims of node `to`. The stride is 0 in a
  /// dim along which `from` is repeated.
  detail::stride_list strides_in(dim_letters const& letters, int from, int to) const {
    return ashlar::detail::repeated_strides(letters, g_[to].extents.rank(),
                                            [&](int d) { return size(from, d); });
  }
  /// Writes node `from` to `z`, repeated to the extents of node `to`.
  void spread(dim_letters const& letters, int from, int to, T* z) {
    if (elements(to) == 0) return;
    ashlar::detail::repeated_loop loop{g_[to].extents.rank(), {}, {}, {}};
    for (int d = 0; d < loop.rank; ++d) loop.extents[static_cast<std::size_t>(d)] = size(to, d);
    detail::repeat(mesh_, loop, strides_in(letters, from, to), at(from).data, z);
  }
  /// Returns the extents of the shards of the operands, by the letters of their dims.
  ashlar::detail::letter_extents letter_extents_of(node const& n) const {
    ashlar::detail::letter_extents local;
    for (int d = 0; d < n.in_a.length; ++d) local.set(n.in_a.text[d], size(n.a, d));
    for (int d = 0; d < n.in_b.length; ++d) local.set(n.in_b.text[d], size(n.b, d));
    return local;
  }

  /// If the only use of product i is to be added to a sum (add_to) and the kernel can do this, adds
  /// it directly to this sum and returns true. Otherwise returns false.
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

  /// Computes z = u v + beta z, where u and v are the operands of the contraction at node i.
  void multiply(int i, accumulated beta, T* z) {
    node const& n = g_[i];
    detail::multiply(mesh_, n, letter_extents_of(n), at(n.a).data, at(n.b).data, beta, z);
  }

  /// Copies the values of a node to w.target or adds them to w.sum. Called only if compute() has
  /// not already written or added them there.
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

template <class T, class Processor>
evaluation<T, Processor>::~evaluation() = default;

template <class T, class Processor>
void evaluation<T, Processor>::run(pass_nodes const& pass) {
  for (int i = 0; i < g_.size(); ++i) {
    if (!pass.computes[i]) continue;
    ++at(g_[i].a).uses;
    if (g_[i].reads_b()) ++at(g_[i].b).uses;
  }
  for (auto const& w : wanted_) ++at(w.node).uses;
  auto const order = order_of(g_, pass.computes);
  for (int first = 0; first < order.nodes.size();) {
    int const end = order.end_of_group(first);
    if (end - first > 1 && Processor::is_host) compute_group(&order.nodes[first], end - first);
    else
      for (int p = first; p < end; ++p) compute(order.nodes[p]);
    first = end;
  }
  for (auto& w : wanted_)
    if (!w.done) finish(w);
}

#if !ASHLAR_DEFINES(TENSOR)
extern template class evaluation<float, device::host::processor>;
extern template class evaluation<double, device::host::processor>;
#endif

}  // namespace ashlar::formulas
