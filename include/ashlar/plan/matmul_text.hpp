// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Prints plans of matrix products. The second line shows which dim of the product each mesh axis
// splits (m, n, k, or b for the batch), and the local product of rank 0. The other lines show the
// redistribution steps of a, b and c.
//
//   matmul 4096x4096 [S(0),S(1)] x 4096x4096 [S(0),S(1)] -> [S(0),S(1)] @node=2,gpu=2: 363.73 ms,
//     64.00 MiB received by rank 0, peak 224.00 MiB                              (on one line)
//     node: m, gpu: n; local product 2048x2048x4096, 343.60 ms
//     a all-gather along gpu: [S(0),S(1)] -> [S(0),B], 32.00 MiB, 6.71 ms
//     b all-gather along node: [S(0),S(1)] -> [B,S(1)], 32.00 MiB, 13.42 ms
//     c stays
//
// An axis that splits no dim of the product has another text: "-" if all its ranks compute the
// same, or "addends of a" (or "of b") if that operand is partial along this axis.

#include <ashlar/plan/matmul_stream.hpp>
#include <ashlar/plan/text.hpp>

namespace ashlar {

/// Returns which dim of the product each mesh axis splits, such as "node: n, gpu: k". An axis
/// that splits none has another text (see above).
inline std::string algorithm_text(matmul_plan const& plan, topology const& t) {
  auto const names = plan.letters();
  std::string text;
  for (int axis = 0; axis < t.axes(); ++axis) {
    auto const &a = plan.a.to[axis], &b = plan.b.to[axis];
    if (!text.empty()) text += ", ";
    text += std::string(t.axis[axis].name.view()) + ": ";
    if (a.is_split()) text += names.a[static_cast<std::size_t>(a.dim)];
    else if (b.is_split()) text += names.b[static_cast<std::size_t>(b.dim)];
    else if (a.is_partial()) text += "addends of a";
    else if (b.is_partial()) text += "addends of b";
    else text += "-";
  }
  return text;
}

inline std::ostream& operator<<(std::ostream& out, matmul_report const& r) {
  auto const& g = r.gemm;
  out << "matmul " << to_string(r.a.extents) << (r.transpose_a ? " transposed " : " ")
      << to_string(r.a.from) << " x " << to_string(r.b.extents)
      << (r.transpose_b ? " transposed " : " ") << to_string(r.b.from) << " -> "
      << to_string(r.c.to) << " @" << to_string(r.mesh) << ": " << seconds_text(r.seconds) << ", "
      << bytes_text(double(received_bytes(r, r.mesh, {}))) << " received by rank 0, peak "
      << bytes_text(double(r.peak_bytes)) << '\n'
      << "  " << algorithm_text(r, r.mesh) << "; local product ";
  if (r.a.extents.rank() == 3) out << g.batch << " of ";
  out << g.m << 'x' << g.n << 'x' << g.k << ", " << seconds_text(r.gemm_seconds);
  if (r.panels.letter != 0) out << "; " << r.panels.count << " panels of " << r.panels.letter;
  out << '\n';
  auto const tensors = detail::tensors_of(r, r.panels.letter);
  char const* const names[] = {"a", "b", "c"};
  for (int i = 0; i < tensors.size(); ++i) {
    bool const streamed = r.panels.letter != 0 && tensors[i].dim >= 0;
    auto const plan = streamed ? panel_plan(*tensors[i].plan, r.panels, tensors[i].dim, 0, r.mesh,
                                            r.priced_on)
                               : *tensors[i].plan;
    for (auto const& s : plan.steps) {
      out << "  " << names[i] << ' ' << (streamed ? "each panel: " : "");
      print_step(out, plan, s, r.mesh, r.priced_on);
    }
    if (plan.steps.empty()) out << "  " << names[i] << " stays\n";
  }
  return out;
}

}  // namespace ashlar
