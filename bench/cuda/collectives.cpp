// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Measures redistributions between GPU ranks in turns with the NCCL call that moves the same bytes.
// The NCCL calls use a communicator of their own.
//
//   redistribution     NCCL call
//   [P] to [B]         ncclAllReduce
//   [P] to [S(0)]      ncclReduceScatter
//   [S(0)] to [B]      ncclAllGather
//   [S(0)] to [S(1)]   ncclAlltoAll, without packing; from NCCL 2.28.3 on
//
//   mpirun -n 8 bench/cuda/collectives --sizes 1MiB,256MiB
//
// A size is the number of bytes of the whole tensor. Times are those of the slowest rank. Results
// are checked before anything is timed. Ranks can share a GPU if NCCL_HOSTID is set, but then the
// times mean nothing.

#include <cstdio>
#include <cstring>
#include <iostream>

#include <CLI/CLI.hpp>

#include <ashlar/comm/nccl/backend.hpp>
#include <ashlar/comm/nccl/environment.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/redistribute.hpp>

#include "../support/csv.hpp"
#include "../support/device_trials.hpp"
#include "../support/options.hpp"
#include "../support/settings.hpp"
#include "../support/sizes.hpp"

namespace {

using namespace ashlar_bench;
using ashlar::placement;
namespace cuda = ashlar::cuda;
namespace nccl = ashlar::nccl;
using matrix = ashlar::tensor<float, 2, ashlar::dynamic, cuda::processor>;

struct options : measuring_options {
  options() : measuring_options{{0.4, 3, 31, 5e-3}} {}
  std::vector<std::string> sizes{"64KiB", "1MiB", "16MiB", "256MiB"};
};

struct move {
  char const* name;
  char const* bare;
  placement from, to;
};
std::vector<move> moves() {
  placement const b{ashlar::broadcast()}, p{ashlar::partial()}, rows{ashlar::split(0)};
  std::vector<move> all{{"all-reduce", "ncclAllReduce", p, b},
                        {"all-gather", "ncclAllGather", rows, b},
                        {"reduce-scatter", "ncclReduceScatter", p, rows}};
#if NCCL_VERSION_CODE >= 22803
  all.push_back({"all-to-all", "ncclAlltoAll", rows, placement{ashlar::split(1)}});
#endif
  return all;
}

/// An NCCL communicator of all ranks of the mesh, made by direct calls of NCCL. run() returns when
/// its work is enqueued on the stream.
class bare_ranks {
 public:
  explicit bare_ranks(nccl::mesh const& mesh) : members_(mesh.ranks()) {
    ncclUniqueId id{};
    if (mesh.rank() == 0) nccl::check(ncclGetUniqueId(&id), {0, "", "ncclGetUniqueId"});
    std::int64_t words[sizeof id / 8];
    // The sum of all ranks' ids is the id of rank 0, because all other ranks have zeros.
    std::memcpy(words, &id, sizeof id);
    mesh.all_reduce(std::span<std::int64_t>(words));
    std::memcpy(&id, words, sizeof id);
    nccl::check(ncclCommInitRank(&comm_, members_, id, mesh.rank()),
                {mesh.rank(), "", "ncclCommInitRank"});
  }
  bare_ranks(bare_ranks const&) = delete;
  bare_ranks& operator=(bare_ranks const&) = delete;
  ~bare_ranks() { ncclCommDestroy(comm_); }

  /// Makes the NCCL call that corresponds to the redistribution `m`, from this rank's source shard
  /// to its target shard. `elements` is the number of elements of the whole tensor.
  void run(move const& m, float const* from, float* to, std::int64_t elements,
           cudaStream_t stream) const {
    auto const all = static_cast<std::size_t>(elements);
    auto const share = all / static_cast<std::size_t>(members_);
    std::string const name = m.name;
    ncclResult_t status = ncclSuccess;
    if (name == "all-reduce")
      status = ncclAllReduce(from, to, all, ncclFloat, ncclSum, comm_, stream);
    else if (name == "all-gather")
      status = ncclAllGather(from, to, share, ncclFloat, comm_, stream);
    else if (name == "reduce-scatter")
      status = ncclReduceScatter(from, to, share, ncclFloat, ncclSum, comm_, stream);
#if NCCL_VERSION_CODE >= 22803
    else
      status = ncclAlltoAll(from, to, share / static_cast<std::size_t>(members_), ncclFloat, comm_,
                            stream);
#endif
    nccl::check(status, {-1, "", m.bare}, comm_);
  }

