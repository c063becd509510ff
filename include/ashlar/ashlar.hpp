// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes all of ashlar for MPI and host memory. A program that needs less compiles faster with
// the headers below. Reading and writing plans (io/json) and other backends have headers of their
// own.

#include <ashlar/nn.hpp>
#include <ashlar/search.hpp>
#include <ashlar/tensor.hpp>
#include <ashlar/train.hpp>
