// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer whose result the host wants at once, on any backend (backend.hpp): values of the program's own
// memory go through the mesh's, which is what transports read and write.
//
//   carry(back, transport, values, what)           values in, result out
//   carry(back, transport, stored, result, what)   what is in the mesh's memory stays as it is
//
// The host waits for the processor in both.

#include <cstdint>
#include <span>

#include <ashlar/comm/communicator.hpp>
#include <ashlar/device/host/elements.hpp>
#include <ashlar/support/buffer.hpp>

namespace ashlar::detail {

template <class Backend, class T>
void carry(Backend& back, communicator& transport, T const* stored, std::span<T> result,
           transfer const& what) {
  auto const count = static_cast<std::int64_t>(result.size());
  buffer<T> const target(back.memory(), count);
  transport.run(
      {&what, element_type_of<T>, stored, target.data(), back.operations().take_ticket(what.axes)});
  download(back.processor(), static_cast<T const*>(target.data()), count, result.data());
  back.refuse_if_stopped();  // a transport that was taken down ends what it was at with no result
}

template <class Backend, class T>
void carry(Backend& back, communicator& transport, std::span<T> values, transfer const& what) {
  auto const count = static_cast<std::int64_t>(values.size());
  buffer<T> const source(back.memory(), count);
  upload(back.processor(), static_cast<T const*>(values.data()), count, source.data());
  carry(back, transport, static_cast<T const*>(source.data()), values, what);
}

}  // namespace ashlar::detail
