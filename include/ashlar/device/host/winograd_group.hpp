// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The parts of Winograd's convolution (winograd.hpp) that move data. Tiles of 2 x 2 output pixels
// are processed in groups. This file chooses the groups and divides the workspace. For each group,
// functions of this file copy pixels from the images to "lines" (arrays with the channel as the
// last dim). Then they transform the lines to "panels" (matrices [tiles, channels] for the GEMMs).
// The results of the GEMMs are transformed to lines and copied to the images.

#include <algorithm>
#include <cstdint>

#include <ashlar/device/host/between_blocks.hpp>
#include <ashlar/device/host/strided_copy.hpp>
#include <ashlar/device/host/winograd_transform.hpp>
#include <ashlar/device/window.hpp>

namespace ashlar::device::host {

/// Winograd's convolution processes tiles in groups. This is the largest number of elements that
/// the transformed tiles of a group have, unless a single row of tiles needs more. The number was
/// chosen by measurements of the convolutions of a VGG network that starts with 32 channels. With
/// half as many elements, these convolutions were 4 % slower. With twice as many elements, they
/// were 9 % slower.
inline constexpr std::int64_t winograd_panel = std::int64_t{1} << 19;

/// The largest number of tiles that Winograd's convolution processes together as a group, unless a
/// single row of tiles has more. With twice as many tiles, the convolutions of a VGG network were
/// only 1 % faster, but layers with few channels needed twice the memory.
inline constexpr std::int64_t winograd_tiles = 256;

namespace detail {

/// Transformed tiles are stored as 16 matrices of n elements each. Returns the distance between two
/// of these matrices, in elements: n rounded up to a multiple of 16, plus 16. A distance that is a
/// large power of two would be slow, because all 16 matrices would compete for the same few sets of
/// the cache. The additional 16 elements avoid such a distance.
constexpr std::int64_t winograd_pitch(std::int64_t n) { return (n + 15) / 16 * 16 + 16; }

/// The extents of a convolution by Winograd's method, the sizes of the groups of tiles, and the
/// size of the workspace. The convolution computes the images `to` from equally many images `from`.
/// Tile (r, c) consists of the 2 x 2 pixels of `to` whose first pixel is (2 r, 2 c). Tile (r, c)
/// depends on the 4 x 4 pixels of `from` whose first pixel is (2 r - padding_above, 2 c - padding).
struct winograd_extents {
  image_extents from;
  image_extents to;
  std::int64_t padding;        ///< the padding on the left of an image
  std::int64_t padding_above;  ///< the padding above the rank's first row (device/window.hpp)

  constexpr std::int64_t tile_rows() const { return (to.height + 1) / 2; }
  constexpr std::int64_t tile_columns() const { return (to.width + 1) / 2; }
  /// Returns how many rows of tiles a group has in each image of the group.
  constexpr std::int64_t group_rows() const {
    return std::clamp<std::int64_t>(most_rows(), 1, std::max<std::int64_t>(1, tile_rows()));
  }
  /// Returns the number of images that a group of tiles spans. The number is 1 if the tiles of a
  /// complete image do not fit into a group.
  constexpr std::int64_t group_images() const {
    return std::clamp<std::int64_t>(most_rows() / std::max<std::int64_t>(1, tile_rows()), 1,
                                    std::max<std::int64_t>(1, from.batch));
  }
  constexpr std::int64_t group_tiles() const {
    return group_images() * group_rows() * tile_columns();
  }
  /// Returns the number of elements of the buffer "lines", which holds the pixels of a group with
  /// the channel as the last dim. At one time it holds pixels of `from`, at another time pixels of
  /// `to`, and it has room for the larger of the two.
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
  /// Returns an upper bound of workspace() for any part of the images and channels that a rank may
  /// have. The workspace has two large parts: the panels (transformed tiles) and the lines
  /// (pixels). winograd_panel and winograd_tiles limit the panels. The limit of the lines follows
  /// from the limit of the panels, for a group with r rows and c columns of tiles:
  ///
  ///   panels   16 r c numbers per channel
  ///   lines    at most (2 r + 2)(2 c + 2) pixels per channel
  ///
  /// The quotient lines / panels is largest for the smallest r. Without `splits_rows`, the smallest
  /// r is that of the complete convolution: a rank with some of the images or channels has groups
  /// with at least as many rows, and with the same c. With `splits_rows`, a rank may have a single
  /// row of tiles, so r is 1.
  constexpr std::int64_t workspace_bound(bool splits_rows) const {
    std::int64_t const r = splits_rows ? 1 : group_rows(),
                       c = std::max<std::int64_t>(1, tile_columns());
    std::int64_t const all = std::max<std::int64_t>(1, tile_rows() * from.batch) * c;
    std::int64_t const tiles = std::min(all, std::max(c, winograd_tiles));
    std::int64_t const panels = std::min(winograd_places * (from.channels + to.channels) * tiles,
                                         std::max(row_elements(), winograd_panel));
    std::int64_t const most_lines = panels * (r + 1) * (c + 1) / (4 * r * c) + 1;
    // winograd_pitch rounds up, which adds at most 31 elements to each matrix.
    return 2 * winograd_pitch(most_channels()) + winograd_pitch(most_lines) + panels +
           2 * winograd_places * 31;
  }

