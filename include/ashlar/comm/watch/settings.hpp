// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The settings of the watchdog (watchdog.hpp), from environment variables:
//
//   ASHLAR_TIMEOUT          unset     a rank that waits for 60 s for others ends the job
//                           90        a rank that waits for 90 s ends the job; the number may have
//                                     a fraction, after a point in every locale
//                           90,warn   after 90 s the rank says what it waits for, and keeps waiting
//                           off       ranks wait forever
//   ASHLAR_FLIGHT_RECORDS   unset     flight records are written to the working directory
//                           a path    flight records are written to this folder
//                           off       no flight records are written

#include <chrono>
#include <string>

#include <ashlar/config.hpp>

namespace ashlar::watch {

struct settings {
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  ///< with 0, ranks wait forever
  bool only_warns = false;
  std::string folder = ".";  ///< the folder of flight records; if it is empty, none are written

  bool is_on() const { return timeout.count() > 0; }
};

/// Throws ashlar::error if ASHLAR_TIMEOUT has none of the forms above, or if its number is not from
/// 0.1 to 1000000.
ASHLAR_INLINE settings settings_from_environment();

}  // namespace ashlar::watch

#if ASHLAR_DEFINES(COMM)
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include <ashlar/support/error.hpp>

namespace ashlar::watch {

ASHLAR_INLINE settings settings_from_environment() {
  settings s;
  if (char const* const folder = std::getenv("ASHLAR_FLIGHT_RECORDS"); folder && *folder) {
    s.folder = folder;
    if (s.folder == "off") s.folder.clear();
  }
  char const* const given = std::getenv("ASHLAR_TIMEOUT");
  std::string text = given == nullptr ? "" : given;
  if (text.empty()) return s;
  if (text == "off") {
    s.timeout = {};
    return s;
  }
  auto const comma = text.find(',');
  bool is_valid = comma == std::string::npos || text.substr(comma) == ",warn";
  s.only_warns = comma != std::string::npos;
  std::string const number = text.substr(0, comma);
  double seconds = 0;
  char const* const end = number.data() + number.size();
  auto const read = std::from_chars(number.data(), end, seconds);
  is_valid = is_valid && read.ec == std::errc() && read.ptr == end;
  is_valid = is_valid && seconds >= 0.1 && seconds <= 1e6;  // false for nan
  if (!is_valid)
    throw error("mesh", "ASHLAR_TIMEOUT is '" + text +
                            "'. Give seconds from 0.1 to 1000000, such as 90 or 90,warn, or off.");
  s.timeout = std::chrono::milliseconds(std::lround(1000 * seconds));
  return s;
}

}  // namespace ashlar::watch
#endif
