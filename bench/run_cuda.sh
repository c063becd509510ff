#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Updates the page bench/results/cuda.md, on a machine with a GPU: builds the benchmarks of
# bench/cuda, runs them in turns with PyTorch on the same shapes (if python3 can import PyTorch),
# and writes the tables of the page. Without a GPU the script changes nothing and exits with 77.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: bench/run_cuda.sh [--minutes N] [--programs DIR] [--into DIR] [--tiny] [--report]
                         [--no-install] [-h]
Takes at most ten minutes, with the build. Run nothing else on the GPU meanwhile.
  --minutes N      after N minutes (default: 10), ends the part that runs and skips the rest
  --programs DIR   uses the programs of the build folder DIR and builds nothing
  --into DIR       writes figures and page into DIR, not into bench/results
  --tiny           uses the smallest sizes, to try the programs and this script; needs --into
  --report         runs nothing, and writes the page from the existing figures; needs no GPU
  --no-install     uses the installed packages and never calls the package manager
Exit status: 0 if no part failed, 1 if a part failed, found a wrong result or was ended because it
took too long, 77 if there is no GPU.
TEXT
}

minutes=10 programs='' into='' tiny=no report_only=no install=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --minutes | --programs | --into)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      case "$1" in
        --minutes) minutes="$2" ;;
        --programs) programs="$(cd -- "$2" && pwd)" ;;
        --into) mkdir -p -- "$2" && into="$(cd -- "$2" && pwd)" ;;
      esac
      shift
      ;;
    --tiny) tiny=yes ;;
    --report) report_only=yes ;;
    --no-install) install=no ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'bench/run_cuda.sh: unknown option %s\n' "$1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
case "$minutes" in
  '' | *[!0-9]*) printf 'bench/run_cuda.sh: --minutes %s is not a number\n' "$minutes" >&2; exit 2 ;;
esac
if [ "$tiny" = yes ] && [ -z "$into" ]; then
  printf 'bench/run_cuda.sh: --tiny measures nothing that belongs into the page: give --into DIR\n' >&2
  exit 2
fi

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
template=bench/results/cuda.md
page="$template" figures=bench/results/cuda
if [ -n "$into" ]; then page="$into/cuda.md" figures="$into/cuda"; fi

# table <name>: prints a table as Markdown.
table() {
  if [ "$1" = machine ]; then
    if [ -f "$figures/machine.txt" ]; then cat "$figures/machine.txt"; return; fi
    echo '**Nothing of this page has been run yet: there was no GPU where ashlar was built.** What is here is what will be'
    echo 'measured, with the targets, and the one command that writes the tables below in place of "not run yet".'
    return
  fi
  local source="$figures/$1.csv"

  if [ ! -f "$source" ]; then echo '(not run yet)'; return; fi
  awk -F, -v table="$1" -f bench/results/table.awk -f bench/results/cuda.awk "$source"
}

# shellcheck source=bench/support/page.sh
. bench/support/page.sh

if [ "$report_only" = yes ]; then
  mkdir -p "$figures"
  write_page "$template" "$figures/page.md"
  mv "$figures/page.md" "$page"
  printf 'Page: %s\n' "$page"
  exit 0
fi

if ! command -v nvidia-smi >/dev/null 2>&1 || ! gpus="$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')"; then
  printf 'bench/run_cuda.sh: no GPU here (nvidia-smi names none): nothing was run, %s stays as it is.\n' "$page"
  exit 77
fi

start=$SECONDS
# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh
if [ -z "$programs" ]; then
  if [ "$install" = yes ]; then
    # shellcheck source=cmake/install_packages.sh
    . cmake/install_packages.sh
    ashlar_install_packages program
  fi
  programs="$PWD/build/bench_cuda"
  # Kernels are compiled only for this GPU. Compiling for others would use up the time for
  # measuring.
  cmake --preset cuda -B "$programs" -DASHLAR_BUILD_TESTS=OFF -DASHLAR_CUDA_ARCHITECTURES=native
  cmake --build "$programs" --target bench_cuda train_gpt
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/figures"
parts="$work/figures/parts.csv"
echo 'part,result,seconds' >"$parts"
failed=0

# part <name> <seconds> <command>...: runs a command for at most the given time. Adds a line to
# parts.csv, whether the command succeeds or not.
part() {
  local name="$1" most="$2" left result began=$SECONDS status=0
  shift 2
  left=$((minutes * 60 - (SECONDS - start)))
  if [ "$left" -lt "$most" ]; then most="$left"; fi
  printf '\n==== %s\n' "$name"
  if [ "$most" -lt 5 ]; then
    printf 'skipped: the %s minutes are over\n' "$minutes"
    printf '%s,no time was left,0\n' "$name" >>"$parts"
    return
  fi
  if [ "${1#"$programs"}" != "$1" ] && [ ! -x "$1" ]; then
    printf '%s was not built\n' "$1"
    printf '%s,left out: not built,0\n' "$name" >>"$parts"
    return
  fi
  timeout --kill-after=10 "$most" "$@" >"$work/output" 2>&1 || status=$?
  cat "$work/output"
  case "$status" in
    0) result=ran ;;
    77) result="left out: $(grep -v '^$' "$work/output" | tail -n 1 | tr ',' ';')" ;;
    124 | 137) result="ended after $most s" failed=1 ;;
    *) result="failed with exit $status" failed=1 ;;
  esac
  printf '%s,%s,%d\n' "$name" "$result" $((SECONDS - began)) >>"$parts"
}

