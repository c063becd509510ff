#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
"""Measures PyTorch's causal scaled_dot_product_attention, forward and backward, on the shapes of
bench/cuda/attention, and appends rows to the table of that program. Exits with 77 if PyTorch is
missing or sees no GPU."""

import argparse
import os
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tokens", type=int, default=16384, help="batch times sequence")
parser.add_argument("--heads", type=int, default=12)
parser.add_argument("--head-dim", type=int, default=64)
parser.add_argument("--sequences", default="256,512,1024,2048,4096,8192")
parser.add_argument("--types", default="bf16,float")
parser.add_argument("--round", type=int, default=1, help="number of the round, for the table")
parser.add_argument("--seconds", type=float, default=0.4, help="approximate time for each pass")
parser.add_argument("--csv", default="", help="append the table to this file")
options = parser.parse_args()

try:
    import torch
    import torch.nn.functional as functional
except ImportError as reason:
    print(f"torch_attention.py: PyTorch is missing ({reason})")
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch_attention.py: PyTorch sees no GPU")
    sys.exit(77)
from torch_trials import seconds_of  # needs PyTorch

HEADING = "library,round,type,batch,sequence,heads,head_dim,pass,us,tflops"


def measure(kind, sequence):
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    batch = options.tokens // sequence
    shape = (batch, options.heads, sequence, options.head_dim)
    q, k, v = (torch.randn(shape, device="cuda", dtype=dtype, requires_grad=True) for _ in range(3))
    dout = torch.randn(shape, device="cuda", dtype=dtype)

    def forward():
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward_alone():
        with torch.no_grad():
            forward()

    out = forward()
    passes = {
        "forward": forward_alone,
        "backward": lambda: torch.autograd.grad(out, (q, k, v), dout, retain_graph=True),
    }
    operations = 2.0 * batch * options.heads * options.head_dim * sequence * sequence
    for name, run in passes.items():
        seconds = seconds_of(run, options.seconds)
        rate = operations * (1 if name == "forward" else 2.5) / seconds / 1e12
        print(f"{kind:5} batch {batch:3}  sequence {sequence:5}  {name:8} {seconds * 1e6:10.2f} us  {rate:7.1f} TFLOP/s")
        yield ["torch", options.round, kind, batch, sequence, options.heads, options.head_dim, name,
               f"{seconds * 1e6:.2f}", f"{rate:.2f}"]


lines = []
for kind in options.types.split(","):
    for sequence in map(int, options.sequences.split(",")):
        lines += [",".join(map(str, row)) for row in measure(kind, sequence)]
if options.csv:
    is_new = not os.path.exists(options.csv) or os.path.getsize(options.csv) == 0
    with open(options.csv, "a", encoding="ascii") as table:
        table.write("".join(line + "\n" for line in ([HEADING] if is_new else []) + lines))
