// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Searches for plans with pipeline stages. The program `plan` does this if --pipeline is given, if
// the value of --stages is not 1, or if the value of --micro-batches is auto.

#pragma once

#include <optional>

#include "options.hpp"

namespace example {

/// Returns whether the options call for search::pipeline: the number of stages is not fixed to 1,
/// or the number of micro-batches is to be searched.
bool wants_pipeline(options const& o);

/// Searches, prints and writes the pipeline that the options describe. If a single stage is best,
/// prints only this fact and returns options for a plan without stages, with the best number of
/// micro-batches. Otherwise returns nothing. Throws ashlar::error if an option is not valid, if no
/// pipeline fits, or if a file cannot be read or written.
std::optional<options> run_pipeline(options const& o);

}  // namespace example
