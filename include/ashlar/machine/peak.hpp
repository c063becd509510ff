// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Lists the peak floating-point rates of devices according to their vendor, by device name and
// arithmetic. Utilization is reported relative to these rates. Plans are priced with the rate that
// GEMMs really reach (machine::flops), which is lower.
//
//   bfloat16, tf32     dense products on tensor cores (data sheets also give a doubled figure, for
//                      sparse products)
//   float32            products of float without tf32, outside of the tensor cores
//   float64            products on tensor cores
//
// All figures are from the vendor's data sheets: A100, H100, H200 (also for GH200), HGX B200,
// GB200.

#include <string_view>

namespace ashlar {

/// The precision to which the factors of a multiplication are rounded.
enum class arithmetic : signed char { float64, float32, tf32, bfloat16 };

constexpr char const* to_string(arithmetic a) {
  constexpr char const* names[] = {"float64", "float32", "tf32", "bfloat16"};
  return names[static_cast<int>(a)];
}

struct device_peak {
  std::string_view name;  ///< a part of the device name that the driver reports
  double flops[4];        ///< operations per second, indexed by arithmetic
};

/// The first entry applies whose name is a part of the device's name and is not followed by a digit
/// there. So a name must come before any name that it contains, such as "H100 PCIe" before "H100".
inline constexpr device_peak device_peaks[] = {
    {"A100", {19.5e12, 19.5e12, 156e12, 312e12}},   {"H100 NVL", {60e12, 60e12, 417.5e12, 835e12}},
    {"H100 PCIe", {51e12, 51e12, 378e12, 756e12}},  {"H100", {67e12, 67e12, 494.5e12, 989e12}},
    {"H200 NVL", {60e12, 60e12, 417.5e12, 835e12}}, {"H200", {67e12, 67e12, 494.5e12, 989e12}},
    {"GB200", {40e12, 80e12, 1250e12, 2500e12}},    {"B200", {37e12, 75e12, 1100e12, 2250e12}}};

/// Returns the peak rate, in operations per second, of a device. `device` is the name that the
/// driver reports. Returns 0 if no entry of the list applies.
constexpr double peak_flops(std::string_view device, arithmetic a) {
  for (auto const& known : device_peaks) {
    auto const at = device.find(known.name);
    if (at == std::string_view::npos) continue;
    auto const rest = device.substr(at + known.name.size());
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') return known.flops[static_cast<int>(a)];
  }
  return 0;
}

static_assert(peak_flops("NVIDIA H200", arithmetic::bfloat16) == 989e12);
static_assert(peak_flops("NVIDIA H100 PCIe", arithmetic::tf32) == 378e12);
static_assert(peak_flops("NVIDIA GH200 480GB", arithmetic::float32) == 67e12);
static_assert(peak_flops("NVIDIA A100-SXM4-80GB", arithmetic::float32) == 19.5e12);
static_assert(peak_flops("NVIDIA RTX A1000", arithmetic::float32) == 0);
static_assert(peak_flops("NVIDIA T4", arithmetic::float32) == 0);

}  // namespace ashlar
