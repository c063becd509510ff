// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The program that a good MPI programmer would write for one redistribution: a sequence of stages,
// each of which is one MPI call within groups of ranks along some mesh axes. Buffers and
// communicators are made in advance. The program can run in two ways:
//
//   bare     only the MPI calls, on buffers of the right size. This is a lower bound for programs
//            with these calls. The result is correct only if no stage needs packing.
//   packed   the MPI calls, with blocks packed before and unpacked after each call that needs it
//
// If the ranks have different numbers of elements, MPI_Allgatherv and MPI_Alltoallv replace
// MPI_Allgather and MPI_Alltoall.

#include <list>
#include <stdexcept>
#include <string>
#include <vector>

#include <ashlar/tensor.hpp>

#include "block.hpp"
#include "values.hpp"

namespace ashlar_bench {

enum class mpi_call {
  allgather,
  reduce_scatter,
  reduce_scatter_block,
  allreduce,
  alltoall,
  sendrecv
};

/// One MPI call: the axes of its group, and the placement of the tensor after it.
struct bare_stage {
  mpi_call call = mpi_call::allgather;
  std::vector<int> axes;
  std::string to;
};

class bare_program {
 public:
  /// Creates the communicators and buffers. The first stage starts from the placement `from`. The
  /// last stage must end with the placement that the case requires. Collective.
  bare_program(ashlar::mesh const& m, ashlar::shape const& extents, ashlar::placement from,
               std::vector<bare_stage> const& stages) {
    for (auto const& s : stages) {
      ashlar::placement const to = ashlar::parse_placement(s.to);
      stages_.emplace_back(m, extents, from, to, s);
      from = to;
    }
  }

  bool needs_packing() const {
    for (auto const& s : stages_)
      if (s.packs || s.unpacks) return true;
    return false;
  }

  /// Runs the MPI calls on `input`, this rank's shard with the first placement. Returns this rank's
  /// shard with the last placement, which stays valid until the next run. Collective.
  double const* run(double const* input, bool with_packing) {
    for (auto& s : stages_) input = s.run(input, with_packing);
    return input;
  }

 private:
  struct stage {
    mpi_call call;
    MPI_Comm comm = MPI_COMM_NULL;
    ashlar::box from, to;
    // The blocks that this rank sends to each member of its group, and the blocks that it receives
    // from each member. A list is empty if the whole shard is sent or received.
    std::vector<ashlar::box> sent, received;
    std::vector<int> send_counts, send_offsets, recv_counts, recv_offsets;
    bool packs = false, unpacks = false, equal = true;
    int partner = -1;
    std::vector<double> packed, arrived, result;

    stage(ashlar::mesh const& m, ashlar::shape const& extents, ashlar::placement const& before,
          ashlar::placement const& after, bare_stage const& what)
        : call(what.call) {
      auto const& t = m.topology();
      ashlar::axis_list axes;
      ashlar::coordinates color = m.coordinate();
      for (int const a : what.axes) {
        axes.push_back(static_cast<signed char>(a));
        color[static_cast<std::size_t>(a)] = 0;
      }
      MPI_Comm_split(MPI_COMM_WORLD, t.rank_of(color), t.index_in_group(m.coordinate(), axes),
                     &comm);
      from = local_box(extents, t, before, m.coordinate());
      to = local_box(extents, t, after, m.coordinate());
      for (int j = 0; j < t.group_size(axes); ++j) {
        auto const there = t.member(m.coordinate(), axes, j);
        auto const had = local_box(extents, t, before, there);
        auto const gets = local_box(extents, t, after, there);
        if (had == to && gets == from) partner = j;
        bool const gathers = call == mpi_call::allgather;
        if (!gathers) sent.push_back(intersect(gets, from));
        if (gathers || call == mpi_call::alltoall) received.push_back(intersect(had, to));
      }
      if (call == mpi_call::sendrecv && partner < 0)
        throw std::runtime_error("bare_program: shards do not exchange in pairs");
      bool const whole = call == mpi_call::allreduce || call == mpi_call::sendrecv;
      if (whole) sent.clear();
      packs = !sent.empty() && !lie_in_order(from, sent);
      unpacks = !received.empty() && !lie_in_order(to, received);
      lay_out(sent, send_counts, send_offsets);
      lay_out(received, recv_counts, recv_offsets);
      if (packs) packed.resize(static_cast<std::size_t>(from.elements()));
      if (unpacks) arrived.resize(static_cast<std::size_t>(to.elements()));
      result.resize(static_cast<std::size_t>(to.elements()));
    }
    stage(stage const&) = delete;
    stage(stage&& other) noexcept = delete;
    ~stage() { MPI_Comm_free(&comm); }

    void lay_out(std::vector<ashlar::box> const& blocks, std::vector<int>& counts,
                 std::vector<int>& offsets) {
      int offset = 0;
      for (auto const& b : blocks) {
        counts.push_back(static_cast<int>(b.elements()));
        offsets.push_back(offset);
        offset += counts.back();
        equal = equal && counts.back() == counts.front();
      }
    }

    double const* run(double const* input, bool with_packing) {
      double const* send = input;
      if (packs && with_packing) {
        for (std::size_t j = 0; j < sent.size(); ++j)
          copy_block(from, input, sent[j], packed.data() + send_offsets[j], sent[j]);
        send = packed.data();
      }
      bool const unpacking = unpacks && with_packing;
      double* const recv = unpacking ? arrived.data() : result.data();
      exchange(send, recv);
      if (unpacking)
        for (std::size_t j = 0; j < received.size(); ++j)
          copy_block(received[j], arrived.data() + recv_offsets[j], to, result.data(), received[j]);
      return result.data();
    }

    void exchange(double const* send, double* recv) {
      int const mine = static_cast<int>(from.elements()), got = static_cast<int>(to.elements());
      switch (call) {
        case mpi_call::allgather:
          if (equal) MPI_Allgather(send, mine, MPI_DOUBLE, recv, mine, MPI_DOUBLE, comm);
          else
            MPI_Allgatherv(send, static_cast<int>(intersect(from, to).elements()), MPI_DOUBLE, recv,
                           recv_counts.data(), recv_offsets.data(), MPI_DOUBLE, comm);
          break;
        case mpi_call::reduce_scatter:
          MPI_Reduce_scatter(send, recv, send_counts.data(), MPI_DOUBLE, MPI_SUM, comm);
          break;
        case mpi_call::reduce_scatter_block:
          MPI_Reduce_scatter_block(send, recv, got, MPI_DOUBLE, MPI_SUM, comm);
          break;
        case mpi_call::allreduce: MPI_Allreduce(send, recv, got, MPI_DOUBLE, MPI_SUM, comm); break;
        case mpi_call::alltoall:
          if (equal)
            MPI_Alltoall(send, send_counts[0], MPI_DOUBLE, recv, recv_counts[0], MPI_DOUBLE, comm);
          else
            MPI_Alltoallv(send, send_counts.data(), send_offsets.data(), MPI_DOUBLE, recv,
                          recv_counts.data(), recv_offsets.data(), MPI_DOUBLE, comm);
          break;
        case mpi_call::sendrecv:
          MPI_Sendrecv(send, mine, MPI_DOUBLE, partner, 0, recv, got, MPI_DOUBLE, partner, 0, comm,
                       MPI_STATUS_IGNORE);
          break;
      }
    }
  };

  std::list<stage> stages_;
};

}  // namespace ashlar_bench
