// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a checkpoint of arrays that lie on a mesh or on parts of it. Each rank that has a part of
// the values (piece.hpp) writes it to one file. No value moves between ranks. After all files are
// on the disk, rank 0 writes the index, which completes the checkpoint. So a job that is killed at
// any moment leaves the last complete checkpoint.

#include <bit>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>

#include <ashlar/checkpoint/file_layout.hpp>
#include <ashlar/checkpoint/folder.hpp>
#include <ashlar/checkpoint/written_file.hpp>
#include <ashlar/comm/throw_together.hpp>
#include <ashlar/support/content_hash.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::checkpoint {

struct save_options {
  int keep = 0;                                   ///< how many checkpoints stay; 0 means all
  std::map<std::string, std::string> metadata{};  ///< texts that load returns in the index
};

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

namespace detail {

/// Calls f(data), where `data` points to the bytes of a piece in host memory.
template <class Processor, class F>
void with_piece(basic_mesh<Processor> const& m, stored_array const& a, box const& piece, F f) {
  auto const offset = offset_of(box_of(a, m.rank_of_whole()), piece) * size_of(a.type);
  auto const* const first = static_cast<std::byte const*>(a.shard) + offset;
  if constexpr (Processor::is_host) {
    f(static_cast<void const*>(first));
  } else {
    auto const elements = piece.elements();
    std::vector<std::byte> copy(static_cast<std::size_t>(elements * size_of(a.type)));
    ashlar::detail::with_element_type(a.type, [&]<class T>(T) {
      download(m.processor(), reinterpret_cast<T const*>(first), elements,
               reinterpret_cast<T*>(copy.data()));
    });
    f(static_cast<void const*>(copy.data()));
  }
}

/// Writes the file of one rank and forces it to the disk. for_each_piece(f) calls f(data, bytes)
/// for each piece of the layout, in order. Returns the content_hash of the file. Throws
/// ashlar::error if writing fails.
template <class ForEachPiece>
std::uint64_t write_file(std::filesystem::path const& path, file_layout const& layout,
                         ForEachPiece for_each_piece) {
  written_file file("checkpoint::save", path, O_CREAT | O_EXCL);
  content_hasher hash;
  auto const write = [&](void const* data, std::size_t bytes) {
    hash.add(data, bytes);
    file.append(data, bytes);
  };
  write(layout.header.data(), layout.header.size());
  for_each_piece(write);
  file.close();
  sync_folder(path.parent_path());
  return hash.value();
}

/// Calls f(data, bytes) for each piece of this rank's file, with the bytes in host memory.
template <class Processor, class F>
void for_each_piece(file_layout const& layout, std::vector<stored_array> const& arrays,
                    basic_mesh<Processor> const& m, F f) {
  for (auto const& p : layout.pieces) {
    with_piece(m, arrays[p.array], p.where,
               [&](void const* data) { f(data, static_cast<std::size_t>(p.bytes)); });
  }
}

/// Returns the name of the file of one rank in the folder of checkpoints.
inline std::string name_of_file(std::string const& attempt, int rank) {
  return attempt + "/rank-" + std::to_string(rank) + ".safetensors";
}

/// Returns the index of a checkpoint. The ranks `all` have written its files into the folder
/// `attempt`. `hashes` has the hash of each rank's file.
inline io::checkpoint_index index_of(std::vector<stored_array> const& arrays, mesh_part const& all,
                                     std::string const& attempt, std::int64_t step,
                                     std::vector<std::int64_t> const& hashes,
                                     std::map<std::string, std::string> const& metadata) {
  io::checkpoint_index index;
  index.step = step;
  index.metadata = metadata;
  for (auto const& a : arrays) index.tensors[a.name] = {safetensors_type(a.type), a.extents, {}};
  for (std::size_t rank = 0; rank < all.ranks.size(); ++rank) {
    auto const layout = layout_of_file(arrays, all.ranks[rank]);
    if (layout.pieces.empty()) continue;
    int const file = static_cast<int>(index.files.size());
    index.files.push_back({name_of_file(attempt, static_cast<int>(rank)), layout.bytes,
                           static_cast<std::uint64_t>(hashes[rank])});
    for (auto const& p : layout.pieces)
      index.tensors[arrays[p.array].name].pieces.push_back({file, p.where, p.position});
  }
  return index;
}

/// Makes the folder of a new attempt on rank 0, and returns its name on every rank. Communicates: a
/// reduction and a broadcast of 8 bytes.
template <class Processor>
std::string agree_on_attempt(std::filesystem::path const& folder, std::int64_t step,
                             basic_mesh<Processor> const& m) {
  std::int64_t number = 0;
  work_together(m, "checkpoint::save", "writes a checkpoint", [&] {
    if (m.rank() != 0) return;
    auto const attempt = new_attempt(folder, step);
    number = std::stoll(attempt.substr(attempt.rfind('.') + 1));
  });
  m.broadcast(std::span(&number, 1));
  return step_name(step) + '.' + std::to_string(number);
}

inline std::filesystem::path file_of_rank(std::filesystem::path const& folder,
                                          std::string const& attempt, int rank) {
  return folder / name_of_file(attempt, rank);
}

/// Completes a checkpoint after every rank has written its file or failed to. `fault` is this
/// rank's error message, or empty. `hash` is the hash of this rank's file. Throws on every rank if
/// any rank has failed. Communicates: two reductions of 8 bytes, and one of 8 bytes for each rank
/// of the mesh.
template <class Processor>
void complete(std::filesystem::path const& folder, basic_mesh<Processor> const& m,
              std::vector<stored_array> const& arrays, std::int64_t step,
              std::string const& attempt, std::string const& fault, std::uint64_t hash,
              save_options const& options) {
  if (!m.is_here()) return;
  try {
    throw_together(m, "checkpoint::save", fault);
  } catch (...) {  // no rank is writing any more
    std::error_code ignored;
    if (m.rank() == 0) std::filesystem::remove_all(folder / attempt, ignored);
    throw;
  }
  std::vector<std::int64_t> hashes(static_cast<std::size_t>(m.ranks()));
  hashes[static_cast<std::size_t>(m.rank())] = static_cast<std::int64_t>(hash);
  m.all_reduce(std::span(hashes));
  work_together(m, "checkpoint::save", "writes a checkpoint", [&] {
    if (m.rank() != 0) return;
    io::save_checkpoint_index(
        index_path(folder, step).string(),
        index_of(arrays, m.as_part(), attempt, step, hashes, options.metadata));
    sync_folder(folder);
    remove_old(folder, options.keep, attempt);
  });
}

}  // namespace detail

/// Writes a checkpoint of `arrays` at `step` into `folder`, which all ranks must share. Returns
/// when the checkpoint is on the disk (background_save.hpp writes in the background). Throws
/// ashlar::error on every rank if any rank fails. In that case, the earlier checkpoints remain.
/// Communicates: three reductions and a broadcast of 8 bytes, and a reduction of 8 bytes for each
/// rank of the mesh.
template <class Processor>
void save(std::filesystem::path const& folder, basic_mesh<Processor> const& m,
          std::vector<stored_array> const& arrays, std::int64_t step,
          save_options const& options = {}) {
  check_arrays(arrays, m.as_part());
  auto const attempt = detail::agree_on_attempt(folder, step, m);
  std::uint64_t hash = 0;
  auto const fault = fault_of(m, "writes a checkpoint", [&] {
    auto const mine = layout_of_file(arrays, m.rank_of_whole());
    if (mine.pieces.empty()) return;
    hash = detail::write_file(detail::file_of_rank(folder, attempt, m.rank()), mine,
                              [&](auto write) { detail::for_each_piece(mine, arrays, m, write); });
  });
  detail::complete(folder, m, arrays, step, attempt, fault, hash, options);
}

}  // namespace ashlar::checkpoint
