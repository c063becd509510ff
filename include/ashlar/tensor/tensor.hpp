// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A distributed tensor. Its type states the element type, the number of dims and the placement. The
// object holds the extents, the mesh and this rank's shard.
//
//   tensor<float, 2, sbp<S<0>, B>>    typed: the compiler knows the placement
//   tensor<float, 2, dynamic>         dynamic: placement() returns it at run time
//
// The last template parameter is the type of the processor that holds the shard and computes on it,
// by default the host. Because it is part of the type, device memory cannot be mistaken for host
// memory.
//
// A tensor is a handle: copies share the shard, and clone() makes a new shard. Shards are
// row-major. They are in the mesh's memory, except for borrowed shards (borrow_local.hpp). Making,
// copying and inspecting a tensor communicates nothing.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <ashlar/comm/empty_shard.hpp>
#include <ashlar/comm/mesh.hpp>
#include <ashlar/config.hpp>
#include <ashlar/placement/tags.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/support/out_of_memory.hpp>
#include <ashlar/support/recycled.hpp>
#include <ashlar/tensor/sentences.hpp>

namespace ashlar {

/// Describes a placement argument, which is an sbp<…> or a placement value:
///
///   type    the placement parameter of tensors that are made with the argument
///   value   converts the argument to a placement value
template <class Placement>
struct placement_traits;
template <class... Tags>
struct placement_traits<sbp<Tags...>> {
  using type = canonical<sbp<Tags...>>;
  static constexpr placement value(sbp<Tags...>) { return value_of<sbp<Tags...>>; }
};
template <>
struct placement_traits<placement> {
  using type = dynamic;
  static constexpr placement value(placement const& p) { return p; }
};

/// An sbp<…> or a placement: the argument by which a caller gives the placement of a result.
template <class Type>
concept placement_argument = requires { typename placement_traits<Type>::type; };

/// Converts a placement argument to a placement value.
template <placement_argument Placement>
constexpr placement as_value(Placement const& p) {
  return placement_traits<Placement>::value(p);
}

namespace detail {
template <class Placement, int Rank>
constexpr bool fits() {
  if constexpr (static_placement<Placement>)
    return check(value_of<Placement>, Rank, Placement::axes) == nullptr;
  else return true;
}

[[noreturn]] inline void refuse_without_mesh() {
  throw error(
      "tensor",
      "a default-constructed or moved-from tensor has no mesh and no values. Assign a tensor to "
      "it first.");
}

/// The mesh of a tensor, or none. Unlike a std::optional, it has none after it was moved from.
template <class Processor>
class tensor_mesh {
 public:
  tensor_mesh() = default;
  tensor_mesh(basic_mesh<Processor> const& m) : mesh_(m) {}
  tensor_mesh(tensor_mesh const&) = default;
  tensor_mesh(tensor_mesh&& other) noexcept : mesh_(std::exchange(other.mesh_, std::nullopt)) {}
  tensor_mesh& operator=(tensor_mesh const&) = default;
  tensor_mesh& operator=(tensor_mesh&& other) noexcept {
    mesh_ = std::exchange(other.mesh_, std::nullopt);
    return *this;
  }
  /// Returns the mesh. Throws ashlar::error if there is none.
  basic_mesh<Processor> const& get() const {
    if (!mesh_) refuse_without_mesh();
    return *mesh_;
  }

