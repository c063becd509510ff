#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Compares training steps of ashlar with those of PyTorch's DistributedDataParallel (gloo) on the
# CPU, with one thread for each rank. The two libraries train a GPT and a small VGG in turns, from
# the same weights and on the same batches.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: bench/run_torch.sh --python PATH [options]
Takes about fifteen minutes. Run nothing else meanwhile. PATH is a Python with torch and numpy, for
example from
  python3 -m venv FOLDER && FOLDER/bin/pip install torch numpy
  --rounds N       rounds of each library, in turns; default 9
  --steps N        measured steps in a round, after one step that is not measured; default 3
  --nets LIST      default "gpt vgg"
  --ranks LIST     default "1 2"
  --layout NAME    auto (the plan that the search finds) or data; default auto
  --program PATH   an existing program bench/torch_train_step; default: it is built
The losses of 20 steps must differ by at most 1e-4. Exit status: 0 if they do so, 1 if they differ
by more, 77 if torch is missing.
TEXT
}

python='' rounds=9 steps=3 nets="gpt vgg" ranks="1 2" layout=auto program=''
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) usage; exit 0 ;;
    --python | --rounds | --steps | --nets | --ranks | --layout | --program)
      [ $# -ge 2 ] || { usage >&2; exit 2; }
      case "$1" in
        --python) python="$(command -v -- "$2" || true)" ;;
        --rounds) rounds="$2" ;;
        --steps) steps="$2" ;;
        --nets) nets="$2" ;;
        --ranks) ranks="$2" ;;
        --layout) layout="$2" ;;
        --program) program="$(realpath -- "$2")" ;;
      esac
      shift 2
      ;;
    *) printf 'bench/run_torch.sh: unknown option %s\n' "$1" >&2; usage >&2; exit 2 ;;
  esac
done
if [ -z "$python" ] || ! "$python" -c 'import torch, numpy' 2>/dev/null; then
  echo "bench/run_torch.sh: --python must be a Python with torch and numpy" >&2
  exit 77
fi
case "$python" in /*) ;; *) python="$PWD/$python" ;; esac

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
if [ -z "$program" ]; then
  cmake --preset default >/dev/null
  cmake --build --preset default --target bench_torch_train_step
  program="$PWD/build/default/bench/torch_train_step"
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

# Each rank uses one thread. Waiting MPI ranks yield their core, as waiting ranks of gloo do.
# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh
export MKL_NUM_THREADS=1

# ashlar <net> <ranks> <steps> <learning rate> [option]...: runs our program.
ashlar() {
  mpirun -n "$2" "$program" "$1" --steps "$3" --layout "$layout" --lr "$4" "${@:5}"
}
# torch <net> <ranks> <steps> <learning rate>: runs the program of PyTorch.
torch() {
  rm -f "$folder/meet"
  mpirun -n "$2" "$python" bench/torch_train_step.py "$1" "$folder/$1" --steps "$3" --lr "$4" \
    --meet "$folder/meet"
}
# column <word>: prints the second field of the lines that begin with the word.
column() { awk -v word="$1" '$1 == word { print $2 }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

status=0
printf 'torch %s, layout %s, %s rounds of %s steps, load %s\n' \
  "$("$python" -c 'import torch; print(torch.__version__)')" "$layout" "$rounds" "$steps" \
  "$(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo unknown)"
printf '%-5s %5s %10s %10s %7s %12s %12s %7s %12s\n' net ranks 'ashlar ms' 'torch ms' ratio \
  'ashlar cpu' 'torch cpu' ratio 'loss apart'
for net in $nets; do
  # In ReLU and max pooling, a rounding difference between the libraries can change a gradient
  # strongly, and AdamW scales even small gradients to the same size. For a VGG, the losses of the
  # two libraries therefore agree only if the learning rate is small.
  rate=1e-4
  if [ "$net" = vgg ]; then rate=3e-6; fi
  mkdir -p "$folder/$net"
  for n in $ranks; do
    ashlar "$net" "$n" 20 "$rate" --write "$folder/$net" >"$folder/a.txt"
    torch "$net" "$n" 20 "$rate" >"$folder/t.txt"
    apart="$(grep -h '^losses' "$folder/a.txt" "$folder/t.txt" | awk '
      NR == 1 { n = NF; for (i = 2; i <= NF; ++i) a[i] = $i }
      NR == 2 { m = NF; for (i = 2; i <= NF; ++i) { d = $i - a[i]; if (d < 0) d = -d; if (d > worst) worst = d; if (!(d < 1e9)) worst = 1e9 } }
      END { printf "%.2g", NR == 2 && n == m && n == 21 ? worst : 1e9 }')"
    awk -v d="$apart" 'BEGIN { exit !(d <= 1e-4) }' || status=1
    : >"$folder/ashlar.txt"
    : >"$folder/torch.txt"
    for ((i = 0; i < rounds; ++i)); do
      ashlar "$net" "$n" $((steps + 1)) "$rate" >>"$folder/ashlar.txt"
      torch "$net" "$n" $((steps + 1)) "$rate" >>"$folder/torch.txt"
    done
    row=()
    for kind in ms cpu_ms; do
      ours="$(column "$kind" <"$folder/ashlar.txt" | median)"
      theirs="$(column "$kind" <"$folder/torch.txt" | median)"
      row+=("$ours" "$theirs" "$(awk -v a="$ours" -v t="$theirs" 'BEGIN { printf "%.3f", a / t }')")
    done
    printf '%-5s %5s %10s %10s %7s %12s %12s %7s %12s\n' "$net" "$n" "${row[@]}" "$apart"
  done
done
exit "$status"
