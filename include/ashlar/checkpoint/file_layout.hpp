// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The layout of the file that one rank writes to a checkpoint: which pieces of tensors the file has
// (piece.hpp), and where. Every rank can compute the file of every other rank, so the index is made
// without communication.
//
// The file is a safetensors file. A piece that is a whole tensor has the tensor's name. The name of
// any other piece also says which indices of the tensor it has, as Python writes them:
// "1.0.weight[0:384, 0:768]".

#include <cstdint>
#include <string>
#include <vector>

#include <ashlar/checkpoint/piece.hpp>
#include <ashlar/checkpoint/stored_array.hpp>
#include <ashlar/io/json/checkpoint_index.hpp>

namespace ashlar::checkpoint {

/// A piece (piece.hpp) in the file of a rank.
struct written_piece {
  std::size_t array = 0;  ///< the number of the array in the checkpoint
  box where;
  std::int64_t position = 0, bytes = 0;  ///< where the piece is in the file, and its size
};

struct file_layout {
  std::string header;  ///< the first bytes of the file
  std::vector<written_piece> pieces;
  std::int64_t bytes = 0;  ///< the size of the whole file
};

/// Returns the name of a piece of a tensor in a safetensors file.
inline std::string name_of_piece(std::string const& tensor, shape const& extents,
                                 box const& piece) {
  if (piece.extents() == extents) return tensor;
  std::string name = tensor;
  for (int d = 0; d < piece.rank(); ++d)
    name += (d == 0 ? "[" : ", ") + std::to_string(piece[d].begin) + ':' +
            std::to_string(piece[d].end());
  return name + "]";
}

/// Returns the layout of the file that a rank of the whole mesh writes. A rank without values has
/// no pieces, and writes no file.
inline file_layout layout_of_file(std::vector<stored_array> const& arrays, int rank) {
  file_layout made;
  io::safetensors_header header;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    stored_array const& a = arrays[i];
    box const where = piece_of(a, rank, static_cast<std::int64_t>(i));
    std::int64_t const bytes = where.elements() * size_of(a.type);
    if (bytes == 0) continue;
    made.pieces.push_back({i, where, end, bytes});
    auto const extents = where.extents();
    header.entries.push_back({name_of_piece(a.name, a.extents, where),
                              safetensors_type(a.type),
                              {extents.extent.begin(), extents.extent.end()},
                              end,
                              end + bytes});
    end += bytes;
  }
  made.header = io::safetensors_text(header);
  auto const data = static_cast<std::int64_t>(made.header.size());
  for (auto& p : made.pieces) p.position += data;
  made.bytes = data + end;
  return made;
}

}  // namespace ashlar::checkpoint
