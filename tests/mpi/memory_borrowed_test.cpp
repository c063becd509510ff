// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests tensors over memory that the test owns. They must behave like tensors with the same values
// in the mesh's memory: in moves between all placements on both transports, in overlapped moves, in
// moves to another part of the mesh and in operators. An owner must be destroyed once, with the
// last tensor that has the shard.

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/tensor/borrow_local.hpp>
#include <ashlar/tensor/cross_mesh.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/from_local.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/local_view.hpp>
#include <ashlar/tensor/redistribute_async.hpp>
#include <ashlar/tensor/reshape.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::sbp;

constexpr transport borrow_transports[] = {transport::shared_memory, transport::messages};

/// Says which ranks of a test borrow the memory of a shard. On the other ranks, the shard is in the
/// mesh's memory.
enum class borrowers { all, first };

/// This rank's shard of `like`, in memory of the test. The shard begins one element after the start
/// of a block, so its address is a multiple of the element's size, but not of twice that size.
struct owned_values {
  std::vector<double> block;

  template <class Tensor>
  explicit owned_values(Tensor const& like) : block(1) {
    block.insert(block.end(), like.local_addends().begin(), like.local_addends().end());
  }
  std::span<double> values() { return std::span(block).subspan(1); }
};

bool same_bits(std::span<double const> a, std::span<double const> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// Moves a tensor of `values` with placement `from` to every placement, once over borrowed memory
/// and once over memory of the mesh. Returns a description of the first difference, or an empty
/// text.
std::string moved_differently(ashlar::mesh const& m, dense const& values, placement const& from,
                              std::vector<placement> const& all, borrowers who) {
  auto const made = placed<double, 2>(m, values, from, 6);
  owned_values own(made);
  bool const borrows = who == borrowers::all || m.rank() == 0;
  auto const copied = ashlar::from_local<2>(m, made.extents(), from, own.values());
  auto const x = borrows ? ashlar::borrow_local<2>(m, made.extents(), from, own.values()) : copied;
  if (borrows && x.local_elements() > 0 && x.data() != own.values().data()) return "it was copied";
  if (borrows && m.memory().offset_in_region(x.data()) >= 0) return "it is in the mesh's memory";
  std::string wrong;
  for (auto const& to : all) {
    auto const y = ashlar::redistribute(x, to);
    auto const z = ashlar::redistribute(copied, to);
    if (!same_bits(y.local_addends(), z.local_addends()) && wrong.empty())
      wrong = to_string(from) + " -> " + to_string(to);
    auto waited = ashlar::redistribute_async(x, to);
    if (!same_bits(waited.wait().local_addends(), z.local_addends()) && wrong.empty())
      wrong = to_string(from) + " -> " + to_string(to) + ", overlapped";
  }
  if (!same_bits(own.values(), made.local_addends())) wrong += "the borrowed values have changed";
  return wrong;
}

/// Returns an owner. Adds 1 to `count` when the owner is destroyed.
std::shared_ptr<void> counted(int& count) {
  return {&count, [](void* n) { ++*static_cast<int*>(n); }};
}

}  // namespace

TEST_CASE("a borrowed tensor moves to every placement as a copied one does") {
  int const n = world_size();
  // Shards of the first shape are small, so transfers copy them to staging buffers. Shards of the
  // second shape are too large for these buffers.
  for (auto const on : borrow_transports) {
    auto const m = mesh_on(on, {{"gpu", n}});
    auto const all = all_placements(2, 1);
    for (auto const& extents : {index{n + 1, n}, index{65 * n, 60}})
      for (auto const& from : all)
        CHECK(moved_differently(m, seeded_integers(extents, 3), from, all, borrowers::all) == "");
  }
}

TEST_CASE("a borrowed tensor moves on a mesh of two axes") {
  int const n = world_size();
  if (n % 2 != 0) return;
  auto const m = mesh_on(transport::shared_memory, {{"node", 2}, {"gpu", n / 2}});
  auto const values = seeded_integers({33 * n, 60}, 3);
  auto const all = all_placements(2, 2);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK(moved_differently(m, values, all[i],
                            {placement::all_broadcast(2), all[(7 * i + 3) % all.size()]},
                            borrowers::all) == "");
}

