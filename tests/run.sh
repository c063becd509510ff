#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: tests/run.sh [--preset NAME] [--mpi NAME] [--thorough] [--no-install] [-h]
Installs what is missing, configures, builds, and runs the tests, except those that take longest.
  --preset NAME   one of these presets (CMakePresets.json):
                  default  is used if no preset is given. If nvcc is found, it also builds the tests
                           of the device, which are skipped without a GPU.
                  debug, asan, clang
                           leave out tests that give the same result in every preset.
                  asan     also leaves out the benchmarks, the tests of faults, the longest scripts,
                           tests on more than 2 ranks, the test that reads random JSON files
                           (--thorough fuzzes the readers of JSON with the same sanitizers), and
                           those tests of the planner and of pipelines on fake devices that take
                           minutes each. The planner's functions are also evaluated by compilers,
                           which refuse undefined behaviour in constant expressions.
                  tsan     runs only the unit tests in which several threads work. It does not check
                           the memory that MPI ranks share.
                  cuda     requires CUDA and NCCL. It runs only the tests of the device, on 1, 2 and
                           4 ranks, which may share one GPU. Then it runs the tests of kernels under
                           compute-sanitizer. Without a GPU the exit status is 77.
                  smpi     runs only the tests on simulated clusters, which require SimGrid. Without
                           SimGrid the exit status is 77.
  --mpi NAME      uses openmpi or mpich, in a build folder of its own; default: the system's MPI
  --thorough      runs all tests, which takes hours on two cores: the presets tsan and asan, the
                  preset clang with MPICH, the default preset, all faults (with MPICH too), fuzzing,
                  and the longest tests. If it was interrupted, the same command continues with the
                  part in which it was interrupted. It prints a summary with the tests that were
                  skipped, and fails if anything failed. It takes no --preset and no --mpi.
  --no-install    uses the installed packages and never calls the package manager
TEXT
}

preset=default
install=yes
mpi=
thorough=no
while [ $# -gt 0 ]; do
  case "$1" in
    --preset)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      preset="$2"
      shift
      ;;
    --mpi)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      mpi="$2"
      case "$mpi" in
        openmpi | mpich) ;;
        *)
          printf 'tests/run.sh: --mpi openmpi or --mpi mpich, not %s\n' "$mpi" >&2
          exit 2
          ;;
      esac
      shift
      ;;
    --thorough) thorough=yes ;;
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

# part <name> <command>...: runs one part of --thorough, and records its time and result. A part
# that has passed with the same files is not run again, so an interrupted run of --thorough can be
# continued by starting it again.
summary=() worst=0 passed=build/thorough_passed.txt
part() {
  local name="$1" begin=$SECONDS result=passed log earlier
  shift
  earlier="$(sed -n "s/^$state $name //p" "$passed" | tail -n 1)"
  if [ -n "$earlier" ]; then
    summary+=("$(printf '%-10s %6d s  passed earlier' "$name" "$earlier")")
    return
  fi
  log="$(mktemp)"
  printf '\n==== %s: %s ====\n' "$name" "$*"
  "$@" 2>&1 | tee "$log" || { result="FAILED ($?)"; worst=1; }
  summary+=("$(printf '%-10s %6d s  %s' "$name" $((SECONDS - begin)) "$result")")
  if [ "$result" = passed ]; then printf '%s %s %d\n' "$state" "$name" $((SECONDS - begin)) >>"$passed"; fi
  while IFS= read -r line; do summary+=("  skipped: $line"); done < <(sed -n 's/^.* - \(.*\) (Skipped)$/\1/p' "$log")
  rm -f "$log"
}

# Prints a hash of the contents of all files outside build/ and .git.
state_of_files() {
  find . -name .git -prune -o -path ./build -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum |
    sha256sum | cut -d ' ' -f 1
}

