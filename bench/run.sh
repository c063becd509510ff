#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/movement.md: builds the benchmarks of data movement, runs them
# under every setting, and writes tables and plots. Before a program times an operation, it checks
# the result of the operation.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: bench/run.sh [--quick] [--prefix DIR] [--report] [--no-install] [-h]
Takes about 25 minutes on two cores. Run nothing else meanwhile.
  --quick        measures fewer sizes, ranks and shapes, which takes about 2 minutes, and writes
                 into the build folder, not into the page
  --prefix DIR   compares also with COSMA and COSTA, which are installed below DIR
  --report       measures nothing, and writes tables, plots and page from the existing figures
  --no-install   uses the installed packages and never calls the package manager
TEXT
}

quick=no report_only=no install=yes
configure=()
while [ $# -gt 0 ]; do
  case "$1" in
    --quick) quick=yes ;;
    --report) report_only=yes ;;
    --no-install) install=no ;;
    --prefix)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      configure=("-DCMAKE_PREFIX_PATH=$2")
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      printf 'bench/run.sh: unknown option %s\n' "$1" >&2
      usage >&2
      exit 2
      ;;
  esac
  shift
done

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
build=build/default
page=bench/results/movement.md
figures=bench/results/movement
if [ "$quick" = yes ]; then figures="$build/bench/movement"; fi

# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh

# measure <memory> <transport> <ranks> <program> <argument>...: runs a program on <ranks> ranks.
# <memory> is the value of ASHLAR_SHARED_MEMORY, and <transport> is Open MPI's single-copy
# mechanism. The word `default` leaves the variable unset.
measure() {
  local memory="$1" transport="$2" ranks="$3" program="$build/bench/$4"
  shift 4
  printf '\n==== %s, %s ranks, ASHLAR_SHARED_MEMORY %s, single-copy mechanism %s\n' \
    "${program##*/}" "$ranks" "$memory" "$transport"
  (
    unset ASHLAR_SHARED_MEMORY OMPI_MCA_btl_vader_single_copy_mechanism
    if [ "$memory" != default ]; then export ASHLAR_SHARED_MEMORY="$memory"; fi
    if [ "$transport" != default ]; then
      export OMPI_MCA_btl_vader_single_copy_mechanism="$transport"
    fi
    mpirun -n "$ranks" "$program" "$@"
  )
}

describe_machine() {
  local processor memory cosma=no
  processor="$(lscpu 2>/dev/null | sed -n 's/^Model name: *//p' | head -n 1)"
  memory="$(free -g 2>/dev/null | awk '/^Mem/ {print $2}')"
  if grep -q '^COSMA_LIBRARY:.*[^D]$' "$build/CMakeCache.txt"; then cosma=yes; fi
  printf '%s, %s cores of %s, %s GiB, %s, %s, one BLAS thread a rank; COSMA and COSTA: %s.\n' \
    "$(LC_ALL=C date '+%d %B %Y')" "$(env -u OMP_NUM_THREADS nproc)" "${processor:-an unknown processor}" \
    "${memory:-?}" "$(g++ --version | head -n 1)" \
    "$(mpirun --version 2>&1 | head -n 1)" "$cosma"
  awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) c[$i] = i; next}
    $c["others"] != "-" {++n; sum += $c["others"]; if ($c["others"] > most) most = $c["others"]}
    END {if (n) printf "Others used %.0f %% of the cores on average, %.0f %% at worst.\n", sum / n, most}' \
    "$work/redistribute.csv"
}

run_all() {
  local sizes=4KiB,64KiB,256KiB,1MiB,16MiB,128MiB few=1MiB,16MiB ranks_list="2 4 8" n
  local seconds=0.15 product_seconds=5 shapes=() alone=(--others 5)
  if [ "$quick" = yes ]; then
    sizes=4KiB,1MiB,16MiB few=1MiB ranks_list="2 4" seconds=0.05 product_seconds=1
    alone=()
    shapes=(--shapes '1024x1024x1024,16384x512x512')
  fi
  local table="$work/redistribute.csv" products="$work/matmul.csv"
  for n in $ranks_list; do
    measure off default "$n" redistribute --sizes "$sizes" --seconds "$seconds" --csv "$table" \
      ${alone[@]+"${alone[@]}"}
    measure default default "$n" redistribute --sizes "$sizes" --seconds "$seconds" --csv "$table" \
      ${alone[@]+"${alone[@]}"}
    measure off none "$n" redistribute --sizes "$few" --seconds "$seconds" --csv "$table" \
      ${alone[@]+"${alone[@]}"}
    measure default default "$n" matmul --seconds "$product_seconds" --csv "$products" \
      ${shapes[@]+"${shapes[@]}"} ${alone[@]+"${alone[@]}"}
    measure default none "$n" matmul --seconds "$product_seconds" --csv "$products" \
      ${shapes[@]+"${shapes[@]}"} ${alone[@]+"${alone[@]}"}
    measure off default "$n" matmul --bytes --csv "$work/bytes.csv" ${shapes[@]+"${shapes[@]}"}
    if [ "$quick" = no ]; then
      measure default default "$n" matmul --float --seconds "$product_seconds" --csv "$products" \
        ${alone[@]+"${alone[@]}"}
    fi
  done
  describe_machine >"$work/machine.txt"
}

# table <name> <setting>...: prints a table as Markdown.
table() {
  if [ "$1" = machine ]; then cat "$figures/machine.txt"; else bench/results/table.sh "$figures" "$@"; fi
}
# shellcheck source=bench/support/page.sh
. bench/support/page.sh

start=$SECONDS
if [ "$install" = yes ]; then
  # shellcheck source=cmake/install_packages.sh
  . cmake/install_packages.sh
  ashlar_install_packages program
  ashlar_install_packages peers || echo 'bench/run.sh: continues without these packages' >&2
fi
mkdir -p "$figures"
if [ "$report_only" = no ]; then
  cmake --preset default ${configure[@]+"${configure[@]}"}
  cmake --build --preset default --target bench_redistribute bench_matmul
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  run_all
  mv "$work"/*.csv "$work/machine.txt" "$figures/"
fi

write_page "$page" "$figures/page.md"
if command -v gnuplot >/dev/null 2>&1; then
  # For cases that need more ranks than a plot shows, gnuplot warns of `no valid points`. The
  # warning is harmless.
  gnuplot -e "folder='$figures'" bench/results/plots.gp 2>&1 | grep -v 'no valid points' || true
else
  echo "gnuplot not found: no plots"
fi
if [ "$quick" = yes ]; then
  printf '\nTables: %s/page.md, plots beside it. %d s\n' "$figures" $((SECONDS - start))
else
  mv "$figures/page.md" "$page"
  printf '\nTables: %s, plots: %s. %d s\n' "$page" "$figures" $((SECONDS - start))
fi
