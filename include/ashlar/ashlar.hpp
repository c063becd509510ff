// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes ashlar for programs that use MPI and host memory. A program that needs only a part
// compiles faster if it includes one of the headers below instead. The backends for GPUs, and the
// functions that read and write plan files (io/json), have headers of their own.

#include <ashlar/nn.hpp>
#include <ashlar/search.hpp>
#include <ashlar/tensor.hpp>
#include <ashlar/train.hpp>
