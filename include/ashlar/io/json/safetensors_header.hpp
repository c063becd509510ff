// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The header of a safetensors file (https://github.com/huggingface/safetensors). Such a file has
// three parts:
//
//   8 bytes    the size of the JSON text, a little-endian number
//   JSON       for each array its element type, extents and position in the data
//   data       the arrays, row-major and little-endian, without gaps
//
// Files from unknown sources are read too, so every number is checked before memory is allocated.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <ashlar/io/json/json_file.hpp>

namespace ashlar::io {

/// An array in a safetensors file.
struct safetensors_entry {
  std::string name;
  std::string type;  ///< F32, F64, BF16, I32, I64 or another type, also one that is unknown here
  std::vector<std::int64_t> extents;
  std::int64_t begin = 0, end = 0;  ///< the position in bytes, from the start of the data
};

struct safetensors_header {
  std::vector<safetensors_entry> entries;       ///< in the order of their data
  std::map<std::string, std::string> metadata;  ///< texts of any meaning
  std::int64_t data = 0;                        ///< the position of the data in the file, in bytes

  /// Returns the entry of this name, or null.
  safetensors_entry const* find(std::string_view name) const {
    auto const at = std::find_if(entries.begin(), entries.end(),
                                 [&](auto const& e) { return e.name == name; });
    return at == entries.end() ? nullptr : &*at;
  }
};

/// Returns the start of a safetensors file: the size of the JSON text, and the JSON text that
/// describes the arrays. The entries must be in the order of their data and without gaps.
inline std::string safetensors_text(safetensors_header const& header) {
  auto j = nlohmann::ordered_json::object();
  // j[name] would search the whole list for each name.
  auto& list = j.get_ref<nlohmann::ordered_json::object_t&>();
  if (!header.metadata.empty()) j["__metadata__"] = header.metadata;
  for (auto const& e : header.entries)
    list.emplace_back(e.name, nlohmann::ordered_json{{"dtype", e.type},
                                                     {"shape", e.extents},
                                                     {"data_offsets", {e.begin, e.end}}});
  std::string text = j.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // aligns the data
  auto const size = static_cast<std::uint64_t>(text.size());
  std::string made(sizeof size, '\0');
  for (std::size_t i = 0; i < sizeof size; ++i) made[i] = static_cast<char>(size >> (8 * i) & 0xff);
  return made + text;
}

namespace detail {

/// Returns the bytes of an element of this type of the format, or 0 if the type is unknown.
inline std::int64_t safetensors_element_size(std::string_view type) {
  struct {
    std::string_view name;
    std::int64_t bytes;
  } constexpr known[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
                         {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U64", 8},  {"U32", 4},
                         {"U16", 2}, {"U8", 1},  {"BOOL", 1}};
  for (auto const& k : known)
    if (k.name == type) return k.bytes;
  return 0;
}

/// Returns whether an entry has the bytes that its type and extents need. If the type is unknown,
/// returns whether the number of elements fits into 64 bits.
inline bool has_its_bytes(safetensors_entry const& e) {
  auto const of_element = safetensors_element_size(e.type);
  std::int64_t bytes = std::max<std::int64_t>(of_element, 1);
  for (auto const n : e.extents)
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) return false;
  return of_element == 0 || bytes == e.end - e.begin;
}

/// Reads the entries from the JSON of a file whose arrays have `data_bytes` bytes in all. Throws
/// ashlar::error if an entry is not valid or if the arrays do not fill these bytes without gaps.
inline safetensors_header header_of(nlohmann::json const& j, std::int64_t data_bytes) {
  if (!j.is_object()) throw error("header", "must be an object.");
  safetensors_header header;
  for (auto const& [name, value] : j.items()) {
    if (name == "__metadata__") {
      header.metadata = value.get<std::map<std::string, std::string>>();
      continue;
    }
    refuse_unknown_keys(value, name, {"dtype", "shape", "data_offsets"});
    auto const& where = value.at("data_offsets");
    if (!where.is_array() || where.size() != 2)
      throw error(name, "data_offsets must be two numbers.");
    safetensors_entry e{name,
                        value.at("dtype").get<std::string>(),
                        {},
                        whole_number(where[0], name),
                        whole_number(where[1], name)};
    if (!value.at("shape").is_array()) throw error(name, "its shape must be a list.");
    for (auto const& n : value.at("shape")) e.extents.push_back(whole_number(n, name));
    if (e.begin < 0 || e.end < e.begin || e.end > data_bytes)
      throw error(name, "its data are from byte " + std::to_string(e.begin) + " to " +
                            std::to_string(e.end) + ", but the file has " +
                            std::to_string(data_bytes) + " bytes of data.");
    if (!has_its_bytes(e))
      throw error(name, "its type " + e.type + " and shape do not have the " +
                            std::to_string(e.end - e.begin) + " bytes of its data.");
    header.entries.push_back(std::move(e));
  }
  std::sort(header.entries.begin(), header.entries.end(), [](auto const& a, auto const& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  std::int64_t end = 0;
  for (auto const& e : header.entries) {
    if (e.begin != end) throw error(e.name, "its data overlap others or leave a gap before them.");
    end = e.end;
  }
  if (end != data_bytes)
    throw error("header", "the arrays have " + std::to_string(end) + " bytes, but the file has " +
                              std::to_string(data_bytes) + " bytes of data.");
  return header;
}

}  // namespace detail

/// Reads the header of a safetensors file. Throws ashlar::error with the file's name if the file is
/// not a safetensors file.
inline safetensors_header read_safetensors_header(std::string const& path) {
  char const* const operation = "safetensors";
  constexpr std::int64_t most = 100'000'000;  // the limit of the format
  std::error_code failed;
  auto const bytes = std::filesystem::file_size(path, failed);
  if (failed || !std::filesystem::is_regular_file(path, failed))
    throw error(operation, path + " cannot be read: it is no regular file.");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw error(operation, path + " cannot be read.");
  unsigned char size_bytes[8]{};
  in.read(reinterpret_cast<char*>(size_bytes), sizeof size_bytes);
  std::uint64_t size = 0;
  for (int i = 7; i >= 0; --i) size = size << 8 | size_bytes[i];
  if (!in || size > most || size > bytes - sizeof size_bytes)
    throw error(operation, path + " is not a safetensors file: its header does not fit into it.");
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (!in) throw error(operation, path + " cannot be read.");
  auto const j = nlohmann::json::parse(text, nullptr, false);
  if (j.is_discarded())
    throw error(operation, path + " is not a safetensors file: its header is not JSON.");
  auto const data = static_cast<std::int64_t>(sizeof size_bytes + size);
  auto header = detail::interpret(path, operation, [&] {
    return detail::header_of(j, static_cast<std::int64_t>(bytes) - data);
  });
  header.data = data;
  return header;
}

}  // namespace ashlar::io
