// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes the trainer and its optimizers.

#include <ashlar/train/trainer.hpp>
