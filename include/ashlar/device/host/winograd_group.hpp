// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Tiles of Winograd's convolution (winograd.hpp) between images and panels, for groups of tiles that are
// worked on together, and the workspace where lines and panels lie.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/strided_copy.hpp>
#include <ashlar/device/host/winograd_transform.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// Elements of the panels of a group, if one row of tiles is not more. For a VGG of 32 channels at first half
/// as many were 4 % slower, twice as many 9 %.
inline constexpr std::int64_t winograd_panel = std::int64_t{1} << 19;

/// Tiles of a group, if one row of tiles is not more. Twice as many made a VGG's convolutions 1 % faster, for
/// twice the memory where channels are few.
inline constexpr std::int64_t winograd_tiles = 256;

namespace detail {

/// The elements from one matrix of a panel to the next for matrices of n: whole lines of a cache and one
/// more, or matrices of a power of two would share few sets of the cache.
constexpr std::int64_t winograd_pitch(std::int64_t n) { return (n + 15) / 16 * 16 + 16; }

/// Images `to` of the same number as `from`: tile (r, c) of `to` has its pixels from (2 r, 2 c) on and
/// depends on those of `from` from (2 r - padding, 2 c - padding) on.
struct winograd_extents {
  image_extents from;
  image_extents to;
  std::int64_t padding;

  constexpr std::int64_t tile_rows() const { return (to.height + 1) / 2; }
  constexpr std::int64_t tile_columns() const { return (to.width + 1) / 2; }
  /// Rows of tiles of each image of a group.
  constexpr std::int64_t group_rows() const {
    return std::clamp<std::int64_t>(most_rows(), 1, std::max<std::int64_t>(1, tile_rows()));
  }
  /// Images of a group; one if a group has not all rows of an image.
  constexpr std::int64_t group_images() const {
    return std::clamp<std::int64_t>(most_rows() / std::max<std::int64_t>(1, tile_rows()), 1,
                                    std::max<std::int64_t>(1, from.batch));
  }
  constexpr std::int64_t group_tiles() const {
    return group_images() * group_rows() * tile_columns();
  }
  /// Pixels of a group's images that are there at a time.
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
  /// An upper bound of the workspace for any part of the images and channels. A group of a part has at least
  /// the r rows of tiles that a group of the whole has, and all c columns. Its lines hold at most
  /// (2 r + 2)(2 c + 2) pixels and its panels 16 r c places, so the size of the panels bounds that of the lines.
  constexpr std::int64_t workspace_bound() const {
    std::int64_t const r = group_rows(), c = std::max<std::int64_t>(1, tile_columns());
    std::int64_t const all = std::max<std::int64_t>(1, tile_rows() * from.batch) * c;
    std::int64_t const tiles = std::min(all, std::max(c, winograd_tiles));
    std::int64_t const panels = std::min(winograd_places * (from.channels + to.channels) * tiles,
                                         std::max(row_elements(), winograd_panel));
    std::int64_t const most_lines = panels * (r + 1) * (c + 1) / (4 * r * c) + 1;
    // What winograd_pitch adds to each matrix is at most 31.
    return 2 * winograd_pitch(most_channels()) + winograd_pitch(most_lines) + panels +
           2 * winograd_places * 31;
  }

 private:
  /// Rows of tiles, of one image or several, that a group may have.
  constexpr std::int64_t most_rows() const {
    return std::min(winograd_panel / row_elements(),
                    winograd_tiles / std::max<std::int64_t>(1, tile_columns()));
  }
  /// Of the panels, for one row of tiles.
  constexpr std::int64_t row_elements() const {
    return std::max<std::int64_t>(1,
                                  winograd_places * tile_columns() * (from.channels + to.channels));
  }
};

/// A group of tiles: those in rows [row, row + rows) of each of `images` images, which begin with `image`.
struct winograd_group {
  std::int64_t image, images;
  std::int64_t row, rows;
  std::int64_t tiles;
};

/// Calls visit(group) for one after the other.
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

/// The parts of the workspace of one pass.
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

  std::int64_t from_pitch, to_pitch;  ///< between the matrices of a panel
  T* zeros;                           ///< a pixel outside the images
  T* beyond;                          ///< where a pixel is written that no image has
  T* lines;                           ///< pixels of some images, channels last
  T* from;                            ///< a panel, [tiles, channels] for each place in a tile
  T* to;                              ///< the panel of the results
};

/// Rows [first, last) of the images of a group as lines; pixels outside them are `outside`.
template <class T>
struct winograd_lines {
  image_extents images;
  std::int64_t first, last;
  T* lines;
  T* outside;

  /// The channels of a pixel; the image is counted in the group.
  [[gnu::always_inline]] T* operator()(std::int64_t image, std::int64_t row,
                                       std::int64_t column) const {
    if (row < first || row >= last || column < 0 || column >= images.width) return outside;
    std::int64_t const pixel = (image * (last - first) + row - first) * images.width + column;
    return lines + pixel * images.channels;
  }
  /// Elements of the rows of one image.
  std::int64_t size() const { return (last - first) * images.width * images.channels; }
  /// The first of these pixels of an image in its first plane.
  std::int64_t offset(std::int64_t image) const {
    return image * images.channels * images.plane() + first * images.width;
  }
  /// From images, planes of which lie one after the other.
  void read(T const* from, winograd_group const& g) const {
    for (std::int64_t i = 0; i < g.images; ++i)
      transpose_plane<assign_run>(from + offset(g.image + i), images.plane(),
                                  (last - first) * images.width, images.channels,
                                  lines + i * size(), images.channels);
  }
  void write(winograd_group const& g, T* to) const {
    for (std::int64_t i = 0; i < g.images; ++i)
      transpose_plane<assign_run>(lines + i * size(), images.channels, images.channels,
                                  (last - first) * images.width, to + offset(g.image + i),
                                  images.plane());
  }
};

/// Rows that the tiles of a group have in the images `to`.
template <class T>
winograd_lines<T> lines_to(winograd_extents const& e, winograd_group const& g,
                           winograd_workspace<T> const& w, T* outside) {
  return {e.to, 2 * g.row, std::min(2 * (g.row + g.rows), e.to.height), w.lines, outside};
}

/// Rows of the images `from` that the tiles of a group depend on.
template <class T>
winograd_lines<T> lines_from(winograd_extents const& e, winograd_group const& g,
                             winograd_workspace<T> const& w) {
  std::int64_t const first = std::clamp<std::int64_t>(2 * g.row - e.padding, 0, e.from.height);
  std::int64_t const last = std::clamp(2 * (g.row + g.rows) + 2 - e.padding, first, e.from.height);
  return {e.from, first, last, w.lines, w.zeros};
}

/// Calls visit(tile, image in the group, row and column of the tile in its image).
template <class Visit>
void for_each_tile(winograd_extents const& e, winograd_group const& g, Visit visit) {
  std::int64_t tile = 0;
  for (std::int64_t i = 0; i < g.images; ++i)
    for (std::int64_t r = g.row; r < g.row + g.rows; ++r)
      for (std::int64_t c = 0; c < e.tile_columns(); ++c) visit(tile++, i, r, c);
}

/// w.from = the transformed tiles of the images x.
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

/// w.to = the transformed tiles of the gradient dy.
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

/// y = the images that the panel w.to stands for, plus the bias of each channel.
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
