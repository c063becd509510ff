// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What MPI is told of an element type, and its error codes as exceptions.

#include <string>

#include <mpi.h>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::mpi {

/// Throws ashlar::error with MPI's text unless `status` is success.
inline void check(int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw error("mpi", std::string(text, static_cast<std::size_t>(length)));
}

/// Lets MPI bring messages on their way that have ended for this rank but still lie in its buffers: a
/// rank that waits in shared memory calls MPI otherwise not at all, and others may wait for them.
inline void let_messages_go_on() {
  int found = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE));
}

/// The type under which elements travel. MPI has no bfloat16: it moves as two bytes and is never
/// reduced by MPI (algorithm_table.hpp).
inline MPI_Datatype datatype_of(element_type type) {
  switch (type) {
    case element_type::f32: return MPI_FLOAT;
    case element_type::f64: return MPI_DOUBLE;
    case element_type::i32: return MPI_INT32_T;
    case element_type::i64: return MPI_INT64_T;
    default: return MPI_UINT16_T;
  }
}

/// The operation by which MPI combines elements.
inline MPI_Op operation_of(reduction op) {
  MPI_Op const ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  return ops[static_cast<int>(op)];
}

}  // namespace ashlar::mpi
