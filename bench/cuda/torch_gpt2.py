#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
"""Measures a training step of the GPT of examples/train_gpt --model gpt2 in PyTorch, eager or
compiled, with bfloat16 autocast, fused AdamW and clipping, on one GPU. The layers, batch, context
and vocabulary are the same as in ashlar. Also as in ashlar, the last matrix is not shared with the
embedding, ids are bytes that are uploaded for each step, and the loss is read after each step.
Exits with 77 if PyTorch is missing or sees no GPU."""

import argparse
import os
import statistics
import sys
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--layers", type=int, default=12)
parser.add_argument("--d-model", type=int, default=768)
parser.add_argument("--heads", type=int, default=12)
parser.add_argument("--context", type=int, default=1024)
parser.add_argument("--vocabulary", type=int, default=50304)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--steps", type=int, default=30, help="measured steps, after five that are not measured")
parser.add_argument("--mode", choices=("eager", "compiled"), default="eager")
parser.add_argument("--round", type=int, default=1, help="number of the round, for the table")
parser.add_argument("--csv", default="", help="append the table to this file")
options = parser.parse_args()

try:
    import torch
    import torch.nn.functional as functional
    from torch import nn
except ImportError as reason:
    print(f"torch_gpt2.py: PyTorch is missing ({reason})")
    sys.exit(77)
if not torch.cuda.is_available():
    print("torch_gpt2.py: PyTorch sees no GPU")
    sys.exit(77)

HEADING = "library,round,mode,batch,context,parameters,ms,tokens_per_second"


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, sequence, width = x.shape
        q, k, v = (
            part.view(batch, sequence, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, sequence, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.tokens = nn.Embedding(o.vocabulary, o.d_model)
        self.positions = nn.Embedding(o.context, o.d_model)
        self.blocks = nn.ModuleList(Block(o.d_model, o.heads) for _ in range(o.layers))
        self.norm = nn.LayerNorm(o.d_model)
        self.head = nn.Linear(o.d_model, o.vocabulary)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


torch.manual_seed(1)
torch.set_float32_matmul_precision("high")
model = GPT(options).cuda()
parameters = sum(p.numel() for p in model.parameters())
step_of = torch.compile(model) if options.mode == "compiled" else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
shape = (options.batch, options.context)


def step():
    ids = torch.randint(0, 256, shape).pin_memory().cuda(non_blocking=True)
    targets = torch.randint(0, 256, shape).pin_memory().cuda(non_blocking=True)
    with torch.autocast("cuda", torch.bfloat16):
        loss = step_of(ids, targets)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()


for _ in range(5):
    step()
times = []
for _ in range(options.steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    loss = step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
seconds = statistics.median(times)
rate = options.batch * options.context / seconds
print(f"torch {torch.__version__} {options.mode}: {parameters} parameters, {seconds * 1e3:.2f} ms a step, "
      f"{rate:.0f} tokens/s, loss {loss:.3f}")
if options.csv:
    is_new = not os.path.exists(options.csv) or os.path.getsize(options.csv) == 0
    with open(options.csv, "a", encoding="ascii") as table:
        if is_new:
            table.write(HEADING + "\n")
        row = ["torch", options.round, options.mode, options.batch, options.context, parameters,
               f"{seconds * 1e3:.3f}", f"{rate:.0f}"]
        table.write(",".join(map(str, row)) + "\n")
