// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cells of HiDup's tables and figures (Zhang et al., SoCC 2022, section 6): its nets, its
// clusters and the plans that are compared in each cell.
//
//   cell         a net on a cluster, with a bandwidth between machines and a batch per GPU
//   problem_of   describes a training step of a cell in some number of micro-batches
//   ours         finds the plan whose step, with overlap, takes the fewest seconds, in one or in
//                two micro-batches
//   theirs       finds the plan of the paper's search
//
// The paper does not state these values:
//
//   batch   4,096 tokens per GPU, which agrees with the work of table 4: 32 sequences of 128
//           tokens, or 64 images of 64 patches
//   GEMMs   gemm_half (machine/gemm.hpp) is that of the preset p3_8xlarge.
//   flops   The speed is chosen so that the work of BERT-SGMoE on one machine is that of table 4.

#include <string>
#include <vector>

#include <ashlar/machine/machine.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/step/problem.hpp>
#include <ashlar/step/timeline.hpp>

namespace ashlar_bench {

namespace search = ashlar::search;

inline std::vector<std::string> const hidup_nets{"bert-sgmoe", "bert-switch", "vit-sgmoe",
                                                 "vit-switch"};

struct cell {
  std::string net = "bert-sgmoe";
  int nodes = 1, gpus = 4;  ///< machines, and GPUs of each machine
  double gbit = 100;        ///< bandwidth between machines, in Gb/s
  int samples = 0;          ///< samples per GPU; 0 means as many as have 4,096 tokens
  int layers = 8;           ///< an even number; the paper's nets have 8

  int ranks() const { return nodes * gpus; }
  ashlar::topology mesh() const;
  ashlar::machine machine() const;
};

/// Returns the search problem of a step of the cell, divided into `micro_batches` micro-batches.
/// The step is in single precision and has the states of Adam.
search::problem problem_of(cell const& c, int micro_batches);

/// A plan of a cell, and the timeline of its step.
struct outcome {
  search::plan plan;
  double seconds = 0;        ///< seconds of a step
  double work = 0;           ///< seconds of computations
  double communication = 0;  ///< seconds of redistributions, hidden or not
  std::int64_t memory = 0;   ///< the most bytes that a rank needs
  double cpu = 0;            ///< seconds of the search

  /// Returns the seconds in which computation and communication run at the same time, divided by
  /// the lesser of `work` and `communication`, as in table 4.
  double overlap() const;
};

/// Returns the plan and the timeline of its program. If `overlap` is true, the program is first
/// reordered so that transfers run beside computations. Otherwise it stays in serial order.
outcome timed(search::problem const& net, search::plan const& plan, ashlar::machine const& m,
              bool overlap);

/// Returns the plan whose step, with overlap, takes the fewest seconds for this number of
/// micro-batches. All micro-batches of the step take turns: while the redistributions of one run,
/// another one computes (step/turns.hpp).
outcome ours_in(cell const& c, int micro_batches, ashlar::topology const& mesh,
                ashlar::machine const& m);
/// Returns the faster of two plans, one for one micro-batch and one for two. The gap of the result
/// holds for both numbers of micro-batches.
outcome ours(cell const& c);
/// Returns the plan of the paper's search.
outcome theirs(cell const& c);

/// Returns the best plan of expert parallelism without overlap, which is how DeepSpeed and FastMoE
/// train.
outcome expert_parallel(cell const& c);
/// Returns the plan of data parallelism in which the reductions of gradients overlap with the
/// backward pass, which is how PyTorch DDP and Horovod train.
outcome data_parallel(cell const& c);

}  // namespace ashlar_bench
