// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads and writes JSON files safely. Every problem with a file becomes an ashlar::error that names
// the file. Writing is all or nothing: a failure leaves the previous content in place.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <ashlar/support/whole_file.hpp>

namespace ashlar::io {
namespace detail {

/// Parses a stream. Throws ashlar::error(operation) with the file's name.
inline nlohmann::json parse_json(std::istream& in, std::string const& path,
                                 std::string const& operation) {
  try {
    return nlohmann::json::parse(in);
  } catch (nlohmann::json::exception const& e) {
    throw error(operation, path + " is not JSON: " + e.what());
  } catch (std::exception const&) {  // from the stream, for example if it is a folder
    throw error(operation, path + " cannot be read.");
  }
}

/// Parses a file. Throws ashlar::error(operation) with the file's name.
inline nlohmann::json read_json(std::string const& path, std::string const& operation) {
  std::ifstream in(path);
  if (!in) throw error(operation, path + " cannot be read.");
  return parse_json(in, path, operation);
}

/// Runs `read` on parsed content. Turns the exceptions for missing or mistyped entries, and all
/// others, into an ashlar::error with the file's name.
template <class Read>
auto interpret(std::string const& path, std::string const& operation, Read read) {
  try {
    return read();
  } catch (nlohmann::json::exception const& e) {
    throw error(operation, path + " lacks an entry or has one of the wrong type: " + e.what());
  } catch (std::exception const& e) {  // an ashlar::error, or a list exceeded its capacity
    throw error(operation, path + ": " + e.what());
  }
}

/// Returns a whole number. (nlohmann's get<int>() would truncate 1.7 to 1.) Throws ashlar::error
/// with the entry's name if it is not one.
inline std::int64_t whole_number(nlohmann::json const& value, std::string const& name) {
  if (!value.is_number_integer()) throw error(name, "must be a whole number.");
  return value.get<std::int64_t>();
}

/// Checks the entries "format" and "version", and returns the version, from 1 to `newest`. Throws
/// ashlar::error if they do not fit.
inline int check_format(nlohmann::json const& j, std::string const& format, int newest) {
  auto const found = j.at("format").get<std::string>();
  if (found != format)
    throw error("format", "this is a file of \"" + found + "\", not of \"" + format + "\".");
  auto const number = whole_number(j.at("version"), "version");
  if (number < 1 || number > newest)
    throw error("version", std::to_string(number) + " is unknown; this program reads version" +
                               (newest > 1 ? "s 1 to " : " ") + std::to_string(newest) + ".");
  return static_cast<int>(number);
}

/// Throws ashlar::error with the first key of `j` that is not among `known`, if there is one.
inline void refuse_unknown_keys(nlohmann::json const& j, std::string const& where,
                                std::initializer_list<std::string_view> known) {
  if (!j.is_object()) throw error(where, "must be an object.");
  for (auto const& [key, value] : j.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string list;
    for (auto const k : known) list += (list.empty() ? "" : ", ") + std::string(k);
    throw error(where, "\"" + key + "\" is not a known key. Known keys are " + list + ".");
  }
}

/// Writes `j` to a file. Throws ashlar::error(operation) if that fails.
inline void write_json(std::string const& path, nlohmann::ordered_json const& j,
                       std::string const& operation) {
  write_whole(path, j.dump(1) + "\n", operation);
}

}  // namespace detail
}  // namespace ashlar::io
