// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes the layers that most nets are made of, the GPT, and the functions that describe a net
// and place it according to a plan. Other whole nets (nn/vgg.hpp, nn/bert.hpp, ...) have headers of
// their own.

#include <ashlar/nn/branch.hpp>
#include <ashlar/nn/convolution.hpp>
#include <ashlar/nn/flatten.hpp>
#include <ashlar/nn/gpt.hpp>
#include <ashlar/nn/mean_squared_error.hpp>
#include <ashlar/nn/place.hpp>
#include <ashlar/nn/pooling.hpp>
#include <ashlar/nn/skip.hpp>
