// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Moves the tiles of Winograd's convolution (winograd.hpp) between images and panels, one group of
// tiles at a time, and divides the workspace into lines and panels.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/strided_copy.hpp>
#include <ashlar/device/host/winograd_transform.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// The most elements of a group's panels, unless a single row of tiles needs more. For a VGG that
/// starts with 32 channels, half as many were 4 % slower, and twice as
/// many 9 % slower.
inline constexpr std::int64_t winograd_panel = std::int64_t{1} << 19;

/// The most tiles of a group, unless a single row of tiles has more. Twice as many made the
/// convolutions of a VGG 1 % faster, but needed twice the memory with few channels.
inline constexpr std::int64_t winograd_tiles = 256;

namespace detail {

/// Returns the distance between two matrices of a panel that have n elements each. It is a whole
/// number of cache lines plus one more: if it were a power of two, the matrices would compete for
/// few sets of the cache.
constexpr std::int64_t winograd_pitch(std::int64_t n) { return (n + 15) / 16 * 16 + 16; }

/// The images `from` are read and the images `to`, of the same number, are computed. Tile (r, c) of
/// `to` contains its pixels from (2 r, 2 c) on. It depends on the pixels of `from` from (2 r -
/// padding, 2 c - padding) on.
struct winograd_extents {
  image_extents from;
  image_extents to;
  std::int64_t padding;

  constexpr std::int64_t tile_rows() const { return (to.height + 1) / 2; }
  constexpr std::int64_t tile_columns() const { return (to.width + 1) / 2; }
  /// Returns the number of rows of tiles that a group has of each of its images.
  constexpr std::int64_t group_rows() const {
    return std::clamp<std::int64_t>(most_rows(), 1, std::max<std::int64_t>(1, tile_rows()));
  }
  /// Returns the number of images in a group, which is 1 if a group does not have all rows of an
  /// image.
  constexpr std::int64_t group_images() const {
    return std::clamp<std::int64_t>(most_rows() / std::max<std::int64_t>(1, tile_rows()), 1,
                                    std::max<std::int64_t>(1, from.batch));
  }
  constexpr std::int64_t group_tiles() const {
    return group_images() * group_rows() * tile_columns();
  }
  /// Returns the elements of a group's lines, for reading `from` or for writing `to`.
  constexpr std::int64_t lines() const {
    std::int64_t const rows = 2 * group_rows();
    return group_images() * std::max(std::min(rows + 2, from.height) * from.width * from.channels,
                                     std::min(rows, to.height) * to.width * to.channels);
  }
  constexpr std::int64_t most_channels() const { return std::max(from.channels, to.channels); }
  constexpr std::int64_t workspace() const {
    return 2 * winograd_pitch(most_channels()) + winograd_pitch(lines()) +
           winograd_places * (winograd_pitch(group_tiles() * from.channels) +
                              winograd_pitch(group_tiles() * to.channels));
  }
  /// Returns an upper bound of the workspace for every part of the images and channels. A group of
  /// a part has at least the r rows of tiles that a group of the whole has, and all c columns of
  /// tiles. Per channel, its lines hold at most (2 r + 2)(2 c + 2) pixels and its panels 16 r c
  /// numbers. So the size of the panels bounds the size of the lines.
  constexpr std::int64_t workspace_bound() const {
    std::int64_t const r = group_rows(), c = std::max<std::int64_t>(1, tile_columns());
    std::int64_t const all = std::max<std::int64_t>(1, tile_rows() * from.batch) * c;
    std::int64_t const tiles = std::min(all, std::max(c, winograd_tiles));
    std::int64_t const panels = std::min(winograd_places * (from.channels + to.channels) * tiles,
                                         std::max(row_elements(), winograd_panel));
    std::int64_t const most_lines = panels * (r + 1) * (c + 1) / (4 * r * c) + 1;
    // winograd_pitch adds at most 31 elements to each matrix.
    return 2 * winograd_pitch(most_channels()) + winograd_pitch(most_lines) + panels +
           2 * winograd_places * 31;
  }

