// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests that the list of folders into which background saves write outlives every static object,
// since a background save may be one.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <doctest/doctest.h>
#include <support/temporary_folder.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <ashlar/checkpoint/folder.hpp>

namespace ashlar_test {
namespace {

using ashlar::checkpoint::detail::busy_folder;

/// The destructor ends the process, with status 0 if the folder still counts as busy, else with 1.
struct busy_to_the_end {
  std::filesystem::path folder;
  std::optional<busy_folder> busy;
  ~busy_to_the_end() {
    // Overwrites memory that was freed. Otherwise, a search in a destroyed list could still find
    // the entries of the list there.
    for (std::size_t bytes = 16; bytes <= 512; bytes += 16)
      for (int i = 0; i < 100; ++i) std::fill_n(new char[bytes], bytes, 'x');
    std::_Exit(busy_folder::is_busy(folder) ? 0 : 1);
  }
};

}  // namespace

TEST_CASE("the folder of a static background save is busy until the process ends") {
  temporary_folder const f;
  auto const child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // The list of busy folders is made after `last`, so a list that is an ordinary static object
    // would be destroyed before `last`. No test before this one in the same program may make a
    // busy_folder.
    static busy_to_the_end last{f.path() / "run", {}};
    last.busy.emplace(last.folder);
    std::exit(2);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace ashlar_test
