// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Declares namespace ashlar::step, which contains a training step's types (problem, plan, ...).
// ashlar::step is an alias of an inline namespace in ashlar::search, since most users need both
// namespaces. So step::plan and search::plan are one type, and for an argument of this type
// argument-dependent lookup also finds the functions of the search.

namespace ashlar::search {
inline namespace step {}
}  // namespace ashlar::search

namespace ashlar {
namespace step = search::step;
}  // namespace ashlar
