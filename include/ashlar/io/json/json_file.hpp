// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads and writes JSON files, and checks their format, version and keys. Every problem with a file
// is thrown as an ashlar::error that names the file. If writing fails, the previous content of the
// file remains.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <ashlar/support/whole_file.hpp>

namespace ashlar::io {
namespace detail {

/// Parses the JSON text in the stream `in` of the file `path`. If parsing fails, throws an
/// ashlar::error that names `operation` and the file.
inline nlohmann::json parse_json(std::istream& in, std::string const& path,
                                 std::string const& operation) {
  try {
    return nlohmann::json::parse(in);
  } catch (nlohmann::json::exception const& e) {
    throw error(operation, path + " is not JSON: " + e.what());
  } catch (std::exception const&) {  // The stream throws, for example, if `path` is a folder.
    throw error(operation, path + " cannot be read.");
  }
}

/// Reads and parses a file. If reading or parsing fails, throws an ashlar::error that names
/// `operation` and the file.
inline nlohmann::json read_json(std::string const& path, std::string const& operation) {
  std::ifstream in(path);
  if (!in) throw error(operation, path + " cannot be read.");
  return parse_json(in, path, operation);
}

/// Calls read(), which interprets the parsed content of a file, and returns the result of read().
/// Converts every exception of read(), such as one for a missing entry, to an ashlar::error that
/// names `operation` and the file.
template <class Read>
auto interpret(std::string const& path, std::string const& operation, Read read) {
  try {
    return read();
  } catch (nlohmann::json::exception const& e) {
    throw error(operation, path + " lacks an entry or has one of the wrong type: " + e.what());
  } catch (std::exception const& e) {  // This is an ashlar::error, or a list exceeds its capacity.
    throw error(operation, path + ": " + e.what());
  }
}

/// Returns `value` as an integer. If `value` is not an integer, throws an ashlar::error with `name`
/// (the name of the entry). Without this check, nlohmann's get<int>() would truncate 1.7 to 1.
inline std::int64_t whole_number(nlohmann::json const& value, std::string const& name) {
  if (!value.is_number_integer()) throw error(name, "must be a whole number.");
  return value.get<std::int64_t>();
}

/// Returns the entry "version" of a file. Throws ashlar::error if the entry "format" is not
/// `format`, or if the version is not in 1, ..., `newest`.
inline int check_format(nlohmann::json const& j, std::string const& format, int newest) {
  auto const found = j.at("format").get<std::string>();
  if (found != format)
    throw error("format", "the format is \"" + found + "\", but \"" + format + "\" is needed.");
  auto const number = whole_number(j.at("version"), "version");
  if (number < 1 || number > newest)
    throw error("version", std::to_string(number) + " is unknown; this program reads version" +
                               (newest > 1 ? "s 1 to " : " ") + std::to_string(newest) + ".");
  return static_cast<int>(number);
}

/// Throws ashlar::error if the object `j` has a key that is not in `known`. `where` names the
/// object in the message.
inline void refuse_unknown_keys(nlohmann::json const& j, std::string const& where,
                                std::vector<std::string_view> const& known) {
  if (!j.is_object()) throw error(where, "must be an object.");
  for (auto const& [key, value] : j.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string list;
    for (auto const k : known) list += (list.empty() ? "" : ", ") + std::string(k);
    throw error(where, "\"" + key + "\" is not a known key. Known keys are " + list + ".");
  }
}

/// Writes `j` to a file. If writing fails, throws an ashlar::error that names `operation`.
inline void write_json(std::string const& path, nlohmann::ordered_json const& j,
                       std::string const& operation) {
  write_whole(path, j.dump(1) + "\n", operation);
}

}  // namespace detail
}  // namespace ashlar::io
