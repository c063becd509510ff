# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the tables of movement.md from the CSV files that the benchmarks write. The variable
# `table` selects the table. Only lines whose settings equal the variables `memory` and `transport`
# count, except in tables that compare settings.
#
#   targets     how many results meet each target, by setting and ranks
#   ratios      the time of bare MPI divided by our time, by case and size. In parentheses the same
#               for MPI with packing. Below 256 KiB, the microseconds by which we are slower.
#   reductions  the time of MPI_Reduce_scatter_block divided by our time
#   copies      at the largest size: our time divided by the time of a copy pass and by the time of
#               a copy of the larger shard, and the times of bare MPI and of MPI with packing divided
#               by the time of a copy pass
#   peers       the times of ScaLAPACK and COSTA divided by our time
#   typed       the microseconds by which we are slower than bare MPI at the smallest size, with
#               dynamic and with static types
#   products    GF/s of matrix products as shares of the dgemm rate
#   bytes       received bytes of matrix products

function field(name) { return $(column[name]) }
function remember(list, value) {  # keeps the order of first appearance
  if (!((list, value) in seen)) { seen[list, value] = 1; items[list, ++count[list]] = value }
}
function size_text(bytes) {
  if (bytes >= 1048576) return bytes / 1048576 " MiB"
  return bytes / 1024 " KiB"
}
# Prints the heading of a Markdown table and the line of dashes below it.
function print_heading(line, bars) {
  print line
  bars = gsub(/\|/, "", line)
  line = "|"
  while (--bars > 0) line = line " --- |"
  print line
}
# Prints a grid as a Markdown table. `rows` and `columns` name two lists, whose texts become the
# first cells of the rows and the headings of the columns. `corner` is the heading of the first
# cells. `corner` and the texts of rows may contain several cells.
function print_grid(corner, rows, columns, line, r, c) {
  line = "| " corner " |"
  for (c = 1; c <= count[columns]; ++c) line = line " " text_of[items[columns, c]] " |"
  print_heading(line)
  for (r = 1; r <= count[rows]; ++r) {
    line = "| " text_of[items[rows, r]] " |"
    for (c = 1; c <= count[columns]; ++c)
      line = line " " or_dash(cell[items[rows, r], items[columns, c]]) " |"
    print line
  }
}
function row(list, key, text) { remember(list, key); text_of[key] = text; return key }
function quotient(a, b, format) { return a + 0 > 0 && b + 0 > 0 ? sprintf(format, a / b) : "–" }
function setting_text(m) { return m == "off" ? "messages" : "one node" }
function emphasized(text, missed) { return missed ? "**" text "**" : text }
function or_dash(text) { return text == "" ? "–" : text }

NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }

table == "targets" && field("transport") == transport {
  n = split(field("wanted"), wanted, "; ")
  for (i = 1; i <= n; ++i) {
    key = row("rows", field("memory") SUBSEP wanted[i], setting_text(field("memory")) " | " wanted[i])
    where = row("columns", field("ranks"), field("ranks") " ranks")
    missed[key, where] += index(field("missed"), wanted[i]) > 0
    met = ++total[key, where] - missed[key, where]
    cell[key, where] = emphasized(met " of " total[key, where], missed[key, where])
  }
}

table == "ratios" && field("memory") == memory && field("transport") == transport {
  n = field("ranks"); bytes = field("bytes")
  remember("ranks", n)
  key = row("cases " n, n SUBSEP field("case"), field("case"))
  row("sizes", bytes, size_text(bytes))
  ours = field("ours_us"); bare = field("bare_us")
  if (bytes < 262144) {
    text = emphasized(sprintf("%+.1f", ours - bare), index(field("missed"), "ours - bare"))
  } else {
    text = emphasized(quotient(bare, ours, "%.2f"), index(field("missed"), "bare/ours"))
    if (field("packed_us") != bare) text = text " (" quotient(field("packed_us"), ours, "%.2f") ")"
  }
  cell[key, bytes] = text
}

table == "reductions" && field("transport") == transport && field("block_us") != "-" &&
  field("bytes") >= 1048576 {
  key = row("rows", field("case") SUBSEP field("bytes"), field("case") " | " size_text(field("bytes")))
  where = row("of " field("memory"), field("memory") SUBSEP field("ranks"),
              setting_text(field("memory")) ", " field("ranks"))
  remember("settings", field("memory"))
  text = quotient(field("block_us"), field("ours_us"), "%.1f")
  cell[key, where] = emphasized(text, index(field("missed"), "block/ours"))
}

