// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests the exchange of shards by DLPack. Nothing must be copied, and a deleter must be called
// exactly once. An imported tensor must be redistributed like a tensor made by from_local. Arrays
// that cannot be shards must be refused. A refused array must still belong to the caller.

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>

#include <ashlar/tensor/dlpack.hpp>
#include <ashlar/tensor/from_local.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/redistribute.hpp>

namespace ashlar_test {
namespace {

namespace dlpack = ashlar::dlpack;
using namespace ashlar::placements;
using ashlar::sbp;

/// Structures with the names and types of DLPack's own header, which uses an enumeration for the
/// type of a device.
namespace as_in_c {
enum DLDeviceType : std::int32_t { kDLCPU = 1, kDLCUDA = 2 };
struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
}  // namespace as_in_c

/// An array of another program, which counts the calls of its deleter. It has one number before its
/// first element, so that it has a byte offset.
template <class T, int Rank, class Managed = dlpack::managed_versioned>
struct foreign_array {
  std::vector<T> values{T(0)};
  std::array<std::int64_t, static_cast<std::size_t>(Rank)> extents{}, strides{};
  int deleted = 0;
  Managed managed{};

  explicit foreign_array(ashlar::tensor<T, Rank> const& like) {
    values.insert(values.end(), like.local_addends().begin(), like.local_addends().end());
    auto const view = local_addends_view(like);
    extents = view.extents;
    strides = view.strides;
    auto const type = dlpack::type_of(ashlar::element_type_of<T>);
    auto& array = managed.dl_tensor;
    array.data = values.data();
    array.ndim = Rank;
    array.dtype = {type.code, type.bits, type.lanes};
    array.shape = extents.data();
    array.strides = strides.data();
    array.byte_offset = sizeof(T);
    managed.manager_ctx = this;
    managed.deleter = [](Managed* m) { ++static_cast<foreign_array*>(m->manager_ctx)->deleted; };
  }
  foreign_array(foreign_array const&) = delete;
  foreign_array& operator=(foreign_array const&) = delete;

  T* first() { return values.data() + 1; }
};

template <class T>
ashlar::tensor<T, 2> numbered(ashlar::mesh const& m, placement const& p) {
  return placed<T, 2>(m, seeded_integers({m.ranks() + 2, 3}, 7), p);
}

/// Returns a description of what is wrong with the exported shard of a tensor of T, or an empty
/// text if nothing is wrong.
template <class T, class Managed>
std::string wrong_export(ashlar::mesh const& m, int code, int bits) {
  auto x = numbered<T>(m, placement{ashlar::split(0)});
  auto const local = x.local_extents();
  std::vector<T> const before(x.local().begin(), x.local().end());
  T* const data = x.data();
  std::weak_ptr<T> const shard = x.shard();
  auto handed = ashlar::to_dlpack<Managed>(x);
  x = {};
  if (shard.expired()) return "the shard is gone";
  auto const& a = handed->dl_tensor;
  std::string wrong;
  if (static_cast<char*>(a.data) + a.byte_offset != reinterpret_cast<char*>(data)) wrong += "data ";
  if (a.device.device_type != 1 || a.device.device_id != 0) wrong += "device ";
  if (a.ndim != 2 || a.shape[0] != local[0] || a.shape[1] != 3) wrong += "extents ";
  if (a.strides[0] != 3 || a.strides[1] != 1) wrong += "strides ";
  if (a.dtype.code != code || a.dtype.bits != bits || a.dtype.lanes != 1) wrong += "type ";
  if (std::memcmp(a.data, before.data(), before.size() * sizeof(T)) != 0) wrong += "values ";
  Managed* const raw = handed.release();
  raw->deleter(raw);
  if (!shard.expired()) wrong += "the shard is kept ";
  return wrong;
}

}  // namespace

TEST_CASE("an exported shard is the tensor's memory, and outlives the tensor") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  CHECK(wrong_export<float, dlpack::managed>(m, 2, 32) == "");
  CHECK(wrong_export<double, dlpack::managed>(m, 2, 64) == "");
  CHECK(wrong_export<std::int32_t, dlpack::managed>(m, 0, 32) == "");
  CHECK(wrong_export<std::int64_t, dlpack::managed_versioned>(m, 0, 64) == "");
  CHECK(wrong_export<ashlar::bfloat16, dlpack::managed_versioned>(m, 4, 16) == "");
  CHECK(wrong_export<float, as_in_c::DLManagedTensor>(m, 2, 32) == "");

