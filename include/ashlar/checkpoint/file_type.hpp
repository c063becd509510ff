// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The element types that are read from safetensors files, and their conversion to the types of
// tensors:
//
//   in a file            in a tensor
//   F32 F64 BF16         the same type, or another of the three if load_options.converts is set
//   F16                  float, double or bfloat16 if load_options.converts is set
//   I32 I64              the same type
//
// Other types are refused. F16 is never written.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ashlar/checkpoint/stored_array.hpp>
#include <ashlar/support/error.hpp>
#include <ashlar/support/float16.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::checkpoint {

struct load_options {
  bool converts = false;  ///< whether floats, doubles, bfloat16 and float16 are converted
  bool verifies = true;   ///< whether the hashes of the files are checked
};

namespace detail {

/// The element type of an array in a file: that of a tensor, or float16.
struct file_type {
  std::optional<element_type> type;  ///< empty for float16

  std::int64_t bytes() const { return type ? size_of(*type) : 2; }
  bool is_floating() const { return type != element_type::i32 && type != element_type::i64; }
  friend bool operator==(file_type const&, file_type const&) = default;
};

/// Returns the type with this name in safetensors files, or nothing if the library does not read
/// this type.
inline std::optional<file_type> file_type_named(std::string const& name) {
  for (auto const type : {element_type::f32, element_type::f64, element_type::i32,
                          element_type::i64, element_type::bf16})
    if (name == safetensors_type(type)) return file_type{type};
  if (name == "F16") return file_type{};
  return std::nullopt;
}

/// Throws ashlar::error unless an array of the type `found` in the files can be read into an array
/// of type `wanted`. `name` is its name in the files.
inline void check_type(std::string const& name, std::string const& found, element_type wanted,
                       load_options const& options) {
  auto const type = file_type_named(found);
  if (type == file_type{wanted}) return;
  bool const is_possible = type && type->is_floating() && file_type{wanted}.is_floating();
  if (is_possible && options.converts) return;
  throw error("checkpoint::load",
              "\"" + name + "\" has type " + found + " in the checkpoint, but " +
                  safetensors_type(wanted) + " in this net. " +
                  (is_possible ? "Set load_options.converts to convert F64, F32, BF16 and F16 to "
                                 "the type of the net."
                               : "Only F64, F32, BF16 and F16 are converted. Write the values with "
                                 "the type of the net."));
}

/// Returns `values`, which are elements of type `from`, as elements of type `to`. Rounds if needed.
inline std::vector<std::byte> converted(std::vector<std::byte> const& values, file_type from,
                                        element_type to) {
  using ashlar::detail::with_element_type;
  auto const count = values.size() / static_cast<std::size_t>(from.bytes());
  std::vector<std::byte> made(count * static_cast<std::size_t>(size_of(to)));
  auto const convert = [&]<class From>(From) {
    with_element_type(to, [&]<class To>(To) {
      auto const* const source = reinterpret_cast<From const*>(values.data());
      auto* const target = reinterpret_cast<To*>(made.data());
      for (std::size_t i = 0; i < count; ++i)
        target[i] = static_cast<To>(static_cast<double>(source[i]));
    });
  };
  if (from.type) with_element_type(*from.type, convert);
  else convert(float16{});
  return made;
}

}  // namespace detail
}  // namespace ashlar::checkpoint
