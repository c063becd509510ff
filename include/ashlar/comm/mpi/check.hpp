// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Converts ashlar's types to MPI datatypes and operations, and MPI error codes to exceptions.

#include <string>

#include <mpi.h>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/support/error.hpp>

namespace ashlar::mpi {

/// Throws ashlar::error with MPI's error message if `status` is not MPI_SUCCESS.
inline void check(int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw error("mpi", std::string(text, static_cast<std::size_t>(length)));
}

/// Lets MPI make progress. Messages whose send has completed for this rank may still be in MPI's
/// buffers, and other ranks may wait for them. A rank that waits in shared memory calls this
/// function, since it makes no other MPI calls.
inline void let_messages_go_on() {
  int found = 0;
  check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE));
}

/// Returns the MPI datatype for messages with elements of this type. MPI has no bfloat16, so a
/// bfloat16 is sent as a 2-byte integer and never reduced by MPI (algorithm_table.hpp).
inline MPI_Datatype datatype_of(element_type type) {
  switch (type) {
    case element_type::f32: return MPI_FLOAT;
    case element_type::f64: return MPI_DOUBLE;
    case element_type::i32: return MPI_INT32_T;
    case element_type::i64: return MPI_INT64_T;
    case element_type::u8: return MPI_BYTE;
    default: return MPI_UINT16_T;
  }
}

inline MPI_Op operation_of(reduction op) {
  MPI_Op const ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  return ops[static_cast<int>(op)];
}

}  // namespace ashlar::mpi
