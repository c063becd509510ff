#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
#
# Tests that the logits of nn::llama equal those of a Llama that is written with PyTorch alone and
# has the same weights. A Python program draws the weights, writes them with the names of Hugging
# Face, and computes logits. A C++ program loads the file on 1 and on 2 ranks. The tolerance is 1e-5
# in float and 1e-12 in double. The test is skipped if Python does not have the packages torch and
# safetensors. The environment variable ASHLAR_PYTHON selects another Python.
set -euo pipefail

python="${ASHLAR_PYTHON:-python3}"
"$python" -c 'import torch, safetensors.torch' 2>/dev/null || { echo "no Python packages torch and safetensors"; exit 77; }
binary_dir="$ASHLAR_BINARY_DIR"
[ -f "$binary_dir/libashlar_compiled.a" ] || { echo "no ashlar::compiled was built"; exit 77; }
mpiexec="${ASHLAR_MPIEXEC:-mpirun}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

cat >"$work/llama.py" <<'P'
import sys
import torch
from safetensors.torch import save_file

layers, features, heads, kv_heads, hidden, words, base, epsilon = 3, 48, 6, 2, 40, 61, 10000.0, 1e-5
sequences, length, size = 3, 17, features // heads
work = sys.argv[1]
torch.manual_seed(5)


def matrix(rows, columns):
    return torch.randn(rows, columns) * columns**-0.5


w = {"model.embed_tokens.weight": torch.randn(words, features), "lm_head.weight": matrix(words, features)}
w["model.norm.weight"] = 1 + 0.2 * torch.randn(features)
for i in range(layers):
    at = f"model.layers.{i}."
    for name in ("input_layernorm", "post_attention_layernorm"):
        w[at + name + ".weight"] = 1 + 0.2 * torch.randn(features)
    for name, rows in (("q", features), ("k", kv_heads * size), ("v", kv_heads * size), ("o", features)):
        w[at + f"self_attn.{name}_proj.weight"] = matrix(rows, features)
    w[at + "mlp.gate_proj.weight"] = matrix(hidden, features)
    w[at + "mlp.up_proj.weight"] = matrix(hidden, features)
    w[at + "mlp.down_proj.weight"] = matrix(features, hidden)
save_file({name: v.contiguous() for name, v in w.items()}, work + "/model.safetensors")


def norm(x, gain):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * gain


def rotate(x):  # [sequences, heads, length, size]
    turns = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * turns
    angles = torch.cat((angles, angles), -1)
    first, second = x.chunk(2, -1)
    return x * angles.cos().to(x.dtype) + torch.cat((-second, first), -1) * angles.sin().to(x.dtype)


def logits(ids, w):
    def linear(x, name):
        return x @ w[name + ".weight"].T

    x = w["model.embed_tokens.weight"][ids]
    for i in range(layers):
        at = f"model.layers.{i}."
        y = norm(x, w[at + "input_layernorm.weight"])
        q, k, v = (linear(y, at + f"self_attn.{name}_proj").unflatten(-1, (-1, size)).transpose(1, 2)
                   for name in "qkv")
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (rotate(k), v))
        scores = rotate(q) @ k.transpose(-1, -2) / size**0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
        x = x + linear(mixed.transpose(1, 2).flatten(2), at + "self_attn.o_proj")
        y = norm(x, w[at + "post_attention_layernorm.weight"])
        gated = torch.nn.functional.silu(linear(y, at + "mlp.gate_proj")) * linear(y, at + "mlp.up_proj")
        x = x + linear(gated, at + "mlp.down_proj")
    return linear(norm(x, w["model.norm.weight"]), "lm_head")


ids = torch.randint(words, (sequences, length))
with open(work + "/ids.txt", "w") as f:
    print(*ids.flatten().tolist(), file=f)
for name, kind in (("float", torch.float32), ("double", torch.float64)):
    with open(work + f"/{name}.txt", "w") as f:
        print(*(f"{v:.17g}" for v in logits(ids, {n: t.to(kind) for n, t in w.items()}).flatten().tolist()), file=f)
P

cat >"$work/compare.cpp" <<'C'
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <ashlar/checkpoint/llama_names.hpp>
#include <ashlar/checkpoint/training.hpp>
#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/nn/llama.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/search/baselines.hpp>

template <class T>
std::vector<T> read(std::string const& file) {
  std::ifstream in(file);
  return {std::istream_iterator<T>(in), {}};
}

template <class T>
int compare(ashlar::mesh const& m, std::string const& work, std::string const& name, double most) {
  namespace nn = ashlar::nn;
  auto const net = nn::llama({.layers = 3,
                              .features = 48,
                              .heads = 6,
                              .kv_heads = 2,
                              .hidden = 40,
                              .vocabulary = 61});
  auto const problem = nn::describe<T>(net, nn::token_batch{3, 17});
  auto model = nn::place<T>(
      net, m, ashlar::search::tensor_parallel(problem, m.topology(), m.machine()));
  ashlar::checkpoint::load_parameters({work + "/model.safetensors"}, model,
                                      ashlar::checkpoint::llama_views(), {.converts = true});
  auto const expected = read<double>(work + "/" + name + ".txt");
  auto const made = model.predict(read<std::int32_t>(work + "/ids.txt"));
  double apart = made.size() == expected.size() && !made.empty() ? 0 : 1e9;
  for (std::size_t i = 0; i < made.size() && i < expected.size(); ++i)
    if (double const d = std::abs(static_cast<double>(made[i]) - expected[i]); !(d <= apart))
      apart = std::isnan(d) ? 1e9 : d;
  if (m.rank() == 0)
    std::printf("%d ranks, %s: %zu logits, at most %.2g apart (limit %.0e)\n", m.ranks(),
                name.c_str(), made.size(), apart, most);
  return apart <= most ? 0 : 1;
}

int main(int argc, char** argv) {
  ashlar::mpi::environment const env(argc, argv);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  ashlar::mesh const m(MPI_COMM_WORLD, ashlar::topology{{"gpu", ranks}});
  return compare<float>(m, argv[1], "float", 1e-5) + compare<double>(m, argv[1], "double", 1e-12);
}
C

cat >"$work/CMakeLists.txt" <<C
cmake_minimum_required(VERSION 3.25)
project(llama_torch LANGUAGES CXX)
add_subdirectory("$ASHLAR_SOURCE_DIR" ashlar)
add_executable(compare compare.cpp)
target_compile_definitions(compare PRIVATE ASHLAR_COMPILED=1)
target_link_libraries(compare PRIVATE ashlar::checkpoint "$binary_dir/libashlar_compiled.a")
C
cached() { sed -n "s/^$1:[A-Z]*=//p" "$binary_dir/CMakeCache.txt"; }
mpi="$(cached MPI_CXX_COMPILER)"
cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_CXX_FLAGS=-O1 "-DCMAKE_CXX_COMPILER=$(cached CMAKE_CXX_COMPILER)" \
  ${mpi:+"-DMPI_CXX_COMPILER=$mpi"} -DASHLAR_ENABLE_CUDA=OFF >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
cmake --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$python" "$work/llama.py" "$work"
for ranks in 1 2; do "$mpiexec" -n "$ranks" "$work/build/compare" "$work"; done
echo "llama_torch: all as expected"
