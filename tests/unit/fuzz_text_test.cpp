// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the fuzz target of the text readers on the files of its corpus and on mutations of these
// files. Exactly one of the readers that are counted (fuzz/text_readers.hpp) must accept each file
// whose name begins with "good", and none may accept another file of the corpus. A mutation must be
// accepted, or rejected with ashlar::error.

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <fuzz/text_readers.hpp>

namespace ashlar_test {
namespace {

TEST_CASE("texts of the corpus are accepted or refused, and mutations never break a reader") {
  std::mt19937 random(11);
  int good = 0, bad = 0;
  auto const folder = std::filesystem::path(__FILE__).parent_path() / ".." / "fuzz" / "text_corpus";
  for (auto const& file : std::filesystem::directory_iterator(folder)) {
    auto const name = file.path().filename().string();
    CAPTURE(name);
    std::ifstream in(file.path(), std::ios::binary);
    std::string const text{std::istreambuf_iterator<char>(in), {}};
    bool const expected = name.rfind("good", 0) == 0;
    CHECK(accepted_by_text_readers(text) == (expected ? 1 : 0));
    (expected ? good : bad) += 1;
    for (int i = 0; i < 300; ++i) {
      std::string mutant = text;
      for (unsigned k = 0; k <= random() % 3; ++k) {
        auto const at = random() % (mutant.size() + 1);
        if (random() % 2 == 0) mutant.insert(at, 1, "0919-.=,:()[]SBP# \n"[random() % 19]);
        else mutant.erase(at, random() % 4);
      }
      accepted_by_text_readers(mutant);
    }
  }
  CHECK(good >= 4);
  CHECK(bad >= 4);
}

}  // namespace
}  // namespace ashlar_test
