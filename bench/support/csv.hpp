// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Writes a table to a CSV file, one line per row. Fields may not contain commas. If the file
// already has rows, new rows are appended, so that several runs make one table.

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar_bench {

class csv_file {
 public:
  /// Opens the file, or no file if `path` is empty. Throws if the file cannot be written, or if it
  /// exists with another heading.
  csv_file(std::string const& path, std::string const& heading) {
    if (path.empty()) return;
    std::string first;
    std::ifstream before(path);
    bool const continued = before && std::getline(before, first) && !first.empty();
    if (continued && first != heading)
      throw std::runtime_error("--csv " + path + ": its heading is different. Give a new file.");
    out_.open(path, std::ios::app);
    if (!out_) throw std::runtime_error("--csv " + path + ": cannot be written.");
    if (!continued) out_ << heading << '\n';
  }

  void row(std::vector<std::string> const& fields) {
    if (!out_.is_open()) return;
    std::string line;
    for (auto const& f : fields) {
      if (f.find(',') != std::string::npos)
        throw std::logic_error("csv_file: a comma in \"" + f + "\"");
      line += (line.empty() ? "" : ",") + f;
    }
    out_ << line << std::endl;
  }

 private:
  std::ofstream out_;
};

/// Formats a value, for example "12.345". Returns "-" if the value is not positive, which stands
/// for "not measured".
inline std::string number(double value, char const* format = "%.3f") {
  if (!(value > 0)) return "-";
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Replaces every comma by a space, so that a placement fits into a field.
inline std::string without_commas(std::string text) {
  for (char& c : text)
    if (c == ',') c = ' ';
  return text;
}

}  // namespace ashlar_bench
