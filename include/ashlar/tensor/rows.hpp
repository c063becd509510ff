// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Takes rows of a table by their numbers (ids), or adds to them. The table has the dims [rows,
// columns..]. The ids have any number of dims and the type std::int32_t. Nothing is communicated.
//
//   take_rows(table, ids)         [ids.., columns..]: row ids[i] of the table for each i
//   add_rows(table, ids, rows)    the table, with row i of `rows` [ids.., columns..] added to row
//                                 ids[i]; if an id occurs twice, both rows are added
//
// A table may be split along its rows. take_rows then gives a partial result: each rank takes the
// rows that it has, and zeros for the others. add_rows computes the gradient of take_rows. On axes
// that split the ids, the table of add_rows must be P. The signature tables are in
// signature/rows.hpp.
//
// On the host, an id that is not the number of a row is an error. On a device, whose memory the
// host cannot read, take_rows gives zeros for such an id, and add_rows adds nothing. add_rows adds
// in the order of the ids.

#include <ashlar/device/host/operations.hpp>
#include <ashlar/signature/rows.hpp>
#include <ashlar/support/buffer.hpp>
#include <ashlar/tensor/local_rule.hpp>

namespace ashlar {
namespace detail {

template <int TableDims, int IdDims>
struct take_rows_rule {
  static constexpr char const* name = "take_rows";
  static constexpr char const* sentence = ASHLAR_SAYS_TAKE_ROWS;
  static constexpr signature_table table() { return take_rows_signatures(TableDims, IdDims); }
};
template <int TableDims, int IdDims>
struct add_rows_rule {
  static constexpr char const* name = "add_rows";
  static constexpr char const* sentence = ASHLAR_SAYS_ADD_ROWS;
  static constexpr signature_table table() { return add_rows_signatures(TableDims, IdDims); }
};

template <class Ids>
concept row_ids = distributed<Ids> && std::same_as<typename Ids::value_type, std::int32_t>;

/// Holds for a table with at least one dim and ids on the same type of processor, if the rows
/// [ids.., columns..] have at most max_rank dims.
template <class Table, class Ids>
concept table_and_ids = distributed<Table> && distributed<Ids> && Table::rank >= 1 &&
                        Table::rank - 1 + Ids::rank <= max_rank &&
                        std::same_as<typename Table::processor_type, typename Ids::processor_type>;

template <class Table, class Ids, class Rows>
concept table_ids_and_rows =
    table_and_ids<Table, Ids> && distributed<Rows> && Rows::rank == Table::rank - 1 + Ids::rank &&
    std::same_as<typename Table::value_type, typename Rows::value_type> &&
    std::same_as<typename Table::processor_type, typename Rows::processor_type>;

/// Returns the extents [ids.., columns..] of the rows that are taken or added.
template <distributed Table, distributed Ids>
shape rows_extents(Table const& table, Ids const& ids) {
  shape extents = ids.extents();
  for (int d = 1; d < Table::rank; ++d) extents.extent.push_back(table.extents()[d]);
  return extents;
}

/// Throws ashlar::error if an id of this rank is not the number of a row of the table. Does nothing
/// if the ids are on a device.
template <distributed Table, distributed Ids>
void check_ids(char const* name, Table const& table, Ids const& ids) {
  if constexpr (Ids::processor_type::is_host) {
    auto const n = table.extents()[0];
    for (std::int64_t i = 0; i < ids.local_elements(); ++i)
      if (auto const id = ids.data()[i]; id < 0 || id >= n)
        throw error(name, "id " + std::to_string(id) + " is no row of the table, " +
                              describe(table) + ", whose rows count from 0.");
  }
}

/// Returns how many elements of a row of the table this rank has.
template <distributed Table>
std::int64_t local_columns(Table const& table) {
  std::int64_t n = 1;
  for (int d = 1; d < Table::rank; ++d) n *= table.local_size(d);
  return n;
}

}  // namespace detail

/// Returns row ids[i] of the table for each i. Communicates nothing. Throws ashlar::error if
/// run-time placements match no row of the signature table or, on the host, if an id is not the
/// number of a row.
template <distributed Table, detail::row_ids Ids>
  requires detail::table_and_ids<Table, Ids> &&
           locally_applicable<detail::take_rows_rule<Table::rank, Ids::rank>, Table, Ids>
auto take_rows(Table const& table, Ids const& ids) {
  using T = typename Table::value_type;
  static_assert(Table::processor_type::is_host || !std::is_integral_v<T>,
                ASHLAR_SAYS_ON_HOST("take_rows of integers"));
  auto const p = detail::result_of<detail::take_rows_rule<Table::rank, Ids::rank>>(table, ids);
  detail::check_ids("take_rows", table, ids);
  auto y = empty<T, Table::rank - 1 + Ids::rank>(table.mesh(), detail::rows_extents(table, ids), p);
  if (y.local_elements() == 0) return y;
  embedding_forward(table.mesh().processor(), static_cast<T const*>(table.data()),
                    table.local_box()[0].begin, table.local_size(0), detail::local_columns(table),
                    static_cast<std::int32_t const*>(ids.data()), ids.local_elements(), y.data());
  return y;
}
template <distributed Table, distributed Ids>
ill_formed take_rows(Table const&, Ids const&) {
  static_assert(detail::row_ids<Ids>, ASHLAR_SAYS_ROWS_IDS("take_rows"));
  static_assert(detail::table_and_ids<Table, Ids>, ASHLAR_SAYS_ROWS_DIMS("take_rows"));
  static_assert(
      detail::matched_if<(detail::row_ids<Ids> && detail::table_and_ids<Table, Ids>),
                         detail::take_rows_rule<Table::rank, Ids::rank>, Table, Ids>::fits,
      ASHLAR_SAYS_TAKE_ROWS);
  return {};
}

/// Returns the table with row i of `rows` added to its row ids[i], for each i. Communicates
/// nothing. Throws ashlar::error if the extents do not fit, if run-time placements match no row of
/// the signature table or, on the host, if an id is not the number of a row.
template <distributed Table, detail::row_ids Ids, distributed Rows>
  requires detail::table_ids_and_rows<Table, Ids, Rows> &&
           locally_applicable<detail::add_rows_rule<Table::rank, Ids::rank>, Table, Ids, Rows>
auto add_rows(Table const& table, Ids const& ids, Rows const& rows) {
  using T = typename Table::value_type;
  using A = accumulation_t<T>;
  static_assert(Table::processor_type::is_host || !std::is_integral_v<T>,
                ASHLAR_SAYS_ON_HOST("add_rows of integers"));
  auto const p = detail::result_of<detail::add_rows_rule<Table::rank, Ids::rank>>(table, ids, rows);
  if (!(rows.extents() == detail::rows_extents(table, ids)))
    throw error("add_rows", "the extents do not fit: " + describe(rows) + " to rows " +
                                describe(ids) + " of " + describe(table) + ".");
  detail::check_ids("add_rows", table, ids);
  auto const& m = table.mesh();
  auto const on = m.processor();
  auto y = empty<T, Table::rank>(m, table.extents(), p);
  auto const n = table.local_elements(), added = rows.local_elements();
  auto const add = [&](A const* values, A* sums) {
    if (n == 0 || added == 0) return;
    embedding_backward(on, m.memory(), values, static_cast<std::int32_t const*>(ids.data()),
                       ids.local_elements(), table.local_box()[0].begin, table.local_size(0),
                       detail::local_columns(table), sums);
  };
  if constexpr (std::same_as<T, A>) {
    copy_elements(on, static_cast<T const*>(table.data()), n, y.data());
    add(rows.data(), y.data());
  } else {
    buffer<A> const sums(m.memory(), n), values(m.memory(), added);
    convert(on, static_cast<T const*>(table.data()), n, sums.data());
    convert(on, static_cast<T const*>(rows.data()), added, values.data());
    add(values.data(), sums.data());
    convert(on, static_cast<A const*>(sums.data()), n, y.data());
  }
  return y;
}
template <distributed Table, distributed Ids, distributed Rows>
ill_formed add_rows(Table const&, Ids const&, Rows const&) {
  static_assert(detail::row_ids<Ids>, ASHLAR_SAYS_ROWS_IDS("add_rows"));
  static_assert(detail::table_ids_and_rows<Table, Ids, Rows>, ASHLAR_SAYS_ROWS_DIMS("add_rows"));
  static_assert(
      detail::matched_if<(detail::row_ids<Ids> && detail::table_ids_and_rows<Table, Ids, Rows>),
                         detail::add_rows_rule<Table::rank, Ids::rank>, Table, Ids, Rows>::fits,
      ASHLAR_SAYS_ADD_ROWS);
  return {};
}

}  // namespace ashlar
