// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the fuzz target of the JSON readers on the files of its corpus and on mutations of these
// files, in which a few bytes or values are changed. Exactly one reader must accept each file of
// the corpus whose name begins with "good", and no reader may accept any other file of the corpus.
// A mutation must be accepted, or rejected with ashlar::error.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fuzz/json_readers.hpp>

namespace ashlar_test {
namespace {

struct sample {
  std::string name, text;
};

std::vector<sample> corpus() {
  std::vector<sample> list;
  auto const folder = std::filesystem::path(__FILE__).parent_path() / ".." / "fuzz" / "corpus";
  for (auto const& file : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    list.push_back({file.path().filename().string(), {std::istreambuf_iterator<char>(in), {}}});
  }
  std::sort(list.begin(), list.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
  return list;
}

TEST_CASE("good files of the corpus are accepted, bad ones are refused") {
  int good = 0, bad = 0;
  for (auto const& file : corpus()) {
    CAPTURE(file.name);
    bool const expected = file.name.rfind("good", 0) == 0;
    CHECK(accepted_by_readers(file.text) == (expected ? 1 : 0));
    (expected ? good : bad) += 1;
  }
  CHECK(good >= 3);
  CHECK(bad >= 12);
}

TEST_CASE("files similar to those of the corpus are read or refused") {
  auto const files = corpus();
  std::mt19937 random(42);
  auto const below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  char const* const words[] = {"-1",
                               "0",
                               "1e999",
                               "null",
                               "\"\"",
                               "[]",
                               "{}",
                               "true",
                               "1.5",
                               "\"P\"",
                               "9223372036854775808",
                               "\"S(0)\"",
                               "\"S(9),B\""};
  int accepted = 0;
  for (auto const& file : files)
    for (int k = 0; k < 200; ++k) {
      std::string text = file.text;
      for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
        auto const at = below(text.size());
        switch (below(6)) {
          case 0: text[at] = static_cast<char>(below(256)); break;
          case 1: text.erase(at, 1 + below(20)); break;
          case 2: text.insert(at, text.substr(below(text.size()), below(40))); break;
          case 3: text.resize(at); break;
          default: {  // this case writes another value after a colon, a comma or a bracket
            auto const from = text.find_first_of(":,[", at);
            if (from == std::string::npos) break;
            auto const to = text.find_first_of(",]}\n", from + 1);
            text.replace(from + 1, (to == std::string::npos ? text.size() : to) - from - 1,
                         words[below(std::size(words))]);
          }
        }
      }
      accepted += accepted_by_readers(text) > 0;
    }
  CHECK(accepted > 0);
}

}  // namespace
}  // namespace ashlar_test
