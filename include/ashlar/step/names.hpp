// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Declares the namespace of a training step. Its parts (problem, plan, layer_spec, ...) are in
// namespace ashlar::step. Since most users need them together with the search, this namespace is an
// inline part of ashlar::search: step::plan and search::plan are one type, and argument-dependent
// lookup finds the functions of the search.

namespace ashlar::search {
inline namespace step {}
}  // namespace ashlar::search

namespace ashlar {
namespace step = search::step;
}  // namespace ashlar
