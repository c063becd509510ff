// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Adds a command line option whose value is an integer of at least 1, or the word auto.

#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace example {

/// Adds an option whose value is an integer of at least 1, or the word auto, which is stored as 0.
inline CLI::Option* add_auto_or_number(CLI::App& app, char const* name, int& value,
                                       char const* help) {
  return app.add_option(name, value, help)
      ->transform(CLI::Validator(
          [](std::string& text) -> std::string {
            if (text == "auto") text = "0";
            else if (!CLI::Range(1, 1 << 30)(text).empty())
              return text + " is neither auto nor a number of 1 or more";
            return {};
          },
          "auto|N"))
      ->default_str(std::to_string(value))
      ->type_name("");
}

}  // namespace example
