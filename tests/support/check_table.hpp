// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Compares a table of signature rows with the list of all valid rows. role_prover.hpp finds this
// list by enumeration. The mesh has one axis, once with two ranks and once with three.

#include <doctest/doctest.h>
#include <support/role_prover.hpp>

namespace ashlar_test {

/// Checks that the table has exactly the rows that are valid for every operation in `class_of`.
///
///   class_of    all operations that use the table
///   excluded    valid rows that the table omits on purpose
inline void check_table(ashlar::signature_table const& table,
                        std::vector<operation> const& class_of, row_set const& excluded = {}) {
  auto const claimed = rows_of(table);
  CHECK(static_cast<int>(claimed.size()) == table.size());
  for (int p : {2, 3}) {
    CAPTURE(p);
    auto holding = common_rows(class_of, p);
    CHECK_MESSAGE(difference(claimed, holding) == "", "rows of the table that do not hold");
    for (auto const& row : excluded) CHECK_MESSAGE(holding.erase(row) == 1, row);
    CHECK_MESSAGE(difference(holding, claimed) == "",
                  "rows that hold but are missing in the table");
  }
}

/// Checks that the row `in` -> `out` is valid for `op`. `part` names the row in the failure
/// message.
inline void check_part(char const* part, operation const& op, std::vector<axis_placement> const& in,
                       axis_placement const& out) {
  for (int p : {2, 3}) CHECK_MESSAGE(proves(op, p, in, out), part, ": ", row_text(in, out));
}

}  // namespace ashlar_test
