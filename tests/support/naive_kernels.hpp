// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Operators as plain loops over indices. role_prover.hpp runs them on the shards of simulated ranks
// to find the valid signature rows. A kernel returns nullopt if its shards do not fit together.

#include <limits>
#include <map>
#include <string_view>

#include <support/role_prover.hpp>

namespace ashlar_test {

inline double square(double x) { return x * x; }
inline double relu(double x) { return x > 0 ? x : 0; }
inline double sum(double x, double y) { return x + y; }
inline double product(double x, double y) { return x * y; }

inline index dims(extent_source& extents, int count) {
  index e;
  for (int d = 0; d < count; ++d) e.push_back(extents());
  return e;
}

/// Stores x's extents by dimension letter. Returns false if a letter already has another extent.
inline bool bind(std::map<char, int>& extent, std::string_view letters, dense const& x) {
  if (static_cast<int>(letters.size()) != x.rank()) return false;
  for (std::size_t d = 0; d < letters.size(); ++d)
    if (!extent.emplace(letters[d], x.extents[d]).second && extent[letters[d]] != x.extents[d])
      return false;
  return true;
}

inline index extents_of(std::map<char, int> const& extent, std::string_view letters) {
  index e;
  for (char letter : letters) e.push_back(extent.at(letter));
  return e;
}

/// Computes an einsum. `in` names the dimensions of each operand by letters, and `out` names the
/// dimensions of the result. Each element of the result is the sum of term(v) over all indices
/// whose letters are not in `out`. v holds one element of each operand.
template <class Term>
std::optional<dense> einsum(std::vector<std::string_view> const& in, std::string_view out,
                            pieces const& x, Term term) {
  std::map<char, int> extent;
  for (std::size_t o = 0; o < in.size(); ++o)
    if (!bind(extent, in[o], x[o])) return {};
  dense result(extents_of(extent, out));
  std::string letters;
  for (auto const& [letter, e] : extent) letters += letter;
  for_each_index(extents_of(extent, letters), [&](index const& i) {
    auto const at = [&](std::string_view of) {
      index j;
      for (char letter : of) j.push_back(i[letters.find(letter)]);
      return j;
    };
    std::vector<double> values;
    for (std::size_t o = 0; o < in.size(); ++o) values.push_back(x[o](at(in[o])));
    result(at(out)) += term(values);
  });
  return result;
}

/// Draws integer operands whose dimensions are named by letters. Equal letters have equal extents.
inline auto lettered_operands(std::vector<std::string_view> in) {
  return [in](extent_source& extents) {
    std::map<char, int> extent;
    std::vector<dense> operands;
    for (auto letters : in) {
      for (char letter : letters)
        if (!extent.contains(letter)) extent[letter] = extents();
      operands.push_back(random_integers(extents.random, extents_of(extent, letters)));
    }
    return operands;
  };
}

inline operation contraction(std::string_view a, std::string_view b, std::string_view c) {
  return {lettered_operands({a, b}), [=](pieces const& x) {
            return einsum({a, b}, c, x, [](auto const& v) { return v[0] * v[1]; });
          }};
}

/// Sums dy over the letters that `from` has and `to` lacks: the gradient of a bias.
inline operation sum_to(std::string_view from, std::string_view to) {
  return {lettered_operands({from}), [=](pieces const& x) {
            return einsum({from}, to, x, [](auto const& v) { return v[0]; });
          }};
}

/// Applies f to the elements of two operands. `out` has the letters of both operands, so each
/// operand is repeated along the dimensions that it lacks.
inline operation of_two(std::string_view a, std::string_view b, std::string_view out,
                        double (*f)(double, double)) {
  return {lettered_operands({a, b}), [=](pieces const& x) {
            return einsum({a, b}, out, x, [=](auto const& v) { return f(v[0], v[1]); });
          }};
}

inline operation binary(std::string_view a, std::string_view b, double (*f)(double, double)) {
  return of_two(a, b, a, f);
}

inline operation map(int rank, double (*f)(double), double tolerance = 0) {
  return {[=](extent_source& extents) {
            return std::vector{random_integers(extents.random, dims(extents, rank))};
          },
          [=](pieces const& x) -> std::optional<dense> {
            dense y = x[0];
            for (auto& v : y.values) v = f(v);
            return y;
          },
          tolerance};
}

inline operation transpose(std::vector<int> order) {
  return {[=](extent_source& extents) {
            return std::vector{
                random_integers(extents.random, dims(extents, static_cast<int>(order.size())))};
          },
          [=](pieces const& x) -> std::optional<dense> {
            index e;
            for (int d : order) e.push_back(x[0].extent(d));
            dense y(e);
            for_each_index(e, [&](index const& i) {
              index j(i.size());
              for (std::size_t d = 0; d < i.size(); ++d)
                j[static_cast<std::size_t>(order[d])] = i[d];
              y(i) = x[0](j);
            });
            return y;
          }};
}

inline double identity_of(reduction op) {
  double const infinity = std::numeric_limits<double>::infinity();
  return op == reduction::sum ? 0 : op == reduction::max ? -infinity : infinity;
}

inline dense reduced_over(dense const& x, int dim, reduction op) {
  index e = x.extents;
  e.erase(e.begin() + dim);
  dense y(e, identity_of(op));
  for_each_index(x.extents, [&](index i) {
    double const v = x(i);
    i.erase(i.begin() + dim);
    y(i) = combine(op, y(i), v);
  });
  return y;
}

/// Returns an operation that reduces over dims, which are in ascending order.
inline operation reduce(int rank, index const& reduced_dims, reduction op) {
  return {[=](extent_source& extents) {
            return std::vector{random_integers(extents.random, dims(extents, rank))};
          },
          [=](pieces const& x) -> std::optional<dense> {
            dense y = x[0];
            for (auto d = reduced_dims.rbegin(); d != reduced_dims.rend(); ++d)
              y = reduced_over(y, *d, op);
            return y;
          }};
}

inline operation softmax(int rank, int dim) {
  return {[=](extent_source& extents) {
            return std::vector{random_integers(extents.random, dims(extents, rank), -3, 3)};
          },
          [=](pieces const& x) -> std::optional<dense> {
            dense y = x[0];
            for (auto& v : y.values) v = std::exp(v);
            dense const sum = reduced_over(y, dim, reduction::sum);
            for_each_index(y.extents, [&](index const& i) {
              index row = i;
              row.erase(row.begin() + dim);
              y(i) /= sum(row);
            });
            return y;
          },
          1e-12};
}

/// Returns an operation of layer norm. If `result` is 0, it computes y from (x, gain, bias). If
/// `result` is 1, 2 or 3, it computes the gradient of x, gain or bias from (x, gain, dy).
inline operation layer_norm(int rank, int result) {
  return {[=](extent_source& extents) {
            index const e = dims(extents, rank);
            std::vector<dense> operands{random_integers(extents.random, e),
                                        random_integers(extents.random, {e.back()})};
            operands.push_back(random_integers(extents.random, result == 0 ? index{e.back()} : e));
            return operands;
          },
          [=](pieces const& p) -> std::optional<dense> {
            auto const &x = p[0], &gain = p[1], &third = p[2];
            int const n = x.extents.back();
            if (gain.extents != index{n}) return {};
            if (third.extents != (result == 0 ? index{n} : x.extents)) return {};
            dense y(result < 2 ? x.extents : index{n});
            index rows = x.extents;
            rows.pop_back();
            for_each_index(rows, [&](index const& row) {
              auto at = [&](int k) {
                index i = row;
                i.push_back(k);
                return i;
              };
              double mean = 0, variance = 0, sum = 0, dot = 0;
              for (int k = 0; k < n; ++k) mean += x(at(k)) / n;
              for (int k = 0; k < n; ++k) variance += (x(at(k)) - mean) * (x(at(k)) - mean) / n;
              double const scale = 1 / std::sqrt(variance + 1e-5);
              auto hat = [&](int k) { return (x(at(k)) - mean) * scale; };
              for (int k = 0; k < n && result == 1; ++k) {
                sum += third(at(k)) * gain({k}) / n;
                dot += third(at(k)) * gain({k}) * hat(k) / n;
              }
              for (int k = 0; k < n; ++k) {
                if (result == 0) y(at(k)) = hat(k) * gain({k}) + third({k});
                if (result == 1) y(at(k)) = scale * (third(at(k)) * gain({k}) - sum - hat(k) * dot);
                if (result == 2) y({k}) += third(at(k)) * hat(k);
                if (result == 3) y({k}) += third(at(k));
              }
            });
            return y;
          },
          1e-9};
}

/// Returns the embedding operation on (ids, table). As in the library, an id outside the rows that
/// the rank holds gives a zero vector.
inline operation embedding(int rank) {
  return {[=](extent_source& extents) {
            index const e = dims(extents, rank);
            int const vocabulary = extents(1);
            return std::vector{random_integers(extents.random, e, 0, vocabulary - 1),
                               random_integers(extents.random, {vocabulary, extents()})};
          },
          [=](pieces const& x) -> std::optional<dense> {
            index e = x[0].extents;
            e.push_back(x[1].extent(1));
            dense y(e);
            for_each_index(x[0].extents, [&](index i) {
              int const row = static_cast<int>(x[0](i)) - x.begin[1][0];
              if (row < 0 || row >= x[1].extent(0)) return;
              i.push_back(0);
              for (int k = 0; k < e.back(); ++k) {
                i.back() = k;
                y(i) = x[1]({row, k});
              }
            });
            return y;
          }};
}

/// Returns an operation of attention. If `result` is 0, it computes y from qkv. If `result` is 1,
/// it computes dqkv from (qkv, dy). qkv has the shape [batch, seq, heads, 3 head_dim].
inline operation attention(int result, bool causal = true) {
  return {
      [=](extent_source& extents) {
        auto e = [&] { return std::min(extents(), 4); };
        index const s{e(), e(), e(), 3 * uniform(extents.random, 1, 2)};
        std::vector<dense> operands{random_integers(extents.random, s, -2, 2)};
        if (result == 1)
          operands.push_back(random_integers(extents.random, {s[0], s[1], s[2], s[3] / 3}, -3, 3));
        return operands;
      },
      [=](pieces const& x) -> std::optional<dense> {
        dense const& qkv = x[0];
        index const e = qkv.extents;
        if (e[3] % 3 != 0) return {};
        int const hd = e[3] / 3;
        index const out{e[0], e[1], e[2], hd};
        if (result == 1 && x[1].extents != out) return {};
        dense y(out), gradient(e);
        for_each_index({e[0], e[2], e[1]}, [&](index const& bhs) {
          int const b = bhs[0], h = bhs[1], s = bhs[2];
          std::vector<double> w, dw;
          double sum = 0, dot = 0;
          int const seen = causal ? s + 1 : e[1];
          for (int t = 0; t < seen; ++t) {
            double score = 0;
            for (int k = 0; k < hd; ++k) score += qkv({b, s, h, k}) * qkv({b, t, h, hd + k});
            w.push_back(std::exp(score / 4));
            sum += w.back();
          }
          for (int t = 0; t < seen; ++t) {
            auto& weight = w[static_cast<std::size_t>(t)];
            weight /= sum;
            dw.push_back(0);
            for (int k = 0; k < hd; ++k) {
              y({b, s, h, k}) += weight * qkv({b, t, h, 2 * hd + k});
              if (result == 0) continue;
              gradient({b, t, h, 2 * hd + k}) += weight * x[1]({b, s, h, k});
              dw.back() += x[1]({b, s, h, k}) * qkv({b, t, h, 2 * hd + k});
            }
            dot += weight * dw.back();
          }
          for (int t = 0; t < seen && result == 1; ++t) {
            auto const i = static_cast<std::size_t>(t);
            double const ds = w[i] * (dw[i] - dot) / 4;
            for (int k = 0; k < hd; ++k) {
              gradient({b, s, h, k}) += ds * qkv({b, t, h, hd + k});
              gradient({b, t, h, hd + k}) += ds * qkv({b, s, h, k});
            }
          }
        });
        return result == 0 ? y : gradient;
      },
      1e-9};
}

}  // namespace ashlar_test