TEST_CASE("a tensor that only the first rank borrows moves to every placement") {
  auto const m = mesh_on(transport::shared_memory, {{"gpu", world_size()}});
  auto const values = seeded_integers({65 * world_size(), 60}, 5);
  for (auto const op : all_reductions) {
    auto const all = all_placements(2, 1, {op});
    for (auto const& from : all)
      CHECK(moved_differently(m, values, from, all, borrowers::first) == "");
  }
}

TEST_CASE("a borrowed tensor moves to another part of the mesh") {
  int const n = world_size();
  if (n < 2) return;
  for (auto const on : borrow_transports) {
    auto const whole = mesh_on(on, {{"rank", n}});
    std::vector<int> rest;
    for (int r = 1; r < n; ++r) rest.push_back(r);
    auto const source = whole.part(rest, {{"gpu", n - 1}}), target = whole.part({0}, {{"one", 1}});
    auto const values = seeded_integers({70 * n, 50}, 8);
    ashlar::shape const extents = to_shape(values.extents);
    for (auto const& from : {ashlar::parse_placement("S(0)"), ashlar::parse_placement("S(1)"),
                             ashlar::parse_placement("B"), ashlar::parse_placement("P")}) {
      // Each rank takes its part of the values. If the tensor is partial, the first rank takes all
      // values, and the other ranks take zeros.
      auto const box = source.local_box(extents, from);
      std::vector<double> own;
      if (source.is_here())
        for (std::int64_t i = 0; i < box[0].size; ++i)
          for (std::int64_t j = 0; j < box[1].size; ++j)
            own.push_back(from.has_partial() && source.rank() > 0
                              ? 0
                              : values({static_cast<int>(box[0].begin + i),
                                        static_cast<int>(box[1].begin + j)}));
      auto const x = ashlar::borrow_local<2>(source, extents, from, std::span(own));
      auto const y = ashlar::redistribute(x, target, sbp<B>{});
      if (target.is_here()) CHECK(same_bits(y.local(), values.values));
      else CHECK(y.local().empty());
    }
  }
}

TEST_CASE("operators read and write the borrowed memory") {
  for (auto const& m : all_meshes()) {
    auto const values = seeded_integers({5, 6}, 2);
    for (auto const& p : all_placements(2, m.axes(), {})) {
      owned_values own(placed<double, 2>(m, values, p));
      auto x = ashlar::borrow_local<2>(m, {5, 6}, p, own.values());
      dense sums = values;
      for (auto& v : sums.values) v *= 2;
      CHECK(wrong_with(x + x, sums) == "");
      x += x;  // written by the library
      CHECK(wrong_with(x, sums) == "");
      CHECK(same_bits(x.local(), own.values()));
      for (auto& v : own.values()) v = -v;  // written by the owner
      for (auto& v : sums.values) v = -v;
      CHECK(wrong_with(x, sums) == "");
    }
  }
}

TEST_CASE("views are borrowed, and a typed tensor has the placement in its type") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 2>(m, seeded_integers({5, 4}, 2), placement{ashlar::split(0)});
  auto const v = local_view(x);
  CHECK(v.extents[0] == x.local_size(0));
  CHECK(v.extents[1] == 4);
  for (int i = 0; i < v.extents[0]; ++i)
    for (int j = 0; j < 4; ++j) CHECK(&v(i, j) == x.data() + 4 * i + j);
  auto const y = ashlar::borrow_local(m, {5, 4}, sbp<S<0>>{}, v, x.shard());
  static_assert(std::same_as<decltype(y), ashlar::tensor<float, 2, sbp<S<0>>> const>);
  CHECK(y.data() == x.data());
  CHECK(ashlar::to_full(y) == ashlar::to_full(x));

  auto const sum = placed<float, 1>(m, seeded_integers({3}), placement{ashlar::partial()});
  CHECK(has(message_of([&] { local_view(sum); }),
            "local: the shard of the partial tensor 3 [P] has addends, not values."));
  CHECK(local_addends_view(sum).data == sum.data());
}

TEST_CASE("a scalar has its value on the ranks of its part only") {
  int const n = world_size();
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"gpu", n}});
  auto const part = whole.part({n - 1}, {{"one", 1}});
  std::vector<double> own;
  if (part.is_here()) own.push_back(3);
  auto const x = ashlar::borrow_local<0>(part, {}, sbp<B>{}, std::span(own));
  CHECK(x.local_elements() == static_cast<std::int64_t>(own.size()));
  if (part.is_here()) CHECK(x.data() == own.data());
  auto const copied = ashlar::from_local<0>(part, {}, sbp<B>{}, std::span(own));
  CHECK(copied.local_elements() == x.local_elements());
}

