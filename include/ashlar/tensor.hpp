// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Includes what a program needs to compute with distributed tensors over MPI in host memory: the
// mesh, the environment, tensors, redistributions and operators.

#include <ashlar/comm/communication_log.hpp>
#include <ashlar/comm/mesh.hpp>
#include <ashlar/comm/mpi/environment.hpp>
#include <ashlar/comm/no_communication.hpp>
#include <ashlar/tensor/along_dim.hpp>
#include <ashlar/tensor/cast.hpp>
#include <ashlar/tensor/compare.hpp>
#include <ashlar/tensor/concat.hpp>
#include <ashlar/tensor/cross_mesh.hpp>
#include <ashlar/tensor/cross_mesh_async.hpp>
#include <ashlar/tensor/dot.hpp>
#include <ashlar/tensor/einsum.hpp>
#include <ashlar/tensor/elementwise.hpp>
#include <ashlar/tensor/extremum.hpp>
#include <ashlar/tensor/factory.hpp>
#include <ashlar/tensor/from_local.hpp>
#include <ashlar/tensor/functions.hpp>
#include <ashlar/tensor/gather.hpp>
#include <ashlar/tensor/in_place.hpp>
#include <ashlar/tensor/item.hpp>
#include <ashlar/tensor/map.hpp>
#include <ashlar/tensor/matmul.hpp>
#include <ashlar/tensor/matvec.hpp>
#include <ashlar/tensor/mean.hpp>
#include <ashlar/tensor/merge_axes.hpp>
#include <ashlar/tensor/named_axes.hpp>
#include <ashlar/tensor/pattern.hpp>
#include <ashlar/tensor/permute.hpp>
#include <ashlar/tensor/redistribute.hpp>
#include <ashlar/tensor/redistribute_async.hpp>
#include <ashlar/tensor/reduce.hpp>
#include <ashlar/tensor/reshape.hpp>
#include <ashlar/tensor/routed_operators.hpp>
#include <ashlar/tensor/rows.hpp>
#include <ashlar/tensor/scalar_operators.hpp>
#include <ashlar/tensor/slice.hpp>
#include <ashlar/tensor/split_axis.hpp>
#include <ashlar/tensor/split_into.hpp>
#include <ashlar/tensor/where.hpp>
