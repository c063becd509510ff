// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Draws a tensor as a rectangle that is cut into its shards, each in the colour of its owner
// (colour.hpp). A partial tensor is hatched. The rectangle has two of the tensor's dims:
//
//   which dims are split              vertical dim          horizontal dim
//   none                              dim 0                 the last dim
//   only one, which is not the last   the split dim         the last dim
//   only the last dim                 dim 0                 the last dim
//   two or more                       the first split dim   the last split dim
//
// A tensor with one dim is drawn as a strip. If a dim has more than 12 parts, only 12 parts, at
// equal distances, are drawn.

#include <charconv>
#include <string>

#include <ashlar/io/page/colour.hpp>
#include <ashlar/layout/shape.hpp>
#include <ashlar/placement/text.hpp>

namespace ashlar::io::page {

/// Describes how one dim of a tensor is drawn: the parts into which it is split, and the owners of
/// the parts. At most 12 parts are drawn.
class drawn_dim {
 public:
  static constexpr int most = 12;

  drawn_dim(topology const& t, placement const& p, int dim) : topology_(t) {
    if (dim < 0) return;
    for (auto const a : p.axes_of(dim))
      if (t.extent(a) > 1) axes_.push_back(a);
    for (auto const a : axes_) parts_ *= t.extent(a);
  }

  int count() const { return static_cast<int>(std::min<std::int64_t>(parts_, most)); }

  /// Determines the owner of drawn part i. Sets the coordinates of this owner in `who`, but only
  /// along the axes that split this dim.
  void own(int i, owner& who) const {
    std::int64_t part = i * parts_ / count();
    for (int k = axes_.size() - 1; k >= 0; --k) {
      int const extent = topology_.extent(axes_[k]);
      who[static_cast<std::size_t>(axes_[k])] = static_cast<int>(part % extent);
      part /= extent;
    }
  }

 private:
  topology const& topology_;
  axis_list axes_;
  std::int64_t parts_ = 1;
};

/// Returns two dims: the one that is drawn vertically, then the one that is drawn horizontally. -1
/// means that there is no such dim.
inline std::array<int, 2> drawn_dims(shape const& s, placement const& p, topology const& t) {
  int first = -1, last = -1;
  for (int a = 0; a < p.axes(); ++a) {
    if (!p[a].is_split() || t.extent(a) == 1) continue;
    first = first < 0 || p[a].dim < first ? p[a].dim : first;
    last = std::max<int>(last, p[a].dim);
  }
  int const end = s.rank() - 1;
  if (end < 1) return {-1, end};
  if (first < 0) return {0, end};
  if (first < last) return {first, last};
  return first == end ? std::array{0, end} : std::array{first, end};
}

/// Returns a number with at most four significant digits and, in every locale, a decimal point.
inline std::string number(double value) {
  char text[32];
  auto const end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4);
  return {text, end.ptr};
}

/// Returns an SVG element that shows the shards of a tensor with extents `s` and placement `p`.
/// `label` is the tooltip of the drawing, as escaped HTML text.
inline std::string shards_svg(shape const& s, placement const& p, topology const& t,
                              std::string const& label) {
  auto const [v, h] = drawn_dims(s, p, t);
  double const width = 92, height = v < 0 ? 16 : 52;
  drawn_dim const rows(t, p, v), columns(t, p, h);
  std::string text = "<svg class='t' width='94' height='" + number(height + 2) +
                     "' role='img'><title>" + label + "</title>";
  double const w = width / columns.count(), d = height / rows.count();
  for (int r = 0; r < rows.count(); ++r)
    for (int c = 0; c < columns.count(); ++c) {
      owner who;
      who.fill(everyone);
      rows.own(r, who);
      columns.own(c, who);
      text += "<rect x='" + number(1 + c * w) + "' y='" + number(1 + r * d) + "' width='" +
              number(w) + "' height='" + number(d) + "' fill='" + colour(t, who) + "'/>";
    }
  if (p.has_partial())
    text += "<rect x='1' y='1' width='92' height='" + number(height) + "' fill='url(#hatch)'/>";
  return text + "<rect class='f' x='1' y='1' width='92' height='" + number(height) + "'/></svg>";
}

}  // namespace ashlar::io::page
