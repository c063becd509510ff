// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// A transfer (comm/transfer.hpp) as calls of NCCL and of the device's kernels, one after the other on
// one stream.
//
//                       all counts equal                      else
//   all_gather          one all-gather                        exchange
//   all_to_all          one all-to-all                        exchange
//   permute             exchange
//   reduce_scatter      one reduce-scatter                    exchange, then sum
//   all_reduce          one all-reduce
//   broadcast           one broadcast
//   reduce              one reduce
//   ordered sums:
//   reduce_scatter      exchange, then sum                    reduce   the same
//   all_reduce          exchange of parts, sum; then the parts, by one all-gather or an exchange
//
//   exchange   a group of one send to and one receive from each member that has something; what is no
//              run of memory is packed into scratch memory before and unpacked after
//   sum        of what arrived, by a kernel, in the order of comm/transfer.hpp: the bits of every other
//              transport. NCCL's own sums (the default where counts are equal) have the order that NCCL
//              likes, and of bfloat16 round more often than once.
//
// Which calls of NCCL are made follows from counts that all members see alike; packing concerns one rank.
// Members receive the bytes of the plan, no padding. Nothing here knows nccl.h: `Calls` is what issues
// (library_calls.hpp), or writes down (recorded_calls.hpp), or plays the device in a test.

#include <concepts>
#include <span>

#include <ashlar/comm/element_type.hpp>
#include <ashlar/comm/transfer.hpp>
#include <ashlar/support/small_vector.hpp>

namespace ashlar::nccl {

enum class sums : signed char { library, ordered };

/// The calls of one transfer: its communicator, stream and element type are theirs to know. Counts are
/// of elements; pointers are to device memory.
template <class Calls>
concept calls = requires(Calls& c, std::byte const* from, std::byte* to, std::int64_t n, int peer,
                         reduction op, strided_block const& b, std::span<strided_block const> list,
                         std::span<std::byte const* const> addends) {
  c.group_start();
  c.group_end();
  c.send(from, n, peer);
  c.receive(to, n, peer);
  c.all_gather(from, to, n);          // n: of each member
  c.reduce_scatter(from, to, n, op);  // n: to each member
  c.all_reduce(from, to, n, op);
  c.all_to_all(from, to, n);       // n: between two members
  c.broadcast(from, to, n, peer);  // peer: the root
  c.reduce(from, to, n, op, peer);
  c.copy(b, from, to);                           // a block of an array to its place in another
  c.pack(list, from, to);                        // blocks of an array, one after the other
  c.unpack(list, from, to);                      // and back
  c.combine(op, addends, to, n);                 // n elements, left to right (comm/transfer.hpp)
  { c.scratch(n) } -> std::same_as<std::byte*>;  // n elements until the calls have ended
};

namespace detail {

inline bool all_alike(std::span<strided_block const> blocks) {
  for (auto const& b : blocks)
    if (b.elements != blocks[0].elements) return false;
  return true;
}

/// Whether the blocks are runs of memory, one after the other from the array's begin.
inline bool follow(std::span<strided_block const> blocks, bool strided_block::*is_run,
                   std::int64_t strided_block::*offset) {
  std::int64_t end = 0;
  for (auto const& b : blocks) {
    if (b.elements > 0 && !(b.*is_run && b.*offset == end)) return false;
    end += b.elements;
  }
  return true;
}

template <calls Calls>
class issuer {
 public:
  issuer(transfer const& what, element_type type, void const* source, void* target, sums how,
         Calls& calls)
      : x_(what), size_(size_of(type)), source_(static_cast<std::byte const*>(source)),
        target_(static_cast<std::byte*>(target)), how_(how), calls_(calls) {}

  void issue() {
    if (x_.members == 1) {
      if (mine().elements > 0 && source_ != target_) calls_.copy(mine(), source_, target_);
      return;
    }
    switch (x_.kind) {
      case collective::all_gather: return all_gather();
      case collective::all_to_all: return all_to_all();
      case collective::reduce_scatter: return reduce_scatter();
      case collective::all_reduce: return all_reduce();
      case collective::broadcast:
        if (x_.from.elements() > 0)
          calls_.broadcast(source_, target_, x_.from.elements(), x_.partner);
        return;
      case collective::reduce: return reduce();
      default: return exchange();
    }
  }

