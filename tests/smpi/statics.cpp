// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Checks that each simulated rank has its own static variables, as in a real job, although
// simulated ranks share one process. -fno-gnu-unique and SMPI's privatization by dlopen give each
// rank its own copies of the statics of header-only code.
//
// run: a=16 workstation

#include <smpi/simulated.hpp>

namespace {

template <class T>
struct holder {
  static inline int of_class = -1;
};
template <class T>
inline int of_template = -1;
inline int of_header = -1;
int of_file = -1;
thread_local int of_thread = -1;
template <class T>
int& of_function() {
  static int value = -1;
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ashlar_test;
  ashlar::mpi::environment env(argc, argv);
  verdict all;
  int const rank = env.rank();
  int* const statics[] = {
      &holder<int>::of_class, &of_template<int>, &of_header, &of_file, &of_thread,
      &of_function<int>()};
  for (int* const it : statics) *it = rank;
  MPI_Barrier(env.world());
  char const* const names[] = {"class", "template", "header", "file", "thread", "function"};
  for (std::size_t i = 0; i < std::size(statics); ++i)
    all.check(*statics[i] == rank, std::string("another rank wrote the static of ") + names[i]);
  return all.exit_code();
}
