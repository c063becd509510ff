// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Reads a checkpoint into arrays that lie on a mesh or on parts of it. The mesh, the parts and the
// placements may differ from those with which the checkpoint was written. Each rank reads the rows
// of the files that overlap with its shards. No value moves between ranks.
//
// Before any value is read, the ranks compare the hashes of the files with those in the index,
// unless load_options.verifies is false. So a damaged file is an error and not a wrong model. Each
// rank checks some of the files.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <ashlar/checkpoint/file_type.hpp>
#include <ashlar/checkpoint/folder.hpp>
#include <ashlar/checkpoint/opened_file.hpp>
#include <ashlar/checkpoint/source_view.hpp>
#include <ashlar/checkpoint/stored_array.hpp>
#include <ashlar/comm/throw_together.hpp>
#include <ashlar/io/json/checkpoint_index.hpp>
#include <ashlar/support/content_hash.hpp>
#include <ashlar/tensor/any_tensor.hpp>

namespace ashlar::checkpoint {

namespace detail {

/// Copies the values of `piece` that are in `shard` from the file into the shard, which is in host
/// memory. `from` is the element type in the file, `to` that of the shard.
inline void read_piece(opened_file const& file, io::checkpoint_piece const& piece, file_type from,
                       box const& shard, element_type to, void* values) {
  constexpr std::int64_t most_bytes = 16 << 20;  // the size of the buffer, unless a row is larger
  box const region = intersect(piece.where, shard);
  if (region.elements() == 0) return;
  // Reads whole rows of the piece, since they are contiguous in the file. A row has one index of
  // dim d, the first dim in which the piece has more than one index. A slab is some successive
  // rows, read at once.
  int d = 0;
  while (d < region.rank() - 1 && piece.where[d].size == 1) ++d;
  box rows = piece.where;
  std::int64_t const row_bytes = rows.elements() / rows[d].size * from.bytes();
  std::int64_t const slab = std::max<std::int64_t>(1, most_bytes / row_bytes);
  for (std::int64_t begin = region[d].begin; begin < region[d].end(); begin += slab) {
    interval const part{begin, std::min(slab, region[d].end() - begin)};
    rows.dim[d] = part;
    box wanted = region;
    wanted.dim[d] = part;
    std::vector<std::byte> buffer(static_cast<std::size_t>(part.size * row_bytes));
    file.read(piece.position + (begin - piece.where[d].begin) * row_bytes, buffer.data(),
              part.size * row_bytes);
    if (from != file_type{to}) buffer = converted(buffer, from, to);
    ashlar::detail::copy_block(device::host::processor(), strided_block(wanted, rows, shard), to,
                               buffer.data(), values);
  }
}

/// Throws ashlar::error unless the file has the size and the hash that the index says.
inline void verify_file(std::filesystem::path const& folder, io::checkpoint_index const& index,
                        int number) {
  auto const& wanted = index.files[static_cast<std::size_t>(number)];
  opened_file const file("checkpoint::load", folder / wanted.name);
  content_hasher hash;
  bool is_right = file.size() == wanted.bytes;
  std::vector<std::byte> buffer(1 << 20);
  for (std::int64_t at = 0; is_right && at < wanted.bytes;) {
    auto const bytes = std::min(wanted.bytes - at, static_cast<std::int64_t>(buffer.size()));
    file.read(at, buffer.data(), bytes);
    hash.add(buffer.data(), static_cast<std::size_t>(bytes));
    at += bytes;
  }
  if (!is_right || hash.value() != wanted.hash)
    file.refuse("it is damaged, since its content is not what the index says. Remove " +
                index_path(folder, index.step).string() + " to load the checkpoint before it");
}

/// Returns the tensor `name` of the index, for the values of array `a`. Throws ashlar::error if the
/// index has no such tensor, or if the type of the tensor does not fit.
inline io::checkpoint_tensor const& tensor_named(std::string const& name, stored_array const& a,
                                                 io::checkpoint_index const& index,
                                                 load_options const& options) {
  auto const found = index.tensors.find(name);
  if (found == index.tensors.end())
    throw error("checkpoint::load",
                "the checkpoint has no \"" + name + "\", which this net needs.");
  check_type(name, found->second.type, a.type, options);
  return found->second;
}

/// Returns the tensor of the index for an array. Throws ashlar::error if the index has no such
/// tensor, or if the tensor does not fit the array.
inline io::checkpoint_tensor const&
tensor_for(stored_array const& a, io::checkpoint_index const& index, load_options const& options) {
  auto const found = index.tensors.find(a.name);
  if (found != index.tensors.end() && !(found->second.extents == a.extents))
    throw error("checkpoint::load",
                "\"" + a.name + "\" has shape " + to_string(found->second.extents) +
                    " in the checkpoint, but " + to_string(a.extents) + " in this net.");
  return tensor_named(a.name, a, index, options);
}

/// Fills this rank's shard of an array. Calls read(shard, values), which writes the values of the
/// box `shard` to host memory. If the array is on a device, copies these values to the device.
template <class Processor, class Read>
void fill_shard(basic_mesh<Processor> const& m, stored_array const& a, Read const& read) {
  box const shard = box_of(a, m.rank_of_whole());
  if constexpr (Processor::is_host) {
    read(shard, a.shard);
  } else {
    auto const elements = shard.elements();
    std::vector<std::byte> copy(static_cast<std::size_t>(elements * size_of(a.type)));
    read(shard, static_cast<void*>(copy.data()));
    ashlar::detail::with_element_type(a.type, [&]<class T>(T) {
      upload(m.processor(), reinterpret_cast<T const*>(copy.data()), elements,
             static_cast<T*>(a.shard));
    });
  }
}

/// Reads this rank's shards of all arrays, each from the tensor with the same position in
/// `tensors`. Throws on every rank if any rank fails.
template <class Processor>
void read_shards(std::filesystem::path const& folder, io::checkpoint_index const& index,
                 basic_mesh<Processor> const& m, std::vector<stored_array> const& arrays,
                 std::vector<io::checkpoint_tensor const*> const& tensors) {
  work_together(m, "checkpoint::load", "reads a checkpoint", [&] {
    opened_files files(folder, index.files);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      fill_shard(m, arrays[i], [&](box const& shard, void* values) {
        auto const& t = *tensors[i];
        for (auto const& p : t.pieces)
          if (intersect(p.where, shard).elements() > 0)
            read_piece(files[p.file], p, *file_type_named(t.type), shard, arrays[i].type, values);
      });
  });
}

}  // namespace detail

/// Returns the step of the newest complete checkpoint in a folder, on every rank, or nothing if
/// there is none. Throws ashlar::error on every rank if the folder cannot be read. Communicates: a
/// reduction and a broadcast of 8 bytes.
template <class Processor>
std::optional<std::int64_t> newest_step(std::filesystem::path const& folder,
                                        basic_mesh<Processor> const& m) {
  std::int64_t step = -1;
  work_together(m, "checkpoint::load", "reads a checkpoint", [&] {
    if (m.rank() != 0) return;
    if (auto const steps = complete_steps(folder); !steps.empty()) step = steps.back();
  });
  m.broadcast(std::span(&step, 1));
  return step < 0 ? std::nullopt : std::optional(step);
}

/// Reads the checkpoint of `step` in `folder` into `arrays`, and returns its index. Throws
/// ashlar::error on every rank if an array is missing or does not fit, or if a file is damaged.
/// After an error, the arrays may have been changed. Calls check(index) before it reads any value.
/// If `check` throws on any rank, every rank throws. Communicates: three reductions of a few bytes.
template <class Processor>
io::checkpoint_index load(std::filesystem::path const& folder, basic_mesh<Processor> const& m,
                          std::vector<stored_array> const& arrays, std::int64_t step,
                          load_options const& options = {},
                          std::function<void(io::checkpoint_index const&)> const& check = nullptr) {
  check_arrays(arrays, m.as_part());
  io::checkpoint_index index;
  std::vector<io::checkpoint_tensor const*> tensors;
  work_together(m, "checkpoint::load", "reads a checkpoint", [&] {
    auto const path = index_path(folder, step).string();
    index = io::load_checkpoint_index(path);
    if (index.step != step)
      throw error("checkpoint::load", path + " is the index of step " + std::to_string(index.step) +
                                          ", and has been renamed or copied.");
    for (auto const& a : arrays) tensors.push_back(&detail::tensor_for(a, index, options));
    if (check) check(index);
    if (!options.verifies) return;
    int const files = static_cast<int>(index.files.size());
    for (int f = m.rank(); f < files; f += m.ranks()) detail::verify_file(folder, index, f);
  });
  std::uint64_t hash = 0;
  for (auto const& file : index.files)
    hash = content_hash(file.name.data(), file.name.size(), hash ^ file.hash);
  m.require_agreement(hash, "checkpoint::load", "the ranks read different indexes");
  detail::read_shards(folder, index, m, arrays, tensors);
  return index;
}

/// Reads arrays from safetensors files that other programs made. Every rank reads only what it
/// needs. `views_of` returns the views of an array (source_view.hpp), which together cover it.
/// Throws ashlar::error on every rank if a tensor is missing or has other extents or another type,
/// or if a file is not a safetensors file. Communicates: two reductions of 8 bytes.
template <class Processor, class ViewsOf>
  requires(!std::is_invocable_r_v<std::string, ViewsOf, std::string const&> &&
           std::is_invocable_r_v<std::vector<source_view>, ViewsOf, stored_array const&>)
void load_files(std::vector<std::filesystem::path> const& files, basic_mesh<Processor> const& m,
                std::vector<stored_array> const& arrays, ViewsOf const& views_of,
                load_options const& options = {}) {
  check_arrays(arrays, m.as_part());
  io::checkpoint_index index;
  std::vector<std::vector<source_view>> views;
  work_together(m, "checkpoint::load", "reads a checkpoint", [&] {
    index = io::index_of_safetensors(files);
    for (auto const& a : arrays) views.push_back(views_of(a));
    detail::choose_tensors(arrays, views, index);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      detail::check_views(arrays[i], views[i], [&](std::string const& name) {
        return detail::tensor_named(name, arrays[i], index, options).extents;
      });
  });
  work_together(m, "checkpoint::load", "reads a checkpoint", [&] {
    std::filesystem::path const no_folder;
    detail::opened_files opened(no_folder, index.files);
    std::vector<std::byte> made;  // converted elements
    for (std::size_t i = 0; i < arrays.size(); ++i)
      detail::fill_shard(m, arrays[i], [&](box const& shard, void* values) {
        auto const to = arrays[i].type;
        for (auto const& v : views[i]) {
          auto const& t = index.tensors.at(v.tensor);
          auto const& piece = t.pieces.front();
          auto const from = *detail::file_type_named(t.type);
          detail::read_view(opened[piece.file], piece.position, v, shard, from.bytes(), size_of(to),
                            static_cast<std::byte*>(values),
                            [&](auto const& read) -> decltype(read) {
                              if (from == detail::file_type{to}) return read;
                              return made = detail::converted(read, from, to);
                            });
        }
      });
  });
}

/// Reads arrays from safetensors files that have a tensor of the same shape for each array.
/// `name_of` gets the name of an array and returns the name of its tensor. Throws ashlar::error on
/// every rank if a tensor is missing or has another shape or type, or if a file is not a
/// safetensors file. Communicates: two reductions of 8 bytes.
template <class Processor, class NameOf>
  requires std::is_invocable_r_v<std::string, NameOf, std::string const&>
void load_files(std::vector<std::filesystem::path> const& files, basic_mesh<Processor> const& m,
                std::vector<stored_array> const& arrays, NameOf const& name_of,
                load_options const& options = {}) {
  check_arrays(arrays, m.as_part());
  io::checkpoint_index index;
  std::vector<io::checkpoint_tensor const*> tensors;
  work_together(m, "checkpoint::load", "reads a checkpoint", [&] {
    index = io::index_of_safetensors(files);
    for (auto a : arrays) {
      a.name = name_of(a.name);
      tensors.push_back(&detail::tensor_for(a, index, options));
    }
  });
  detail::read_shards("", index, m, arrays, tensors);
}

}  // namespace ashlar::checkpoint