 private:
  using blocks = std::span<strided_block const>;

  strided_block const& mine() const { return x_.receives[my()]; }
  std::size_t my() const { return static_cast<std::size_t>(x_.index); }
  std::byte const* source(std::int64_t elements) const { return source_ + elements * size_; }
  std::byte* target(std::int64_t elements) const { return target_ + elements * size_; }

  void all_gather() {
    if (!all_alike(x_.receives)) return exchange();
    std::int64_t const n = mine().elements;
    if (n == 0) return;
    bool const in_place = follow(x_.receives, &strided_block::target_is_run,
                                 &strided_block::target_offset);
    std::byte* const into = in_place ? target_ : calls_.scratch(x_.members * n);
    calls_.all_gather(source_, into, n);  // all of my shard
    if (!in_place) calls_.unpack(x_.receives, into, target_);
  }

  void all_to_all() {
    // The counts are products: of what a member holds of one dim, and what it gets of another. So where
    // mine are all equal, either all are, or I have nothing to send or to receive.
    if (!all_alike(x_.sends) || !all_alike(x_.receives)) return exchange();
    std::int64_t const n = mine().elements;
    if (n == 0) return;
    bool const arrive = follow(x_.receives, &strided_block::target_is_run,
                               &strided_block::target_offset);
    std::byte* const into = arrive ? target_ : calls_.scratch(x_.members * n);
    calls_.all_to_all(packed(x_.sends), into, n);
    if (!arrive) calls_.unpack(x_.receives, into, target_);
  }

  /// Blocks of the source one after the other.
  std::byte const* packed(blocks list) {
    if (follow(list, &strided_block::source_is_run, &strided_block::source_offset)) return source_;
    std::int64_t elements = 0;
    for (auto const& b : list) elements += b.elements;
    std::byte* const scratch = calls_.scratch(elements);
    calls_.pack(list, source_, scratch);
    return scratch;
  }

  void reduce_scatter() {
    if (how_ == sums::ordered || !all_alike(x_.sends)) return sum_my_part();
    std::int64_t const n = mine().elements;
    if (n > 0) calls_.reduce_scatter(packed(x_.sends), target_, n, x_.op);
  }

  void reduce() {
    if (how_ == sums::ordered) return sum_my_part();
    std::int64_t const elements = x_.from.elements();
    if (elements > 0) calls_.reduce(source_, target_, elements, x_.op, x_.partner);
  }

  void all_reduce() {
    std::int64_t const elements = x_.from.elements();
    if (elements == 0) return;
    if (how_ == sums::library) return calls_.all_reduce(source_, target_, elements, x_.op);
    sum_my_part();
    if (all_alike(x_.receives))
      return calls_.all_gather(target(mine().target_offset), target_, mine().elements);
    calls_.group_start();
    for_each_other([&](int j, strided_block const&, strided_block const& part) {
      if (mine().elements > 0) calls_.send(target(mine().target_offset), mine().elements, j);
      if (part.elements > 0) calls_.receive(target(part.target_offset), part.elements, j);
    });
    calls_.group_end();
  }

  /// visit(j, what I send to j, what I receive from j), nearest members first.
  template <class Visit>
  void for_each_other(Visit const& visit) const {
    for (int i = 1; i < x_.members; ++i) {
      auto const j = static_cast<std::size_t>((x_.index + i) % x_.members);
      visit(static_cast<int>(j), x_.sends[j], x_.receives[j]);
    }
  }

  /// Where each block to another member begins when it is sent: in the source, or in packed memory.
  void find_departures() {
    bool all_runs = true;
    std::int64_t elements = 0;
    for_each_other([&](int, strided_block const& sent, strided_block const&) {
      all_runs = all_runs && (sent.elements == 0 || sent.source_is_run);
      elements += sent.elements;
    });
    if (all_runs) {
      for (auto const& b : x_.sends) departures_.push_back(source(b.source_offset));
      return;
    }
    std::byte* const scratch = calls_.scratch(elements);
    std::byte* at = scratch;
    for (auto const& b : x_.sends) {
      departures_.push_back(at);
      if (&b != &x_.sends[my()]) at += b.elements * size_;
    }
    pack(blocks(x_.sends).first(my()), scratch);
    pack(blocks(x_.sends).subspan(my() + 1), scratch + elements_before_me(x_.sends) * size_);
  }
  void pack(blocks list, std::byte* into) {
    for (auto const& b : list)
      if (b.elements > 0) return calls_.pack(list, source_, into);
  }
  std::int64_t elements_before_me(blocks list) const {
    std::int64_t elements = 0;
    for (auto const& b : list.first(my())) elements += b.elements;
    return elements;
  }