table == "copies" && field("transport") == transport &&
  (field("case") ~ /^all-to-all . to .$/ || field("case") == "all-gather dim 0" ||
   field("case") == "reduce-scatter dim 0") {
  if (field("bytes") + 0 > most + 0) { most = field("bytes"); delete cell }
  if (field("bytes") == most) {
    key = row("rows", field("case") SUBSEP field("ranks"), field("case") " | " field("ranks"))
    where = row("columns", field("memory"), setting_text(field("memory")) ": ours / pass | ours / own copy" \
                                            " | bare MPI / pass | with packing / pass")
    text = quotient(field("ours_us"), field("pass_us"), "%.2f")
    text = emphasized(text, index(field("missed"), "ours/pass"))
    text = text " | " quotient(field("ours_us"), field("shard_us"), "%.2f")
    text = text " | " quotient(field("bare_us"), field("pass_us"), "%.2f")
    text = text " | " quotient(field("packed_us"), field("pass_us"), "%.2f")
    cell[key, where] = text
  }
}

table == "peers" && field("memory") == memory && field("transport") == transport &&
  (field("scalapack_us") != "-" || field("costa_us") != "-") && field("bytes") >= 1048576 {
  key = row("rows", field("case"), field("case"))
  where = row("columns", field("ranks") SUBSEP field("bytes"),
              field("ranks") " ranks, " size_text(field("bytes")))
  text = quotient(field("scalapack_us"), field("ours_us"), "%.1f")
  cell[key, where] = text " / " quotient(field("costa_us"), field("ours_us"), "%.1f")
}

table == "typed" && field("memory") == memory && field("transport") == transport &&
  field("group") == "step" {
  if (least == "" || field("bytes") + 0 < least + 0) least = field("bytes")
  if (field("bytes") == least) {
    row("rows", field("case"), field("case")); row("columns", field("ranks"), field("ranks") " ranks")
    bare = field("bare_us")
    text = sprintf("%+.1f / %+.1f of %.1f", field("ours_us") - bare, field("typed_us") - bare, bare)
    cell[field("case"), field("ranks")] = text
  }
}

table == "products" && NR == 2 {
  print_heading("| type | m x n x k | ranks | free | given | ScaLAPACK | COSMA | COSMA pdgemm |" \
                " free / best peer | given / best peer |")
}
table == "products" && field("memory") == memory && field("transport") == transport {
  roof = field("roof_gflops")
  share = "%.2f"
  print "| " field("type") " | " field("shape") " | " field("ranks") " | " \
    quotient(field("free_gflops"), roof, share) " | " \
    quotient(field("given_gflops"), roof, share) " | " \
    quotient(field("scalapack_gflops"), roof, share) " | " \
    quotient(field("cosma_gflops"), roof, share) " | " \
    quotient(field("cosma_pdgemm_gflops"), roof, share) " | " \
    emphasized(field("free/peer"), field("missed") ~ /free\/peer/) " | " \
    emphasized(field("given/peer"), field("missed") ~ /given\/peer/) " |"
}

table == "bytes" && NR == 2 {
  print_heading("| m x n x k | ranks | best grid | its bytes | free | given | ScaLAPACK | COSMA |" \
                " COSMA pdgemm | free = best |")
}
function megabytes(x) { return x == "-" ? "–" : sprintf("%.2f", x / 1e6) }
table == "bytes" {
  print "| " field("shape") " | " field("ranks") " | " field("grid") " | " \
    megabytes(field("best_bytes")) " | " megabytes(field("free_bytes")) " | " \
    megabytes(field("given_bytes")) " | " megabytes(field("scalapack_bytes")) " | " \
    megabytes(field("cosma_bytes")) " | " megabytes(field("cosma_pdgemm_bytes")) " | " \
    emphasized(field("free=best"), field("free=best") != "yes") " |"
}

END {
  if (table == "targets") print_grid("setting | target", "rows", "columns")
  if (table == "ratios")
    for (r = 1; r <= count["ranks"]; ++r) {
      if (r > 1) print ""
      print_grid(items["ranks", r] " ranks", "cases " items["ranks", r], "sizes")
    }
  if (table == "reductions") {
    for (s = 1; s <= count["settings"]; ++s)
      for (c = 1; c <= count["of " items["settings", s]]; ++c)
        remember("columns", items["of " items["settings", s], c])
    print_grid("case | bytes", "rows", "columns")
  }
  if (table == "copies") print_grid(size_text(most) " | ranks", "rows", "columns")
  if (table == "peers") print_grid("ScaLAPACK / ours, COSTA / ours", "rows", "columns")
  if (table == "typed") print_grid(size_text(least), "rows", "columns")
}
