// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// A table in a file, one line a row, fields between commas; no field holds one. A file that has
// rows already is continued, so that several runs make one table.

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ashlar_bench {

class csv_file {
 public:
  /// Opens nothing if `path` is empty. Throws if the file cannot be written or is another table.
  csv_file(std::string const& path, std::string const& heading) {
    if (path.empty()) return;
    std::string first;
    std::ifstream before(path);
    bool const continued = before && std::getline(before, first) && !first.empty();
    if (continued && first != heading)
      throw std::runtime_error("--csv " + path + ": has other columns. Give a new file.");
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

/// "12.345"; "-" for what was not measured.
inline std::string number(double value, char const* format = "%.3f") {
  if (!(value > 0)) return "-";
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// The text with every comma a space: placements in a table.
inline std::string without_commas(std::string text) {
  for (char& c : text)
    if (c == ',') c = ' ';
  return text;
}

}  // namespace ashlar_bench
