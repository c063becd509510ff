// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Carries out a blocking transfer of values in host memory, on any backend (backend.hpp). The
// values are copied to and from blocks of the mesh's memory, since transports access only that
// memory. `back` is the backend, and `what` describes the transfer.
//
//   carry(back, queue, transport, values, what)           replaces host values by the result
//   carry(back, queue, transport, stored, result, what)   reads the array `stored` in the mesh's
//                                                         memory, which stays unchanged; writes the
//                                                         result to host memory
//
// In both cases the host waits for the processor.

#include <cstdint>
#include <span>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/device/host/elements.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::detail {

template <class Backend, class T>
void carry(Backend& back, operation_queue& queue, communicator& transport, T const* stored,
           std::span<T> result, transfer const& what, char const* label = nullptr) {
  auto const count = static_cast<std::int64_t>(result.size());
  buffer<T> const target(back.memory(), count);
  transport.run(
      {&what, element_type_of<T>, stored, target.data(), queue.take_ticket(what.axes), label});
  download(back.processor(), static_cast<T const*>(target.data()), count, result.data());
  back.refuse_if_stopped();  // an aborted transport ends its transfers without a result
}

template <class Backend, class T>
void carry(Backend& back, operation_queue& queue, communicator& transport, std::span<T> values,
           transfer const& what, char const* label = nullptr) {
  auto const count = static_cast<std::int64_t>(values.size());
  buffer<T> const source(back.memory(), count);
  upload(back.processor(), static_cast<T const*>(values.data()), count, source.data());
  carry(back, queue, transport, static_cast<T const*>(source.data()), values, what, label);
}

}  // namespace ashlar::detail
