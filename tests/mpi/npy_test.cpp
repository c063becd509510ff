// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4 6

// Tests .npy files of tensors, which each rank writes and reads only in part. The bytes of a file
// must not depend on the mesh or the placement, and its header must have numpy's format. Wrong
// files must be refused on every rank.

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/placed.hpp>
#include <support/shared_folder.hpp>
#include <sys/resource.h>

#include <ashlar/checkpoint/npy.hpp>
#include <ashlar/tensor.hpp>

namespace ashlar_test {
namespace {

namespace checkpoint = ashlar::checkpoint;
namespace fs = std::filesystem;

void write_bytes(fs::path const& file, std::string const& bytes) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank() == 0) std::ofstream(file, std::ios::binary) << bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}

std::string bytes_of(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns the file that numpy.save writes for this dictionary (the header) and data.
std::string numpy_file(std::string const& dictionary, std::vector<float> const& values) {
  std::string text = dictionary + std::string(117 - dictionary.size(), ' ') + "\n";
  std::string bytes = "\x93NUMPY\x01";
  bytes += '\0', bytes += 'v', bytes += '\0';
  bytes += text;
  bytes.append(reinterpret_cast<char const*>(values.data()), 4 * values.size());
  return bytes;
}

template <class T>
void check_round_trip(ashlar::mesh const& m, fs::path const& file, ashlar::shape const& e) {
  auto const everywhere = ashlar::placement::all_broadcast(m.axes());
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) {
      auto const placed = [&](int dim) {
        return dim == 2 ? everywhere : everywhere.with(m.axes() - 1, ashlar::split(dim, 0));
      };
      std::vector<T> whole;
      for (std::int64_t i = 0; i < e.elements(); ++i) whole.push_back(static_cast<T>(i + 1));
      auto const x = ashlar::from_full<3>(m, e, placed(from), std::span<T const>(whole));
      ashlar::tensor<T, 3> y(m, e, placed(to));
      checkpoint::save_npy(file, x);
      checkpoint::load_npy(file, y);
      CHECK(ashlar::to_full(y) == whole);
      CHECK(checkpoint::npy_extents(file) == e);
    }
}

TEST_CASE("a tensor comes back from a file, at any placement") {
  shared_folder const f;
  for (auto const& m : all_meshes())
    for (ashlar::shape const& e : {ashlar::shape{5, 4, 3}, ashlar::shape{1, 7, 2}}) {
      check_round_trip<float>(m, f.path() / "x.npy", e);
      check_round_trip<std::int64_t>(m, f.path() / "x.npy", e);
    }
  if (world_rank() == 0) {
    CHECK_FALSE(fs::exists(f.path() / "x.npy.part"));
  }
}

TEST_CASE("a tensor on a part of a mesh is saved and read by the ranks of the part") {
  if (world_size() == 1) return;
  shared_folder const f;
  auto const file = f.path() / "x.npy";
  int const n = world_size();
  ashlar::mesh const whole(MPI_COMM_WORLD, {{"gpu", n}});
  // `half` has the second half of the ranks, in descending order. `others` has all ranks but the
  // first.
  std::vector<int> half, others;
  for (int r = n - 1; r >= n / 2; --r) half.push_back(r);
  for (int r = 1; r < n; ++r) others.push_back(r);
  auto const later = whole.part(half, {{"half", static_cast<int>(half.size())}});
  auto const most = whole.part(others, {{"others", n - 1}});
  auto const rows = ashlar::placement::all_broadcast(1).with(0, ashlar::split(0, 0));
  std::vector<float> values(5 * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i + 1);
  auto const check = [&](ashlar::mesh const& from, ashlar::mesh const& to) {
    auto const x = ashlar::from_full<2>(from, ashlar::shape{5, 3}, rows,
                                        std::span<float const>(values));
    checkpoint::save_npy(file, x);
    whole.barrier();
    ashlar::tensor<float, 2> y(to, {5, 3}, rows);
    checkpoint::load_npy(file, y);
    auto const read = ashlar::to_full(y);
    CHECK(read == (to.is_here() ? values : std::vector<float>{}));
    whole.barrier();
    if (whole.rank() == 0) fs::remove(file);
    whole.barrier();
    // A missing file must be an error on all ranks of the part, and on no other rank.
    auto const said = message_of([&] { checkpoint::load_npy(file, y); });
    if (to.is_here()) CHECK(has(said, "No such file or directory"));
    else CHECK(said == "nothing was thrown");
    whole.barrier();
  };
  for (auto const& from : {whole, later, most})
    for (auto const& to : {whole, later, most}) check(from, to);
}

