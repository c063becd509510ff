// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests how a process derives its rank, the number of ranks and the rendezvous from the environment
// variables of each launcher, and the errors for wrong variables.

#include <map>

#include <doctest/doctest.h>
#include <support/message_of.hpp>

#include <ashlar/comm/nccl/launch.hpp>

namespace ashlar_test {
namespace {

using ashlar::nccl::launch;
using ashlar::nccl::rendezvous;
using variables = std::map<std::string, std::string>;

launch read(variables const& set) {
  return ashlar::nccl::launch_from([&](char const* name) -> std::optional<std::string> {
    auto const found = set.find(name);
    if (found == set.end()) return {};
    return found->second;
  });
}
std::string fault(variables const& set) {
  return message_of([&] { (void)read(set); });
}
variables operator+(variables a, variables const& b) {
  for (auto const& [name, value] : b) a[name] = value;
  return a;
}

variables const torch = {{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_PORT", "29500"},
                         {"MASTER_ADDR", "node-a"}};
variables const slurm = {{"SLURM_PROCID", "3"},  {"SLURM_NTASKS", "4"},
                         {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "77123"},
                         {"SLURM_STEP_ID", "2"}, {"SLURM_STEP_NODELIST", "gpu[003-010,12],login1"}};
variables const open_mpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};

TEST_CASE("without a launcher a process is alone") {
  CHECK(read({}) == launch{});
  // A shell inside a SLURM allocation has variables of SLURM, but no rank.
  CHECK(read({{"SLURM_NTASKS", "8"}, {"SLURM_JOB_ID", "1"}}) == launch{});
  CHECK(read(torch + variables{{"ASHLAR_LAUNCH", "none"}}) == launch{});
}

TEST_CASE("each launcher's variables") {
  CHECK(read(torch) == launch{5, 8, 1, rendezvous::tcp, "node-a", 29500, "", ""});
  CHECK(read(slurm) ==
        launch{3, 4, 1, rendezvous::tcp, "gpu003", 15000 + 77123 % 15000, "", "77123.2"});
  CHECK(read(open_mpi) == launch{2, 4, 0, rendezvous::mpi, "", 0, "", ""});
  CHECK(read({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}) ==
        launch{1, 2, 1, rendezvous::mpi, "", 0, "", ""});
  // Without a variable for the rank within its node, only MPI can tell which ranks share a node.
  CHECK(read({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}).local_rank == -1);
}

TEST_CASE("the agent of torchrun itself listens on the port") {
  auto const l = read(torch + variables{{"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                        {"TORCHELASTIC_RUN_ID", "run-9"}});
  CHECK(l.port == 29501);
  CHECK(l.job == "run-9");
}

TEST_CASE("a file comes before an address") {
  variables const file = {{"ASHLAR_RENDEZVOUS_FILE", "/shared/id"}, {"ASHLAR_JOB_ID", "j"}};
  CHECK(read(torch + file) == launch{5, 8, 1, rendezvous::file, "", 0, "/shared/id", "j"});
  CHECK(read(slurm + file).by == rendezvous::file);
  CHECK(read(open_mpi + file).by == rendezvous::mpi);
  CHECK(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}) == launch{});
}

TEST_CASE("several launchers: the first one, or the requested one") {
  CHECK(read(torch + slurm + open_mpi).by == rendezvous::mpi);
  CHECK(read(torch + slurm).rank == 5);
  auto const l = read(torch + slurm + variables{{"ASHLAR_LAUNCH", "slurm"}});
  CHECK(l.rank == 3);
  CHECK(l.address == "node-a");  // from MASTER_ADDR, which takes precedence over the node list
  CHECK(l.port == 29500);
}

TEST_CASE("lists of nodes") {
  using ashlar::nccl::detail::first_host;
  CHECK(first_host("a") == "a");
  CHECK(first_host("a,b") == "a");
  CHECK(first_host("n[1,3]") == "n1");
  CHECK(first_host("r[01-02]n[3-4,7],x") == "r01n3");
  CHECK(first_host("n[7-9]-ib,m") == "n7-ib");
}

TEST_CASE("errors name the wrong variable") {
  auto const without = [](variables from, char const* name) {
    from.erase(name);
    return fault(from);
  };
  CHECK(has(without(torch, "WORLD_SIZE"), "WORLD_SIZE is not set"));
  CHECK(has(without(torch, "RANK"), "RANK is not set"));
  CHECK(has(without(torch, "LOCAL_RANK"), "LOCAL_RANK is not set"));
  CHECK(has(without(torch, "MASTER_ADDR"), "MASTER_ADDR is not set"));
  CHECK(has(without(torch, "MASTER_PORT"), "MASTER_PORT is not set"));
  CHECK(has(without(slurm, "SLURM_NTASKS"), "SLURM_NTASKS is not set"));
  CHECK(has(without(slurm, "SLURM_JOB_ID"), "SLURM_JOB_ID is not set"));
  for (char const* bad : {"x", "5x", " 5", "5 ", "-1", "+5", "0x5", "99999999999", "5.0"})
    CHECK(has(fault(torch + variables{{"RANK", bad}}), "RANK is '" + std::string(bad) + "'"));
  CHECK(has(fault(torch + variables{{"RANK", "8"}}), "RANK is 8 and WORLD_SIZE is 8"));
  CHECK(has(fault(torch + variables{{"WORLD_SIZE", "0"}}), "WORLD_SIZE is '0'"));
  CHECK(has(fault(torch + variables{{"MASTER_PORT", "65536"}}), "MASTER_PORT is '65536'"));
  CHECK(has(fault(torch + variables{{"ASHLAR_LAUNCH", "pdsh"}}), "not mpi, env, slurm or none"));
  CHECK(has(fault(torch + variables{{"ASHLAR_LAUNCH", "mpi"}}), "of that launcher are not set"));
  CHECK(
      has(fault({{"ASHLAR_RENDEZVOUS_FILE", "f"}}), "no variable gives the rank of this process"));
  CHECK(has(fault({{"RANK", "0"}}), "WORLD_SIZE is not set"));
}

}  // namespace
}  // namespace ashlar_test
