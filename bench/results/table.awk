# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# The tables of movement.md, from the lines that the benchmarks write. Variables: table, memory,
# transport. Only the chosen setting's lines count, except where a table sets settings side by side.
#
#   targets     how many of which target are met, by setting and ranks
#   ratios      per case and size: bare MPI's time over ours, in parentheses with packing; below
#               256 KiB: microseconds added
#   reductions  MPI_Reduce_scatter_block's time over ours
#   copies      our time over a copy pass, at the largest size
#   peers       ScaLAPACK's and COSTA's time over ours
#   typed       microseconds added at the smallest size, dynamic and typed
#   products    GF/s of matrix products        bytes   received bytes of matrix products

function field(name) { return $(column[name]) }
function remember(list, value) {  # list: order of first appearance
  if (!((list, value) in seen)) { seen[list, value] = 1; items[list, ++count[list]] = value }
}
function size_text(bytes) {
  if (bytes >= 1048576) return bytes / 1048576 " MiB"
  return bytes / 1024 " KiB"
}
function rule(n, i, text) { text = "|"; for (i = 0; i < n; ++i) text = text " --- |"; print text }
function quotient(a, b, format) { return a + 0 > 0 && b + 0 > 0 ? sprintf(format, a / b) : "–" }
function setting_text(m) { return m == "off" ? "messages" : "one node" }
function emphasized(text, missed) { return missed ? "**" text "**" : text }
function or_dash(text) { return text == "" ? "–" : text }

NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }

table == "targets" && field("transport") == transport {
  n = split(field("wanted"), wanted, "; ")
  for (i = 1; i <= n; ++i) {
    remember("settings", field("memory")); remember("ranks", field("ranks"))
    remember("wanted " field("memory"), wanted[i])
    ++total[field("memory"), wanted[i], field("ranks")]
    if (index(field("missed"), wanted[i])) ++missed[field("memory"), wanted[i], field("ranks")]
  }
}

table == "ratios" && field("memory") == memory && field("transport") == transport {
  bytes = field("bytes"); key = field("ranks") SUBSEP field("case") SUBSEP bytes
  remember("ranks", field("ranks")); remember("cases " field("ranks"), field("case"))
  remember("sizes", bytes)
  ours = field("ours_us"); bare = field("bare_us")
  if (bytes < 262144) {
    cell[key] = emphasized(sprintf("%+.1f", ours - bare), index(field("missed"), "ours - bare"))
  } else {
    cell[key] = emphasized(quotient(bare, ours, "%.2f"), index(field("missed"), "bare/ours"))
    if (field("packed_us") != bare) cell[key] = cell[key] " (" quotient(field("packed_us"), ours, "%.2f") ")"
  }
}

table == "reductions" && field("transport") == transport && field("block_us") != "-" &&
  field("bytes") >= 1048576 {
  key = field("case") SUBSEP field("bytes")
  remember("rows", key); remember("ranks", field("ranks")); remember("settings", field("memory"))
  text = quotient(field("block_us"), field("ours_us"), "%.1f")
  text = emphasized(text, index(field("missed"), "block/ours"))
  cell[key, field("memory"), field("ranks")] = text
}

table == "copies" && field("transport") == transport &&
  (field("case") ~ /^all-to-all . to .$/ || field("case") == "all-gather dim 0" ||
   field("case") == "reduce-scatter dim 0") {
  if (field("bytes") + 0 > most + 0) { most = field("bytes"); delete cell }
  if (field("bytes") == most) {
    key = field("case") SUBSEP field("ranks")
    remember("rows", key); remember("settings", field("memory"))
    text = quotient(field("ours_us"), field("pass_us"), "%.2f")
    text = emphasized(text, index(field("missed"), "ours/pass"))
    text = text " | " quotient(field("ours_us"), field("shard_us"), "%.2f")
    text = text " | " quotient(field("bare_us"), field("pass_us"), "%.2f")
    text = text " | " quotient(field("packed_us"), field("pass_us"), "%.2f")
    cell[key, field("memory")] = text
  }
}

table == "peers" && field("memory") == memory && field("transport") == transport &&
  (field("scalapack_us") != "-" || field("costa_us") != "-") && field("bytes") >= 1048576 {
  key = field("case"); remember("rows", key)
  where = field("ranks") SUBSEP field("bytes")
  remember("columns", where)
  text = quotient(field("scalapack_us"), field("ours_us"), "%.1f")
  cell[key, where] = text " / " quotient(field("costa_us"), field("ours_us"), "%.1f")
}

