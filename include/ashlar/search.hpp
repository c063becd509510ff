// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes the search for placements: the exact one and its baselines, pinned choices, pipelines,
// and the text that explains or compares plans. It needs neither MPI nor a BLAS (ashlar::core).

#include <ashlar/search/baselines.hpp>
#include <ashlar/search/diff.hpp>
#include <ashlar/search/explain.hpp>
#include <ashlar/search/optimal.hpp>
#include <ashlar/search/pinned.hpp>
#include <ashlar/search/pipeline.hpp>
