// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Finds the tokens in a file. A file has one of these formats, in which all numbers are
// little-endian:
//
//   u16     tokens of 2 bytes and nothing else, as nanoGPT writes them
//   llm_c   a header of 256 words of 4 bytes (20240520, version 1, number of tokens, 0, ...), then
//           tokens of 2 bytes, as llm.c writes them
//   bytes   every byte is a token
//   npy     one array of integers (io/npy_header.hpp), read in row-major order
//
// With token_format::by_name, the extension of the file's name decides. A .npy file is npy. A .bin
// file is llm_c if it begins with 20240520, and otherwise u16. Any other file is bytes. A file may
// be damaged or come from an untrusted source, so every number in it is checked.

#include <cstdint>
#include <string>
#include <string_view>

#include <ashlar/io/npy_header.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::train {

enum class token_format : signed char { by_name, u16, llm_c, bytes, npy };

struct token_layout {
  std::int64_t data = 0;    ///< the position of the first token in the file, in bytes
  std::int64_t tokens = 0;  ///< the number of tokens
  int bytes = 1;            ///< the bytes of one token
  bool is_signed = false;
  friend bool operator==(token_layout const&, token_layout const&) = default;
};

/// The most bytes at the beginning of a file that token_layout_of reads.
inline constexpr std::size_t most_token_header = io::most_npy_header + 12;

namespace detail {

inline constexpr std::int64_t llm_c_number = 20240520, llm_c_header = 1024;

inline std::int64_t header_word(std::string_view head, std::size_t index) {
  std::uint32_t word = 0;
  for (std::size_t i = 4; i-- > 0;)
    word = word << 8 | static_cast<unsigned char>(head[4 * index + i]);
  return static_cast<std::int32_t>(word);
}

inline token_layout llm_c_layout(std::string_view head, std::int64_t size) {
  if (size < llm_c_header)
    throw error("tokens", "it has " + std::to_string(size) +
                              " bytes, but the header of llm.c alone has 1024.");
  if (auto const number = header_word(head, 0); number != llm_c_number)
    throw error("tokens", "it begins with " + std::to_string(number) +
                              ", but a file of llm.c with 2-byte tokens begins with 20240520.");
  if (auto const version = header_word(head, 1); version != 1)
    throw error("tokens", "it has version " + std::to_string(version) +
                              " of llm.c's format, but only version 1 is known.");
  token_layout made{llm_c_header, header_word(head, 2), 2, false};
  if (made.tokens < 0 || size < llm_c_header + 2 * made.tokens)
    throw error("tokens", "its header says " + std::to_string(made.tokens) +
                              " tokens, but it has room for " +
                              std::to_string((size - llm_c_header) / 2) + ".");
  return made;
}

inline token_layout npy_layout(std::string_view head, std::int64_t size) {
  auto const header = io::parse_npy_description(head);
  auto const& name = header.type_name;
  token_layout made{header.data, header.extents.elements(), 0, name.find('i') == 1};
  if (name == "|u1") made.bytes = 1;
  else if (name == "<u2") made.bytes = 2;
  else if (name == "<u4" || name == "<i4") made.bytes = 4;
  else if (name == "<i8") made.bytes = 8;
  else
    throw error("tokens", "its element type \"" + name +
                              "\" is not one of |u1, <u2, <u4, <i4 and <i8. Convert the array in "
                              "Python.");
  if (header.is_column_major && header.extents.rank() > 1)
    throw error("tokens", "its array is column-major. Save numpy.ascontiguousarray of it.");
  if (made.tokens > (size - made.data) / made.bytes)
    throw error("tokens", "its header says " + std::to_string(made.tokens) +
                              " tokens, but it has room for " +
                              std::to_string((size - made.data) / made.bytes) + ".");
  return made;
}

}  // namespace detail

/// Returns where the tokens of a file are. `head` has the first bytes of the file, at least
/// min(size, most_token_header) of them. `size` is the size of the file in bytes. `extension`, such
/// as ".npy", is used only by token_format::by_name. Throws ashlar::error if the file does not have
/// the format.
inline token_layout token_layout_of(std::string_view head, std::int64_t size,
                                    std::string_view extension, token_format format) {
  if (size == 0) throw error("tokens", "it is empty.");
  if (format == token_format::by_name) {
    if (extension == ".npy") format = token_format::npy;
    else if (extension != ".bin") format = token_format::bytes;
    else
      format = size >= 4 && detail::header_word(head, 0) == detail::llm_c_number
                   ? token_format::llm_c
                   : token_format::u16;
  }
  switch (format) {
    case token_format::npy: return detail::npy_layout(head, size);
    case token_format::llm_c: return detail::llm_c_layout(head, size);
    case token_format::u16:
      if (size % 2 != 0)
        throw error("tokens", "it has " + std::to_string(size) +
                                  " bytes, which is no number of 2-byte tokens.");
      return {0, size / 2, 2, false};
    default: return {0, size, 1, false};
  }
}

}  // namespace ashlar::train