 private:
  /// Returns the number of rows of tiles, of one image or several, that a group may have.
  constexpr std::int64_t most_rows() const {
    return std::min(winograd_panel / row_elements(),
                    winograd_tiles / std::max<std::int64_t>(1, tile_columns()));
  }
  /// Returns the number of elements of the panels for one row of tiles.
  constexpr std::int64_t row_elements() const {
    return std::max<std::int64_t>(1,
                                  winograd_places * tile_columns() * (from.channels + to.channels));
  }
};

/// A group of tiles: rows [row, row + rows) of tiles in each of the images [image, image + images).
struct winograd_group {
  std::int64_t image, images;
  std::int64_t row, rows;
  std::int64_t tiles;
};

/// Calls visit(group) for each group in order, and between_blocks() before it.
template <class Visit>
void for_each_winograd_group(winograd_extents const& e, Visit visit) {
  std::int64_t const images = e.group_images(), rows = e.group_rows();
  for (std::int64_t n = 0; n < e.from.batch; n += images)
    for (std::int64_t r = 0; r < e.tile_rows(); r += rows) {
      between_blocks();
      winograd_group g{n, std::min(images, e.from.batch - n), r, std::min(rows, e.tile_rows() - r),
                       0};
      g.tiles = g.images * g.rows * e.tile_columns();
      if (g.tiles > 0) visit(g);
    }
}

/// The parts of the workspace of one pass. All pointers point into it.
template <class T>
struct winograd_workspace {
  winograd_workspace(winograd_extents const& e, T* workspace)
      : from_pitch(winograd_pitch(e.group_tiles() * e.from.channels)),
        to_pitch(winograd_pitch(e.group_tiles() * e.to.channels)), zeros(workspace),
        beyond(zeros + winograd_pitch(e.most_channels())),
        lines(beyond + winograd_pitch(e.most_channels())), from(lines + winograd_pitch(e.lines())),
        to(from + winograd_places * from_pitch) {
    std::fill_n(zeros, e.most_channels(), T(0));
  }

  std::int64_t from_pitch, to_pitch;  ///< the distance between two matrices of a panel
  T* zeros;                           ///< the channels of a pixel outside the images, for reading
  T* beyond;                          ///< the channels of a pixel outside the images, for writing
  T* lines;                           ///< the pixels of a group's images, channels last
  T* from;                            ///< the panel of the tiles that are read
  T* to;                              ///< the panel of the results
};

/// The rows [first, last) of a group's images as lines, with channels last. `outside` stands for
/// the pixels outside these rows or images.
template <class T>
struct winograd_lines {
  image_extents images;
  std::int64_t first, last;
  T* lines;
  T* outside;

