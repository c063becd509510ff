// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cells of HiDup's tables and figures (Zhang et al., SoCC 2022, section 6): its nets, its clusters
// and the plans that are compared in a cell.
//
//   cell        a net on some machines, at a bandwidth between them and a batch per GPU
//   problem_of  a step of a cell, in some micro-batches
//   ours        the searched plan of least overlapped seconds, in one or in two micro-batches
//   theirs      the plan of the paper's search
//
// What the paper does not say:
//
//   batch     4,096 tokens per GPU, with which the work of its table 4 agrees: 32 sequences of 128, or
//             64 images of 64 patches
//   machine   sizes of products at which a V100 is at half of its rate: the preset p3_8xlarge
//   flops     so many that the work of BERT-SGMoE on one machine is that of table 4

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
  int nodes = 1, gpus = 4;  ///< machines, and GPUs of each
  double gbit = 100;        ///< between machines, in Gb/s
  int samples = 0;          ///< per GPU; 0: those of 4,096 tokens
  int layers = 8;           ///< the paper's nets have 8; an even number

  int ranks() const { return nodes * gpus; }
  ashlar::topology mesh() const;
  ashlar::machine machine() const;
};

/// Returns a step of the cell, in single precision and with the states of Adam.
search::problem problem_of(cell const& c, int micro_batches);

/// A plan of a cell, and the timeline of its step.
struct outcome {
  search::plan plan;
  double seconds = 0;        ///< of a step
  double work = 0;           ///< seconds of computations
  double communication = 0;  ///< seconds of redistributions, hidden or not
  std::int64_t memory = 0;   ///< the most bytes of a rank
  double cpu = 0;            ///< seconds of the search

  /// The part of the shorter one of work and communication in which both go on (table 4).
  double overlap() const;
};

/// Returns a plan of a problem with its timeline: with the passes that make it faster, or in serial
/// order.
outcome timed(search::problem const& net, search::plan const& plan, ashlar::machine const& m,
              bool overlap);

/// Returns the searched plan in so many micro-batches, all of which take turns.
outcome ours_in(cell const& c, int micro_batches, ashlar::topology const& mesh,
                ashlar::machine const& m);
/// Returns the faster one of those in one and in two micro-batches. Its gap is that of both.
outcome ours(cell const& c);
/// Returns the plan of the paper's search.
outcome theirs(cell const& c);

/// Returns the best plan of expert parallelism without overlap, as of DeepSpeed and FastMoE.
outcome expert_parallel(cell const& c);
/// Returns the plan of data parallelism whose gradients overlap with the backward pass, as of
/// PyTorch DDP and Horovod.
outcome data_parallel(cell const& c);

}  // namespace ashlar_bench
