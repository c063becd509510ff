# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
"""Measures functions of PyTorch by the device's clock, for the scripts beside this file."""

import statistics

import torch


def seconds_of(run, seconds):
    """Returns the median time of a call of `run` in trials of about 5 ms each, as
    bench/support/device_trials.hpp does. All trials together take about `seconds`."""

    def trial(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(repeats):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / repeats

    run()
    once = trial(1)
    repeats = max(1, min(1000, int(5e-3 / max(once, 1e-9))))
    trials = max(3, min(31, int(seconds / max(once * repeats, 1e-9))))
    return statistics.median(trial(repeats) for _ in range(trials))
