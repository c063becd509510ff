// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes the search that most programs need: the exact one, its baselines, and the text that
// explains a plan. It needs neither MPI nor a BLAS (ashlar::core). Other parts of the search have
// headers of their own: search/pinned.hpp, search/diff.hpp, search/pareto.hpp, search/pipeline.hpp
// and search/algorithms.hpp.

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