 private:
  /// Returns how many rows of tiles the two limits permit in a group, counted over all images of
  /// the group. Returns 0 if a single row exceeds a limit.
  constexpr std::int64_t most_rows() const {
    return std::min(winograd_panel / row_elements(),
                    winograd_tiles / std::max<std::int64_t>(1, tile_columns()));
  }
  /// Returns the number of elements that the transforms of one row of tiles have, for all channels
  /// of `from` and `to`.
  constexpr std::int64_t row_elements() const {
    return std::max<std::int64_t>(1,
                                  winograd_places * tile_columns() * (from.channels + to.channels));
  }
};

/// A group of tiles (2 x 2 output pixels each) that are processed together. It has the rows of
/// tiles [row, row + rows) of each of the images [image, image + images). The group has `tiles`
/// tiles in total.
struct winograd_group {
  std::int64_t image, images;
  std::int64_t row, rows;
  std::int64_t tiles;
};

/// Calls visit(group) for each group of tiles, in order. Before each group, calls between_blocks(),
/// so that transfers progress.
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

/// Divides the workspace of one forward or backward pass of Winograd's convolution into its parts.
/// All pointers point into the workspace.
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

  std::int64_t from_pitch, to_pitch;  ///< the distance between two of the 16 matrices
  T* zeros;                           ///< zeros, read instead of a pixel outside the images
  T* beyond;  ///< memory that is written instead of a pixel outside the images
  T* lines;   ///< the pixels of the group's images, channels last
  T* from;    ///< the transformed input tiles: 16 matrices
  T* to;      ///< the transformed output tiles: 16 matrices
};

/// The rows [first, last) of the images of a group, stored in `lines` as an array [image, row,
/// column, channel]. `outside` points to an array with one value for each channel. This array is
/// used in place of every pixel outside these rows or outside the images.
template <class T>
struct winograd_lines {
  image_extents images;
  std::int64_t first, last;
  T* lines;
  T* outside;

  /// Returns a pointer to the channels of a pixel. `image` is the index of the image in the group.
  /// `row` and `column` may be outside the image.
  [[gnu::always_inline]] T* operator()(std::int64_t image, std::int64_t row,
                                       std::int64_t column) const {
    if (row < first || row >= last || column < 0 || column >= images.width) return outside;
    std::int64_t const pixel = (image * (last - first) + row - first) * images.width + column;
    return lines + pixel * images.channels;
  }
  /// Returns the number of elements that one image has in `lines`.
  std::int64_t size() const { return (last - first) * images.width * images.channels; }
  /// Returns an offset in the array [batch, channels, height, width]: the offset of pixel (first,
  /// 0) in the first channel of image number `image`.
  std::int64_t offset(std::int64_t image) const {
    return image * images.channels * images.plane() + first * images.width;
  }
  /// Copies the pixels of a group from the images to `lines`. The images have the dims [batch,
  /// channels, height, width], while `lines` has the channel as the last dim.
  void read(T const* from, winograd_group const& g) const {
    for (std::int64_t i = 0; i < g.images; ++i)
      transpose_plane(from + offset(g.image + i), images.plane(), (last - first) * images.width,
                      images.channels, lines + i * size(), images.channels);
  }
  /// Copies the pixels of a group from `lines` to the images, and moves the channel from the last
  /// dim to the second one.
  void write(winograd_group const& g, T* to) const {
    for (std::int64_t i = 0; i < g.images; ++i)
      transpose_plane(lines + i * size(), images.channels, images.channels,
                      (last - first) * images.width, to + offset(g.image + i), images.plane());
  }
};

/// Returns the buffer `lines` for the pixels of the images `to` that the tiles of a group cover.
/// `outside` is used instead of pixels outside the images.
template <class T>
winograd_lines<T> lines_to(winograd_extents const& e, winograd_group const& g,
                           winograd_workspace<T> const& w, T* outside) {
  return {e.to, 2 * g.row, std::min(2 * (g.row + g.rows), e.to.height), w.lines, outside};
}

/// Returns the buffer `lines` for the pixels of the images `from` on which the tiles of a group
/// depend.
template <class T>
winograd_lines<T> lines_from(winograd_extents const& e, winograd_group const& g,
                             winograd_workspace<T> const& w) {
  std::int64_t const first = std::clamp<std::int64_t>(2 * g.row - e.padding_above, 0,
                                                      e.from.height);
  std::int64_t const last = std::clamp(2 * (g.row + g.rows) + 2 - e.padding_above, first,
                                       e.from.height);
  return {e.from, first, last, w.lines, w.zeros};
}

/// Calls visit(tile, image, row, column) for each tile of a group. `tile` and `image` are counted
/// within the group. `row` and `column` are the position of the tile among the tiles of its image.
template <class Visit>
void for_each_tile(winograd_extents const& e, winograd_group const& g, Visit visit) {
  std::int64_t tile = 0;
  for (std::int64_t i = 0; i < g.images; ++i)
    for (std::int64_t r = g.row; r < g.row + g.rows; ++r)
      for (std::int64_t c = 0; c < e.tile_columns(); ++c) visit(tile++, i, r, c);
}

/// Reads the tiles of a group from the images x, transforms them, and stores the results in w.from.
template <class T>
void read_tiles(T const* x, winograd_extents const& e, winograd_group const& g,
                winograd_workspace<T> const& w) {
  auto const lines = lines_from(e, g, w);
  lines.read(x, g);
  for_each_tile(e, g, [&](std::int64_t tile, std::int64_t i, std::int64_t r, std::int64_t c) {
    T const* pixels[winograd_places];
    for (std::int64_t k = 0; k < winograd_places; ++k)
      pixels[k] = lines(i, 2 * r - e.padding_above + k / 4, 2 * c - e.padding + k % 4);
    winograd_image(pixels, e.from.channels, w.from + tile * e.from.channels, w.from_pitch);
  });
}

/// Reads the tiles of a group from the output gradient dy, transforms them, and stores the results
/// in w.to.
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

/// Transforms the results of a group, which are in w.to, to tiles of 2 x 2 pixels. Adds the bias of
/// each channel and writes the pixels to the images y.
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
