# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced: what programs of many ranks need on one machine. Open MPI as root in a container, more
# ranks than cores, waiting ranks that yield; one thread a rank. Other MPIs ignore it.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
