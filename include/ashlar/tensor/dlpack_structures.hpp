// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The structures of DLPack, by which programs hand arrays to each other without copying them. Their
// members have the order and sizes of version 1 of the specification
// (https://dmlc.github.io/dlpack), so their addresses can be passed as those of the C header:
//
//   here                        dlpack.h                    since   Python's capsule
//   dlpack::managed             DLManagedTensor             0.2     "dltensor"
//   dlpack::managed_versioned   DLManagedTensorVersioned    1.0     "dltensor_versioned"
//
// The C header itself is not needed. A program that has it, from DLPack or from another library,
// can use the structures of that header: to_dlpack and from_dlpack accept every type that has these
// members (managed_structure).

#include <concepts>
#include <cstdint>
#include <memory>

#include <ashlar/comm/element_type.hpp>

namespace ashlar::dlpack {

/// Says where memory is. Other programs use many more values; the host can read and write memory of
/// these two kinds.
enum device_type : std::int32_t { host = 1, pinned_host = 3 };

struct device {
  std::int32_t device_type = dlpack::host;
  std::int32_t device_id = 0;
};

/// DLPack's codes for the kinds of numbers that ashlar's tensors can have.
enum type_code : std::uint8_t { signed_integer = 0, ieee_float = 2, bfloat = 4 };

struct data_type {
  std::uint8_t code = ieee_float;
  std::uint8_t bits = 32;
  std::uint16_t lanes = 1;  ///< numbers in an element, more than 1 for elements that are vectors
};

/// An array: its first element is `byte_offset` bytes after `data`, and strides count elements.
struct array {
  void* data = nullptr;
  dlpack::device device;
  std::int32_t ndim = 0;
  data_type dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< null for a row-major array without gaps
  std::uint64_t byte_offset = 0;
};

/// An array with its owner. The program that has received the array calls `deleter` once when it no
/// longer needs the array, unless `deleter` is null.
struct managed {
  array dl_tensor;
  void* manager_ctx = nullptr;
  void (*deleter)(managed*) = nullptr;
};

struct version_number {
  std::uint32_t major = 1;
  std::uint32_t minor = 0;
};

/// The bit of `flags` which says that no one may write the array.
inline constexpr std::uint64_t read_only = 1;

struct managed_versioned {
  version_number version;
  void* manager_ctx = nullptr;
  void (*deleter)(managed_versioned*) = nullptr;
  std::uint64_t flags = 0;
  array dl_tensor;
};

/// A structure with the members of DLManagedTensor, whatever their types are called.
template <class Managed>
concept managed_structure = requires(Managed& m, Managed* itself) {
  { m.dl_tensor.data } -> std::convertible_to<void*>;
  { m.dl_tensor.device.device_id } -> std::convertible_to<std::int32_t>;
  { m.dl_tensor.ndim } -> std::convertible_to<std::int32_t>;
  { m.dl_tensor.dtype.lanes } -> std::convertible_to<std::uint16_t>;
  { m.dl_tensor.shape } -> std::convertible_to<std::int64_t const*>;
  { m.dl_tensor.strides } -> std::convertible_to<std::int64_t const*>;
  { m.dl_tensor.byte_offset } -> std::convertible_to<std::uint64_t>;
  { m.manager_ctx } -> std::convertible_to<void*>;
  m.deleter(itself);
};

/// A structure with the members of DLManagedTensorVersioned.
template <class Managed>
concept versioned_structure = managed_structure<Managed> && requires(Managed& m) {
  { m.version.major } -> std::convertible_to<std::uint32_t>;
  { m.flags } -> std::convertible_to<std::uint64_t>;
};

/// The deleter of a std::unique_ptr to a managed array. It calls the array's own deleter.
struct call_deleter {
  template <managed_structure Managed>
  void operator()(Managed* m) const {
    if (m->deleter != nullptr) m->deleter(m);
  }
};

/// A managed array that this program owns. release() gives it to another program.
template <managed_structure Managed>
using owned = std::unique_ptr<Managed, call_deleter>;

/// Returns DLPack's description of an element type.
constexpr data_type type_of(element_type type) {
  bool const is_integer = type == element_type::i32 || type == element_type::i64;
  auto const code = is_integer ? signed_integer : type == element_type::bf16 ? bfloat : ieee_float;
  return {code, static_cast<std::uint8_t>(8 * size_of(type)), 1};
}

}  // namespace ashlar::dlpack
