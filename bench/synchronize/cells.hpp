// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The cells of the tables on synchronization: the models and the clusters of AutoDist (section 3 of
// its paper). The paper does not state all of these values:
//
//   batch     per GPU: 32 images; 8 sequences of 128 tokens for BERT (the paper states 8 x 16
//             sequences for cluster B7, which has 16 GPUs); 8,192 samples for NCF
//   NCF       four tables for the 138,493 users and 26,744 items of MovieLens 20M. Their widths are
//             chosen so that the net has 10 variables and 122 million parameters, as in the paper.
//   BERT-3L   256 features. With these it has 11 million parameters, as in the paper.
//
// VGG16 and BERT are the nets of the library. ResNet101, DenseNet121 and NCF are chains of layers
// of which only the extents of parameters and the number of operations are known. Their variables
// are those of the published nets; a convolution and its batch norm are one layer.

#include <cstdint>
#include <string>
#include <vector>

#include <ashlar/machine/machine.hpp>
#include <ashlar/mesh/topology.hpp>
#include <ashlar/step/problem.hpp>

namespace ashlar_bench {

namespace search = ashlar::search;

struct cluster {
  std::string name;
  ashlar::topology mesh;
  ashlar::machine machine;  ///< without a memory limit
};

inline std::vector<std::string> const paper_models{"vgg16",      "resnet101", "densenet121",
                                                   "bert-large", "bert-3l",   "ncf"};

/// Returns eight clusters of the paper. On B11, which has nodes of two kinds, every rank has an
/// equal share of the batch, and the figures of the machine are those of the slower kind.
std::vector<cluster> paper_clusters();

/// Returns the cluster of that name. Throws std::runtime_error if there is none.
cluster cluster_named(std::string const& name);

/// Returns the search problem of a step of a model on that many ranks, in single precision. Throws
/// std::runtime_error if there is no such model.
search::problem model_on(std::string const& name, std::int64_t ranks);

}  // namespace ashlar_bench
