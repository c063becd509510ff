// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The text of a transfer, for error messages. It is the same on all members of the group. Examples:
//
//   all-gather along gpu of 512x1024 float [S(0)] -> [B]     a step of a redistribution
//   all-reduce along node+gpu of 64 double sum               values in host memory
//
// If the wire of a step is not exact (plan/wire.hpp), the text also names the wire and, for encoded
// blocks, transfer::encoded_bytes:
//
//   all-to-all along gpu of 40x3 bytes [P] -> [S(0)] as int8 in 264 bytes
//
// If sums are by rank (sum_order.hpp), the text of a reduction ends with "by rank".

#include <string>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/config.hpp>
#include <ashlar/mesh/text.hpp>
#include <ashlar/placement/text.hpp>

namespace ashlar {

/// The part of a transfer that its text shows. A title may outlive its transfer.
struct transfer_title {
  collective kind = collective::all_reduce;
  axis_list axes;
  reduction op = reduction::sum;
  element_type type = element_type::f32;
  int partner = -1;
  std::int64_t elements = 0;  ///< transfer::flat_elements
  shape extents;
  placement before, after;
  sum_order sums = sum_order::around_ring;
  wire_format wire{};
  std::int64_t encoded_bytes = 0;
};

inline transfer_title title_of(transfer const& x, element_type type) {
  return {x.kind,    x.axes,   x.op,    type,   x.partner, x.flat_elements(),
          x.extents, x.before, x.after, x.sums, x.wire,    x.encoded_bytes};
}

ASHLAR_INLINE std::string to_string(transfer_title const& x, topology const& t);

#if ASHLAR_DEFINES(COMM)
ASHLAR_INLINE std::string to_string(transfer_title const& x, topology const& t) {
  constexpr char const* types[] = {"float", "double", "int32", "int64", "bfloat16", "bytes"};
  std::string text = std::string(to_string(x.kind)) + " along " + to_string(x.axes, t) + " of ";
  bool const is_step = x.extents.rank() > 0;
  text += is_step ? to_string(x.extents) : std::to_string(x.elements);
  text += std::string(" ") + types[static_cast<int>(x.type)];
  if (is_step) text += " " + to_string(x.before) + " -> " + to_string(x.after);
  else if (reduces(x.kind)) text += std::string(" ") + to_string(x.op);
  if (!x.wire.is_exact()) text += " as " + to_string(x.wire);
  if (x.encoded_bytes > 0) text += " in " + std::to_string(x.encoded_bytes) + " bytes";
  if (is_rooted(x.kind)) text += " of member " + std::to_string(x.partner);
  if (reduces(x.kind) && x.sums == sum_order::by_rank) text += " by rank";
  return text;
}
#endif

}  // namespace ashlar
