#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the training steps of bench/torch_train_step.cpp in PyTorch, with DistributedDataParallel on
gloo, one thread for each rank, eager float32, fused AdamW with the same settings, and clipping. The
weights and the batches come from the files that torch_train_step --write wrote into FOLDER. mpirun
starts one process for each rank, and each process takes its share of the samples. Prints
"ms MEDIAN" of all steps except the first, "cpu_ms MEDIAN" of the CPU time of rank 0 in these steps,
and the losses. Exits with 77 if PyTorch is missing."""

import argparse
import os
import statistics
import sys
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("net", choices=("gpt", "vgg"))
parser.add_argument("folder", help="the folder that torch_train_step --write wrote")
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--lr", type=float, default=1e-4)
parser.add_argument("--meet", required=True, help="a new file by which the ranks find each other")
parser.add_argument("--no-ddp", action="store_true", help="use the model alone, on one rank")
options = parser.parse_args()

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
try:
    import numpy
    import torch
    import torch.nn.functional as functional
    from torch import nn
except ImportError as reason:
    print(f"torch_train_step.py: PyTorch is missing ({reason})")
    sys.exit(77)
torch.set_num_threads(1)

LAYERS, WIDTH, HEADS, CONTEXT, BATCH, VOCABULARY = 4, 512, 8, 256, 8, 256
IMAGES, SIDE, CHANNELS = 64, 32, 32


def of_environment(names, fallback):
    return next((int(os.environ[n]) for n in names if n in os.environ), fallback)


rank = of_environment(("OMPI_COMM_WORLD_RANK", "PMI_RANK"), 0)
ranks = of_environment(("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"), 1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, sequence, width = x.shape
        q, k, v = (
            part.view(batch, sequence, HEADS, width // HEADS).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, dim=2)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, sequence, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)

    def in_order(self):
        """Returns the layers in ashlar's order."""
        all_layers = [self.tokens, self.positions]
        for b in self.blocks:
            all_layers += [b.norm1, b.qkv, b.projection, b.norm2, b.up, b.down]
        return all_layers + [self.norm, self.head]


def vgg13():
    layers, channels, width = [], 3, CHANNELS
    for stage in range(5):
        for _ in range(2):
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
        if stage < 3:
            width *= 2
    layers += [nn.Flatten(), nn.Linear(channels, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers)


def values_for(layer, is_qkv, name, values):
    """Returns a parameter's values in PyTorch's order. In ashlar's order, a weight is [in, out],
    and the q, k and v of each head are together."""
    if isinstance(layer, nn.Linear):
        if name == "weight":
            values = values.reshape(layer.in_features, layer.out_features)
        if is_qkv:
            lead = values.shape[:-1] if name == "weight" else ()
            by_head = values.reshape(*lead, HEADS, 3, WIDTH // HEADS)
            values = by_head.swapaxes(-2, -3).reshape(*lead, 3 * WIDTH)
        values = values.T if name == "weight" else values.reshape(-1)
    return torch.tensor(numpy.ascontiguousarray(values))


def load(layers):
    """Writes the values in FOLDER into layers, weights before biases, as in the file."""
    flat = numpy.fromfile(f"{options.folder}/parameters.bin", numpy.float32)
    at = 0
    with open(f"{options.folder}/parameters.txt", encoding="ascii") as names:
        shapes = [[int(n) for n in line.split()[1:]] for line in names]
    targets = [(layer, name) for layer in layers for name in ("weight", "bias")
               if getattr(layer, name, None) is not None]
    assert len(targets) == len(shapes), "other parameters than ashlar's"
    with torch.no_grad():
        for (layer, name), shape in zip(targets, shapes):
            n = int(numpy.prod(shape))
            is_qkv = isinstance(layer, nn.Linear) and layer.out_features == 3 * WIDTH
            getattr(layer, name).copy_(values_for(layer, is_qkv, name, flat[at:at + n].reshape(shape)))
            at += n
    assert at == flat.size, "other parameters than ashlar's"


def batches():
    """Returns this rank's samples of each step."""
    is_gpt = options.net == "gpt"
    samples, extents = (BATCH, (CONTEXT,)) if is_gpt else (IMAGES, (3, SIDE, SIDE))
    inputs = numpy.fromfile(f"{options.folder}/inputs.bin", numpy.int32 if is_gpt else numpy.float32)
    inputs = inputs.reshape(-1, samples, *extents)
    targets = numpy.fromfile(f"{options.folder}/targets.bin", numpy.int32).reshape(inputs.shape[0], samples, -1)
    own = slice(rank * samples // ranks, (rank + 1) * samples // ranks)
    for x, y in list(zip(inputs, targets))[: options.steps]:
        x = torch.tensor(x[own])
        yield x.long() if is_gpt else x, torch.tensor(y[own]).long().flatten()


if options.net == "gpt":
    model = GPT()
    load(model.in_order())
else:
    model = vgg13()
    load([layer for layer in model if isinstance(layer, (nn.Conv2d, nn.Linear))])
torch.distributed.init_process_group("gloo", init_method=f"file://{os.path.abspath(options.meet)}", rank=rank,
                                     world_size=ranks)
parallel = model if options.no_ddp else nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)

# As in ashlar, weight decay applies to all parameters except biases and gains, which are the
# parameters with one dimension.
decays = [p for p in model.parameters() if p.dim() > 1]
others = [p for p in model.parameters() if p.dim() == 1]
optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
                              lr=options.lr, betas=(0.9, 0.95), eps=1e-8, fused=True)

seconds, cpu_seconds, losses = [], [], []
for x, y in list(batches()):
    torch.distributed.barrier()
    start, cpu_start = time.perf_counter(), time.process_time()
    loss = functional.cross_entropy(parallel(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.item())
    seconds.append(time.perf_counter() - start)
    cpu_seconds.append(time.process_time() - cpu_start)
mean = torch.tensor(losses, dtype=torch.float64) / ranks
torch.distributed.all_reduce(mean)
if rank == 0:
    for name, values in (("ms", seconds), ("cpu_ms", cpu_seconds)):
        print(f"{name} {1e3 * statistics.median(values[1:] or values):.3f}")
    print("losses " + " ".join(f"{value:.6f}" for value in mean.tolist()))
torch.distributed.destroy_process_group()
