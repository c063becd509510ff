#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
"""Measures PyTorch's eager operators on the shapes of bench/cuda/kernels, and writes their times
beside the times in that program's table. As in that program, successive calls read different copies
of the operands, so that no cache contains them. Exits with 77 if PyTorch is missing or sees no
GPU."""

import argparse
import csv
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tokens", type=int, default=8192)
parser.add_argument("--width", type=int, default=768)
parser.add_argument("--heads", type=int, default=12)
parser.add_argument("--vocabulary", type=int, default=50304)
parser.add_argument("--seconds", type=float, default=0.2, help="approximate time for each operator")
parser.add_argument("--beside", required=True, help="the table that bench/cuda/kernels has written")
parser.add_argument("--csv", default="", help="write the table to this file")
options = parser.parse_args()

try:
    import torch
    import torch.nn.functional as functional
except ImportError as reason:
    print(f"torch_passes.py: PyTorch is missing ({reason})")
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch_passes.py: PyTorch sees no GPU")
    sys.exit(77)
from torch_trials import seconds_of  # needs PyTorch

aten = torch.ops.aten
rows, width, heads, vocabulary = options.tokens, options.width, options.heads, options.vocabulary
scores = 1024
with open(options.beside, encoding="ascii") as table:
    ours = {(line["case"], line["type"], line["shape"]): float(line["ours_us"]) for line in csv.DictReader(table)}


def operators(dtype):
    """Yields, for each operator: its case, its shape, a function that makes its operands, and the operator."""
    wide = f"{rows}x{4 * width}"

    def normals(*extents):
        return torch.randn(extents, device="cuda", dtype=dtype)

    def layer_norm_operands():
        x = normals(rows, width)
        gamma, beta = normals(width), normals(width)
        _, mean, rstd = aten.native_layer_norm(x, (width,), gamma, beta, 1e-5)
        return normals(rows, width), x, mean, rstd, gamma, beta

    def logits():
        x = normals(rows, vocabulary).requires_grad_()
        return x, torch.randint(vocabulary, (rows,), device="cuda")

    def cross_entropy(x, targets):
        return torch.autograd.grad(functional.cross_entropy(x, targets), x)

    yield ("pack a column block", f"{rows}x{width} of {wide}", lambda: (normals(rows, 4 * width),),
           lambda x: x[:, :width].contiguous())
    yield ("transpose", wide, lambda: (normals(rows, 4 * width),), lambda x: x.t().contiguous())
    yield ("tokens and heads exchanged", f"{rows}x{heads}x{width // heads}",
           lambda: (normals(rows, heads, width // heads),), lambda x: x.transpose(0, 1).contiguous())
    yield ("layer norm forward", f"{rows}x{width}", layer_norm_operands,
           lambda dy, x, mean, rstd, gamma, beta: aten.native_layer_norm(x, (width,), gamma, beta, 1e-5))
    yield ("layer norm backward", f"{rows}x{width}", layer_norm_operands,
           lambda dy, x, mean, rstd, gamma, beta: aten.native_layer_norm_backward(
               dy, x, (width,), mean, rstd, gamma, beta, [True, True, True]))
    yield ("softmax forward", f"{rows}x{scores}", lambda: (normals(rows, scores),), lambda x: torch.softmax(x, -1))
    yield ("softmax backward", f"{rows}x{scores}",
           lambda: (normals(rows, scores), torch.softmax(normals(rows, scores), -1)),
           lambda dy, y: aten._softmax_backward_data(dy, y, -1, dtype))
    for columns in (width, 4 * width):
        yield ("gradient of a bias", f"{rows}x{columns}", lambda columns=columns: (normals(rows, columns),),
               lambda dy: dy.sum(0))
    yield ("gelu", wide, lambda: (normals(rows, 4 * width),), lambda x: functional.gelu(x, approximate="tanh"))
    yield ("sum of two", f"{rows}x{width}", lambda: (normals(rows, width), normals(rows, width)), torch.add)
    # The two parts that bench/cuda/kernels measures separately are measured together here, because
    # PyTorch divides the computation of cross-entropy into other parts.
    yield ("cross-entropy", f"{rows}x{vocabulary}", logits, cross_entropy)


def our_time(case, kind, shape):
    parts = ("cross-entropy statistics", "cross-entropy gradient") if case == "cross-entropy" else (case,)
    times = [ours.get((part, kind, shape)) for part in parts]
    return None if None in times else sum(times)


lines = []
cache = torch.cuda.get_device_properties(0).L2_cache_size
for kind, dtype in (("bf16", torch.bfloat16), ("float", torch.float32)):
    for case, shape, make, run in operators(dtype):
        first = make()
        size = sum(operand.numel() * operand.element_size() for operand in first)
        copies = [first] + [make() for _ in range(min(63, 4 * cache // size))]
        turn = 0

        def call():
            global turn
            turn = (turn + 1) % len(copies)
            return run(*copies[turn])

        seconds = seconds_of(call, options.seconds)
        ours_us = our_time(case, kind, shape)
        quotient = "" if ours_us is None else f"{seconds * 1e6 / ours_us:.2f}"
        print(f"{case:26} {kind:5} {shape:22} PyTorch {seconds * 1e6:9.2f} us  PyTorch/ours {quotient}")
        lines.append([case, kind, shape, "" if ours_us is None else f"{ours_us:.3f}", f"{seconds * 1e6:.3f}", quotient])
        del first, copies
if options.csv:
    with open(options.csv, "w", encoding="ascii", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(["case", "type", "shape", "ours_us", "torch_us", "torch/ours"])
        writer.writerows(lines)
