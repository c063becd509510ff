// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Naive kernels of the layers on images [batch, channels, height, width]. role_prover.hpp runs them
// on the shards of simulated ranks to find out which signature rows are valid. A kernel treats the
// shard of its rank as a complete tensor.

#include <support/role_prover.hpp>

namespace ashlar_test {

/// A square window that slides over an image. places(n) returns the number of its positions along a
/// dimension of n pixels.
struct naive_window {
  int extent, stride, padding;
  int places(int n) const {
    return n + 2 * padding < extent ? 0 : (n + 2 * padding - extent) / stride + 1;
  }
};

/// Draws the extents of an image tensor: small, but larger than the window.
inline index image(extent_source& extents, naive_window const& w) {
  auto const few = [&] { return std::min(extents(), 4); };
  int const n = few(), c = few();
  return {n, c, w.extent + uniform(extents.random, 1, 4), w.extent + uniform(extents.random, 1, 4)};
}

/// Calls visit(i, row, column) for all pairs of a window position and a pixel under the window.
/// Pixels in the padding are skipped.
///
///   x              the extents of the image tensor
///   i              {row and column of the position, row and column within the window}
///   row, column    the coordinates of the pixel in the image
template <class Visit>
void for_each_pixel(index const& x, naive_window const& w, Visit visit) {
  for_each_index({w.places(x[2]), w.places(x[3]), w.extent, w.extent}, [&](index const& i) {
    int const row = i[0] * w.stride - w.padding + i[2];
    int const column = i[1] * w.stride - w.padding + i[3];
    if (row >= 0 && row < x[2] && column >= 0 && column < x[3]) visit(i, row, column);
  });
}

/// Returns one of the three products of a convolution, chosen by `result`:
///
///   0    y from (x, weight)
///   1    dx from (dy, weight)
///   2    dweight from (x, dy)
inline operation convolution(naive_window const& w, int result) {
  return {[=](extent_source& extents) {
            index const x = image(extents, w);
            int const outputs = std::min(extents(), 4);
            index const weight{outputs, x[1], w.extent, w.extent};
            index const y{x[0], outputs, w.places(x[2]), w.places(x[3])};
            auto make = [&](index const& e) { return random_integers(extents.random, e, -4, 4); };
            if (result == 0) return std::vector{make(x), make(weight)};
            if (result == 1) return std::vector{make(y), make(weight)};
            return std::vector{make(x), make(y)};
          },
          [=](pieces const& p) -> std::optional<dense> {
            // Derives the extents of all three tensors from the two operands.
            index x, weight, y;
            if (result != 1) x = p[0].extents;
            if (result != 2) weight = p[1].extents;
            if (result != 0) y = p[result == 1 ? 0 : 1].extents;
            if (result == 0) y = {x[0], weight[0], w.places(x[2]), w.places(x[3])};
            if (result == 1)
              x = {y[0], weight[1], (y[2] - 1) * w.stride + w.extent - 2 * w.padding,
                   (y[3] - 1) * w.stride + w.extent - 2 * w.padding};
            if (result == 2) weight = {y[1], x[1], w.extent, w.extent};
            for (int d : {2, 3}) {
              if (weight[static_cast<std::size_t>(d)] != w.extent) return {};
              if (x[static_cast<std::size_t>(d)] < 1 ||
                  w.places(x[static_cast<std::size_t>(d)]) != y[static_cast<std::size_t>(d)])
                return {};
            }
            if (x[0] != y[0] || x[1] != weight[1] || weight[0] != y[1]) return {};
            dense out(result == 0 ? y : result == 1 ? x : weight);
            for_each_index({x[0], y[1], x[1]}, [&](index const& noc) {
              for_each_pixel(x, w, [&](index const& at, int row, int column) {
                index const ix{noc[0], noc[2], row, column}, iw{noc[1], noc[2], at[2], at[3]},
                    iy{noc[0], noc[1], at[0], at[1]};
                if (result == 0) out(iy) += p[0](ix) * p[1](iw);
                if (result == 1) out(ix) += p[0](iy) * p[1](iw);
                if (result == 2) out(iw) += p[0](ix) * p[1](iy);
              });
            });
            return out;
          }};
}

/// Returns an operation of max pooling if `maximum` is true, else of average pooling. If `result`
/// is 0, the operation computes y from x. If `result` is 1, the operation computes dx from (dy, x).
inline operation pooling(naive_window const& w, bool maximum, int result) {
  return {[=](extent_source& extents) {
            index const x = image(extents, w);
            index const y{x[0], x[1], w.places(x[2]), w.places(x[3])};
            auto make = [&](index const& e) {
              auto t = random_integers(extents.random, e);
              for (auto& v : t.values) v *= w.extent * w.extent;  // so that averages are integers
              return t;
            };
            if (result == 0) return std::vector{make(x)};
            return std::vector{make(y), make(x)};
          },
          [=](pieces const& p) -> std::optional<dense> {
            dense const& x = p[result == 0 ? 0 : 1];
            index const e = x.extents;
            index const y{e[0], e[1], w.places(e[2]), w.places(e[3])};
            if (result == 1 && p[0].extents != y) return {};
            dense out(result == 0 ? y : e);
            for_each_index({e[0], e[1], y[2], y[3]}, [&](index const& place) {
              double best = -1e300, sum = 0;
              index chosen;
              for_each_index({w.extent, w.extent}, [&](index const& i) {
                index const at{place[0], place[1], place[2] * w.stride - w.padding + i[0],
                               place[3] * w.stride - w.padding + i[1]};
                if (at[2] < 0 || at[2] >= e[2] || at[3] < 0 || at[3] >= e[3]) return;
                double const share = 1.0 / (w.extent * w.extent);
                if (result == 1 && !maximum) out(at) += p[0](place) * share;
                sum += x(at) * share;
                if (x(at) > best) best = x(at), chosen = at;
              });
              if (result == 0) out(place) = maximum ? best : sum;
              if (result == 1 && maximum && !chosen.empty()) out(chosen) += p[0](place);
            });
            return out;
          },
          1e-12};
}

/// Returns an operation of upsampling by `factor`. If `result` is 0, it computes y from x. If
/// `result` is 1, it computes dx from dy.
inline operation upsampling(int factor, int result) {
  return {[=](extent_source& extents) {
            index x = image(extents, {1, 1, 0});
            for (auto const d : std::initializer_list<std::size_t>{2, 3})
              x[d] *= result == 0 ? 1 : factor;
            return std::vector{random_integers(extents.random, x)};
          },
          [=](pieces const& p) -> std::optional<dense> {
            index const e = p[0].extents;
            for (auto const d : std::initializer_list<std::size_t>{2, 3})
              if (result == 1 && e[d] % factor != 0) return {};
            auto const scaled = [&](int n) { return result == 0 ? n * factor : n / factor; };
            dense out({e[0], e[1], scaled(e[2]), scaled(e[3])});
            dense const& large = result == 0 ? out : p[0];
            for_each_index(large.extents, [&](index const& i) {
              index const small{i[0], i[1], i[2] / factor, i[3] / factor};
              if (result == 0) out(i) = p[0](small);
              else out(small) += p[0](i);
            });
            return out;
          }};
}

/// Returns an operation of group norm, chosen by `result`:
///
///   0    y from (x, gain, bias)
///   1    dx from (x, gain, dy)
///   2    the gradient of gain from (x, gain, dy)
///   3    the gradient of bias from (x, gain, dy)
///
/// Here x is [batch, groups, channels of a group · pixels], with two pixels for each channel, and
/// gain and bias are [groups, channels of a group]. A split of dim 1 therefore never cuts a group.
inline operation group_norm(int result) {
  return {[=](extent_source& extents) {
            int const n = std::min(extents(), 4), groups = extents(),
                      channels = uniform(extents.random, 2, 3);
            index const x{n, groups, channels * 2}, gain{groups, channels};
            auto make = [&](index const& e) { return random_integers(extents.random, e, -4, 4); };
            return std::vector{make(x), make(gain), make(result == 0 ? gain : x)};
          },
          [=](pieces const& p) -> std::optional<dense> {
            auto const &x = p[0], &gain = p[1], &third = p[2];
            int const pixels = x.extent(2);
            if (pixels % 2 != 0 || gain.extents != index{x.extent(1), pixels / 2}) return {};
            if (third.extents != (result == 0 ? gain.extents : x.extents)) return {};
            dense y(result < 2 ? x.extents : gain.extents);
            for_each_index({x.extent(0), x.extent(1)}, [&](index const& g) {
              auto const at = [&](int k) { return index{g[0], g[1], k}; };
              auto const channel = [&](int k) { return index{g[1], k / 2}; };
              double mean = 0, variance = 0, sum = 0, dot = 0;
              for (int k = 0; k < pixels; ++k) mean += x(at(k)) / pixels;
              for (int k = 0; k < pixels; ++k)
                variance += (x(at(k)) - mean) * (x(at(k)) - mean) / pixels;
              double const scale = 1 / std::sqrt(variance + 1e-5);
              auto const hat = [&](int k) { return (x(at(k)) - mean) * scale; };
              for (int k = 0; k < pixels && result == 1; ++k) {
                sum += third(at(k)) * gain(channel(k)) / pixels;
                dot += third(at(k)) * gain(channel(k)) * hat(k) / pixels;
              }
              for (int k = 0; k < pixels; ++k) {
                if (result == 0) y(at(k)) = hat(k) * gain(channel(k)) + third(channel(k));
                if (result == 1)
                  y(at(k)) = scale * (third(at(k)) * gain(channel(k)) - sum - hat(k) * dot);
                if (result == 2) y(channel(k)) += third(at(k)) * hat(k);
                if (result == 3) y(channel(k)) += third(at(k));
              }
            });
            return y;
          },
          1e-9};
}

/// Converts an operation on tokens, `op`, to an operation on images. An image has the dims height
/// and width (dims 1 and 2) where a tensor of tokens has dim 1, their product. Operand k is an
/// image if images[k] is not 0. The result is an image if `of_result` is true.
inline operation on_images(operation const& op, std::vector<int> const& images, bool of_result) {
  int const height = 2;
  auto const seen_as = [](dense const& x, index const& extents) {
    dense y(extents);
    y.values = x.values;
    return y;
  };
  return {[=](extent_source& extents) {
            auto operands = op.operands(extents);
            for (std::size_t k = 0; k < operands.size(); ++k) {
              if (images[k] == 0) continue;
              index e = operands[k].extents;  // each token becomes a column of `height` pixels
              e.insert(e.begin() + 1, height);
              dense taller(e);
              for_each_index(e, [&](index const& i) {
                index j = i;
                j.erase(j.begin() + 1);
                taller(i) = operands[k](j) + i[1];
              });
              operands[k] = taller;
            }
            return operands;
          },
          [=](pieces const& p) -> std::optional<dense> {
            pieces flat = p;
            index e;
            for (std::size_t k = 0; k < p.operand.size(); ++k) {
              if (images[k] == 0) continue;
              index merged = p[k].extents;
              if (e.empty()) e = merged;
              if (e[1] != merged[1] || e[2] != merged[2]) return {};
              merged[1] *= merged[2];
              merged.erase(merged.begin() + 2);
              flat.operand[k] = seen_as(p[k], merged);
            }
            auto const y = op.run(flat);
            if (!y || !of_result) return y;
            index split = y->extents;
            split[1] = e[1];
            split.insert(split.begin() + 2, e[2]);
            return seen_as(*y, split);
          },
          op.tolerance};
}

/// Returns an operation of attention to a context, chosen by `result`:
///
///   0    y from (q, context, weight)
///   1    dq from (q, context, weight, dy)
///   2    dweight from (q, context, weight, dy)
///
/// Here q, y and dy are [batch, queries, heads, head_dim], the context is [batch, length, width],
/// and the weight of keys and values is [width, heads, 2 head_dim].
inline operation context_attention(int result) {
  return {
      [=](extent_source& extents) {
        auto e = [&](int least = 0) { return std::min(extents(least), 3); };
        index const q{e(), e(), e(), uniform(extents.random, 1, 2)};
        int const length = uniform(extents.random, 2, 3), width = uniform(extents.random, 2, 3);
        auto make = [&](index const& i) { return random_integers(extents.random, i, -2, 2); };
        std::vector<dense> operands{make(q), make({q[0], length, width}),
                                    make({width, q[2], 2 * q[3]})};
        if (result > 0) operands.push_back(make(q));
        return operands;
      },
      [=](pieces const& x) -> std::optional<dense> {
        dense const &q = x[0], &context = x[1], &weight = x[2];
        index const e = q.extents;
        int const length = context.extent(1), width = context.extent(2), d = e[3];
        if (context.extent(0) != e[0] || length == 0) return {};
        if (weight.extents != index{width, e[2], 2 * d}) return {};
        if (result > 0 && x[3].extents != e) return {};
        dense kv({e[0], length, e[2], 2 * d}), dkv(kv.extents), y(e), dq(e), dw(weight.extents);
        for_each_index({e[0], length, e[2], 2 * d, width}, [&](index const& i) {
          kv({i[0], i[1], i[2], i[3]}) += context({i[0], i[1], i[4]}) * weight({i[4], i[2], i[3]});
        });
        for_each_index({e[0], e[1], e[2]}, [&](index const& i) {
          int const b = i[0], s = i[1], h = i[2];
          std::vector<double> w, slope;
          double sum = 0, dot = 0;
          for (int t = 0; t < length; ++t) {
            double score = 0;
            for (int k = 0; k < d; ++k) score += q({b, s, h, k}) * kv({b, t, h, k});
            w.push_back(std::exp(score / 8));
            sum += w.back();
          }
          for (int t = 0; t < length; ++t) {
            w[static_cast<std::size_t>(t)] /= sum;
            slope.push_back(0);
            for (int k = 0; k < d; ++k) {
              double const p = w[static_cast<std::size_t>(t)];
              y({b, s, h, k}) += p * kv({b, t, h, d + k});
              if (result == 0) continue;
              dkv({b, t, h, d + k}) += p * x[3]({b, s, h, k});
              slope.back() += x[3]({b, s, h, k}) * kv({b, t, h, d + k});
            }
            dot += w[static_cast<std::size_t>(t)] * slope.back();
          }
          for (int t = 0; t < length && result > 0; ++t) {
            auto const n = static_cast<std::size_t>(t);
            double const ds = w[n] * (slope[n] - dot) / 8;
            for (int k = 0; k < d; ++k) {
              dq({b, s, h, k}) += ds * kv({b, t, h, k});
              dkv({b, t, h, k}) += ds * q({b, s, h, k});
            }
          }
        });
        if (result < 2) return result == 0 ? y : dq;
        for_each_index({e[0], length, e[2], 2 * d, width}, [&](index const& i) {
          dw({i[4], i[2], i[3]}) += context({i[0], i[1], i[4]}) * dkv({i[0], i[1], i[2], i[3]});
        });
        return dw;
      },
      1e-9};
}

/// Returns the operation that flattens [batch, channels, pixels] to [batch, channels * pixels]. If
/// `pixels` is false, the number of pixels is 1.
inline operation flattening(bool pixels) {
  return {[=](extent_source& extents) {
            index const e{extents(), extents(), pixels ? uniform(extents.random, 2, 3) : 1};
            return std::vector{random_integers(extents.random, e)};
          },
          [](pieces const& p) -> std::optional<dense> {
            auto const& e = p[0].extents;
            dense y({e[0], e[1] * e[2]});
            y.values = p[0].values;
            return y;
          }};
}

}  // namespace ashlar_test
