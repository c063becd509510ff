# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Scripts source this file to compare two trainings by their losses.

# largest_difference <reference> <losses> <tolerance> <what>: compares two files of lines
# "loss[STEP] = VALUE", which the programs print with --exact-log. Line by line, the files must
# belong to the same steps. Prints <what> and the largest relative difference of two losses. Fails
# if this difference is not below the tolerance, if a loss is not a number, or if the files have
# different numbers of lines.
largest_difference() {
  [ "$(wc -l <"$1")" -eq "$(wc -l <"$2")" ] || { echo "$4: other numbers of losses"; return 1; }
  paste "$1" "$2" | awk -v tolerance="$3" -v what="$4" '
    {d = ($6 - $3) / $3; if (d < 0) d = -d; if (d > worst) worst = d; if (!(d < 1e9)) bad = 1}  # also for NaN
    END {
      printf "%-55s largest relative difference %.1e\n", what, worst
      exit !(NR > 0 && worst < tolerance && !bad)
    }'
}
