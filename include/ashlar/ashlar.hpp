// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes all of ashlar for MPI and host memory. Reading and writing plans (io/json) and other
// backends have headers of their own.

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/mesh.hpp>
#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/comm/no_communication.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/search/baselines.hpp>
#include <ashlar/search/diff.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/pinned.hpp>
#include <ashlar/search/pipeline.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/merge_axes.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/redistribute_async.hpp>
#include <ashlar/tensor/reduce.hpp>
#include <ashlar/tensor/reshape.hpp>
#include <ashlar/tensor/slice.hpp>
#include <ashlar/tensor/split_axis.hpp>
#include <ashlar/train/trainer.hpp>