  /// Returns the channels of a pixel. `image` is the index of the image in the group.
  [[gnu::always_inline]] T* operator()(std::int64_t image, std::int64_t row,
                                       std::int64_t column) const {
    if (row < first || row >= last || column < 0 || column >= images.width) return outside;
    std::int64_t const pixel = (image * (last - first) + row - first) * images.width + column;
    return lines + pixel * images.channels;
  }
  /// Returns the number of elements of these rows of one image.
  std::int64_t size() const { return (last - first) * images.width * images.channels; }
  /// Returns the offset of the first of these pixels in the first plane of an image.
  std::int64_t offset(std::int64_t image) const {
    return image * images.channels * images.plane() + first * images.width;
  }
  /// Copies the rows from images, in which each channel is a contiguous plane.
  void read(T const* from, winograd_group const& g) const {
    for (std::int64_t i = 0; i < g.images; ++i)
      transpose_plane<assign_run>(from + offset(g.image + i), images.plane(),
                                  (last - first) * images.width, images.channels,
                                  lines + i * size(), images.channels);
  }
  /// Copies the rows to images.
  void write(winograd_group const& g, T* to) const {
    for (std::int64_t i = 0; i < g.images; ++i)
      transpose_plane<assign_run>(lines + i * size(), images.channels, images.channels,
                                  (last - first) * images.width, to + offset(g.image + i),
                                  images.plane());
  }
};

/// Returns the rows of the images `to` that the tiles of a group cover.
template <class T>
winograd_lines<T> lines_to(winograd_extents const& e, winograd_group const& g,
                           winograd_workspace<T> const& w, T* outside) {
  return {e.to, 2 * g.row, std::min(2 * (g.row + g.rows), e.to.height), w.lines, outside};
}

/// Returns the rows of the images `from` that the tiles of a group depend on.
template <class T>
winograd_lines<T> lines_from(winograd_extents const& e, winograd_group const& g,
                             winograd_workspace<T> const& w) {
  std::int64_t const first = std::clamp<std::int64_t>(2 * g.row - e.padding, 0, e.from.height);
  std::int64_t const last = std::clamp(2 * (g.row + g.rows) + 2 - e.padding, first, e.from.height);
  return {e.from, first, last, w.lines, w.zeros};
}

/// Calls visit(tile, image in the group, row, column) with the row and column of each tile in its
/// image.
template <class Visit>
void for_each_tile(winograd_extents const& e, winograd_group const& g, Visit visit) {
  std::int64_t tile = 0;
  for (std::int64_t i = 0; i < g.images; ++i)
    for (std::int64_t r = g.row; r < g.row + g.rows; ++r)
      for (std::int64_t c = 0; c < e.tile_columns(); ++c) visit(tile++, i, r, c);
}

/// Computes w.from, the transformed tiles of the images x.
template <class T>
void read_tiles(T const* x, winograd_extents const& e, winograd_group const& g,
                winograd_workspace<T> const& w) {
  auto const lines = lines_from(e, g, w);
  lines.read(x, g);
  for_each_tile(e, g, [&](std::int64_t tile, std::int64_t i, std::int64_t r, std::int64_t c) {
    T const* pixels[winograd_places];
    for (std::int64_t k = 0; k < winograd_places; ++k)
      pixels[k] = lines(i, 2 * r - e.padding + k / 4, 2 * c - e.padding + k % 4);
    winograd_image(pixels, e.from.channels, w.from + tile * e.from.channels, w.from_pitch);
  });
}

/// Computes w.to, the transformed tiles of the gradient dy.
template <class T>
void read_gradient_tiles(T const* dy, winograd_extents const& e, winograd_group const& g,
                         winograd_workspace<T> const& w) {
  auto const lines = lines_to(e, g, w, w.zeros);
  lines.read(dy, g);
  for_each_tile(e, g, [&](std::int64_t tile, std::int64_t i, std::int64_t r, std::int64_t c) {
    T const* const pixels[4] = {lines(i, 2 * r, 2 * c), lines(i, 2 * r, 2 * c + 1),
                                lines(i, 2 * r + 1, 2 * c), lines(i, 2 * r + 1, 2 * c + 1)};
    winograd_result_gradient(pixels, e.to.channels, w.to + tile * e.to.channels, w.to_pitch);
  });
}

/// Computes the images y from the panel w.to, and adds the bias of each channel.
template <class T>
void write_tiles(T const* bias, winograd_extents const& e, winograd_group const& g,
                 winograd_workspace<T> const& w, T* y) {
  auto const lines = lines_to(e, g, w, w.beyond);
  for_each_tile(e, g, [&](std::int64_t tile, std::int64_t i, std::int64_t r, std::int64_t c) {
    T* const pixels[4] = {lines(i, 2 * r, 2 * c), lines(i, 2 * r, 2 * c + 1),
                          lines(i, 2 * r + 1, 2 * c), lines(i, 2 * r + 1, 2 * c + 1)};
    winograd_result(static_cast<T const*>(w.to + tile * e.to.channels), w.to_pitch, bias,
                    e.to.channels, pixels);
  });
  lines.write(g, y);
}

}  // namespace detail

}  // namespace ashlar::device::host
