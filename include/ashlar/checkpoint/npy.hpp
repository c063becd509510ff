// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Saves a tensor as a .npy file, the format of Python's numpy.save and numpy.load, and loads such a
// file. Each rank writes and reads its own part, and no value moves between ranks.
//
//   checkpoint::save_npy("x.npy", x);
//   checkpoint::load_npy("x.npy", x);      // x has the extents of the file, and any placement
//
// All ranks of the tensor's mesh must see the same file. If this mesh is a part of another, ranks
// outside of the part may call these functions too, which then do nothing. A file "x.npy" is never
// incomplete: the ranks write to "x.npy.part", which is renamed at the end.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include <fcntl.h>

#include <ashlar/checkpoint/folder.hpp>
#include <ashlar/checkpoint/load.hpp>
#include <ashlar/checkpoint/opened_file.hpp>
#include <ashlar/checkpoint/piece.hpp>
#include <ashlar/checkpoint/save.hpp>
#include <ashlar/checkpoint/source_view.hpp>
#include <ashlar/checkpoint/written_file.hpp>
#include <ashlar/comm/throw_together.hpp>
#include <ashlar/io/npy_header.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::checkpoint {
namespace detail {

/// Writes the values of `piece`, which are contiguous at `data`, to their positions in a file with
/// a row-major array of these extents. The array begins at byte `position`.
inline void write_box(written_file const& file, std::int64_t position, shape const& extents,
                      box const& piece, std::int64_t element_size, std::byte const* data) {
  if (piece.elements() == 0) return;
  int run = piece.rank();  // the dims from here on are contiguous in the file
  std::int64_t length = element_size;
  while (run > 0 && (run == piece.rank() || piece[run].size == extents[run]))
    length *= piece[--run].size;
  inplace_vector<std::int64_t, max_rank> index;
  for (auto const& part : piece.dim) index.push_back(part.begin);
  while (true) {
    std::int64_t at = 0;
    for (int d = 0; d < piece.rank(); ++d) at = at * extents[d] + index[d];
    file.write(position + at * element_size, data, length);
    data += length;
    int d = run - 1;
    for (; d >= 0; --d) {
      if (++index[d] < piece[d].end()) break;
      index[d] = piece[d].begin;
    }
    if (d < 0) return;
  }
}

/// Reads the header of a .npy file. If the header is wrong, throws an ashlar::error that names the
/// file.
inline io::npy_header read_npy_header(opened_file const& file) {
  auto const size = file.size();
  std::string bytes(std::min<std::size_t>(static_cast<std::size_t>(size), io::most_npy_header + 12),
                    '\0');
  file.read(0, reinterpret_cast<std::byte*>(bytes.data()), static_cast<std::int64_t>(bytes.size()));
  io::npy_header header;
  std::string fault = fault_of([&] { header = io::parse_npy_header(bytes); });
  if (fault.empty() && header.data + header.extents.elements() * size_of(header.type) > size)
    fault = "it is shorter than its header says.";
  if (fault.ends_with('.')) fault.pop_back();  // refuse() adds a full stop
  if (!fault.empty()) file.refuse(fault);
  return header;
}

}  // namespace detail

/// Writes `x` to a .npy file. Replaces a regular file of this name, whose permissions stay. Expects
/// a placement without P, and float, double or integers. Throws ashlar::error on every rank if any
/// rank fails. Then the file is as before, unless only the last act has failed, which makes sure
/// that the new name survives a loss of power. Communicates: three reductions of 8 bytes.
template <distributed Tensor>
void save_npy(std::filesystem::path const& path, Tensor const& x) {
  auto const& m = x.mesh();
  auto const type = element_type_of<typename Tensor::value_type>;
  auto const a = array_like(path.filename().string(), x, type,
                            const_cast<typename Tensor::value_type*>(x.data()));
  check_arrays({a}, m.as_part());
  auto const text = io::npy_text(type, a.extents);
  std::filesystem::path target, part;
  bool has_part = false;  // whether this rank has made the file `part`
  char const *const operation = "checkpoint::save_npy", *const work = "writes a file";
  std::int64_t const bytes = a.extents.elements() * size_of(type);
  auto const make_part = [&] {
    target = ashlar::detail::end_of_links(path);
    part = std::filesystem::path(target).concat(".part");
    if (m.rank() != 0) return;
    std::error_code ignored;
    if (std::filesystem::exists(target, ignored) &&
        !std::filesystem::is_regular_file(target, ignored))
      throw error(operation, path.string() + " cannot be written: it is no regular file.");
    detail::written_file file(operation, part, O_CREAT | O_TRUNC);
    has_part = true;
    file.append(text.data(), text.size());
    file.resize(static_cast<std::int64_t>(text.size()) + bytes);
    file.close();
  };
  auto const write_piece = [&] {
    auto const piece = piece_of(a, m.rank_of_whole(), 0);
    if (piece.elements() == 0) return;
    detail::written_file file(operation, part, 0);
    detail::with_piece(m, a, piece, [&](void const* data) {
      detail::write_box(file, static_cast<std::int64_t>(text.size()), a.extents, piece,
                        size_of(type), static_cast<std::byte const*>(data));
    });
    file.close();
  };
  auto const replace_target = [&] {
    if (m.rank() != 0) return;
    std::error_code failed;
    if (auto const before = std::filesystem::status(target, failed); exists(before))
      std::filesystem::permissions(part, before.permissions());
    std::filesystem::rename(part, target);
    has_part = false;
    detail::sync_folder(target.has_parent_path() ? target.parent_path() : ".");
  };
  try {
    work_together(m, operation, work, make_part);
    work_together(m, operation, work, write_piece);
    work_together(m, operation, work, replace_target);
  } catch (...) {  // no rank is writing any more
    std::error_code ignored;
    if (has_part) std::filesystem::remove(part, ignored);
    throw;
  }
}

/// Reads a .npy file into `x`, at the placement that x has. Throws ashlar::error on every rank if
/// the file is damaged, or has other extents or another element type than x. Communicates: a
/// reduction of 8 bytes.
template <distributed Tensor>
void load_npy(std::filesystem::path const& path, Tensor& x) {
  auto const& m = x.mesh();
  auto const type = element_type_of<typename Tensor::value_type>;
  auto const a = array_like(path.filename().string(), x, type, x.data());
  check_arrays({a}, m.as_part());
  work_together(m, "checkpoint::load_npy", "reads a file", [&] {
    detail::opened_file const file("checkpoint::load_npy", path);
    auto const header = detail::read_npy_header(file);
    if (!(header.extents == a.extents) || header.type != type)
      file.refuse("it has an array of " + to_string(header.extents) + " " +
                  safetensors_type(header.type) + ", but " + to_string(a.extents) + " " +
                  safetensors_type(type) + " is needed");
    auto view = whole_view("", a.extents);
    if (header.is_column_major) {
      std::int64_t next = 1;
      for (int d = 0; d < a.extents.rank(); ++d) {
        view.strides[d] = next;
        next *= a.extents[d];
      }
    }
    detail::fill_shard(m, a, [&](box const& shard, void* values) {
      detail::read_view(file, header.data, view, shard, size_of(type), size_of(type),
                        static_cast<std::byte*>(values),
                        [](auto const& read) -> decltype(read) { return read; });
    });
  });
}

/// Returns the extents of the array in a .npy file. Throws ashlar::error if the file is no .npy
/// file.
inline shape npy_extents(std::filesystem::path const& path) {
  return detail::read_npy_header(detail::opened_file("checkpoint::npy_extents", path)).extents;
}

}  // namespace ashlar::checkpoint
