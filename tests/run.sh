#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tests/run.sh [--preset NAME] [--no-install] [-h]
Installs what is missing, configures, builds, and runs every test.
  --preset NAME   default, debug, asan, clang or smpi (CMakePresets.json); default: default
  --no-install    use what is there; never call the package manager
TEXT
}

preset=default
install=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --preset)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      preset="$2"
      shift
      ;;
    --no-install) install=no ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      printf 'tests/run.sh: unknown option %s\n' "$1" >&2
      usage >&2
      exit 2
      ;;
  esac
  shift
done

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
if [ "$install" = yes ]; then
  # shellcheck source=cmake/install_packages.sh
  . cmake/install_packages.sh
  ashlar_install_packages tests
  # Only for the tests on simulated clusters, which are skipped without it.
  case "$preset" in
    default | smpi) ashlar_install_packages smpi || printf 'No SimGrid: those tests are skipped.\n' ;;
  esac
fi

start=$SECONDS
# Warnings are errors, but not beside sanitizers, whose code gives GCC false alarms.
werror=ON
if [ "$preset" = asan ]; then werror=OFF; fi
cmake --preset "$preset" -DASHLAR_WERROR="$werror"
cmake --build --preset "$preset"
# Each public header alone. After the programs: their errors are the more telling ones.
if [ "$preset" != smpi ]; then
  cmake --build --preset "$preset" --target all_verify_interface_header_sets
fi
built=$SECONDS

log="build/$preset/test_results.txt"
status=0
ctest --preset "$preset" --output-log "$log" || status=$?

printf '\n==== ashlar tests, preset %s ====\n' "$preset"
printf 'build %d s, tests %d s\n' $((built - start)) $((SECONDS - built))
grep -E '^[0-9]+% tests passed' "$log" || true
grep -E '\((Failed|Timeout|Skipped|Not Run|Subprocess aborted|SEGFAULT|ILLEGAL)\)' "$log" || true
if [ "$status" -eq 0 ]; then
  printf 'RESULT: passed\n'
else
  printf 'RESULT: FAILED (details above and in %s)\n' "$log"
fi
exit "$status"