TEST_CASE("an owner is destroyed once, with the last tensor that has the shard") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  std::vector<double> own(12, 1.0);
  int count = 0;
  {
    ashlar::tensor<double, 1> kept;
    {
      auto const x = ashlar::borrow_local<2>(m, {3, 4}, sbp<B>{}, std::span(own), counted(count));
      auto const copy = x;
      kept = ashlar::reshape(copy, {12});
      CHECK(ashlar::redistribute(x, sbp<B>{}).data() ==
            own.data());  // it has the placement already
      CHECK(ashlar::redistribute(x, sbp<S<0>>{}).mesh() == m);
    }
    CHECK(count == 0);
    CHECK(kept.data() == own.data());
  }
  CHECK(count == 1);

  // A shard without elements has an owner too.
  ashlar::borrow_local<1>(m, {0}, sbp<B>{}, std::span<double>(), counted(count));
  CHECK(count == 2);
  CHECK(message_of([&] {
          ashlar::borrow_local<2>(m, {3, 5}, sbp<B>{}, std::span(own), counted(count));
        }) != "nothing was thrown");
  CHECK(count == 3);  // a call that fails has taken the owner too
}

TEST_CASE("after a move was dropped, an owner is never destroyed") {
  int count = 0;
  std::vector<double> own(4);
  {
    ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
    auto const x = ashlar::borrow_local<1>(m, {4}, sbp<B>{}, std::span(own), counted(count));
    m.memory().retire();  // transports call this when messages may still arrive
  }
  CHECK(count == 0);
}

TEST_CASE("an array that cannot be the shard is refused") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  auto const p = ashlar::placement{ashlar::split(0)};
  ashlar::shape const extents{2 * n, 3};
  std::vector<float> own(100);
  auto const rank = std::to_string(m.rank());
  auto const name = "rank " + rank + "'s shard 2x3 of tensor " + std::to_string(2 * n) +
                    "x3 [S(0)]@gpu=" + std::to_string(n);
  auto const of = [&](auto const& values) {
    return message_of([&] { ashlar::borrow_local<2>(m, extents, p, values); });
  };
  using view = ashlar::strided_view<float, 2>;

  CHECK(of(std::span(own).first(6)) == "nothing was thrown");
  CHECK(of(std::span(own).first(5)) ==
        "borrow_local: 5 values do not fill " + name +
            ". Pass this rank's part only, or the whole to from_full.");
  CHECK(of(std::span<float>(static_cast<float*>(nullptr), 6)) ==
        "borrow_local: the address is null, but " + name +
            " has 6 elements. Pass the address of this rank's values.");
  auto* const between = reinterpret_cast<float*>(reinterpret_cast<char*>(own.data()) + 1);
  CHECK(has(of(view{between, {2, 3}, {3, 1}}), "the address is not a multiple of 4 bytes"));
  CHECK(of(view{own.data(), {3, 2}, {2, 1}}) ==
        "borrow_local: an array of extents 3x2 is not " + name + ". Pass this rank's part only.");
  CHECK(of(view{own.data(), {2, 3}, {8, 1}}) ==
        "borrow_local: an array of extents 2x3 has strides 8x1, but a shard is row-major without "
        "gaps. Copy the values to such an array, and pass it to from_local.");
  CHECK(has(of(view{own.data(), {2, 3}, {1, 2}}), "has strides 1x2, but"));  // column-major
  CHECK(has(message_of([&] { ashlar::borrow_local<1>(m, extents, p, std::span(own).first(6)); }),
            "has 2 dims, but the tensor's type has 1."));
  CHECK(has(message_of([&] {
              ashlar::borrow_local<2>(m, extents, ashlar::parse_placement("S(2)"),
                                      std::span(own).first(6));
            }),
            "on mesh gpu=" + std::to_string(n)));
  ashlar::shape routed{2 * n, 4, 3};
  routed.chosen = 2;
  CHECK(has(message_of([&] { ashlar::borrow_local<3>(m, routed, p, std::span(own).first(12)); }),
            "an array cannot be the shard of a routed tensor"));
  // The stride of a dim of extent 1 is never used.
  auto const one = view{own.data(), {1, 3}, {77, 1}};
  CHECK(ashlar::borrow_local(m, {1, 3}, sbp<B>{}, one).data() == own.data());
}

}  // namespace ashlar_test
