// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the compiler finds the training plan for twelve layers on a mesh of two axes within
// the default limits of GCC and Clang. tests/scripts/constexpr_work.sh compiles this file with the
// tighter limits below. They are a sixth above what the compilers need now, so the script fails if
// the compilers' work grows by more than that.
//
// gcc:   -fconstexpr-ops-limit=7800000 -fconstexpr-loop-limit=262144 -ftemplate-depth=900
// clang: -fconstexpr-steps=700000 -ftemplate-depth=1024
// class templates: 14000

#include <ashlar/search/in_compiler.hpp>

#include "../unit/search_specs.hpp"

constexpr auto plan = ashlar::search::optimal_in_compiler(ashlar_test::mlp<12>(12, 512, 1024),
                                                          ashlar::topology{{"node", 2}, {"gpu", 4}},
                                                          ashlar::machines::gpu_cluster);
static_assert(plan.size() == 12);
static_assert(plan.gap == 0 && plan.seconds > 0);
