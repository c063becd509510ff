// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes to_dlpack and from_dlpack, which exchange shards with other programs by DLPack.

#include <ashlar/tensor/from_dlpack.hpp>
#include <ashlar/tensor/to_dlpack.hpp>
