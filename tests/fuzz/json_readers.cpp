// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Runs the JSON readers under libFuzzer. tests/unit/io_json_fuzz_test.cpp runs the same code over
// the corpus.
//
//   clang++ -std=c++20 -O1 -fsanitize=fuzzer,address,undefined -Iinclude -Itests
//     tests/fuzz/json_readers.cpp -o json_readers
//   ./json_readers tests/fuzz/corpus

#include <fuzz/json_readers.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  ashlar_test::accepted_by_readers({reinterpret_cast<char const*>(data), size});
  return 0;
}