csv() { printf '%s/figures/%s.csv' "$work" "$1"; }
sizes=()
# brief <option>...: with --tiny, makes these the size options of all parts until the next call of
# brief. Without --tiny, these parts have no size options.
brief() { if [ "$tiny" = yes ]; then sizes=("$@"); else sizes=(); fi; }

run_parts() {
  local round ranks

  brief --shapes '8x5x7,16x16x16,TN:9x4x5,NT:6x7x8' --trials 1 --seconds 0
  part gemm 120 "$programs/bench/cuda/gemm" --csv "$(csv gemm)" \
    ${sizes[@]+"${sizes[@]}"}
  brief --tokens 32 --width 24 --heads 2 --vocabulary 40 --parameters 300 --trials 1 --seconds 0
  part passes 90 "$programs/bench/cuda/kernels" --csv "$(csv passes)" \
    ${sizes[@]+"${sizes[@]}"}
  brief --tokens 32 --width 24 --heads 2 --vocabulary 40 --seconds 0
  part 'kernels of PyTorch' 60 python3 bench/cuda/torch_passes.py --beside "$(csv passes)" \
    --csv "$(csv torch_passes)" ${sizes[@]+"${sizes[@]}"}
  # Our library and PyTorch take turns in two rounds, so that a falling clock rate of the GPU
  # affects both.
  brief --layers 1 --d-model 32 --heads 2 --context 16 --vocabulary 256
  for round in 1 2; do
    part "GPT-2 step $round" 60 bash bench/cuda/train_gpt.sh "$programs/examples/train_gpt" \
      "$round" "$(csv steps)" --steps 40 --every 5 ${sizes[@]+"${sizes[@]}"}
    part "GPT-2 step of PyTorch compiled $round" 120 python3 bench/cuda/torch_gpt2.py \
      --mode compiled --round "$round" --csv "$(csv steps)" ${sizes[@]+"${sizes[@]}"}
  done
  part 'GPT-2 step tuned' 60 env ASHLAR_CUDA_TUNE=on bash bench/cuda/train_gpt.sh \
    "$programs/examples/train_gpt" 1 "$(csv steps)" --steps 40 --every 5 ${sizes[@]+"${sizes[@]}"}
  part 'GPT-2 step of PyTorch eager' 60 python3 bench/cuda/torch_gpt2.py --mode eager \
    --csv "$(csv steps)" ${sizes[@]+"${sizes[@]}"}

  for round in 1 2; do
    brief --tokens 64 --heads 2 --head-dim 8 --sequences 16,32 --trials 1 --seconds 0
    if [ "$tiny" = no ]; then sizes=(--seconds 0.2); fi
    part "attention $round" 45 "$programs/bench/cuda/attention" \
      --round "$round" --csv "$(csv attention)" ${sizes[@]+"${sizes[@]}"}
    brief --tokens 64 --heads 2 --head-dim 8 --sequences 16,32 --seconds 0
    if [ "$tiny" = no ]; then sizes=(--seconds 0.2); fi
    part "attention of PyTorch $round" 45 python3 bench/cuda/torch_attention.py \
      --round "$round" --csv "$(csv attention)" ${sizes[@]+"${sizes[@]}"}
  done
  brief --trials 1 --seconds 0
  part launches 30 "$programs/bench/cuda/launch" --csv "$(csv launches)" \
    ${sizes[@]+"${sizes[@]}"}

  if [ "$gpus" -lt 2 ]; then
    printf '\n==== collectives\none GPU: nothing to exchange\n'
    echo 'collectives,left out: one GPU has nothing to exchange,0' >>"$parts"
  fi
  for ranks in 2 4 8; do
    if [ "$ranks" -gt "$gpus" ]; then break; fi
    part "collectives of $ranks ranks" 60 mpirun -n "$ranks" "$programs/bench/cuda/collectives" \
      --csv "$(csv collectives)"
  done
}

describe_machine() {
  local cuda nccl driver torch
  driver="$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | head -n 1 || true)"
  cuda="$({ nvcc --version || /usr/local/cuda/bin/nvcc --version; } 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p' || true)"
  nccl="$(sed -n 's/^NCCL_INCLUDE_DIR:[^=]*=//p' "$programs/CMakeCache.txt" 2>/dev/null || true)"
  nccl="$(awk '/^#define NCCL_(MAJOR|MINOR|PATCH) /{v = v (v == "" ? "" : ".") $3} END {print v}' "$nccl/nccl.h" 2>/dev/null || true)"
  torch="$(python3 -c 'import torch; print(torch.__version__)' 2>/dev/null || true)"
  printf '%s, %s x %s (name, driver, memory), CUDA %s, NCCL %s, PyTorch: %s; ashlar %s; %d s with the build.\n' \
    "$(LC_ALL=C date '+%d %B %Y')" "$gpus" "$driver" "${cuda:-?}" "${nccl:-?}" \
    "${torch:-not here, its columns are empty}" \
    "$(git rev-parse --short HEAD 2>/dev/null || echo 'of no commit')" $((SECONDS - start))
  if [ "$tiny" = yes ]; then echo 'The smallest sizes: these figures say nothing of speed.'; fi
}

run_parts
describe_machine >"$work/figures/machine.txt"
mkdir -p "$figures"
rm -f "$figures"/*.csv "$figures/machine.txt"
mv "$work/figures"/* "$figures/"
write_page "$template" "$figures/page.md"
mv "$figures/page.md" "$page"
printf '\n'
cat "$figures/machine.txt" "$figures/parts.csv"
printf 'Page: %s, tables: %s. %d s\n' "$page" "$figures" $((SECONDS - start))
exit "$failed"
