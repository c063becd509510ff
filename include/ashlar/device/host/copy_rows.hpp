// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Copies short rows faster than one call of memcpy per row would. A row is copied by moves of a
// constant size, which the compiler turns into a few instructions. The last move ends at the end of
// the row and may overlap the move before it.
//
//   bytes of a row    1   2..3   4..7   8..15   16..31   32..63   64 and more
//   bytes of a move   1   2      4      8       16       32       64

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ashlar::device::host {

/// The length in bytes of the longest row for which copy_strided uses copy_rows.
inline constexpr std::int64_t short_row_bytes = 512;

namespace detail {

template <std::size_t Move>
void copy_rows_by(char const* src, std::int64_t src_pitch, std::int64_t rows, std::int64_t bytes,
                  char* dst, std::int64_t dst_pitch) {
  std::int64_t const last = bytes - static_cast<std::int64_t>(Move);
  for (std::int64_t r = 0; r < rows; ++r, src += src_pitch, dst += dst_pitch) {
    for (std::int64_t i = 0; i < last; i += Move) std::memcpy(dst + i, src + i, Move);
    std::memcpy(dst + last, src + last, Move);
  }
}

}  // namespace detail

/// Copies `rows` rows of `bytes` bytes each, where bytes > 0. src_pitch and dst_pitch are the
/// distances in bytes between two rows. The arrays must be disjoint.
inline void copy_rows(void const* source, std::int64_t src_pitch, std::int64_t rows,
                      std::int64_t bytes, void* target, std::int64_t dst_pitch) {
  auto const* const src = static_cast<char const*>(source);
  auto* const dst = static_cast<char*>(target);
  if (bytes >= 64) return detail::copy_rows_by<64>(src, src_pitch, rows, bytes, dst, dst_pitch);
  if (bytes >= 32) return detail::copy_rows_by<32>(src, src_pitch, rows, bytes, dst, dst_pitch);
  if (bytes >= 16) return detail::copy_rows_by<16>(src, src_pitch, rows, bytes, dst, dst_pitch);
  if (bytes >= 8) return detail::copy_rows_by<8>(src, src_pitch, rows, bytes, dst, dst_pitch);
  if (bytes >= 4) return detail::copy_rows_by<4>(src, src_pitch, rows, bytes, dst, dst_pitch);
  if (bytes >= 2) return detail::copy_rows_by<2>(src, src_pitch, rows, bytes, dst, dst_pitch);
  detail::copy_rows_by<1>(src, src_pitch, rows, bytes, dst, dst_pitch);
}

}  // namespace ashlar::device::host