 private:
  std::optional<basic_mesh<Processor>> mesh_;
};

[[noreturn]] ASHLAR_INLINE void refuse_addends(shape const& extents, placement const& p);

#if ASHLAR_DEFINES(TENSOR)
ASHLAR_INLINE void refuse_addends(shape const& extents, placement const& p) {
  throw error("local", "the shard of the partial tensor " + to_string(extents) + " " +
                           to_string(p) + " has addends, not values. Reduce the tensor first, or " +
                           "read the addends with local_addends().");
}
#endif

/// Returns the box of this rank's shard. Throws ashlar::error if the placement does not fit the
/// extents or the mesh, or if the extents do not have `rank` dims.
template <class Processor>
box shard_box(basic_mesh<Processor> const& m, shape const& extents, placement const& p, int rank) {
  if (extents.rank() != rank)
    throw error("tensor", "shape " + to_string(extents) + " has " + std::to_string(extents.rank()) +
                              " dims, but the tensor's type has " + std::to_string(rank) + ".");
  check_extents(extents, "tensor");
  if (char const* const wrong = check(p, rank, m.topology()))
    throw error("tensor", to_string(p) + " on mesh " + to_string(m.topology()) + " for shape " +
                              to_string(extents) + ": " + wrong);
  return m.local_box(extents, p);
}

/// Allocates the shard of a tensor. If memory runs out, the error names the tensor.
template <class Memory>
void* allocate_shard(Memory& memory, std::size_t bytes, shape const& extents, placement const& p,
                     topology const& t) {
  auto const name = [&] {
    return "this rank's shard of tensor " + to_string(extents) + " " + to_string(p, t);
  };
  try {
    return memory.allocate(bytes);
  } catch (out_of_memory const& e) {
    throw e.asked_by("tensor", name());
  } catch (std::bad_alloc const&) {
    throw out_of_memory("tensor", "host memory", static_cast<std::int64_t>(bytes), name());
  }
}

/// Returns a shard of box `b` in the memory of the mesh. Its elements are not initialized. The
/// shard of a tensor without dims has room for one element on ranks outside of the mesh, too:
/// reductions of empty shards write this element, and nobody reads it.
template <class Processor>
std::shared_ptr<void> new_shard(basic_mesh<Processor> const& m, shape const& extents,
                                placement const& p, box const& b, std::size_t element_size) {
  if (!m.is_here() && extents.rank() > 0) return empty_shard();
  if (extents.is_routed())
    throw error("tensor",
                "a tensor " + to_string(extents) +
                    " of routed rows is made by make_routed (tensor/routed.hpp), and only "
                    "layers of rows compute with it. Combine the rows first.");
  auto const elements = extents.rank() == 0 ? 1 : b.elements();
  auto const bytes = static_cast<std::size_t>(elements) * element_size;
  auto memory = m.shared_memory();
  return std::shared_ptr<void>(
      allocate_shard(*memory, bytes, extents, p, m.topology()),
      [memory, bytes](void* block) { memory->release(block, bytes); }, recycling_allocator<char>());
}

#if !ASHLAR_DEFINES(TENSOR)
extern template box shard_box(basic_mesh<device::host::processor> const&, shape const&,
                              placement const&, int);
extern template std::shared_ptr<void> new_shard(basic_mesh<device::host::processor> const&,
                                                shape const&, placement const&, box const&,
                                                std::size_t);
#endif
}  // namespace detail

template <class Processor>
class any_tensor;

template <class T, int Rank, class Placement = dynamic, class Processor = device::host::processor>
class tensor {
 public:
  using value_type = T;
  using placement_type = Placement;
  using processor_type = Processor;
  using mesh_type = basic_mesh<Processor>;
  using dynamic_type = tensor<T, Rank, dynamic, Processor>;
  static constexpr int rank = Rank;
  static constexpr bool is_static = static_placement<Placement>;
  static_assert(detail::fits<Placement, Rank>(), "tensor: " ASHLAR_SAYS_PLACEMENT);

  tensor() = default;

  /// Makes a tensor whose shard is not initialized. Throws ashlar::error if the placement does not
  /// fit the extents or the mesh.
  tensor(mesh_type const& m, shape const& extents, ashlar::placement const& p)
      : mesh_(m), extents_(extents), placement_(p), box_(detail::shard_box(m, extents, p, Rank)),
        data_(std::static_pointer_cast<T>(detail::new_shard(m, extents, p, box_, sizeof(T)))) {}

  /// Makes a view: `shard` becomes this rank's part of a tensor with these extents and this
  /// placement. The memory that the shared pointer owns may be larger than the shard. Checks
  /// nothing.
  tensor(mesh_type const& m, shape const& extents, ashlar::placement const& p,
         std::shared_ptr<T> shard)
      : mesh_(m), extents_(extents), placement_(p), box_(m.local_box(extents, p)),
        data_(std::move(shard)) {}
  /// Returns the shared pointer that owns the shard, for making views.
  std::shared_ptr<T> const& shard() const { return data_; }

  /// Returns the mesh. Throws ashlar::error if the tensor was default-constructed or moved from,
  /// because such a tensor has no mesh.
  mesh_type const& mesh() const { return mesh_.get(); }
  shape const& extents() const { return extents_; }
  ashlar::placement placement() const {
    if constexpr (is_static) return value_of<Placement>;
    else return placement_;
  }
  bool empty() const { return data_ == nullptr; }

