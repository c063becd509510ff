// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes what most programs need to search for the best placements of a net: the exact search,
// the baselines to which its plans are compared, and the text that explains a plan. A program that
// only searches needs neither MPI nor a BLAS (CMake target ashlar::core). Other parts of the search
// have headers of their own: search/pinned.hpp, search/diff.hpp, search/pareto.hpp,
// search/pipeline.hpp and search/algorithms.hpp.

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
