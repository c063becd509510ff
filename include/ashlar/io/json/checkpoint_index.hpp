// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The index of a checkpoint: a JSON file that says where every value is. A checkpoint is complete
// when its index exists, so the index is written last.
//
//   { "format": "ashlar checkpoint", "version": 1, "step": 100, "metadata": { "net": "gpt" },
//     "files": [ { "name": "step-100.0/rank-0.safetensors", "bytes": 4096, "xxh64": "8d57…" } ],
//     "tensors": { "0.table": { "type": "F32", "shape": [7, 6], "pieces":
//       [ { "file": 0, "begin": [0, 0], "shape": [4, 6], "position": 512 }, … ] } } }
//
// A piece is a box of the tensor: the values from index `begin` on, with extents `shape`. These
// values are at byte `position` of the file, row-major. Every value is in exactly one piece.

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ashlar/io/json/safetensors_header.hpp>
#include <ashlar/layout/layout.hpp>

namespace ashlar::io {

struct checkpoint_file {
  std::string name;  ///< relative to the folder of the index
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;  ///< content_hash of the file
};

struct checkpoint_piece {
  int file = 0;
  box where;
  std::int64_t position = 0;
};

struct checkpoint_tensor {
  std::string type;  ///< the name of the type in safetensors files
  shape extents;
  std::vector<checkpoint_piece> pieces;
};

struct checkpoint_index {
  std::int64_t step = 0;
  std::map<std::string, std::string> metadata;
  std::vector<checkpoint_file> files;
  std::map<std::string, checkpoint_tensor> tensors;
};

inline constexpr int checkpoint_version = 1;
/// The largest number of steps that an index may state. With this limit, the product of steps and
/// micro-batches, which a continued training counts, does not overflow with fewer than 2^23
/// micro-batches.
inline constexpr std::int64_t most_steps = std::int64_t(1) << 40;

/// Writes an index, which completes a checkpoint. Throws ashlar::error if it cannot be written.
inline void save_checkpoint_index(std::string const& path, checkpoint_index const& index) {
  nlohmann::ordered_json j;
  j["format"] = "ashlar checkpoint";
  j["version"] = checkpoint_version;
  j["step"] = index.step;
  j["metadata"] = index.metadata;
  j["files"] = nlohmann::ordered_json::array();
  for (auto const& f : index.files) {
    char hash[20];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(f.hash));
    j["files"].push_back({{"name", f.name}, {"bytes", f.bytes}, {"xxh64", hash}});
  }
  j["tensors"] = nlohmann::ordered_json::object();
  auto& tensors = j["tensors"].get_ref<nlohmann::ordered_json::object_t&>();
  for (auto const& [name, t] : index.tensors) {
    auto list = nlohmann::ordered_json::array();
    for (auto const& p : t.pieces) {
      std::vector<std::int64_t> begin, extents;
      for (int d = 0; d < p.where.rank(); ++d) {
        begin.push_back(p.where[d].begin);
        extents.push_back(p.where[d].size);
      }
      list.push_back(
          {{"file", p.file}, {"begin", begin}, {"shape", extents}, {"position", p.position}});
    }
    std::vector<std::int64_t> const extents(t.extents.extent.begin(), t.extents.extent.end());
    tensors.emplace_back(
        name,
        nlohmann::ordered_json{{"type", t.type}, {"shape", extents}, {"pieces", std::move(list)}});
  }
  detail::write_json(path, j, "checkpoint::save");
}

namespace detail {

inline shape shape_of(nlohmann::json const& j, std::string const& name) {
  if (!j.is_array() || j.size() > static_cast<std::size_t>(max_rank))
    throw error(name,
                "its shape must be a list of at most " + std::to_string(max_rank) + " extents.");
  shape s;
  for (auto const& n : j) s.extent.push_back(whole_number(n, name));
  check_extents(s, name);
  return s;
}

inline checkpoint_piece piece_of(nlohmann::json const& j, std::string const& name,
                                 checkpoint_tensor const& t, checkpoint_index const& index) {
  refuse_unknown_keys(j, name, {"file", "begin", "shape", "position"});
  checkpoint_piece p;
  auto const file = whole_number(j.at("file"), name);
  shape const begin = shape_of(j.at("begin"), name), extents = shape_of(j.at("shape"), name);
  p.position = whole_number(j.at("position"), name);
  if (begin.rank() != t.extents.rank() || extents.rank() != t.extents.rank())
    throw error(name, "a piece has another number of dims than the tensor.");
  p.where.dim.resize(extents.rank());
  for (int d = 0; d < extents.rank(); ++d) {
    if (begin[d] > t.extents[d] - extents[d])
      throw error(name, "a piece is not inside the tensor.");
    p.where.dim[d] = {begin[d], extents[d]};
  }
  if (file < 0 || file >= static_cast<std::int64_t>(index.files.size()))
    throw error(name, "a piece is in file " + std::to_string(file) + ", which is not listed.");
  p.file = static_cast<int>(file);
  auto const bytes = extents.elements() * safetensors_element_size(t.type);
  if (extents.elements() == 0) throw error(name, "a piece is empty.");
  if (p.position < 0 || bytes > index.files[static_cast<std::size_t>(file)].bytes - p.position)
    throw error(name, "a piece is not inside its file.");
  return p;
}

/// Throws ashlar::error if two pieces of a tensor have a value in common.
inline void refuse_overlaps(checkpoint_tensor const& t, std::string const& name) {
  if (t.extents.rank() == 0) return;
  std::vector<box> boxes;
  for (auto const& p : t.pieces) boxes.push_back(p.where);
  std::sort(boxes.begin(), boxes.end(),
            [](box const& a, box const& b) { return a[0].begin < b[0].begin; });
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t j = i + 1; j < boxes.size() && boxes[j][0].begin < boxes[i][0].end(); ++j)
      if (intersect(boxes[i], boxes[j]).elements() > 0)
        throw error(name, "two pieces have the same values.");
}