  /// Returns this rank's shard, row-major. As with a pointer, a const tensor still gives write
  /// access to its elements. Works for host memory only: on a device, local_values(x) or to_full(x)
  /// copy the values to the host. Refuses a partial tensor, whose shard has addends instead of
  /// values: for a typed tensor the call does not compile, for a dynamic one it throws
  /// ashlar::error. The span is valid as long as a tensor with this shard exists, so it dangles if
  /// this tensor is a temporary, as in `for (float v : (x | to<B>).local())`.
  std::span<T> local() const {
    require_values();
    return local_addends();
  }
  /// Returns this rank's shard as local() does, but accepts a partial tensor. The shard of a
  /// partial tensor has this rank's addends of the values.
  std::span<T> local_addends() const {
    static_assert(Processor::is_host, ASHLAR_SAYS_LOCAL_ON_DEVICE);
    if (data_ == nullptr) static_cast<void>(mesh());  // a tensor without a mesh has no values
    return {data_.get(), static_cast<std::size_t>(box_.elements())};
  }
  /// Refuses a partial tensor, as local() does.
  void require_values() const {
    if constexpr (is_static)
      static_assert(!value_of<Placement>.has_partial(), ASHLAR_SAYS_LOCAL_PARTIAL);
    else if (placement_.has_partial()) detail::refuse_addends(extents_, placement_);
  }
  /// Returns the address of the shard, in the memory of mesh().processor().
  T* data() const { return data_.get(); }
  /// Returns the part of the global index space that the shard covers.
  box const& local_box() const { return box_; }
  shape local_extents() const { return box_.extents(); }
  std::int64_t local_size(int dim) const { return box_[dim].size; }
  std::int64_t local_elements() const { return box_.elements(); }

  /// Returns a tensor with the same values and a shard of its own.
  tensor clone() const {
    tensor copy(mesh(), extents_, placement());
    copy_elements(mesh().processor(), static_cast<T const*>(data()), local_elements(), copy.data());
    return copy;
  }

  /// Returns a tensor of the dynamic type that shares the shard.
  dynamic_type as_dynamic() const { return retyped<dynamic>(); }

  /// Returns a tensor whose type states the placement `Typed` and that shares the shard. Throws if
  /// this tensor has another placement.
  template <class Typed>
  tensor<T, Rank, canonical<Typed>, Processor> as_static() const {
    if (!(placement() == value_of<Typed>))
      throw error("as_static", "the tensor has placement " + to_string(placement()) + ", not " +
                                   to_string(value_of<Typed>) + ". Redistribute it first.");
    return retyped<canonical<Typed>>();
  }

 private:
  template <class, int, class, class>
  friend class tensor;
  template <class>
  friend class any_tensor;

  template <class Other>
  tensor<T, Rank, Other, Processor> retyped() const {
    tensor<T, Rank, Other, Processor> t;
    t.mesh_ = mesh_;
    t.extents_ = extents_;
    t.placement_ = placement();
    t.box_ = box_;
    t.data_ = data_;
    return t;
  }

  detail::tensor_mesh<Processor> mesh_;
  shape extents_;
  ashlar::placement placement_;
  box box_;
  std::shared_ptr<T> data_;
};

#if !ASHLAR_DEFINES(TENSOR)
extern template class tensor<float, 1>;
extern template class tensor<float, 2>;
extern template class tensor<float, 3>;
extern template class tensor<float, 4>;
extern template class tensor<std::int32_t, 1>;
extern template class tensor<std::int32_t, 2>;
#endif

template <class Type>
inline constexpr bool is_tensor = false;
template <class T, int Rank, class Placement, class Processor>
inline constexpr bool is_tensor<tensor<T, Rank, Placement, Processor>> = true;

/// A tensor on a mesh, of any type and placement.
template <class Type>
concept distributed = is_tensor<std::remove_cvref_t<Type>>;

/// The type of a tensor that is made with a placement argument of type `Placement`: typed if the
/// argument is an sbp<…>, dynamic if it is a placement value.
template <class T, int Rank, placement_argument Placement,
          class Processor = device::host::processor>
using tensor_for = tensor<T, Rank, typename placement_traits<Placement>::type, Processor>;

/// Returns a tensor whose shard is not initialized.
template <class T, int Rank, placement_argument Placement, class Processor>
tensor_for<T, Rank, Placement, Processor> empty(basic_mesh<Processor> const& m,
                                                shape const& extents, Placement const& p) {
  return {m, extents, as_value(p)};
}

/// Returns a description such as "tensor 512x1024 [S(0),B]@node=2,gpu=2".
template <distributed Tensor>
std::string describe(Tensor const& t) {
  return "tensor " + to_string(t.extents()) + " " + to_string(t.placement(), t.mesh().topology());
}

}  // namespace ashlar
