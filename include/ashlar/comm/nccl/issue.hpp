// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Carries out a transfer (comm/transfer.hpp) as a sequence of NCCL calls and device kernels on one
// stream. NCCL's collectives require that all members send the same number of elements ("equal
// counts"):
//
//                       equal counts                          otherwise
//   all_gather          one all-gather                        exchange
//   all_to_all          one all-to-all                        exchange
//   permute             exchange                              exchange
//   reduce_scatter      one reduce-scatter                    exchange, then sum
//   all_reduce          one all-reduce                        one all-reduce
//   broadcast           one broadcast                         one broadcast
//   reduce              one reduce                            one reduce
//
// With ordered sums (ASHLAR_NCCL_SUMS), for sums by rank (comm/sum_order.hpp), and for maxima and
// minima of floating-point elements, reductions are instead:
//
//   reduce_scatter, reduce   exchange, then sum
//   all_reduce               exchange of parts, then sum, then one all-gather or one exchange of
//                            the summed parts
//
//   exchange   one NCCL group with at most one send to and one receive from each member; blocks
//              that are not contiguous are packed into scratch memory before, and unpacked after
//   sum        a kernel sums the received addends in the order of the transfer, so that the
//              result has the same bits as with every other transport. NCCL's own sums have an
//              order that NCCL chooses, and round bfloat16 more than once. NCCL's own maxima and
//              minima lose NaN, so a kernel always computes those that may meet one.
//
// The counts determine the calls, and all members choose the same calls. Packing is local to a
// rank. Each member receives exactly the bytes of the plan, without padding. This file does not
// include nccl.h: the parameter `Calls` executes the calls (library_calls.hpp), records them
// (recorded_calls.hpp), or simulates the device in a test.

#include <ashlar/comm/nccl/exchange.hpp>

namespace ashlar::nccl {
namespace detail {

inline bool all_alike(std::span<strided_block const> blocks) {
  for (auto const& b : blocks)
    if (b.elements != blocks[0].elements) return false;
  return true;
}

/// Returns whether the transfer reduces elements by a maximum or a minimum that may meet a NaN.
inline bool may_meet_nan(transfer const& what, element_type type) {
  bool const is_integer = type == element_type::i32 || type == element_type::i64;
  return what.op != reduction::sum && !is_integer;
}

template <calls Calls>
class issuer : private exchanger<Calls> {
 public:
  issuer(transfer const& what, element_type type, void const* from, void* to, sums how,
         Calls& calls)
      : exchanger<Calls>(what, type, from, to, calls),
        how_(what.sums == sum_order::by_rank || may_meet_nan(what, type) ? sums::ordered : how) {}

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
    calls_.all_gather(source_, into, n);  // all of this rank's shard
    if (!in_place) calls_.unpack(x_.receives, into, target_);
  }

  void all_to_all() {
    // All members must choose the same call, but each member knows only its own counts. This is
    // sufficient, because the number of elements from member i to member j is proportional to a
    // product: i's extent in one dim times j's extent in another. So if all counts of this rank are
    // equal and not 0, then the counts of every member are equal. If all counts of this rank are 0,
    // it sends and receives nothing. Routed rows, whose counts are no such products, exist on the
    // host only.
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

/// Carries out the transfer `what` from `source` to `target` by calls of `calls`. Collective over
/// the group.
template <calls Calls>
void issue(transfer const& what, element_type type, void const* source, void* target, sums how,
           Calls& calls) {
  detail::issuer<Calls>(what, type, source, target, how, calls).issue();
}

}  // namespace ashlar::nccl
