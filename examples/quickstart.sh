#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs missing packages, builds examples/train_gpt and trains a small byte-level GPT on this
# project's own text. The training runs on 4 ranks and takes one to two minutes on two cores. The
# arguments of this script are passed to train_gpt after its own options. If an option is given
# twice, the last one counts. With --experts, the GPT has 2 layers, one of them with experts. Such a
# run takes 800 steps instead of 1000 and writes a shorter sample, so that its time stays the same.
# With --model gpt2, the net has the sizes of GPT-2.
set -euo pipefail

ranks=4
mesh=node=2,gpu=2
model=(--layers 3 --d-model 128 --heads 4 --context 128 --batch 16)
training=(--steps 1000 --lr 3e-3 --warmup 40 --every 50)
sample=(--sample 500 --temperature 0.8 --prompt "template <class ")
case " $* " in
  *" --experts "* | *" --experts="*)
    model+=(--layers 2)
    training+=(--steps 800)
    sample+=(--sample 200)
    ;;
esac
case " $* " in *" --model gpt2 "* | *" --model=gpt2 "*) model=(--batch 16) ;; esac

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
# shellcheck source=cmake/install_packages.sh
. cmake/install_packages.sh
ashlar_install_packages program

# The GPU kernels take minutes to compile, and only `--device cuda` uses them.
cuda=OFF
case " $* " in *" --device cuda "* | *" --device=cuda "*) cuda=AUTO ;; esac
cmake --preset default "-DASHLAR_ENABLE_CUDA=$cuda"
cmake --build --preset default --target train_gpt

# shellcheck source=cmake/mpi_environment.sh
. cmake/mpi_environment.sh

# Uses the launcher of the MPI that the program was built with.
mpiexec="$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' build/default/CMakeCache.txt)"
exec "${mpiexec:-mpirun}" -n "$ranks" build/default/examples/train_gpt \
  --mesh "$mesh" "${model[@]}" "${training[@]}" "${sample[@]}" "$@"
