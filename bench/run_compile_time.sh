#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/compile_time.md: measures the compile times of small programs
# relative to a small program of Eigen, and writes the table.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=bench/support/page.sh
. bench/support/page.sh
page_options "Usage: bench/run_compile_time.sh [--quick] [-h]
Takes about fifteen minutes. Run nothing else meanwhile. Needs Eigen 3 (Debian: libeigen3-dev) and
python3.
  --quick    measures one round instead of three, and writes into the build folder, not into the
             page" "$@"

build=build/default
page=bench/results/compile_time.md
eigen=/usr/include/eigen3
if [ ! -f "$eigen/Eigen/Dense" ]; then
  echo "bench/run_compile_time.sh: no Eigen below $eigen. Install it: apt-get install libeigen3-dev" >&2
  exit 1
fi
# shellcheck disable=SC2154  # set by page_options
if [ "$report_only" = yes ]; then
  echo "bench/run_compile_time.sh: figures are not kept, so there is nothing to report again" >&2
  exit 2
fi
rounds=3
if [ "$quick" = yes ]; then rounds=1; fi
cmake --preset default -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
figures="$(mktemp)"
trap 'rm -f "$figures"' EXIT
python3 bench/compile_time.py --build "$build" --rounds "$rounds" >"$figures"

table() {
  case "$1" in
    times) cat "$figures" ;;
    machine)
      printf '%s, %s cores of %s, %s; medians of %s rounds.\n' \
        "$(LC_ALL=C date '+%d %B %Y')" "$(nproc --all)" \
        "$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)" \
        "$(g++ --version | head -n 1)" "$rounds"
      ;;
  esac
}
write_page "$page" "$build/compile_time.md"
if [ "$quick" = no ]; then cp "$build/compile_time.md" "$page"; fi
printf 'Written: %s\n' "$([ "$quick" = no ] && echo "$page" || echo "$build/compile_time.md")"
