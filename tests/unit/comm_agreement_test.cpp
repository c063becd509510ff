// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests two checks that all ranks have the same number. The first check uses two maxima over all
// ranks, and the second uses eight sums over all ranks. Also tests the hash by which ranks compare
// data.

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <ashlar/comm/agreement_in_maxima.hpp>
#include <ashlar/comm/agreement_in_sums.hpp>
#include <ashlar/support/content_hash.hpp>

namespace ashlar_test {
namespace {

bool agree(std::vector<std::uint64_t> const& of_ranks) {
  std::array<double, ashlar::agreement_addends> sums{};
  for (auto const value : of_ranks) {
    auto const mine = ashlar::agreement_of(value);
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += mine[k];
  }
  return ashlar::all_agree(sums, static_cast<int>(of_ranks.size()));
}

}  // namespace

TEST_CASE("two maxima show whether all ranks have the same number") {
  auto const agree = [](std::vector<std::uint64_t> const& of_ranks) {
    auto maxima = ashlar::bounds_of(of_ranks[0]);
    for (auto const value : of_ranks)
      for (std::size_t k = 0; k < 2; ++k)
        maxima[k] = std::max(maxima[k], ashlar::bounds_of(value)[k]);
    return ashlar::all_agree(maxima);
  };
  auto const top = std::uint64_t(1) << 63;
  for (std::uint64_t const value : {std::uint64_t(0), ~std::uint64_t(0), top, top - 1}) {
    CHECK(agree({value, value, value}));
    for (int bit = 0; bit < 64; ++bit) {
      CHECK_FALSE(agree({value, value ^ std::uint64_t(1) << bit, value}));
      CHECK_FALSE(agree({value ^ std::uint64_t(1) << bit, value}));
    }
  }
}

TEST_CASE("the sums show whether all ranks have the same number") {
  std::mt19937_64 random(1);
  for (int const ranks : {1, 2, 3, 8, 1000, 40000}) {
    for (std::uint64_t const value : {std::uint64_t(0), ~std::uint64_t(0), random(), random()}) {
      std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks), value);
      CHECK(agree(all));
      if (ranks == 1) continue;
      for (int bit = 0; bit < 64; ++bit) {  // one rank differs in one bit
        auto& other = all[random() % all.size()];
        other ^= std::uint64_t(1) << bit;
        CHECK_FALSE(agree(all));
        other = value;
      }
    }
  }
  // The mean of 1, 2 and 3 is the number of the second rank. So the mean does not tell this rank
  // that the numbers differ, but the sums of squares do.
  CHECK_FALSE(agree({1, 2, 3}));
  CHECK_FALSE(agree({0x10000, 1}));
}

TEST_CASE("the hash of data changes with every byte, with the length and with the order") {
  std::vector<unsigned char> data(101);
  std::mt19937 random(2);
  for (auto& byte : data) byte = static_cast<unsigned char>(random());
  std::set<std::uint64_t> seen;
  int made = 0;
  auto const add = [&](std::uint64_t hash) { seen.insert(hash), ++made; };
  for (std::size_t n = 0; n <= data.size(); ++n) add(ashlar::content_hash(data.data(), n));
  for (auto& byte : data)
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<unsigned char>(byte ^ (1 << bit));
      add(ashlar::content_hash(data.data(), data.size()));
      byte = static_cast<unsigned char>(byte ^ (1 << bit));
    }
  // The hash reads words of 8 bytes. This loop swaps bytes at the same place of successive words.
  for (std::size_t i = 8; i < data.size(); ++i) {
    auto other = data;
    std::swap(other[i], other[i - 8]);
    if (other != data) add(ashlar::content_hash(other.data(), other.size()));
  }
  std::vector<std::int32_t> const zeros(8);
  for (std::size_t n = 1; n <= 8; ++n) add(ashlar::content_hash(std::span(zeros).first(n)));
  CHECK(seen.size() == static_cast<std::size_t>(made));

  // The expected hashes of the bytes (31 i + 7) % 256 come from Python's package xxhash 3.
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(31 * i + 7);
  struct known {
    std::size_t bytes;
    std::uint64_t hash, hash_with_seed;
  };
  for (known const k : {known{0, 0xef46db3751d8e999, 0x95584af7701f808d},
                        {1, 0xa96c7f0ce858bbb7, 0x496fc29a1e753bd7},
                        {4, 0xc60d15b1e3ff8f04, 0x1034b01f61e3b2e6},
                        {13, 0x0382284cc19c4abb, 0xb285e8ff82f6b53a},
                        {31, 0x4a74f3a1a39ad4a1, 0xbff21e6871cdf167},
                        {32, 0x8d57d6a4671cc43d, 0x7bdfe9fbcc771266},
                        {101, 0xfbfdf3fa1a53bc7f, 0xae2431c2de631e2e}}) {
    CHECK(ashlar::content_hash(data.data(), k.bytes) == k.hash);
    CHECK(ashlar::content_hash(data.data(), k.bytes, 12345) == k.hash_with_seed);
    for (auto const part : std::array<std::size_t, 5>{1, 7, 31, 32, 33}) {
      ashlar::content_hasher parts;
      for (std::size_t at = 0; at < k.bytes; at += part)
        parts.add(data.data() + at, std::min(part, k.bytes - at));
      CHECK(parts.value() == k.hash);
    }
  }

  std::vector<float> const values{1, 2, 3};
  auto const whole = ashlar::content_hash(std::span(values));
  CHECK(whole == ashlar::content_hash(values.data(), 12));
  CHECK(whole != ashlar::content_hash(std::span(values), 1));
}

}  // namespace ashlar_test
