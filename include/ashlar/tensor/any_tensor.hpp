// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A tensor whose element type, number of dims and placement are all run-time values. Code that
// moves tensors without looking at their elements uses any_tensor. Such code is compiled once, and
// not once per tensor type. An any_tensor that is made from a tensor shares the tensor's shard.
//
//   any_tensor a = x;                              from a tensor of any type
//   auto y = a.as<tensor<float, 2, sbp<…>>>();     converts it back, or throws ashlar::error

#include <utility>

#include <ashlar/comm/element_pointer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/tensor/tensor.hpp>

namespace ashlar {

namespace detail {
[[noreturn]] ASHLAR_INLINE void refuse_other_elements(shape const& extents, placement const& p);
[[noreturn]] ASHLAR_INLINE void refuse_other_tensor(shape const& extents, placement const& p);
#if ASHLAR_DEFINES(TENSOR)
[[noreturn]] ASHLAR_INLINE void refuse_other_elements(shape const& extents, placement const& p) {
  throw error("any_tensor", "the elements of a tensor " + to_string(extents) + " " + to_string(p) +
                                " are used as another type.");
}
[[noreturn]] ASHLAR_INLINE void refuse_other_tensor(shape const& extents, placement const& p) {
  throw error("any_tensor",
              "a tensor " + to_string(extents) + " " + to_string(p) +
                  " is used as a tensor of another element type, number of dims or placement.");
}
#endif
}  // namespace detail

template <class Processor>
class any_tensor {
 public:
  using mesh_type = basic_mesh<Processor>;
  using processor_type = Processor;

  any_tensor() = default;
  template <class T, int Rank, class Placement>
  any_tensor(tensor<T, Rank, Placement, Processor> const& x)
      : mesh_(x.mesh_), extents_(x.extents_), placement_(x.placement()), box_(x.box_),
        type_(element_type_of<T>), data_(x.data_) {}
  /// Makes a tensor whose shard is not initialized. Throws ashlar::error if the placement does not
  /// fit the extents or the mesh.
  any_tensor(mesh_type const& m, shape const& extents, ashlar::placement const& p,
             element_type type)
      : any_tensor(m, extents, p, detail::shard_box(m, extents, p, extents.rank()), type) {}

  /// Returns the mesh. Throws ashlar::error if the tensor was default-constructed or moved from: it
  /// then has no mesh.
  mesh_type const& mesh() const { return mesh_.get(); }
  shape const& extents() const { return extents_; }
  ashlar::placement const& placement() const { return placement_; }
  element_type type() const { return type_; }
  box const& local_box() const { return box_; }
  void* data() const { return data_.get(); }
  /// Returns the address of the shard's elements. Throws ashlar::error if they are not of type T.
  template <class T>
  T* data_as() const {
    if (type_ != element_type_of<T>) detail::refuse_other_elements(extents_, placement_);
    return static_cast<T*>(data_.get());
  }
  std::int64_t local_elements() const { return box_.elements(); }
  bool empty() const { return data_ == nullptr; }

  /// Makes a tensor with a halo (halo.hpp). This rank holds the box `b`: all elements that the
  /// windows of its part of a layer's output cover, including elements of other ranks. The elements
  /// are not initialized.
  static any_tensor with_box(mesh_type const& m, shape const& extents, ashlar::placement const& p,
                             box const& b, element_type type) {
    return {m, extents, p, b, type};
  }

  /// Makes a tensor whose shard is the given array. `b` says which elements the array holds. Routed
  /// tensors are made in this way, because they store only the rows that tokens are routed to
  /// (routed.hpp).
  static any_tensor with_shard(mesh_type const& m, shape const& extents, ashlar::placement const& p,
                               box const& b, element_type type, std::shared_ptr<void> shard) {
    any_tensor made;
    made.mesh_ = m;
    made.extents_ = extents;
    made.placement_ = p;
    made.box_ = b;
    made.type_ = type;
    made.data_ = std::move(shard);
    return made;
  }
  /// Returns the shared pointer that owns the shard.
  std::shared_ptr<void> const& shard() const { return data_; }

  /// Returns a new tensor on the same mesh, with the same extents and element type, but at
  /// placement `p`. Its shard is not initialized.
  any_tensor like(ashlar::placement const& p) const {
    return {mesh(), extents_, p, mesh().local_box(extents_, p), type_};
  }

  /// Returns a tensor of type `Tensor` that shares the shard. Throws ashlar::error if the element
  /// type, number of dims or placement differs.
  template <distributed Tensor>
  Tensor as() const {
    using T = typename Tensor::value_type;
    bool fits = type_ == element_type_of<T> && extents_.rank() == Tensor::rank;
    if constexpr (Tensor::is_static)
      fits = fits && placement_ == value_of<typename Tensor::placement_type>;
    if (!fits) detail::refuse_other_tensor(extents_, placement_);
    Tensor t;
    t.mesh_ = mesh_;
    t.extents_ = extents_;
    t.placement_ = placement_;
    t.box_ = box_;
    t.data_ = std::static_pointer_cast<T>(data_);
    return t;
  }

 private:
  /// Makes a tensor whose shard has box `b` and is not initialized. Checks nothing.
  any_tensor(mesh_type const& m, shape const& extents, ashlar::placement const& p, box const& b,
             element_type type)
      : mesh_(m), extents_(extents), placement_(p), box_(b), type_(type),
        data_(detail::new_shard(m, extents, p, b, static_cast<std::size_t>(size_of(type)))) {}

  detail::tensor_mesh<Processor> mesh_;
  shape extents_;
  ashlar::placement placement_;
  box box_;
  element_type type_ = element_type::f32;
  std::shared_ptr<void> data_;
};

#if !ASHLAR_DEFINES(TENSOR)
extern template class any_tensor<device::host::processor>;
#endif

template <class T, int Rank, class Placement, class Processor>
any_tensor(tensor<T, Rank, Placement, Processor> const&) -> any_tensor<Processor>;

namespace detail {

/// Calls f(T{}), where T is the C++ type of `type`.
template <class F>
decltype(auto) with_element_type(element_type type, F f) {
  switch (type) {
    case element_type::f64: return f(double{});
    case element_type::i32: return f(std::int32_t{});
    case element_type::i64: return f(std::int64_t{});
    case element_type::bf16: return f(bfloat16{});
    case element_type::f32:
    case element_type::u8: break;  // no tensor is of bytes
  }
  return f(float{});
}

/// Copies a strided block of elements of any type. On the host it calls the copy kernels that the
/// transports between ranks use. These kernels are compiled in any case, so no others are
/// instantiated.
template <class Processor>
void copy_block(Processor const& on, strided_block const& b, element_type type, void const* source,
                void* target) {
  if constexpr (Processor::is_host) {
    if (b.elements > 0) kernels_of(type).copy(b, source, target);
  } else {
    with_element_type(type, [&]<class T>(T) {
      copy(on, b, static_cast<T const*>(source), static_cast<T*>(target));
    });
  }
}

/// Runs a step of a redistribution that needs no communication. There are two kinds:
///
/// - slice: copies the part of the shard that this rank keeps
/// - zero_pad: fills a larger shard with the identity of the reduction and copies the old shard
///   into it
template <class Processor>
void run_local(Processor const& on, transfer const& what, element_type type, void const* source,
               void* target) {
  if (what.pads)
    with_element_type(type, [&]<class T>(T) {
      fill(on, identity_of<T>(what.op), what.to.elements(), static_cast<T*>(target));
    });
  for (auto const& block : what.receives) copy_block(on, block, type, source, target);
}

}  // namespace detail
}  // namespace ashlar
