// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
// ranks: 1 2 3 4

// Tests einsum, take_rows, add_rows and split_into on all placements against dense computations in
// double. If the meaning of the placements allows an operation, its result must have the right
// values. Otherwise the operation must be refused with a message that names the operator. No
// operation communicates.

#include <doctest/doctest.h>
#include <support/combinations.hpp>
#include <support/message_of.hpp>
#include <support/naive_kernels.hpp>
#include <support/placed.hpp>

#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/einsum.hpp>
#include <ashlar/tensor/rows.hpp>
#include <ashlar/tensor/split_into.hpp>

namespace ashlar_test {
namespace {

using namespace ashlar::placements;
using ashlar::axis_placement;
using ashlar::reduction;
using ashlar::sbp;

/// Runs an operator and returns whether it was accepted. If it was accepted, its result must be
/// `truth`. If it was refused, the message must begin with the operator's name.
template <class Action>
bool ran(Action action, dense const& truth, std::string const& name) {
  std::string wrong;
  auto const message = message_of([&] { wrong = wrong_with(action(), truth, 1e-6); });
  if (message == "nothing was thrown") {
    CHECK_MESSAGE(wrong == "", name);
    return true;
  }
  CHECK_MESSAGE(message.find(name + ": on one mesh axis ") == 0, message);
  CHECK_MESSAGE(has(message, "failing axis: "), message);
  return false;
}

/// Returns the letter of the dim that a mesh axis splits, or 0 if the axis splits no dim.
char letter_of(axis_placement const& a, std::string_view letters) {
  return a.is_split() ? letters[static_cast<std::size_t>(a.dim)] : '\0';
}
bool contains(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}
/// Returns whether the shard orders of the operands agree: if two mesh axes split the same letter
/// in both operands, they must nest in the same order in both operands.
bool one_order(placement const& p, std::string_view a, placement const& q, std::string_view b) {
  for (int i = 0; i < p.axes(); ++i)
    for (int j = 0; j < i; ++j)
      if (letter_of(p[i], a) != 0 && letter_of(p[i], a) == letter_of(p[j], a) &&
          letter_of(q[i], b) != 0 && letter_of(q[i], b) == letter_of(q[j], b) &&
          (p[i].depth < p[j].depth) != (q[i].depth < q[j].depth))
        return false;
  return true;
}
bool is_local(placement const& p, std::string_view a, placement const& q, std::string_view b) {
  for (int i = 0; i < p.axes(); ++i) {
    char const x = letter_of(p[i], a), y = letter_of(q[i], b);
    if (p[i].is_partial() && (q[i].is_partial() || y != 0)) return false;
    if (q[i].is_partial() && x != 0) return false;
    if (x != 0 && y != 0 && x != y) return false;
    if (x != 0 && y == 0 && contains(b, x)) return false;
    if (y != 0 && x == 0 && contains(a, y)) return false;
  }
  return one_order(p, a, q, b);
}

/// Checks an einsum of two operands on every pair of placements.
template <ashlar::einsum_text Text, class T>
void products(ashlar::mesh const& m, std::map<char, int> const& extent) {
  constexpr auto of = ashlar::read_einsum(Text);
  std::string_view const a = of.a.view(), b = of.b.view();
  pieces const whole{
      {seeded_integers(extents_of(extent, a), 1), seeded_integers(extents_of(extent, b), 2)}, {}};
  auto const truth = *einsum({a, b}, of.c.view(), whole, [](auto const& v) { return v[0] * v[1]; });
  CAPTURE(Text.view());
  for (auto const& p : all_placements(of.a.length, m.axes(), {reduction::sum}))
    for (auto const& q : all_placements(of.b.length, m.axes(), {reduction::sum})) {
      auto const x = placed<T, of.a.length>(m, whole[0], p, 3);
      auto const y = placed<T, of.b.length>(m, whole[1], q, 4);
      CHECK(ran([&] { return ashlar::einsum<Text>(x, y); }, truth, "einsum") ==
            is_local(p, a, q, b));
    }
}

/// Checks an einsum of one operand on every placement.
template <ashlar::einsum_text Text, class T>
void sums(ashlar::mesh const& m, std::map<char, int> const& extent) {
  constexpr auto of = ashlar::read_einsum(Text);
  pieces const whole{{seeded_integers(extents_of(extent, of.a.view()), 1)}, {}};
  auto const truth = *einsum({of.a.view()}, of.c.view(), whole, [](auto const& v) { return v[0]; });
  for (auto const op : {reduction::sum, reduction::max})
    for (auto const& p : all_placements(of.a.length, m.axes(), {op})) {
      auto const x = placed<T, of.a.length>(m, whole[0], p, 3);
      CHECK(ran([&] { return ashlar::einsum<Text>(x); }, truth, "einsum") ==
            (op == reduction::sum || !p.has_partial() || of.a.length == of.c.length));
    }
}

/// Checks take_rows and add_rows of tables of two dims and ids of one dim.
template <class T>
void rows(ashlar::mesh const& m, int count, int columns, int tokens) {
  dense const table = seeded_integers({count, columns}, 1);
  dense ids({tokens});
  for (int t = 0; t < tokens; ++t) ids({t}) = (t * t + 1) % count;
  dense const added = seeded_integers({tokens, columns}, 2);
  dense taken({tokens, columns}), sum = table;
  for_each_index(taken.extents, [&](index const& i) {
    index const at{static_cast<int>(ids({i[0]})), i[1]};
    taken(i) = table(at);
    sum(at) += added(i);
  });
  for (auto const& p : all_placements(2, m.axes(), {reduction::sum}))
    for (auto const& q : all_placements(1, m.axes(), {})) {
      auto const on = placed<T, 2>(m, table, p, 3);
      auto const numbers = placed<std::int32_t, 1>(m, ids, q);
      bool whole = true;
      for (int i = 0; i < p.axes(); ++i)
        whole = whole && (p[i].is_broadcast() || q[i].is_broadcast());
      CHECK(ran([&] { return ashlar::take_rows(on, numbers); }, taken, "take_rows") == whole);
      for (auto const& r : all_placements(2, m.axes(), {reduction::sum})) {
        bool legal = true;
        for (int i = 0; i < p.axes(); ++i) {
          bool const tokens_split = q[i].is_split();
          legal = legal && r[i].is_split_of(0) == tokens_split &&
                  (tokens_split ? p[i].is_partial()
                                : p[i].is_partial() == r[i].is_partial() &&
                                      p[i].is_split_of(1) == r[i].is_split_of(1));
          for (int j = 0; j < i; ++j)
            for (int const d : {0, 1}) {
              auto const& like = d == 0 ? q : p;
              if (r[i].is_split_of(d) && r[j].is_split_of(d) && like[i].is_split_of(d) &&
                  like[j].is_split_of(d))
                legal = legal && (r[i].depth < r[j].depth) == (like[i].depth < like[j].depth);
            }
        }
        auto const more = placed<T, 2>(m, added, r, 5);
        CHECK(ran([&] { return ashlar::add_rows(on, numbers, more); }, sum, "add_rows") == legal);
      }
    }
}

}  // namespace

TEST_CASE("an einsum of two operands on every pair of placements") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    ashlar::no_communication const forbidden(m);
    products<"mk,kn->mn", float>(m, {{'m', n + 1}, {'k', 3}, {'n', 2}});
    products<"mk,nk->nm", double>(m, {{'m', 2}, {'k', n + 1}, {'n', 3}});
    products<"mj,kn->n", float>(m, {{'m', 2}, {'j', 2}, {'k', 3}, {'n', n}});
    if (m.axes() > 1) continue;
    products<"km,kn->mn", float>(m, {{'m', 2}, {'k', 3}, {'n', 1}});
    products<"m,n->nm", float>(m, {{'m', n}, {'n', 3}});
    products<"mn,mn->m", float>(m, {{'m', n + 1}, {'n', 3}});
    products<"bsd,df->bsf", float>(m, {{'b', n}, {'s', 2}, {'d', 3}, {'f', 4}});
    products<"bqhd,bkhd->bhqk", double>(m, {{'b', 2}, {'q', n + 1}, {'k', 2}, {'h', 2}, {'d', 3}});
    products<"ab,cba->c", float>(m, {{'a', n}, {'b', 2}, {'c', 3}});
    products<"abc,acd->dab", float>(m, {{'a', 2}, {'b', 0}, {'c', n}, {'d', 2}});
    products<"ab,bc->ac", float>(m, {{'a', 2}, {'b', 0}, {'c', n}});
  }
}

