// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Defines signature tables of operators that take rows of a table by their numbers (ids), or add to
// them. The table has the dims [rows, columns..], the ids have `id_dims` dims, and the rows that
// are taken or added have the dims of the ids and then the columns. d is any dim of the ids. c is
// any dim of the table but the first, and c' = c - 1 + id_dims is the same dim of the rows:
//
//   take_rows  table, ids -> rows    S(c), B -> S(c')   B, S(d) -> S(d)   B, B -> B   P, B -> P
//                                    S(0), B -> P (a rank gives zeros for rows of other ranks)
//                                    Pmax, B -> Pmax    Pmin, B -> Pmin
//   add_rows   table, ids, rows -> table
//                                    S(c), B, S(c') -> S(c)   B, B, B -> B   P, B, P -> P
//                                    S(0), B, B -> S(0) (a rank adds only to its own rows)
//                                    P, S(d), S(d) -> P (each rank adds the rows that it has)
//                                    not B, S(d), S(d): the ranks would add different rows, so
//                                    their tables would differ
//                                    not Pmax, B, B: in a partial maximum of integers, the least
//                                    integer means "no value", but a sum with it is a value
//
// take_rows is the embedding of signature/network.hpp with its operands swapped, for tables of any
// number of dims, and also for partial maxima and minima. add_rows is linear in the table and the
// rows together, so P, B, P -> P holds.

#include <ashlar/signature/signature.hpp>

namespace ashlar {

constexpr signature_table take_rows_signatures(int table_dims, int id_dims) {
  signature_table table;
  table.push_back({{broadcast(), broadcast()}, broadcast()});
  table.push_back({{split(0, 0), broadcast()}, partial()});
  for (int c = 1; c < table_dims; ++c)
    table.push_back({{split(c, 0), broadcast()}, split(c - 1 + id_dims, 0)});
  for (int d = 0; d < id_dims; ++d) table.push_back({{broadcast(), split(d, 0)}, split(d, 0)});
  for (auto const op : {reduction::sum, reduction::max, reduction::min})
    table.push_back({{partial(op), broadcast()}, partial(op)});
  return table;
}

constexpr signature_table add_rows_signatures(int table_dims, int id_dims) {
  signature_table table;
  table.push_back({{broadcast(), broadcast(), broadcast()}, broadcast()});
  table.push_back({{split(0, 0), broadcast(), broadcast()}, split(0, 0)});
  for (int c = 1; c < table_dims; ++c)
    table.push_back({{split(c, 0), broadcast(), split(c - 1 + id_dims, 0)}, split(c, 0)});
  for (int d = 0; d < id_dims; ++d)
    table.push_back({{partial(), split(d, 0), split(d, 0)}, partial()});
  table.push_back({{partial(), broadcast(), partial()}, partial()});
  return table;
}

}  // namespace ashlar