/// Returns the index that the parsed content of a file describes.
inline checkpoint_index checkpoint_index_of(nlohmann::json const& j) {
  check_format(j, "ashlar checkpoint", checkpoint_version);
  refuse_unknown_keys(j, "checkpoint",
                      {"format", "version", "step", "metadata", "files", "tensors"});
  checkpoint_index index;
  index.step = whole_number(j.at("step"), "step");
  if (index.step < 0 || index.step > most_steps)
    throw error("step", "must be from 0 to " + std::to_string(most_steps) + ".");
  if (!j.at("files").is_array()) throw error("files", "must be a list.");
  if (!j.at("tensors").is_object()) throw error("tensors", "must be an object.");
  index.metadata = j.at("metadata").get<std::map<std::string, std::string>>();
  for (auto const& f : j.at("files")) {
    refuse_unknown_keys(f, "files", {"name", "bytes", "xxh64"});
    checkpoint_file file{f.at("name").get<std::string>(), whole_number(f.at("bytes"), "bytes"), 0};
    auto const hash = f.at("xxh64").get<std::string>();
    unsigned long long value = 0;
    int used = 0;
    if (hash.size() != 16 || std::sscanf(hash.c_str(), "%16llx%n", &value, &used) != 1 ||
        used != 16)
      throw error("xxh64", "\"" + hash + "\" is not a hash of 16 hexadecimal digits.");
    if (file.bytes < 0) throw error("bytes", "must be 0 or more.");
    // A name must not lead out of the checkpoint's folder.
    std::filesystem::path const inside = file.name;
    if (inside.empty() || inside.is_absolute() ||
        std::find(inside.begin(), inside.end(), "..") != inside.end())
      throw error("files", "\"" + file.name + "\" is not inside the checkpoint's folder.");
    file.hash = value;
    index.files.push_back(std::move(file));
  }
  for (auto const& [name, value] : j.at("tensors").items()) {
    refuse_unknown_keys(value, name, {"type", "shape", "pieces"});
    checkpoint_tensor t{value.at("type").get<std::string>(), shape_of(value.at("shape"), name), {}};
    if (safetensors_element_size(t.type) == 0)
      throw error(name, "the element type " + t.type + " is unknown.");
    if (!value.at("pieces").is_array()) throw error(name, "its pieces must be a list.");
    std::int64_t elements = 0;
    for (auto const& p : value.at("pieces")) {
      t.pieces.push_back(piece_of(p, name, t, index));
      elements += t.pieces.back().where.elements();
    }
    refuse_overlaps(t, name);
    if (elements != t.extents.elements())
      throw error(name, "the pieces have " + std::to_string(elements) + " values, but the tensor " +
                            std::to_string(t.extents.elements()) + ".");
    index.tensors.emplace(name, std::move(t));
  }
  return index;
}

}  // namespace detail

/// Reads an index. Throws ashlar::error with the file's name and what is wrong with the file.
inline checkpoint_index load_checkpoint_index(std::string const& path) {
  auto const j = detail::read_json(path, "checkpoint::load");
  return detail::interpret(path, "checkpoint::load",
                           [&] { return detail::checkpoint_index_of(j); });
}

/// Returns the index of safetensors files that need not belong to a checkpoint. Each array of a
/// file is a tensor of one piece. Arrays without values or dims, and arrays of more dims than a
/// tensor may have, are left out. Throws ashlar::error if a file is not a safetensors file, or if
/// two files have arrays of the same name.
inline checkpoint_index index_of_safetensors(std::vector<std::filesystem::path> const& files) {
  checkpoint_index index;
  for (auto const& path : files) {
    auto const header = read_safetensors_header(path.string());
    int const file = static_cast<int>(index.files.size());
    index.files.push_back({path.string(), 0, 0});
    for (auto const& e : header.entries) {
      if (e.end == e.begin || e.extents.empty() ||
          e.extents.size() > static_cast<std::size_t>(max_rank))
        continue;
      checkpoint_tensor t{e.type, {}, {}};
      box whole;
      for (auto const n : e.extents) {
        t.extents.extent.push_back(n);
        whole.dim.push_back({0, n});
      }
      t.pieces.push_back({file, whole, header.data + e.begin});
      if (!index.tensors.emplace(e.name, std::move(t)).second)
        throw error("safetensors", path.string() + ": another file has \"" + e.name + "\", too.");
    }
  }
  return index;
}

}  // namespace ashlar::io