TEST_CASE("an einsum of one operand on every placement") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    ashlar::no_communication const forbidden(m);
    sums<"mn->nm", float>(m, {{'m', n + 1}, {'n', 3}});
    sums<"mn->", double>(m, {{'m', n + 1}, {'n', 3}});
    sums<"mn->n", std::int32_t>(m, {{'m', n + 1}, {'n', 3}});
    if (m.axes() > 2) continue;
    sums<"bsd->db", float>(m, {{'b', n}, {'s', 3}, {'d', 2}});
  }
}

TEST_CASE("einsums of which no operand is copied") {
  using ashlar::order_of_einsum;
  using ashlar::read_einsum;
  for (char const* const text : {"bsd,df->bsf", "mk,nk->mn", "km,kn->nm", "bhqd,bhkd->bhqk",
                                 "bij,bjk->bki", "abij,ij->ab"}) {
    auto const order = order_of_einsum(read_einsum(text));
    CAPTURE(text);
    CHECK_FALSE((order.a.copied || order.b.copied || order.c.copied));
  }
  CHECK(order_of_einsum(read_einsum("bqhd,bkhd->bhqk")).a.copied);
}

TEST_CASE("an einsum refuses extents that differ, and knows texts that are none") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const x = placed<float, 2>(m, dense({2, 3}), {ashlar::broadcast()});
  auto const message = message_of([&] { (void)ashlar::einsum<"mk,kn->mn">(x, x); });
  CHECK_MESSAGE(has(message, "einsum: the extents of letter k differ: tensor 2x3 [B]"), message);
  using ashlar::einsum_fault;
  auto const fault = [](char const* text) { return ashlar::read_einsum(text).fault; };
  for (char const* const text :
       {"", "mk,kn", "m,n,k->m", "m k->m", "abcdef->a", "a->a->b", "abcde,abcde->abcde,abcde"})
    CHECK(fault(text) == einsum_fault::form);
  CHECK(fault("mm->m") == einsum_fault::letter_twice);
  CHECK(fault("mk,kn->mm") == einsum_fault::letter_twice);
  CHECK(fault("mk,kn->mx") == einsum_fault::unknown_letter);
  CHECK(fault("mk,kn->") == einsum_fault::none);
}

