// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the readers of text under libFuzzer. tests/unit/fuzz_text_test.cpp runs the same code over
// the corpus.
//
//   clang++ -std=c++20 -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests
//     tests/fuzz/text_readers.cpp -o text_readers
//   ./text_readers tests/fuzz/text_corpus

#include <cstdint>

#include <fuzz/text_readers.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ashlar_test::accepted_by_text_readers({reinterpret_cast<char const*>(data), size});
  return 0;
}
