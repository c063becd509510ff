// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// The one file of ashlar that nvcc compiles. It contains every kernel, for every element type. The
// CMake function ashlar_enable_cuda(<target>) adds this file to a program.

#include <ashlar/device/cuda/launch/along_dim.cuh>
#include <ashlar/device/cuda/launch/attention.cuh>
#include <ashlar/device/cuda/launch/columns.cuh>
#include <ashlar/device/cuda/launch/cross_entropy.cuh>
#include <ashlar/device/cuda/launch/embedding.cuh>
#include <ashlar/device/cuda/launch/layer_norm.cuh>
#include <ashlar/device/cuda/launch/map.cuh>
#include <ashlar/device/cuda/launch/random.cuh>
#include <ashlar/device/cuda/launch/reduce_dim.cuh>
#include <ashlar/device/cuda/launch/select.cuh>
#include <ashlar/device/cuda/launch/softmax.cuh>
#include <ashlar/device/cuda/launch/strided.cuh>
#include <ashlar/device/cuda/launch/sum.cuh>
#include <ashlar/device/cuda/launch/update.cuh>