  auto const x = numbered<float>(m, placement{ashlar::split(0)});
  auto const versioned = ashlar::to_dlpack<dlpack::managed_versioned>(x);
  CHECK(versioned->version.major == 1);
  CHECK(versioned->flags == 0);
  auto const nothing = ashlar::to_dlpack(
      ashlar::tensor<float, 1>(m, {0}, placement::all_broadcast(1)));
  CHECK(nothing->dl_tensor.data == nullptr);
  CHECK(nothing->dl_tensor.shape[0] == 0);
}

TEST_CASE("a partial tensor is exported only as addends") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = numbered<float>(m, placement{ashlar::partial()});
  CHECK(has(message_of([&] { auto const none = ashlar::to_dlpack(x); }),
            "[P] has addends, not values."));
  CHECK(ashlar::addends_to_dlpack(x)->dl_tensor.data == x.data());
}

TEST_CASE("what one tensor exports, another one imports") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = numbered<double>(m, placement{ashlar::split(0)});
  auto const y = ashlar::from_dlpack<double, 2>(m, x.extents(), sbp<S<0>>{}, ashlar::to_dlpack(x));
  static_assert(std::same_as<decltype(y), ashlar::tensor<double, 2, sbp<S<0>>> const>);
  CHECK(y.data() == x.data());
  CHECK(ashlar::to_full(y) == ashlar::to_full(x));
}

TEST_CASE("an imported tensor moves to every placement as a copied one does") {
  for (auto const on : {transport::shared_memory, transport::messages}) {
    auto const m = mesh_on(on, {{"gpu", world_size()}});
    auto const all = all_placements(2, 1);
    auto const values = seeded_integers({m.ranks() + 1, 5}, 9);
    for (auto const& from : all) {
      auto const made = placed<double, 2>(m, values, from);
      foreign_array<double, 2> other(made);
      {
        auto const x = ashlar::from_dlpack<double, 2>(m, made.extents(), from, &other.managed);
        if (x.local_elements() > 0) CHECK(x.data() == other.first());
        for (auto const& to : all) {
          auto const y = ashlar::redistribute(x, to), z = ashlar::redistribute(made, to);
          auto const a = y.local_addends(), b = z.local_addends();
          CHECK(std::vector(a.begin(), a.end()) == std::vector(b.begin(), b.end()));
        }
        CHECK(other.deleted == 0);
      }
      CHECK(other.deleted == 1);
    }
  }
}

TEST_CASE("a deleter is called once, after the last tensor") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const made = numbered<float>(m, placement::all_broadcast(1));
  foreign_array<float, 2> first(made), second(made);
  {
    auto x = ashlar::from_dlpack<float, 2>(m, made.extents(), sbp<B>{}, &first.managed);
    auto const copy = x.as_dynamic();
    auto const one = ashlar::to_dlpack(x);  // exported again while it is imported
    x = {};
    CHECK(first.deleted == 0);
    CHECK(copy.data() == first.first());
  }
  CHECK(first.deleted == 1);
  {
    dlpack::owned<dlpack::managed_versioned> handed(&second.managed);
    auto const x = ashlar::from_dlpack<float, 2>(m, made.extents(), sbp<B>{}, std::move(handed));
    CHECK(handed == nullptr);
    CHECK(second.deleted == 0);
  }
  CHECK(second.deleted == 1);

  foreign_array<float, 2, dlpack::managed> without(made);
  without.managed.deleter = nullptr;
  ashlar::from_dlpack<float, 2>(m, made.extents(), sbp<B>{}, &without.managed);
  foreign_array<float, 2, as_in_c::DLManagedTensor> c(made);
  c.managed.dl_tensor.device.device_type = as_in_c::kDLCPU;
  CHECK(ashlar::from_dlpack<float, 2>(m, made.extents(), sbp<B>{}, &c.managed).data() == c.first());
  CHECK(c.deleted == 1);
}

TEST_CASE("arrays without strides, with unused strides or without elements are accepted") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const p = placement::all_broadcast(1);
  auto const import_2 = [&](ashlar::shape const& s, auto& other) {
    return ashlar::from_dlpack<float, 2>(m, s, p, &other.managed);
  };
  ashlar::tensor<float, 2> const flat(m, {1, 4}, p), none(m, {0, 4}, p);
  foreign_array<float, 2> compact(flat), unused(flat), empty(none), pinned(flat);
  compact.managed.dl_tensor.strides = nullptr;
  CHECK(import_2({1, 4}, compact).data() == compact.first());
  unused.strides = {99, 1};
  CHECK(import_2({1, 4}, unused).data() == unused.first());
  empty.managed.dl_tensor.data = nullptr;
  CHECK(import_2({0, 4}, empty).local_elements() == 0);
  CHECK(empty.deleted == 1);
  pinned.managed.dl_tensor.device.device_type = dlpack::pinned_host;
  CHECK(import_2({1, 4}, pinned).data() == pinned.first());
}