# fuzz: passes a million inputs to each of two fuzz targets, the readers of JSON and the readers of
# text. The targets run at the same time, and each begins with a copy of its corpus. When both
# targets have ended, prints the output of each of them.
fuzz() {
  local folder=build/fuzz name jobs=() status=0
  for name in json:corpus text:text_corpus; do
    mkdir -p "$folder/${name#*:}" && cp "tests/fuzz/${name#*:}"/* "$folder/${name#*:}" &&
      clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -Iinclude -Itests \
        "tests/fuzz/${name%:*}_readers.cpp" -o "$folder/${name%:*}_readers" || return 1
  done
  for name in json:corpus text:text_corpus; do
    (cd "$folder" && "./${name%:*}_readers" -runs=1000000 -print_final_stats=1 "${name#*:}" >"${name%:*}.txt" 2>&1) &
    jobs+=($!)
  done
  for name in "${jobs[@]}"; do wait "$name" || status=1; done
  cat "$folder"/{json,text}.txt
  return "$status"
}

# faults: runs every fault with both transports, with Open MPI and with MPICH (in the build of the
# part clang). Kills 200 trainings. Lets 100,000 foreign programs connect to the rendezvous of NCCL
# ranks.
faults() {
  local status=0
  ASHLAR_FAULTS=all ASHLAR_FAULT_TIMEOUT=5 ASHLAR_KILLS=200 ASHLAR_STRANGERS=100000 \
    ctest --preset default --timeout 3600 -R '^script/(faults|checkpoint_kill)$|^unit/comm_nccl_rendezvous_test$' ||
    status=1
  ASHLAR_FAULTS=all ASHLAR_FAULT_TIMEOUT=5 \
    ctest --test-dir build/clang-mpich --output-on-failure --timeout 3600 -R '^script/faults$' || status=1
  return "$status"
}

if [ "$thorough" = yes ]; then
  if [ "$preset" != default ] || [ -n "$mpi" ]; then
    echo 'tests/run.sh: --thorough runs all presets; leave out --preset and --mpi' >&2
    exit 2
  fi
  options=()
  if [ "$install" = no ]; then options+=(--no-install); fi
  mkdir -p build && touch "$passed"
  state="$(state_of_files)"
  # The preset debug is not run: the preset asan also enables the assertions of the standard
  # library.
  for name in tsan asan; do part "$name" tests/run.sh --preset "$name" ${options[@]+"${options[@]}"}; done
  part clang tests/run.sh --preset clang --mpi mpich ${options[@]+"${options[@]}"}
  part default tests/run.sh ${options[@]+"${options[@]}"}
  part faults faults
  part fuzz fuzz
  # Without SimGrid there are no tests on simulated clusters, and ctest fails if it has nothing to
  # run.
  if command -v smpicxx >/dev/null && command -v smpirun >/dev/null; then
    part simulated ctest --preset thorough -R '^smpi/'
  else
    summary+=('  skipped: those on simulated clusters, which need SimGrid')
  fi
  part longest ctest --preset thorough -E '^smpi/'
  printf '\n==== tests/run.sh --thorough ====\n'
  printf '%s\n' "${summary[@]}"
  exit "$worst"
fi

if [ "$install" = yes ]; then
  # shellcheck source=cmake/install_packages.sh
  . cmake/install_packages.sh
  ashlar_install_packages tests
  ashlar_install_packages format || printf 'No clang-format 16: the format is not checked.\n'
  if [ "$mpi" = mpich ]; then ashlar_install_packages mpich; fi
  # SimGrid is needed only for the tests on simulated clusters, which are skipped without it.
  case "$preset" in
    default | smpi) ashlar_install_packages smpi || printf 'No SimGrid: nothing is simulated.\n' ;;
  esac
fi

start=$SECONDS
# Warnings are errors, except in builds with sanitizers, in which GCC gives false warnings.
werror=ON
case "$preset" in asan | tsan) werror=OFF ;; esac
build="build/$preset${mpi:+-$mpi}"
options=(-DASHLAR_WERROR="$werror")
# At -O3, compiling examples and benchmarks takes half of the build time. The tests check the
# results of some of these programs, and -Og suffices for that. They only check that the other
# programs compile, and -O0 suffices for that.
case "$preset" in
  default | clang)
    options+=(-DASHLAR_PROGRAM_OPTIONS=-Og -DASHLAR_UNRUN_PROGRAM_OPTIONS=-O0)
    # The linker gold needs half as much time as the default linker.
    if command -v ld.gold >/dev/null; then options+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold); fi
    ;;
esac
# Without a GPU no kernel runs, so it suffices to compile the kernels to PTX, without machine code
# and without optimization.
if ! nvidia-smi -L >/dev/null 2>&1; then
  options+=(-DASHLAR_CUDA_ARCHITECTURES=90-virtual "-DASHLAR_CUDA_FLAGS=-Xcicc -O0")
fi
if [ -n "$mpi" ]; then options+=(-B "$build" "-DASHLAR_MPI=$mpi"); fi
# MPICH is slow if ranks share cores and waiting ranks cannot be made to yield.
if [ "$mpi" = mpich ]; then
  options+=(-DASHLAR_TEST_TIMEOUT=900)
  export ASHLAR_TEST_DEADLINE=800
fi
cmake --preset "$preset" "${options[@]}"
case "$preset" in
  smpi) cmake --build "$build" --target smpi_programs ;;
  tsan) cmake --build "$build" --target thread_tests ;;
  cuda) cmake --build "$build" --target cuda_tests ;;
  *) cmake --build "$build" ;;
esac
built=$SECONDS

log="$build/test_results.txt"
status=0
ctest --preset "$preset" --test-dir "$build" --output-log "$log" || status=$?

printf '\n==== ashlar tests, preset %s%s ====\n' "$preset" "${mpi:+, $mpi}"
printf 'build %d s, tests %d s\n' $((built - start)) $((SECONDS - built))
grep -E '^[0-9]+% tests passed' "$log" || true
grep -E '\((Failed|Timeout|Skipped|Not Run|Subprocess aborted|SEGFAULT|ILLEGAL)\)' "$log" || true
# Skipped tests do not fail, so check that at least one test ran.
needs=
case "$preset" in
  cuda) needs='a GPU' ;;
  smpi) needs='SimGrid' ;;
esac
if [ -n "$needs" ] && [ "$status" -eq 0 ] && ! grep -qE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$log"; then
  printf 'RESULT: nothing was run: every test was skipped, because they need %s\n' "$needs"
  exit 77
fi
if [ "$preset" = cuda ] && [ "$status" -eq 0 ]; then
  sanitized=0
  bash tests/cuda/sanitize.sh "$build" || sanitized=$?
  case "$sanitized" in
    0 | 77) ;;
    *) status=1 ;;
  esac
fi
if [ "$status" -eq 0 ]; then
  printf 'RESULT: passed\n'
else
  printf 'RESULT: FAILED (details above and in %s)\n' "$log"
fi
exit "$status"
