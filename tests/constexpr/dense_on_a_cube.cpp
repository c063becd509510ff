// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that the compiler finds the training plan for the three dense layers of VGG13, with the
// activations between them, on a mesh of three axes. This search exceeds the compilers' default
// limits; docs/05_a_searched_model.md names sufficient ones. tests/scripts/constexpr_work.sh
// compiles this file with the limits below. They are a sixth above what the compilers need now, so
// the script fails if the compilers' work grows by more than that.
//
// gcc:   -fconstexpr-ops-limit=115000000 -fconstexpr-loop-limit=262144 -ftemplate-depth=900
// clang: -fconstexpr-steps=6800000 -ftemplate-depth=1024
// class templates: 14000

#include <ashlar/machine/presets.hpp>
#include <ashlar/search/in_compiler.hpp>

#include "../unit/search_specs.hpp"

constexpr auto net = [] {
  ashlar::search::basic_problem<5> vgg;
  vgg.add(ashlar_test::linear_spec({512, 25088}, 4096));
  vgg.add(ashlar_test::gelu_spec({512, 4096}));
  vgg.add(ashlar_test::linear_spec({512, 4096}, 4096));
  vgg.add(ashlar_test::gelu_spec({512, 4096}));
  vgg.add(ashlar_test::linear_spec({512, 4096}, 1000));
  return vgg;
}();
constexpr ashlar::topology cube{{"a", 2}, {"b", 2}, {"c", 2}};
constexpr auto plan = ashlar::search::optimal_in_compiler(net, cube, ashlar::machines::piz_daint);
static_assert(plan.size() == 5);
static_assert(plan.gap == 0 && plan.seconds > 0);
