// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A part of a mesh may have a tag, which is any type that the program declares:
//
//   struct encoder;
//   auto left = mesh.part<encoder>({0, 1}, {{"gpu", 2}});   // basic_mesh<tagged<..., encoder>>
//
// The tag is in the types of all tensors on the part. So operators do not compile for tensors of
// parts with different tags. In every other respect the part is like one without a tag.

#include <type_traits>

#include <ashlar/comm/backend.hpp>

namespace ashlar {

/// Stands for the processor of a part with a tag, in the types of meshes and tensors.
template <class Processor, class Tag>
struct tagged : Processor {};

template <class Processor, class Tag>
struct backend_traits<tagged<Processor, Tag>> : backend_traits<Processor> {};

namespace detail {

/// The type of the processor without the tag.
template <class Processor>
struct without_tag {
  using type = Processor;
};
template <class Processor, class Tag>
struct without_tag<tagged<Processor, Tag>> {
  using type = Processor;
};

}  // namespace detail

/// Says whether two types in meshes and tensors stand for the same kind of processor, whatever
/// their tags.
template <class A, class B>
concept same_processor =
    std::is_same_v<typename detail::without_tag<A>::type, typename detail::without_tag<B>::type>;

/// The type that stands for a processor of this kind on a part with the tag `Tag`. If `Tag` is
/// void, this is `Processor` itself.
template <class Processor, class Tag>
using tagged_by = std::conditional_t<std::is_void_v<Tag>, Processor,
                                     tagged<typename detail::without_tag<Processor>::type, Tag>>;

}  // namespace ashlar