TEST_CASE("files have a header of numpy's format, and the files that numpy writes are read") {
  shared_folder const f;
  auto const file = f.path() / "a.npy";
  std::vector<float> const values{0, 1, 2, 3, 4, 5};
  auto const of_numpy = numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                   values);
  for (auto const& m : all_meshes()) {
    auto const rows = ashlar::placement::all_broadcast(m.axes()).with(0, ashlar::split(0, 0));
    auto const x = ashlar::from_full<2>(m, ashlar::shape{2, 3}, rows,
                                        std::span<float const>(values));
    checkpoint::save_npy(file, x);
    // numpy.save writes the same shape as (2, 3).
    CHECK(bytes_of(file) ==
          numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,3,), }", values));
    m.barrier();

    write_bytes(file, of_numpy);
    ashlar::tensor<float, 2> y(m, {2, 3}, rows);
    checkpoint::load_npy(file, y);
    CHECK(ashlar::to_full(y) == values);
    write_bytes(file, numpy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                                 {0, 3, 1, 4, 2, 5}));
    checkpoint::load_npy(file, y);
    CHECK(ashlar::to_full(y) == values);
  }
}

TEST_CASE("a replaced file keeps its permissions, and after a fault no part stays") {
  shared_folder const f;
  auto const file = f.path() / "a.npy";
  auto const m = *all_meshes().begin();
  auto const everywhere = ashlar::placement::all_broadcast(m.axes());
  ashlar::tensor<float, 2> const x(m, {2, 3}, everywhere);
  write_bytes(file, "old");
  auto const own = fs::perms::owner_read | fs::perms::owner_write;
  if (m.rank() == 0) fs::permissions(file, own);
  m.barrier();
  checkpoint::save_npy(file, x);
  CHECK(fs::status(file).permissions() == own);
  m.barrier();
  // Rank 0 may write at most 64 bytes to a file, so it cannot write all of b.npy.
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit const few{64, before.rlim_max};
  if (m.rank() == 0) setrlimit(RLIMIT_FSIZE, &few);
  auto const said = message_of([&] { checkpoint::save_npy(f.path() / "b.npy", x); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(has(said, "b.npy.part cannot be written: File too large."));
  m.barrier();
  CHECK_FALSE(fs::exists(f.path() / "b.npy.part"));
}

TEST_CASE("other files are refused on every rank") {
  shared_folder const f;
  auto const file = f.path() / "a.npy";
  auto const m = *all_meshes().begin();
  ashlar::tensor<float, 2> x(m, {2, 3}, ashlar::placement::all_broadcast(m.axes()));
  auto const said = [&](std::string const& bytes) {
    write_bytes(file, bytes);
    return message_of([&] { checkpoint::load_npy(file, x); });
  };
  auto const dictionary = [](std::string const& text) {
    return numpy_file(text, {0, 1, 2, 3, 4, 5});
  };
  CHECK(said("short").starts_with("checkpoint::load_npy: "));
  CHECK(has(said("short"), "it is not a .npy file"));
  CHECK(has(said(dictionary("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }")),
            "it has an array of 3 F64, but 2x3 F32 is needed"));
  CHECK(has(said(dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 300), }")),
            "it is shorter than its header says"));
  CHECK(has(said(dictionary("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }")),
            "the element type \">f4\" is not one of"));
  CHECK(has(said(dictionary("{'descr': '<f4', 'shape': (2, 3), }")), "is missing"));
  CHECK(has(said(dictionary("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, "
                            "9999999999999), }")),
            "the array is too large"));
  CHECK(has(message_of([&] { checkpoint::load_npy(f.path() / "none.npy", x); }),
            "No such file or directory"));
  CHECK(has(message_of([&] { checkpoint::save_npy(f.path() / "no" / "a.npy", x); }),
            "checkpoint::save_npy: on rank 0: "));
  CHECK(has(message_of([&] { checkpoint::save_npy(f.path(), x); }), "it is no regular file"));
  auto const sums = ashlar::tensor<float, 2>(
      m, {2, 3}, ashlar::placement::all_broadcast(m.axes()).with(0, ashlar::partial()));
  CHECK(has(message_of([&] { checkpoint::save_npy(file, sums); }), "no P: reduce it first"));
  for (auto const type : {ashlar::element_type::bf16, ashlar::element_type::u8})
    CHECK(has(message_of([&] { ashlar::io::npy_text(type, {2}); }),
              "only float, double, int32 and int64 are written."));
}

}  // namespace
}  // namespace ashlar_test