TEST_CASE("rows of tables on all placements") {
  for (auto const& m : all_meshes()) {
    if (m.axes() > 2) continue;
    ashlar::no_communication const forbidden(m);
    rows<float>(m, world_size() + 1, 3, 5);
    if (m.axes() > 1) continue;
    rows<ashlar::bfloat16>(m, 1, 2, world_size());
    rows<std::int64_t>(m, 3, 1, 0);
  }
}

TEST_CASE("ids that are no rows, and rows that do not fit, are refused") {
  ashlar::mesh const m(MPI_COMM_WORLD, {{"gpu", world_size()}});
  auto const table = placed<float, 2>(m, dense({4, 3}), {ashlar::split(0)});
  dense ids({2}, 1);
  ids({1}) = 4;
  auto const wrong = placed<std::int32_t, 1>(m, ids, {ashlar::broadcast()});
  auto const taken = message_of([&] { (void)ashlar::take_rows(table, wrong); });
  CHECK_MESSAGE(has(taken, "take_rows: id 4 is no row of the table, tensor 4x3 [S(0)]"), taken);
  auto const right = placed<std::int32_t, 1>(m, dense({2}), {ashlar::broadcast()});
  auto const rows = placed<float, 2>(m, dense({2, 2}), {ashlar::broadcast()});
  auto const added = message_of([&] { (void)ashlar::add_rows(table, right, rows); });
  CHECK_MESSAGE(has(added, "add_rows: the extents do not fit: tensor 2x2 [B]"), added);
}