table == "typed" && field("memory") == memory && field("transport") == transport &&
  field("group") == "step" {
  if (least == "" || field("bytes") + 0 < least + 0) least = field("bytes")
  if (field("bytes") == least) {
    remember("rows", field("case")); remember("ranks", field("ranks"))
    bare = field("bare_us")
    text = sprintf("%+.1f / %+.1f of %.1f", field("ours_us") - bare, field("typed_us") - bare, bare)
    cell[field("case"), field("ranks")] = text
  }
}

table == "products" && NR == 2 {
  print "| type | m x n x k | ranks | free | given | ScaLAPACK | COSMA | COSMA pdgemm |" \
        " free / best peer | given / best peer |"
  rule(10)
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
  print "| m x n x k | ranks | best grid | its bytes | free | given | ScaLAPACK | COSMA |" \
        " COSMA pdgemm | free = best |"
  rule(10)
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
  if (table == "targets") {
    line = "| setting | target |"
    for (r = 1; r <= count["ranks"]; ++r) line = line " " items["ranks", r] " ranks |"
    print line; rule(2 + count["ranks"])
    for (s = 1; s <= count["settings"]; ++s) {
      m = items["settings", s]
      for (w = 1; w <= count["wanted " m]; ++w) {
        text = items["wanted " m, w]
        line = "| " setting_text(m) " | " text " |"
        for (r = 1; r <= count["ranks"]; ++r) {
          t = total[m, text, items["ranks", r]]
          met = t - missed[m, text, items["ranks", r]]
          line = line " " (t ? emphasized(met " of " t, met < t) : "–") " |"
        }
        print line
      }
    }
  }
  if (table == "ratios")
    for (r = 1; r <= count["ranks"]; ++r) {
      n = items["ranks", r]
      if (r > 1) print ""
      line = "| " n " ranks |"
      for (s = 1; s <= count["sizes"]; ++s) line = line " " size_text(items["sizes", s]) " |"
      print line; rule(1 + count["sizes"])
      for (c = 1; c <= count["cases " n]; ++c) {
        line = "| " items["cases " n, c] " |"
        for (s = 1; s <= count["sizes"]; ++s)
          line = line " " or_dash(cell[n, items["cases " n, c], items["sizes", s]]) " |"
        print line
      }
    }
  if (table == "reductions") {
    line = "| case | bytes |"
    for (s = 1; s <= count["settings"]; ++s)
      for (r = 1; r <= count["ranks"]; ++r)
        line = line " " setting_text(items["settings", s]) ", " items["ranks", r] " |"
    print line; rule(2 + count["settings"] * count["ranks"])
    for (i = 1; i <= count["rows"]; ++i) {
      split(items["rows", i], part, SUBSEP)
      line = "| " part[1] " | " size_text(part[2]) " |"
      for (s = 1; s <= count["settings"]; ++s)
        for (r = 1; r <= count["ranks"]; ++r)
          line = line " " or_dash(cell[items["rows", i], items["settings", s], items["ranks", r]]) " |"
      print line
    }
  }
  if (table == "copies") {
    line = "| " size_text(most) " | ranks |"
    for (s = 1; s <= count["settings"]; ++s)
      line = line " " setting_text(items["settings", s]) ": ours / pass | ours / own copy |" \
             " bare MPI / pass | with packing / pass |"
    print line; rule(2 + 4 * count["settings"])
    for (i = 1; i <= count["rows"]; ++i) {
      split(items["rows", i], part, SUBSEP)
      line = "| " part[1] " | " part[2] " |"
      for (s = 1; s <= count["settings"]; ++s)
        line = line " " or_dash(cell[items["rows", i], items["settings", s]]) " |"
      print line
    }
  }
  if (table == "peers") {
    line = "| ScaLAPACK / ours, COSTA / ours |"
    for (c = 1; c <= count["columns"]; ++c) {
      split(items["columns", c], part, SUBSEP)
      line = line " " part[1] " ranks, " size_text(part[2]) " |"
    }
    print line; rule(1 + count["columns"])
    for (i = 1; i <= count["rows"]; ++i) {
      line = "| " items["rows", i] " |"
      for (c = 1; c <= count["columns"]; ++c)
        line = line " " or_dash(cell[items["rows", i], items["columns", c]]) " |"
      print line
    }
  }
  if (table == "typed") {
    line = "| " size_text(least) " |"
    for (r = 1; r <= count["ranks"]; ++r) line = line " " items["ranks", r] " ranks |"
    print line; rule(1 + count["ranks"])
    for (i = 1; i <= count["rows"]; ++i) {
      line = "| " items["rows", i] " |"
      for (r = 1; r <= count["ranks"]; ++r)
        line = line " " or_dash(cell[items["rows", i], items["ranks", r]]) " |"
      print line
    }
  }
}
