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

#include <ashlar/comm/nccl/exchange.hpp>

namespace ashlar::nccl {
namespace detail {

inline bool all_alike(std::span<strided_block const> blocks) {
  for (auto const& b : blocks)
    if (b.elements != blocks[0].elements) return false;
  return true;
}

template <calls Calls>
class issuer : private exchanger<Calls> {
 public:
  issuer(transfer const& what, element_type type, void const* from, void* to, sums how,
         Calls& calls)
      : exchanger<Calls>(what, type, from, to, calls), how_(how) {}

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

  using base = exchanger<Calls>;
  using base::calls_, base::exchange, base::for_each_other, base::mine, base::packed, base::source_,
      base::sum_my_part, base::target, base::target_, base::x_;

  sums how_;
};

}  // namespace detail

/// Issues the calls that carry `what` out of `source` into `target`. Communicates: the transfer.
template <calls Calls>
void issue(transfer const& what, element_type type, void const* source, void* target, sums how,
           Calls& calls) {
  detail::issuer<Calls>(what, type, source, target, how, calls).issue();
}

}  // namespace ashlar::nccl
