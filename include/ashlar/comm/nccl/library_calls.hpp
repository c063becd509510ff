// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The calls of one transfer (issue.hpp), executed by NCCL and by device kernels on one stream.
//
//   element   f32 f64 i32 i64 bf16 u8                     reduction   sum max min
//   in NCCL   Float32 Float64 Int32 Int64 Bfloat16 Uint8              Sum Max Min
//
// Scratch memory comes from the stream's arena, and the destructor releases it. NCCL before 2.28
// has no all-to-all. With such versions, a group of sends and receives replaces the all-to-all.

#include <mutex>
#include <utility>

#include <ashlar/comm/nccl/handle.hpp>
#include <ashlar/comm/nccl/issue.hpp>
#include <ashlar/comm/nccl/kernels.hpp>
#include <ashlar/device/cuda/arena.hpp>

namespace ashlar::nccl {

inline ncclDataType_t datatype_of(element_type type) {
  constexpr ncclDataType_t types[] = {ncclFloat32, ncclFloat64,  ncclInt32,
                                      ncclInt64,   ncclBfloat16, ncclUint8};
  return types[static_cast<int>(type)];
}
inline ncclRedOp_t operation_of(reduction op) {
  constexpr ncclRedOp_t ops[] = {ncclSum, ncclMax, ncclMin};
  return ops[static_cast<int>(op)];
}

class library_calls {
 public:
  /// `members` is the size of the communicator, which only all_to_all needs. The stream and all
  /// arguments passed by reference must outlive this object.
  library_calls(handle& comm, int members, element_type type, cuda::arena& memory,
                cudaStream_t stream, transfer_kernels const& kernels, call_site where)
      : comm_(comm), members_(members), type_(type), memory_(memory), stream_(stream),
        kernels_(kernels), where_(std::move(where)) {}
  library_calls(library_calls const&) = delete;
  library_calls& operator=(library_calls const&) = delete;
  ~library_calls() {
    if (group_.owns_lock()) ncclGroupEnd();  // an exception occurred inside the group
    std::span<scratch_block const> const blocks = scratch_;
    for (auto const& block : blocks) memory_.release(block.memory, block.bytes);
  }

  void group_start() {
    auto held = comm_.hold();
    check(ncclGroupStart(), where_);
    group_ = std::move(held);
  }
  void group_end() {
    auto held = std::move(group_);  // the group has ended, even if this call reports a fault
    check(ncclGroupEnd(), where_);
    held.unlock();
    comm_.settle(where_);
  }
  void send(std::byte const* from, std::int64_t n, int peer) {
    in_group(ncclSend(from, size(n), datatype_of(type_), peer, comm_.get(where_), stream_));
  }
  void receive(std::byte* to, std::int64_t n, int peer) {
    in_group(ncclRecv(to, size(n), datatype_of(type_), peer, comm_.get(where_), stream_));
  }

  void all_gather(std::byte const* from, std::byte* to, std::int64_t n) {
    call([&](ncclComm_t comm) {
      return ncclAllGather(from, to, size(n), datatype_of(type_), comm, stream_);
    });
  }
  void reduce_scatter(std::byte const* from, std::byte* to, std::int64_t n, reduction op) {
    call([&](ncclComm_t comm) {
      return ncclReduceScatter(from, to, size(n), datatype_of(type_), operation_of(op), comm,
                               stream_);
    });
  }
  void all_reduce(std::byte const* from, std::byte* to, std::int64_t n, reduction op) {
    call([&](ncclComm_t comm) {
      return ncclAllReduce(from, to, size(n), datatype_of(type_), operation_of(op), comm, stream_);
    });
  }
  void broadcast(std::byte const* from, std::byte* to, std::int64_t n, int root) {
    call([&](ncclComm_t comm) {
      return ncclBroadcast(from, to, size(n), datatype_of(type_), root, comm, stream_);
    });
  }
  void reduce(std::byte const* from, std::byte* to, std::int64_t n, reduction op, int root) {
    call([&](ncclComm_t comm) {
      return ncclReduce(from, to, size(n), datatype_of(type_), operation_of(op), root, comm,
                        stream_);
    });
  }
  void all_to_all(std::byte const* from, std::byte* to, std::int64_t n) {
#if NCCL_VERSION_CODE >= 22803
    call([&](ncclComm_t comm) {
      return ncclAlltoAll(from, to, size(n), datatype_of(type_), comm, stream_);
    });
#else
    group_start();
    for (int j = 0; j < members_; ++j) {
      send(from + j * n * size_of(type_), n, j);
      receive(to + j * n * size_of(type_), n, j);
    }
    group_end();
#endif
  }

  void copy(strided_block const& b, std::byte const* from, std::byte* to) {
    kernels_.copy(size_of(type_), b, from, to, stream_);
  }
  void pack(std::span<strided_block const> list, std::byte const* from, std::byte* to) {
    kernels_.pack(size_of(type_), list, from, to, stream_);
  }
  void unpack(std::span<strided_block const> list, std::byte const* from, std::byte* to) {
    kernels_.unpack(size_of(type_), list, from, to, stream_);
  }
  void combine(reduction op, std::span<std::byte const* const> addends, std::byte* to,
               std::int64_t n) {
    kernels_.combine(type_, op, addends, to, n, stream_);
  }

  std::byte* scratch(std::int64_t n) {
    auto const bytes = static_cast<std::size_t>(n * size_of(type_));
    void* const block = memory_.allocate(bytes, [&] { return "packing for " + to_string(where_); });
    scratch_.push_back({block, bytes});
    return static_cast<std::byte*>(block);
  }

 private:
  struct scratch_block {
    void* memory;
    std::size_t bytes;
  };

  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

  template <class Call>
  void call(Call const& f) {
    comm_.call(where_, f);
    comm_.settle(where_);
  }
  void in_group(ncclResult_t status) const { check(status, where_); }

  handle& comm_;
  [[maybe_unused]] int members_;
  element_type type_;
  cuda::arena& memory_;
  cudaStream_t stream_;
  transfer_kernels const& kernels_;
  call_site where_;
  std::unique_lock<std::mutex> group_;
  small_vector<scratch_block, 4> scratch_;
};

static_assert(calls<library_calls>);

}  // namespace ashlar::nccl
