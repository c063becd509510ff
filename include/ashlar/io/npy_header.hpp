// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The header of a .npy file, which has one array
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html):
//
//   6 bytes        "\x93NUMPY"
//   2 bytes        the version: 1.0, 2.0 or 3.0
//   2 or 4 bytes   the size of the next part, a little-endian number; 2 bytes in version 1.0
//   text           {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//   data           the array, row-major, or column-major if fortran_order is True
//
// Files from unknown sources are read too, so every number is checked.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/layout/shape.hpp>
#include <ashlar/placement/text.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::io {

struct npy_header {
  /// The name of the element type. parse_npy_description accepts any name.
  std::string type_name;
  element_type type = element_type::f32;  ///< set by parse_npy_header
  bool is_column_major = false;
  shape extents;
  std::int64_t data = 0;  ///< the position of the data in the file, in bytes
};

/// The largest number of bytes of a header. Longer headers are refused.
inline constexpr std::size_t most_npy_header = 64 * 1024;

namespace detail {

/// The names of element types in headers, in the order of element_type. bfloat16 has none.
inline constexpr std::string_view npy_types[] = {"<f4", "<f8", "<i4", "<i8"};

[[noreturn]] inline void refuse_npy(std::string const& why) {
  throw error("npy", "the header cannot be read: " + why + ".");
}

/// Reads the text of a header, a Python dictionary with the keys descr, fortran_order and shape.
class npy_dictionary {
 public:
  explicit npy_dictionary(std::string_view text) : rest_(text) {}

  npy_header read() {
    npy_header h;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!takes('}')) {
      auto const key = quoted();
      expect(':');
      if (key == "descr" && !has_type) h.type_name = quoted(), has_type = true;
      else if (key == "fortran_order" && !has_order) h.is_column_major = truth(), has_order = true;
      else if (key == "shape" && !has_shape) h.extents = tuple(), has_shape = true;
      else refuse_npy("the key \"" + std::string(key) + "\" is unknown or there twice");
      if (!takes(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (!rest_.empty()) refuse_npy("there is text after the dictionary");
    if (!has_type || !has_order || !has_shape)
      refuse_npy("descr, fortran_order or shape is missing");
    return h;
  }

 private:
  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool takes(char c) {
    skip();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!takes(c)) refuse_npy(std::string("a '") + c + "' is missing");
  }
  std::string_view quoted() {
    char const quote = takes('"') ? '"' : '\'';
    if (quote == '\'') expect('\'');
    auto const end = rest_.find(quote);
    if (end == std::string_view::npos) refuse_npy("a text has no end");
    auto const text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  bool truth() {
    skip();
    bool const is_true = rest_.starts_with("True");
    if (!is_true && !rest_.starts_with("False")) refuse_npy("fortran_order is not True or False");
    rest_.remove_prefix(is_true ? 4 : 5);
    return is_true;
  }
  shape tuple() {
    shape s;
    std::int64_t elements = 1;
    expect('(');
    while (!takes(')')) {
      skip();
      std::int64_t n = 0;
      std::size_t digits = 0;
      for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, rest_[digits] - '0', &n))
          refuse_npy("an extent is too large");
      if (digits == 0) refuse_npy("an extent is not a number");
      rest_.remove_prefix(digits);
      if (s.rank() == max_rank)
        refuse_npy("there are more than " + std::to_string(max_rank) + " dims");
      s.extent.push_back(n);
      // An element has at most 8 bytes, and the bytes of the array must fit into 64 bits. This
      // product leaves out extents of 0.
      if (n > 0 && __builtin_mul_overflow(elements, n, &elements))
        refuse_npy("the array is too large");
      if (elements > (std::int64_t(1) << 59)) refuse_npy("the array is too large");
      if (!takes(',')) {
        expect(')');
        break;
      }
    }
    return s;
  }
  std::string_view rest_;
};

}  // namespace detail

/// Reads the header from the first bytes of a file. Accepts every element type, whose name it
/// stores in `type_name`. Throws ashlar::error if these bytes are not the start of a .npy file.
inline npy_header parse_npy_description(std::string_view bytes) {
  auto const number = [&](std::size_t at, std::size_t count) {
    std::size_t n = 0;
    for (std::size_t i = count; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
    return n;
  };
  bool const is_npy = bytes.size() >= 12 && bytes.starts_with("\x93NUMPY") && bytes[6] >= 1 &&
                      bytes[6] <= 3;
  if (!is_npy) throw error("npy", "it is not a .npy file of version 1, 2 or 3.");
  std::size_t const before = bytes[6] == 1 ? 10 : 12;
  std::size_t const size = number(8, before - 8);
  if (size > most_npy_header || before + size > bytes.size())
    throw error("npy", "its header does not fit into it.");
  auto header = detail::npy_dictionary(bytes.substr(before, size)).read();
  header.data = static_cast<std::int64_t>(before + size);
  return header;
}

/// Reads the header like parse_npy_description. Also throws ashlar::error if the array has another
/// element type than float, double, int32 or int64.
inline npy_header parse_npy_header(std::string_view bytes) {
  auto header = parse_npy_description(bytes);
  for (int i = 0; i < 4; ++i)
    if (detail::npy_types[i] == header.type_name) {
      header.type = static_cast<element_type>(i);
      return header;
    }
  detail::refuse_npy("the element type \"" + header.type_name +
                     "\" is not one of <f4, <f8, <i4 and <i8. Convert the array in Python");
}

/// Returns the bytes before the data of a row-major array. Throws ashlar::error for bfloat16, for
/// which the format has no name, and for the bytes of encoded blocks.
inline std::string npy_text(element_type type, shape const& extents) {
  if (type == element_type::bf16 || type == element_type::u8)
    throw error("npy",
                "only float, double, int32 and int64 are written. Convert bfloat16 to float, or "
                "use safetensors.");
  std::string text = "{'descr': '" + std::string(detail::npy_types[static_cast<int>(type)]) +
                     "', 'fortran_order': False, 'shape': (";
  for (auto const n : extents.extent) text += std::to_string(n) + ",";
  text += "), }";
  text.append(63 - (10 + text.size()) % 64, ' ');  // the data begin at a multiple of 64
  text += '\n';
  std::string made = "\x93NUMPY\x01";
  made += '\0';
  made += static_cast<char>(text.size() & 0xff);
  made += static_cast<char>(text.size() >> 8);
  return made + text;
}

}  // namespace ashlar::io
