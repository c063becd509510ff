#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs of tests/bits against this tree and against another version of the library,
# runs them one after the other, and compares their output. Trainings are compared by the bits of
# losses and parameters, plans by placements and cost.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tests/same_bits.sh [COMMIT] [options]
Compares this tree with COMMIT (default c9423e0), which is checked out in build/bits/old_tree.
  --plans          compares the plans of the search, in one process, instead of trainings
  --ranks LIST     the numbers of ranks on which to train, in turn; default "1 2 3 4 6"
  --tolerance T    accepts losses (with --plans: seconds) that differ by at most T, relative;
                   hashes of parameters are then not compared
  --only TEXT      compares only nets whose name contains TEXT
  --all            names every case that differs, not only the first 12
  --seed N         the seed of this tree's trainings; default 3, as COMMIT's. With another seed the
                   results must differ, which shows that this script finds differences.
  --save PREFIX    saves the output of COMMIT as PREFIX_bits_N.txt or PREFIX_plans.txt
  --against PREFIX compares with files saved in this way; COMMIT is neither built nor run
Exit status: 0 if all is equal, 1 if something differs, 2 if the comparison was not possible. The
environment variables CMAKE_BUILD_PARALLEL_LEVEL and CMAKE_CXX_COMPILER_LAUNCHER take effect.
TEXT
}

commit=c9423e0 plans=no ranks="1 2 3 4 6" save='' against=''
compare=() run_both=() run_new=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --plans) plans=yes; shift; continue ;;
    --all) compare+=(--all); shift; continue ;;
    --ranks | --tolerance | --only | --seed | --save | --against)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      case "$1" in
        --ranks) ranks="$2" ;;
        --tolerance) compare+=(--tolerance "$2") ;;
        --only) run_both+=(--only "$2") compare+=(--only "$2") ;;
        --seed) run_new+=(--seed "$2") ;;
        --save) save="$(realpath -m -- "$2")" ;;
        --against) against="$(realpath -m -- "$2")" ;;
      esac
      shift 2
      continue
      ;;
    -*)
      printf 'tests/same_bits.sh: unknown option %s\n' "$1" >&2
      usage >&2
      exit 2
      ;;
    *) commit="$1" ;;
  esac
  shift
done

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
build=build/bits
mkdir -p "$build"

# build_version <old|new> <folder of the version> <target>...: builds the targets against this
# version of the library.
build_version() {
  local name="$1" folder="$2"
  shift 2
  printf 'building %s against %s\n' "$*" "$name"
  if ! { cmake -S tests/bits -B "$build/$name" -G Ninja -DCMAKE_BUILD_TYPE= \
    -DASHLAR_VERSION_DIR="$(realpath -- "$folder")" &&
    cmake --build "$build/$name" --target "$@"; } >"$build/$name.log" 2>&1; then
    tail -n 40 "$build/$name.log" >&2
    exit 2
  fi
}

program=bits
if [ "$plans" = yes ]; then program=plan_bits ranks=1 compare+=(--plans); fi
build_version new . "$program" compare_bits
if [ -z "$against" ]; then
  tree="$build/old_tree"
  git rev-parse --verify --quiet "$commit^{commit}" >/dev/null ||
    { printf 'tests/same_bits.sh: there is no commit %s\n' "$commit" >&2; exit 2; }
  if [ -e "$tree/.git" ]; then git -C "$tree" checkout --quiet --detach "$commit"
  else
    git worktree prune
    git worktree add --quiet --detach "$tree" "$commit"
  fi
  build_version old "$tree" "$program"
fi

# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh

# run <old|new> <ranks> <output> [option]...: runs the program that was built against this version.
run() {
  local name="$1" n="$2" out="$3"
  shift 3
  local command=(mpirun -n "$n" "$build/$name/bits" "$@")
  if [ "$plans" = yes ]; then command=("$build/$name/plan_bits" "$@"); fi
  if ! "${command[@]}" >"$out"; then
    printf 'tests/same_bits.sh: %s ended with an error, see %s\n' "$name" "$out" >&2
    exit 2
  fi
}

status=0
start=$SECONDS
for n in $ranks; do
  kind="bits_$n"
  if [ "$plans" = yes ]; then kind=plans; fi
  old="$build/old_$kind.txt" new="$build/new_$kind.txt"
  if [ -n "$against" ]; then old="${against}_$kind.txt"
  else run old "$n" "$old" "${run_both[@]}"
  fi
  if [ -n "$save" ]; then cp -- "$old" "${save}_$kind.txt"; fi
  # Both versions search with the same memory limits.
  if [ "$plans" = yes ]; then run_new+=(--limits "$old"); fi
  run new "$n" "$new" "${run_both[@]}" "${run_new[@]}"
  if [ "$plans" = yes ]; then printf '\nplans: '; else printf '\n%s ranks: ' "$n"; fi
  "$build/new/compare_bits" "$old" "$new" "${compare[@]}" || {
    code=$?
    if [ "$code" -gt "$status" ]; then status=$code; fi
  }
done
printf '\n%s in %d s\n' "$([ "$status" -eq 0 ] && echo 'RESULT: equal' || echo 'RESULT: DIFFERENT')" \
  $((SECONDS - start))
exit "$status"
