// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The options of the pass in prefetch.hpp, which explains them: how many elements ahead and how
// often the new program gathers stored parameters.

namespace ashlar::search {
inline namespace step {

enum class gathered : signed char { each_pass, once_a_micro_batch, once_a_step };

struct prefetch_options {
  int ahead = 1;
  gathered often = gathered::each_pass;
};

}  // namespace step
}  // namespace ashlar::search
