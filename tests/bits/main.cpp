// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Trains every net of this folder on every mesh of all ranks, and prints the bits of the results
// (suite.hpp). tests/same_bits.sh builds this program against two versions of the library and
// compares their output.
//
//   mpirun -n RANKS bits [--seed N] [--plans N] [--only PART_OF_A_NAME]

#include "suite.hpp"

int main(int argc, char** argv) {
  ashlar::mpi::environment env(argc, argv);
  ashlar_bits::settings asked;
  for (int i = 1; i < argc; i += 2) {
    std::string const option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (option == "--seed") asked.seed = std::strtoull(value.c_str(), nullptr, 10);
    else if (option == "--plans") asked.plans = std::atoi(value.c_str());
    else if (option == "--only") asked.only = value;
    else {
      std::fprintf(stderr, "bits: unknown option %s\n", option.c_str());
      return 2;
    }
  }
  ashlar_bits::suite all(asked, env.rank(), env.size());
  ashlar_bits::run_features(all);
  ashlar_bits::run_tokens(all);
  ashlar_bits::run_images(all);
  ashlar_bits::run_categories(all);
  ashlar_bits::run_typed(all);
}