  void exchange() {
    find_departures();
    bool all_runs = true;
    std::int64_t arriving = 0, leaving = 0;
    for_each_other([&](int, strided_block const& sent, strided_block const& received) {
      all_runs = all_runs && (received.elements == 0 || received.target_is_run);
      arriving += received.elements;
      leaving += sent.elements;
    });
    std::byte* const scratch = all_runs ? nullptr : calls_.scratch(arriving);
    if (mine().elements > 0) calls_.copy(mine(), source_, target_);
    if (arriving + leaving == 0) return;
    small_vector<std::byte*, 64> arrivals;
    std::byte* at = scratch;
    for (auto const& b : x_.receives) {
      arrivals.push_back(all_runs ? target(b.target_offset) : at);
      if (!all_runs && &b != &mine()) at += b.elements * size_;
    }
    std::span<std::byte* const> const into = arrivals;
    post([&](int j) { return into[static_cast<std::size_t>(j)]; });
    if (all_runs) return;
    unpack(blocks(x_.receives).first(my()), scratch);
    unpack(blocks(x_.receives).subspan(my() + 1),
           scratch + elements_before_me(x_.receives) * size_);
  }
  void unpack(blocks list, std::byte const* from) {
    for (auto const& b : list)
      if (b.elements > 0) return calls_.unpack(list, from, target_);
  }

  /// The sends from the departures, and the receives into arrival(j), as one group. Where it is
  /// addends that arrive, all are of my part.
  template <class Arrival>
  void post(Arrival const& arrival) {
    std::span<std::byte const* const> const from = departures_;
    calls_.group_start();
    for_each_other([&](int j, strided_block const& sent, strided_block const& received) {
      std::int64_t const n = x_.reduces() ? mine().elements : received.elements;
      if (sent.elements > 0) calls_.send(from[static_cast<std::size_t>(j)], sent.elements, j);
      if (n > 0) calls_.receive(arrival(j), n, j);
    });
    calls_.group_end();
  }

  /// My part, of all members' addends in the one order.
  void sum_my_part() {
    int const p = x_.members;
    std::int64_t const n = mine().elements;
    std::int64_t leaving = 0;
    for_each_other(
        [&](int, strided_block const& sent, strided_block const&) { leaving += sent.elements; });
    if (n == 0 && leaving == 0) return;
    find_departures();
    std::byte* const arrivals = n > 0 ? calls_.scratch((p - 1) * n) : nullptr;
    // From member (index + i) mod p at place i - 1: the order of the sum.
    auto const place = [&](int j) { return arrivals + ((j - x_.index + p) % p - 1) * n * size_; };
    post(place);
    if (n == 0) return;
    auto const& own = x_.sends[my()];
    std::byte const* own_addend = source(own.source_offset);
    if (!own.source_is_run) {
      std::byte* const scratch = calls_.scratch(n);
      calls_.pack({&own, 1}, source_, scratch);
      own_addend = scratch;
    }
    small_vector<std::byte const*, 64> addends;
    for (int i = 1; i < p; ++i) addends.push_back(arrivals + (i - 1) * n * size_);
    addends.push_back(own_addend);
    calls_.combine(x_.op, addends, target(mine().target_offset), n);
  }

  transfer const& x_;
  std::int64_t size_;
  std::byte const* source_;
  std::byte* target_;
  sums how_;
  Calls& calls_;
  small_vector<std::byte const*, 64> departures_;
};

}  // namespace detail

/// Issues the calls that carry `what` out of `source` into `target`. Communicates: the transfer.
template <calls Calls>
void issue(transfer const& what, element_type type, void const* source, void* target, sums how,
           Calls& calls) {
  detail::issuer<Calls>(what, type, source, target, how, calls).issue();
}

}  // namespace ashlar::nccl
