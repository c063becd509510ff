# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the tables of cuda.md from the figures of bench/run_cuda.sh. It uses functions of
# table.awk, so awk must be given table.awk first (-f table.awk -f cuda.awk).
#
#   gemm          the best time of cuBLASLt divided by our time, by type and product
#   passes        the time of a copy of the same bytes divided by the time of our kernel, by case
#                 and type, and the kernel's GB/s
#   torch_passes  the time of PyTorch's operators divided by the time of our kernels
#   attention     our microseconds, and the time of PyTorch divided by our time
#   steps         milliseconds of a training step
#   launches      microseconds for launching almost no work
#   collectives   the time of the bare NCCL call divided by our time
#   parts         for each part of the script, whether it ran, and its seconds

function least_of(key, value) { if (!(key in least_us) || value + 0 < least_us[key]) least_us[key] = value + 0 }

table == "gemm" {
  key = row("rows", field("form") SUBSEP field("m") SUBSEP field("n") SUBSEP field("k"),
            field("form") " " field("m") " x " field("n") " x " field("k"))
  where = row("columns", field("type"), field("type") ": matmul, tuned | TF/s of the best")
  cell[key, where] = emphasized(field("best/matmul"), field("missed") != "") ", " field("best/tuned") \
    " | " field("best_tflops")
}

table == "passes" {
  key = row("rows", field("case") SUBSEP field("shape"), field("case") " | " field("shape"))
  where = row("columns", field("type"), field("type") " | GB/s")
  cell[key, where] = emphasized(field("copy/ours"), field("missed") != "") " | " field("ours_gbs")
}

table == "torch_passes" {
  key = row("rows", field("case") SUBSEP field("shape"), field("case") " | " field("shape"))
  where = row("columns", field("type"), field("type") ", µs | PyTorch / ours")
  cell[key, where] = field("torch_us") " | " field("torch/ours")
}

# If there are several rounds, the fastest round of each library counts.
table == "attention" {
  key = row("rows", field("type") SUBSEP field("sequence"), field("type") " | " field("batch") " x " field("sequence"))
  row("columns", field("pass"), field("pass"))
  least_of(field("library") SUBSEP key SUBSEP field("pass"), field("us"))
  if (field("library") == "ashlar") rate[key, field("pass"), field("us") + 0] = field("tflops")
}

table == "steps" {
  key = field("library") ", " field("mode")
  remember("rows", key)
  if (!(key in least_us) || field("ms") + 0 < least_us[key]) {
    least_us[key] = field("ms") + 0
    cell[key] = field("parameters") " | " field("batch") " x " field("context") " | " field("ms") \
      " | " field("tokens_per_second")
  }
}

table == "launches" && NR == 2 {
  print_heading("| path | issue, µs | device, µs | beside | issue, µs | device, µs |")
}
table == "launches" {
  print "| " field("path") " | " field("issue_us") " | " field("device_us") " | " field("beside") \
    " | " field("beside_issue_us") " | " field("beside_device_us") " |"
}

table == "collectives" {
  key = row("rows", field("case") SUBSEP field("bytes"), field("case") " | " size_text(field("bytes")))
  where = row("columns", field("ranks"), field("ranks") " ranks | GB/s")
  cell[key, where] = field("bare/ours") " | " field("ours_gbs")
}

table == "parts" && NR == 2 { print_heading("| part | what became of it | seconds |") }
table == "parts" { print "| " field("part") " | " field("result") " | " field("seconds") " |" }

# Prints a grid like print_grid of table.awk, but each column of the grid has two cells. Prints two
# dashes for a missing entry.
function print_double_grid(corner, rows, columns, line, r, c) {
  line = "| " corner " |"
  for (c = 1; c <= count[columns]; ++c) line = line " " text_of[items[columns, c]] " |"
  print_heading(line)
  for (r = 1; r <= count[rows]; ++r) {
    line = "| " text_of[items[rows, r]] " |"
    for (c = 1; c <= count[columns]; ++c) {
      key = items[rows, r] SUBSEP items[columns, c]
      line = line " " (key in cell ? cell[key] : "– | –") " |"
    }
    print line
  }
}

END {
  if (table == "gemm") print_double_grid("product", "rows", "columns")
  if (table == "passes") print_double_grid("kernel | rows x columns", "rows", "columns")
  if (table == "torch_passes") print_double_grid("PyTorch's operator | rows x columns", "rows", "columns")
  if (table == "collectives") print_double_grid("case | bytes", "rows", "columns")
  if (table == "attention") {
    print_heading("| type | batch x sequence | forward, µs | TF/s | PyTorch / ours | backward, µs | TF/s | PyTorch / ours |")
    for (r = 1; r <= count["rows"]; ++r) {
      line = "| " text_of[items["rows", r]] " |"
      for (c = 1; c <= count["columns"]; ++c) {
        key = items["rows", r] SUBSEP items["columns", c]
        ours = least_us["ashlar" SUBSEP key]; torch = least_us["torch" SUBSEP key]
        line = line " " or_dash(ours) " | " or_dash(rate[key, ours]) " | " quotient(torch, ours, "%.2f") " |"
      }
      print line
    }
  }
  if (table == "steps") {
    print_heading("| step | parameters | batch x context | ms | tokens/s | its time over ours |")
    ours = least_us["ashlar, ours"]
    for (r = 1; r <= count["rows"]; ++r) {
      key = items["rows", r]
      text = quotient(least_us[key], ours, "%.2f")
      print "| " key " | " cell[key] " | " \
        emphasized(text, key == "torch, compiled" && ours > 0 && least_us[key] < ours) " |"
    }
  }
}