 private:
  ncclComm_t comm_ = nullptr;
  int members_ = 1;
};

/// The value of the tensor at a global index: a small integer, so that sums are exact.
float total_at(std::int64_t index) { return static_cast<float>(index % 31 - 9); }

bool holds_totals(matrix const& x, float addends) {
  std::vector<float> mine(static_cast<std::size_t>(x.local_elements()));
  cuda::download(x.mesh().processor(), static_cast<float const*>(x.data()), x.local_elements(),
                 mine.data());
  auto const& box = x.local_box();
  std::size_t at = 0;
  for (std::int64_t i = 0; i < box[0].size; ++i)
    for (std::int64_t j = 0; j < box[1].size; ++j)
      if (mine[at++] != addends * total_at((box[0].begin + i) * x.extents()[1] + box[1].begin + j))
        return false;
  return true;
}

/// Makes the tensor to redistribute. With the placement [P], every rank's addend is the whole
/// tensor.
matrix make_source(nccl::mesh const& mesh, ashlar::shape const& extents, placement const& p) {
  matrix x(mesh, extents, p);
  std::vector<float> mine;
  auto const& box = x.local_box();
  for (std::int64_t i = 0; i < box[0].size; ++i)
    for (std::int64_t j = 0; j < box[1].size; ++j)
      mine.push_back(total_at((box[0].begin + i) * extents[1] + box[1].begin + j));
  cuda::upload(mesh.processor(), mine.data(), x.local_elements(), x.data());
  return x;
}

void run_all(options const& o, nccl::world const& w) {
  nccl::mesh const mesh(w, {{"gpu", w.size()}});
  bool const speaks = w.rank() == 0;
  csv_file csv(speaks ? o.csv : "", "ranks,case,bare,bytes,ours_us,bare_us,bare/ours,ours_gbs");
  {
    bare_ranks const bare(mesh);
    agreement const most = [&](std::vector<double> values) {
      mesh.all_reduce(std::span<double>(values), ashlar::reduction::max);
      return values;
    };
    cudaStream_t const stream = mesh.processor();
    for (auto const& size : o.sizes)
      for (auto const& m : moves()) {
        std::int64_t const bytes = parse_size(size), columns = 64 * w.size(),
                           rows = bytes / 4 / columns / w.size() * w.size();
        if (rows == 0)
          throw std::runtime_error("--sizes " + size + " is too small for " +
                                   std::to_string(w.size()) + " ranks.");
        ashlar::shape const extents{rows, columns};
        matrix const source = make_source(mesh, extents, m.from);
        matrix target(mesh, extents, m.to), ours;
        float const addends = m.from[0].is_partial() ? static_cast<float>(w.size()) : 1;
        bool const packs = std::string(m.name) == "all-to-all";
        std::vector<contestant> const all{
            {"redistribute", role::ours, [&] { ours = ashlar::redistribute(source, m.to); },
             [&] { return holds_totals(ours, addends); }},
            {m.bare, role::bare,
             [&] { bare.run(m, source.data(), target.data(), rows * columns, stream); },
             packs ? std::function<bool()>() : [&] { return holds_totals(target, addends); }}};
        check_on_device(all, m.name, {}, most);
        auto const t = measure_on_device(stream, all, o.how, most);
        double const mine = t[0].median, theirs = t[1].median;
        if (!speaks) continue;
        std::printf("%2d ranks  %-15s %8s  ours %10.2f us  %-18s %10.2f us  bare/ours %5.2f\n",
                    w.size(), m.name, size.c_str(), mine * 1e6, m.bare, theirs * 1e6,
                    theirs / mine);
        std::fflush(stdout);
        csv.row({std::to_string(w.size()), m.name, m.bare, std::to_string(4 * rows * columns),
                 number(mine * 1e6, "%.2f"), number(theirs * 1e6, "%.2f"), number(theirs / mine),
                 number(4e-9 * double(rows * columns) / mine, "%.1f")});
      }
  }
  if (speaks) std::printf("all results right\n");
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app("Measures redistributions of GPU ranks beside bare NCCL");
  app.add_option("--sizes", o.sizes, "bytes of the whole tensor")->delimiter(',');
  add_to(app, o, "case");
  bool const speaks = ashlar_bench::environment_or("OMPI_COMM_WORLD_RANK", "0") == "0";
  if (auto const code = parse(app, o, argc, argv, speaks ? 0 : 1)) return *code;
  nccl::environment env(argc, argv);  // From here on an uncaught exception ends all ranks.
  if (env.size() < 2) {
    std::cerr << "bench/cuda/collectives: start it on two ranks or more, each with a device.\n";
    return 77;
  }
  for (auto const& size : o.sizes) parse_size(size);
  run_all(o, env.world());
}
