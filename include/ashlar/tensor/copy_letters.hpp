// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies a shard to another order of its dims, which are named by letters. einsum.hpp and
// evaluate.hpp need this for products: the matrix kernel cannot read every order of an operand's
// dims.

#include <array>

#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/dim_letters.hpp>

namespace ashlar::detail {

/// The extent of the dim that each letter names, of whole tensors or of a rank's shards.
struct letter_extents {
  std::array<std::int64_t, 128> of{};

  std::int64_t operator[](char letter) const { return of[static_cast<unsigned char>(letter)]; }
  void set(char letter, std::int64_t extent) { of[static_cast<unsigned char>(letter)] = extent; }
  std::int64_t product(dim_letters const& letters) const {
    std::int64_t n = 1;
    for (char const letter : letters.view()) n *= (*this)[letter];
    return n;
  }
};

/// Copies the array x, whose dims have the letters `from`, to y, whose dims have the letters `to`.
/// `to` must be `from` in another order.
template <class Processor, class T>
void copy_letters(Processor const& on, letter_extents const& local, dim_letters const& from,
                  T const* x, dim_letters const& to, T* y) {
  std::array<std::int64_t, max_rank + 1> extents{}, source{}, target{};
  std::int64_t step = 1;
  for (int d = to.length - 1; d >= 0; --d) {
    auto const i = static_cast<std::size_t>(d);
    extents[i] = local[to.text[d]];
    target[i] = step;
    step *= extents[i];
  }
  if (step == 0) return;
  step = 1;
  for (int d = from.length - 1; d >= 0; --d) {
    source[to.view().find(from.text[d])] = step;
    step *= local[from.text[d]];
  }
  copy_strided(on, to.length, extents.data(), x, source.data(), y, target.data());
}

}  // namespace ashlar::detail
