// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Plans in pipeline stages, for --pipeline, --stages and --micro-batches auto.

#pragma once

#include <optional>

#include "options.hpp"

namespace example {

/// Whether the options leave stages or micro-batches to search::pipeline.
bool wants_pipeline(options const& o);

/// Searches, prints and writes the pipeline that the options ask for. Where one stage is best it only
/// says so, and returns the options of that plan, micro-batches filled in. Throws ashlar::error.
std::optional<options> run_pipeline(options const& o);

}  // namespace example
