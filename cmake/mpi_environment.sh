# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Scripts source this file, and cmake/AshlarTesting.cmake reads its lines `export NAME=VALUE...`. It
# exports the settings for running many ranks on one machine: Open MPI may run as root (in a
# container) and with more ranks than cores, waiting ranks yield their core, ranks are not bound to
# cores, and each rank uses one thread. Other MPIs ignore the settings of Open MPI. The setting that
# begins with PRTE is how Open MPI 5 permits more ranks than cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_hwloc_base_binding_policy=none
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
