// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Defines a tool for NVTX that records the ranges that begin and end. The tool is linked into the
// test program.

#include <ashlar/config.hpp>

#if ASHLAR_HAS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#include "recorded_ranges.hpp"

namespace fake {
namespace {

struct record {
  std::string text, domain;
  int open = 0;
};
thread_local record here;

#if ASHLAR_HAS_NVTX

nvtxDomainHandle_t create_domain(char const* name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new std::string(name));  // never deleted
}

int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* event) {
  here.domain = *reinterpret_cast<std::string const*>(domain);
  here.text += std::string(event->message.ascii) + "{";
  return here.open++;
}

int pop(nvtxDomainHandle_t) {
  here.text += "}";
  return --here.open;
}

int attach(NvtxGetExportTableFunc_t get_table) {
  auto const* const callbacks = static_cast<NvtxExportTableCallbacks const*>(
      get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE2_DomainCreateA)
    return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create_domain);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}

// At the program's first call of NVTX, NVTX calls the function `attach` through this pointer.
[[maybe_unused]] auto const attached = InitializeInjectionNvtx2_fnptr = &attach;

#endif

}  // namespace

recorded_ranges::recorded_ranges() { here = {}; }
std::string const& recorded_ranges::text() const { return here.text; }
int recorded_ranges::open() const { return here.open; }
std::string const& recorded_ranges::domain() const { return here.domain; }

}  // namespace fake
