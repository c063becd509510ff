// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compiles the parsers and printers of placements, meshes, plans and reports of ranks.

#define ASHLAR_COMPILES_TEXT 1
#include <ashlar/mesh/rank_report.hpp>
#include <ashlar/plan/crossing/text.hpp>
#include <ashlar/plan/text.hpp>
