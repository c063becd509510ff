// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The most floating-point operations per second that a device's makers promise, by the device's name and the
// kind of numbers: what a utilization is a share of. Plans are priced with what products really reach
// (machine::flops); this is their limit.
//
//   bfloat16, tf32     dense products on tensor cores (data sheets also print twice that, for sparse ones)
//   float32            the plain units: products of float without tf32
//   float64            tensor cores
//
// All from the vendor's data sheets: A100, H100, H200 (and so GH200), HGX B200, GB200.

#include <string_view>

namespace ashlar {

/// What the factors of a product are rounded to.
enum class arithmetic : signed char { float64, float32, tf32, bfloat16 };

constexpr char const* to_string(arithmetic a) {
  constexpr char const* names[] = {"float64", "float32", "tf32", "bfloat16"};
  return names[static_cast<int>(a)];
}

struct device_peak {
  std::string_view name;  ///< a part of what the driver calls the device
  double flops[4];        ///< by arithmetic
};

/// The first whose name is part of the device's: a longer name comes before one that it holds.
inline constexpr device_peak device_peaks[] = {
    {"A100", {19.5e12, 19.5e12, 156e12, 312e12}},   {"H100 NVL", {60e12, 60e12, 417.5e12, 835e12}},
    {"H100 PCIe", {51e12, 51e12, 378e12, 756e12}},  {"H100", {67e12, 67e12, 494.5e12, 989e12}},
    {"H200 NVL", {60e12, 60e12, 417.5e12, 835e12}}, {"H200", {67e12, 67e12, 494.5e12, 989e12}},
    {"GB200", {40e12, 80e12, 1250e12, 2500e12}},    {"B200", {37e12, 75e12, 1100e12, 2250e12}}};

/// Of the device that the driver calls so; 0 if it is not in the list.
constexpr double peak_flops(std::string_view device, arithmetic a) {
  for (auto const& known : device_peaks)
    if (device.find(known.name) != std::string_view::npos) return known.flops[static_cast<int>(a)];
  return 0;
}

static_assert(peak_flops("NVIDIA H200", arithmetic::bfloat16) == 989e12);
static_assert(peak_flops("NVIDIA H100 PCIe", arithmetic::tf32) == 378e12);
static_assert(peak_flops("NVIDIA GH200 480GB", arithmetic::float32) == 67e12);
static_assert(peak_flops("NVIDIA T4", arithmetic::float32) == 0);

}  // namespace ashlar
