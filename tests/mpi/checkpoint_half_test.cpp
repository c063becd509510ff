// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2

// Tests that float16 values of safetensors files are read into whole and split tensors of other
// types, by names and by views. Other conversions must be refused with a sentence that names the
// types that are converted.

#include <cmath>
#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/shared_folder.hpp>

#include <ashlar/checkpoint/load.hpp>
#include <ashlar/tensor/gather.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;

/// A list of float16 numbers, and a list of the same numbers as doubles: zeros, subnormals, the
/// smallest normal number, 1, the next larger number, -2, the largest number, infinities and a NaN.
constexpr std::uint16_t half_bits[] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x3c00,
                                       0x3c01, 0xc000, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
constexpr double half_values[] = {0,
                                  -0.0,
                                  0x1p-24,
                                  -1023 * 0x1p-24,
                                  0x1p-14,
                                  1,
                                  1 + 0x1p-10,
                                  -2,
                                  65504,
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()};

/// Writes `half_bits` as a tensor "w" [3, 4] of `type`, whose elements must have two bytes.
void write_halves(std::filesystem::path const& file, std::string const& type) {
  if (world_rank() == 0) {
    ashlar::io::safetensors_header header;
    header.entries.push_back({"w", type, {3, 4}, 0, sizeof half_bits});
    std::ofstream out(file, std::ios::binary);
    out << ashlar::io::safetensors_text(header);
    out.write(reinterpret_cast<char const*>(half_bits), sizeof half_bits);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Returns whether `made` is `expected` rounded to T, with the same sign, or both are NaN.
template <class T>
bool is_same(T made, double expected) {
  auto const value = static_cast<double>(made);
  if (std::isnan(expected)) return std::isnan(value);
  return value == static_cast<double>(static_cast<T>(expected)) &&
         std::signbit(value) == std::signbit(expected);
}

template <class T>
void check_halves(std::filesystem::path const& file, ashlar::mesh const& m, int dim) {
  auto const placement = ashlar::placement::all_broadcast(m.axes()).with(0, ashlar::split(dim, 0));
  auto const as_it_is = [](std::string const& name) { return name; };
  auto const transposed = [](checkpoint::stored_array const& a) {
    return std::vector{checkpoint::transposed_view("w", a.extents)};
  };
  ashlar::tensor<T, 2> x(m, {3, 4}, placement), y(m, {4, 3}, placement);
  auto const array_of = [](ashlar::tensor<T, 2>& t) {
    return std::vector{checkpoint::array_like("w", t, ashlar::element_type_of<T>, t.data())};
  };
  checkpoint::load_files({file}, m, array_of(x), as_it_is, {.converts = true});
  checkpoint::load_files({file}, m, array_of(y), transposed, {.converts = true});
  auto const by_name = ashlar::to_full(x), by_view = ashlar::to_full(y);
  for (std::size_t i = 0; i < 12; ++i) {
    CAPTURE(i);
    CHECK(is_same(by_name[i], half_values[i]));
    CHECK(is_same(by_view[i % 4 * 3 + i / 4], half_values[i]));
  }
  CHECK(has(message_of([&] { checkpoint::load_files({file}, m, array_of(x), as_it_is); }),
            "\"w\" has type F16 in the checkpoint, but " +
                std::string(checkpoint::safetensors_type(ashlar::element_type_of<T>)) +
                " in this net. Set load_options.converts to convert F64, F32, BF16 and F16 to the "
                "type of the net."));
}

}  // namespace

TEST_CASE("float16 values of files are read exactly") {
  shared_folder const f;
  auto const file = f.path() / "half.safetensors", integers = f.path() / "integers.safetensors";
  write_halves(file, "F16");
  write_halves(integers, "I16");
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  for (int const dim : {0, 1}) {
    check_halves<float>(file, m, dim);
    check_halves<double>(file, m, dim);
    check_halves<ashlar::bfloat16>(file, m, dim);
  }
  ashlar::tensor<float, 2> x(m, {3, 4}, ashlar::placement::all_broadcast(1));
  ashlar::tensor<std::int32_t, 2> i(m, {3, 4}, ashlar::placement::all_broadcast(1));
  auto const refusal = [&](std::filesystem::path const& from, auto& to, ashlar::element_type type) {
    std::vector const array{checkpoint::array_like("w", to, type, to.data())};
    return message_of([&] {
      checkpoint::load_files({from}, m, array, [](std::string const& name) { return name; },
                             {.converts = true});
    });
  };
  CHECK(
      has(refusal(integers, x, ashlar::element_type::f32),
          "\"w\" has type I16 in the checkpoint, but F32 in this net. Only F64, F32, BF16 and F16 "
          "are converted. Write the values with the type of the net."));
  CHECK(has(refusal(file, i, ashlar::element_type::i32),
            "\"w\" has type F16 in the checkpoint, but I32 in this net. Only F64, F32"));
}

}  // namespace ashlar_test
