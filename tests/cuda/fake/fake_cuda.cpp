// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Defines the fake CUDA runtime of fake_cuda.hpp.

#include "fake_cuda.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>

#include "fake_streams.hpp"

namespace {

std::atomic<cudaError_t> last_error = cudaSuccess;
fake::machine here;
std::mutex block_mutex;
std::map<void*, std::size_t> blocks;
std::size_t block_bytes = 0;
constexpr std::align_val_t alignment{256};  // of the blocks of CUDA

void give_back(void* p) {
  std::lock_guard const lock(block_mutex);
  auto const found = blocks.find(p);
  if (found == blocks.end()) std::abort();  // freed twice, or never allocated
  std::memset(p, 0xdd, found->second);
  ::operator delete(p, alignment);
  block_bytes -= found->second;
  blocks.erase(found);
}

}  // namespace

struct CUmemPoolHandle_st {};

namespace fake {
void enqueue(cudaStream_t stream, std::function<void()> work) { stream->give(std::move(work)); }
void pause_up_to(int microseconds) { longest_pause = microseconds; }
void set_machine(machine const& m) { here = m; }
machine const& fake_machine() { return here; }
void fail_launch(cudaError_t status) { last_error = status; }
int live_streams() { return streams; }
int live_events() { return events; }
int live_graphs() { return graphs; }
int calls_for_memory() { return memory_calls; }
int calls_for_work() { return work_given; }
int live_blocks() {
  std::lock_guard const lock(block_mutex);
  return static_cast<int>(blocks.size());
}
}  // namespace fake

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (here.driver < here.runtime / 1000 * 1000) return cudaErrorInsufficientDriver;
  if (here.devices == 0) return cudaErrorNoDevice;
  return *count = here.devices, cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  if (what == cudaDevAttrComputeCapabilityMajor) *value = here.compute_capability / 10;
  else if (what == cudaDevAttrComputeCapabilityMinor) *value = here.compute_capability % 10;
  else *value = 4;  // the number of multiprocessors, and any other attribute
  return cudaSuccess;
}
cudaError_t cudaGetLastError(void) { return last_error.exchange(cudaSuccess); }
char const* cudaGetErrorName(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    default: return "cudaErrorFake";
  }
}
char const* cudaGetErrorString(cudaError_t) { return "a fake error"; }
cudaError_t cudaDriverGetVersion(int* v) { return *v = here.driver, cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int* v) { return *v = here.runtime, cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  std::lock_guard const lock(block_mutex);
  *total = here.memory;
  *free = here.memory - block_bytes;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* most) {
  return *least = *most = 0, cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned, int) {
  return *s = new CUstream_st, cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) { return delete s, cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  if (s->captured != nullptr) return fake::invalidate(s, cudaErrorStreamCaptureUnsupported);
  auto const end = std::make_shared<fake::point>();
  s->push([end] { end->reach(); });
  end->wait();
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, cudaMemPoolProps const*) {
  return *pool = new CUmemPoolHandle_st, cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return delete pool, cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr, void* value) {
  std::lock_guard const lock(block_mutex);
  std::memcpy(value, &block_bytes, sizeof block_bytes);  // all attributes have this value
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** p, size_t bytes, cudaMemPool_t, cudaStream_t s) {
  ++fake::memory_calls;
  if (s->captured != nullptr) return fake::invalidate(s, cudaErrorStreamCaptureUnsupported);
  std::lock_guard const lock(block_mutex);
  if (bytes > here.memory - block_bytes) return cudaErrorMemoryAllocation;
  *p = ::operator new(bytes, alignment);
  std::memset(*p, 0xcc, bytes);
  blocks[*p] = bytes;
  block_bytes += bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t s) {
  ++fake::memory_calls;
  if (s->captured != nullptr) return fake::invalidate(s, cudaErrorStreamCaptureUnsupported);
  s->give([p] { give_back(p); });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t s) {
  s->give([=] { std::memset(p, value, bytes); });
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  return *milliseconds = 1, cudaSuccess;
}
cudaError_t cudaMemset2DAsync(void* p, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t s) {
  s->give([=] {
    for (size_t row = 0; row < height; ++row)
      std::memset(static_cast<char*>(p) + row * pitch, value, width);
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, void const* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t s) {
  // Pageable host memory is read before the call returns. During a capture, this memory is not read
  // at once, because a graph reads it at each launch.
  if (kind == cudaMemcpyHostToDevice && s->captured == nullptr) {
    auto const staged = std::make_shared<std::unique_ptr<char[]>>(new char[bytes]);
    std::memcpy(staged->get(), from, bytes);
    s->give([=] { std::memcpy(to, staged->get(), bytes); });
  } else {
    s->give([=] { std::memcpy(to, from, bytes); });
  }
  return cudaSuccess;
}
}