TEST_CASE("an array that cannot be the shard is refused, and stays the caller's") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", n}});
  ashlar::shape const extents{2 * n, 3};
  ashlar::tensor<float, 2> const like(m, extents, placement{ashlar::split(0)});
  auto const name = "rank " + std::to_string(m.rank()) + "'s shard 2x3 of tensor " +
                    std::to_string(2 * n) + "x3 [S(0)]@gpu=" + std::to_string(n);
  /// Returns the error message of from_dlpack for an array that `change` has changed.
  auto const refused = [&](auto change) {
    foreign_array<float, 2> other(like);
    change(other.managed, other);
    auto const text = message_of(
        [&] { ashlar::from_dlpack<float, 2>(m, extents, like.placement(), &other.managed); });
    CHECK(other.deleted == 0);
    return text;
  };
  CHECK(
      refused([](auto& a, auto&) {
        a.dl_tensor.device = {2, 0};
      }) ==
      "from_dlpack: the array is in the memory of a device (DLPack's device type 2), but the mesh "
      "has host memory. Copy it to the host first.");
  CHECK(
      refused([](auto& a, auto&) { a.flags = dlpack::read_only; }) ==
      "from_dlpack: the array is read-only, but a tensor gives write access to its shard. Copy the "
      "values with from_local.");
  CHECK(refused([](auto& a, auto&) {
          a.version = {2, 3};
        }) ==
        "from_dlpack: the array has version 2.3 of DLPack, and only 1.x is known. Ask the other "
        "program for version 1.");
  CHECK(
      refused([](auto& a, auto&) {
        a.dl_tensor.dtype = {2, 64, 1};
      }) ==
      "from_dlpack: the elements are float64, but those of the tensor float32. Convert them in the "
      "program that has them, or make a tensor of their type.");
  CHECK(has(refused([](auto& a, auto&) { a.dl_tensor.dtype = {1, 32, 1}; }), "are uint32, but"));
  CHECK(has(refused([](auto& a, auto&) { a.dl_tensor.dtype = {4, 16, 1}; }), "are bfloat16, but"));
  CHECK(has(refused([](auto& a, auto&) { a.dl_tensor.dtype = {2, 32, 4}; }), "are float32x4, but"));
  CHECK(has(refused([](auto& a, auto&) {
              a.dl_tensor.dtype = {12, 8, 1};
            }),
            "are of code 12 with 8 bits, but"));
  CHECK(refused([](auto& a, auto&) { a.dl_tensor.ndim = 1; }) ==
        "from_dlpack: the array has 1 dims, but " + name +
            " has 2. Reshape it in the program that has it.");
  CHECK(refused([](auto&, auto& own) {
          own.extents = {3, 3};
        }) ==
        "from_dlpack: an array of extents 3x3 is not " + name + ". Pass this rank's part only.");
  CHECK(has(refused([](auto&, auto& own) {
              own.strides = {1, 2};
            }),
            "from_dlpack: an array of extents 2x3 has strides 1x2, but a shard is row-major"));
  CHECK(has(refused([](auto&, auto& own) { own.strides = {4, 1}; }), "has strides 4x1, but"));
  CHECK(refused([](auto& a, auto&) { a.dl_tensor.data = nullptr; }) ==
        "from_dlpack: the address is null, but " + name +
            " has 6 elements. Pass the address of this rank's values.");
  CHECK(has(refused([](auto& a, auto&) { a.dl_tensor.byte_offset = 2; }),
            "the address is not a multiple of 4 bytes"));
  CHECK(message_of([&] {
          dlpack::managed* const null = nullptr;
          ashlar::from_dlpack<float, 2>(m, extents, like.placement(), null);
        }) ==
        "from_dlpack: the address of the managed array is null. A capsule can be used only once.");

  // If from_dlpack refuses an owner that was passed by move, the owner still has the array.
  foreign_array<float, 2> other(like);
  dlpack::owned<dlpack::managed_versioned> handed(&other.managed);
  CHECK(has(message_of([&] {
              ashlar::from_dlpack<double, 2>(m, extents, like.placement(), std::move(handed));
            }),
            "the elements are float32"));
  CHECK(handed.get() == &other.managed);
  CHECK(other.deleted == 0);
  handed.reset();
  CHECK(other.deleted == 1);
}

}  // namespace ashlar_test
