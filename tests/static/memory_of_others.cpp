// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks views of arrays. Also checks that the members of DLPack's structures are at the offsets
// that other programs expect. The numbers are the offsets in the C structures of dlpack.h on
// machines with 64-bit addresses.

#include <cstddef>

#include <ashlar/tensor/dlpack_structures.hpp>
#include <ashlar/tensor/strided_view.hpp>

#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif

namespace {

using ashlar::row_major_view;
using ashlar::strided_view;

constexpr int numbers[] = {0, 1, 2, 3, 4, 5};
constexpr auto rows = row_major_view<int const, 2>(numbers, {2, 3});
static_assert(rows.strides == std::array<std::int64_t, 2>{3, 1});
static_assert(rows(1, 2) == 5 && rows.elements() == 6 && rows.is_row_major());

constexpr strided_view<int const, 2> columns{numbers, {3, 2}, {1, 3}};
static_assert(columns(2, 1) == 5 && !columns.is_row_major());
constexpr strided_view<int const, 2> padded{numbers, {2, 2}, {3, 1}};
static_assert(padded(1, 1) == 4 && !padded.is_row_major());

// A stride that is never used may have any value in a row-major view.
static_assert(strided_view<int const, 2>{numbers, {1, 3}, {9, 1}}.is_row_major());
static_assert(strided_view<int const, 2>{numbers, {3, 1}, {1, 9}}.is_row_major());
static_assert(strided_view<int const, 2>{numbers, {0, 3}, {9, 9}}.is_row_major());
static_assert(strided_view<int const, 0>{numbers, {}, {}}() == 0);
static_assert(strided_view<int const, 0>{}.elements() == 1);

using namespace ashlar::dlpack;

static_assert(managed_structure<managed> && !versioned_structure<managed>);
static_assert(versioned_structure<managed_versioned>);
static_assert(!managed_structure<array>);

static_assert(sizeof(void*) != 8 || (offsetof(array, device) == 8 && offsetof(array, ndim) == 16 &&
                                     offsetof(array, dtype) == 20 && offsetof(array, shape) == 24 &&
                                     offsetof(array, strides) == 32 &&
                                     offsetof(array, byte_offset) == 40 && sizeof(array) == 48));
static_assert(sizeof(void*) != 8 || (offsetof(managed, manager_ctx) == 48 &&
                                     offsetof(managed, deleter) == 56 && sizeof(managed) == 64));
static_assert(sizeof(void*) != 8 ||
              (offsetof(managed_versioned, manager_ctx) == 8 &&
               offsetof(managed_versioned, deleter) == 16 &&
               offsetof(managed_versioned, flags) == 24 &&
               offsetof(managed_versioned, dl_tensor) == 32 && sizeof(managed_versioned) == 80));
static_assert(offsetof(device, device_id) == 4 && sizeof(device) == 8);
static_assert(offsetof(data_type, bits) == 1 && offsetof(data_type, lanes) == 2);

#if __has_include(<dlpack/dlpack.h>)
// If DLPack's own header is installed, the structures are also compared with its structures.
static_assert(managed_structure<DLManagedTensor> && versioned_structure<DLManagedTensorVersioned>);
static_assert(sizeof(DLManagedTensor) == sizeof(managed));
static_assert(offsetof(DLTensor, dtype) == offsetof(array, dtype));
static_assert(offsetof(DLTensor, byte_offset) == offsetof(array, byte_offset));
static_assert(offsetof(DLManagedTensor, deleter) == offsetof(managed, deleter));
static_assert(offsetof(DLManagedTensorVersioned, dl_tensor) ==
              offsetof(managed_versioned, dl_tensor));
static_assert(DLPACK_FLAG_BITMASK_READ_ONLY == read_only);
static_assert(static_cast<int>(kDLCPU) == host && static_cast<int>(kDLCUDAHost) == pinned_host);
static_assert(static_cast<int>(kDLBfloat) == bfloat && static_cast<int>(kDLFloat) == ieee_float);
#endif

}  // namespace
