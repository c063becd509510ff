// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The parts of a training step (problem, plan, layer_spec, ...) live in namespace ashlar::step. Most users
// meet them where they search, so the namespace is an inline part of ashlar::search: step::plan and
// search::plan are one type, and functions of the search are found by their arguments.

namespace ashlar::search {
inline namespace step {}
}  // namespace ashlar::search

namespace ashlar {
namespace step = search::step;
}  // namespace ashlar
