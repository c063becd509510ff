// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The parts of a training step (problem, plan, layer_spec, ...) live in namespace ashlar::step. The
// search is where most users meet them, so that they are also named ashlar::search::problem and so on.

namespace ashlar::step {}

namespace ashlar::search {
using namespace step;
}