TEST_CASE("typed einsums and rows have the right types") {
  int const n = world_size();
  ashlar::mesh const m(MPI_COMM_WORLD, {{"one", 1}, {"gpu", n}});
  using ashlar::tensor;
  using x = tensor<float, 3, sbp<S<0>, S<2>>>;
  using w = tensor<float, 2, sbp<B, S<0>>>;
  static_assert(std::same_as<decltype(ashlar::einsum<"bsd,df->bsf">(x(), w())),
                             tensor<float, 3, sbp<S<0>, P>>>);
  static_assert(
      std::same_as<decltype(ashlar::einsum<"bsd->db">(x())), tensor<float, 2, sbp<S<1>, S<0>>>>);
  using ids = tensor<std::int32_t, 2, sbp<S<1>, B>>;
  static_assert(
      std::same_as<decltype(ashlar::take_rows(w(), ids())), tensor<float, 3, sbp<S<1>, P>>>);
  static_assert(std::same_as<decltype(ashlar::add_rows(tensor<float, 2, sbp<P, S<1>>>(), ids(),
                                                       tensor<float, 3, sbp<S<1>, S<2>>>())),
                             tensor<float, 2, sbp<P, S<1>>>>);
  // The rows of a table may be numbers, and ids may have two dims.
  dense numbers({3}), taken({2, 2});
  for (int i = 0; i < 3; ++i) numbers({i}) = i + 5;
  dense where({2, 2});
  where.values = {2, 0, 1, 2};
  for (std::size_t i = 0; i < 4; ++i) taken.values[i] = where.values[i] + 5;
  auto const table = placed<float, 1>(m, numbers, {ashlar::broadcast(), ashlar::split(0)});
  auto const at = placed<std::int32_t, 2>(m, where, {ashlar::split(0), ashlar::broadcast()});
  CHECK(wrong_with(ashlar::take_rows(table, at), taken) == "");
}

TEST_CASE("parts along a dim are those that concat joins") {
  int const n = world_size();
  for (auto const& m : all_meshes()) {
    ashlar::no_communication const forbidden(m);
    dense const a = seeded_integers({n + 1, 5});
    for (auto const& p : all_placements(2, m.axes(), {reduction::sum})) {
      auto const x = placed<float, 2>(m, a, p, 3);
      bool splits = false;
      for (int i = 0; i < p.axes(); ++i)
        splits = splits || (p[i].is_split_of(1) && m.topology().axis[i].extent > 1);
      if (splits) {
        auto const message = message_of([&] { (void)ashlar::split_into<1>(x, {2, 0, 3}); });
        CHECK_MESSAGE(has(message, "elements would have to move between ranks"), message);
        continue;
      }
      auto const parts = ashlar::split_into<1>(x, {2, 0, 3});
      CHECK(parts.size() == 3);
      dense second({n + 1, 3});
      for_each_index(second.extents, [&](index const& i) { second(i) = a({i[0], i[1] + 2}); });
      CHECK(wrong_with(parts[2], second) == "");
      CHECK(wrong_with(ashlar::concat<1>(parts), a) == "");
    }
    auto const x = placed<float, 2>(m, a, placement::all_broadcast(m.axes()));
    for (auto const& sizes : {std::vector<std::int64_t>{2, 2}, {6, -1}}) {
      auto const message = message_of([&] { (void)ashlar::split_into<1>(x, sizes); });
      CHECK_MESSAGE(has(message, "split_into: the sizes are negative, or do not add up"), message);
    }
  }
}

}  // namespace ashlar_test
