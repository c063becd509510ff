// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Text from a trained byte-level model: one byte at a time, drawn from the softmax of the last
// logits at a temperature. The net sees whole batches, so the batch holds one prompt many times and
// the first row counts.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace example {

/// `prompt` (not empty) and `count` bytes that continue it. Collective over the mesh: every rank gets
/// the same text.
template <class Model>
std::string generate(Model& model, std::string prompt, int count, double temperature,
                     std::uint64_t seed) {
  auto const sequences = static_cast<std::size_t>(model.input_extents()[0]);
  auto const length = static_cast<std::size_t>(model.input_extents()[1]);
  constexpr std::size_t bytes = 256;  // the vocabulary may have more
  std::mt19937_64 random(seed);
  std::string text = std::move(prompt);
  std::vector<std::int32_t> ids(sequences * length);
  for (int i = 0; i < count; ++i) {
    std::size_t const seen = std::min(text.size(), length);
    std::size_t const start = text.size() - seen;
    std::fill(ids.begin(), ids.end(), 0);
    for (std::size_t k = 0; k < seen; ++k) ids[k] = static_cast<unsigned char>(text[start + k]);
    auto const logits = model.predict(ids);
    auto const* const row = logits.data() + (seen - 1) * logits.size() / (sequences * length);
    auto const highest = static_cast<double>(*std::max_element(row, row + bytes));
    std::vector<double> weight(bytes);
    double sum = 0;
    for (std::size_t c = 0; c < bytes; ++c)
      sum += weight[c] = std::exp((static_cast<double>(row[c]) - highest) / temperature);
    double draw = sum * static_cast<double>(random() >> 11) * 0x1.0p-53;
    std::size_t c = 0;
    while (c + 1 < bytes && draw >= weight[c]) draw -= weight[c++];
    text += static_cast<char>(c);
  }
  return text;
}

}  // namespace example
