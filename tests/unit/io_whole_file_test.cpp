// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Tests write_whole, which replaces a file as a whole. The cases include links, files that are not
// regular files, and writes that fail.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <support/message_of.hpp>
#include <support/temporary_folder.hpp>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ashlar/support/whole_file.hpp>

namespace ashlar_test {
namespace {

namespace fs = std::filesystem;
using ashlar::write_whole;

/// While an object of this class exists, the process cannot write files larger than `bytes`.
class largest_file {
 public:
  explicit largest_file(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    auto now = before_;
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &now);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  largest_file(largest_file const&) = delete;
  ~largest_file() {
    std::signal(SIGXFSZ, handler_);
    setrlimit(RLIMIT_FSIZE, &before_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_CASE("a new file and a replaced file have the text, and no other file stays") {
  temporary_folder const f;
  auto const path = f.file("a");
  write_whole(path, "first", "test");
  CHECK(text_of_file(path) == "first");
  ::chmod(path.c_str(), 0640);
  write_whole(path, std::string(100'000, 'x'), "test");
  CHECK(text_of_file(path) == std::string(100'000, 'x'));
  struct stat now {};
  ::stat(path.c_str(), &now);
  CHECK((now.st_mode & 07777) == 0640);
  CHECK(f.size() == 1);
}

TEST_CASE("a symbolic link stays, and the file that it leads to is written") {
  temporary_folder const f;
  fs::create_directory(f.path() / "there");
  fs::create_symlink("there/file", f.path() / "near");      // the target does not exist yet
  fs::create_symlink(f.path() / "near", f.path() / "far");  // an absolute link to a link
  for (char const* text : {"new file", "replaced"}) {
    write_whole(f.file("far"), text, "test");
    CHECK(text_of_file(f.file("there/file")) == text);
  }
  CHECK(fs::is_symlink(f.path() / "near"));
  CHECK(fs::is_symlink(f.path() / "far"));
  CHECK(f.size() == 3);

  fs::create_symlink("circle", f.path() / "circle");
  CHECK(has(message_of([&] { write_whole(f.file("circle"), "", "test"); }),
            "cannot be written: Too many levels of symbolic links."));
}

TEST_CASE("what is no regular file is refused and stays what it is") {
  temporary_folder const f;
  auto const pipe = f.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(message_of([&] { write_whole(pipe, "text", "save_plan"); }) ==
        "save_plan: " + pipe +
            " cannot be written: it is no regular file. Give the path of a file.");
  CHECK(fs::is_fifo(pipe));
  CHECK(has(message_of([&] { write_whole("/dev/null", "text", "test"); }), "no regular file"));
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(has(message_of([&] { write_whole(f.path().string(), "text", "test"); }),
            "it is a folder. Add the name of a file."));
  CHECK(f.size() == 1);
}

TEST_CASE("if writing fails, the message says why and the previous file stays") {
  temporary_folder const f;
  auto const path = f.file("a");
  write_whole(path, "previous", "test");
  {
    largest_file const limit(1000);
    CHECK(message_of([&] { write_whole(path, std::string(5000, 'x'), "test"); }) ==
          "test: " + path + " cannot be written: File too large.");
  }
  CHECK(text_of_file(path) == "previous");
  CHECK(f.size() == 1);
  CHECK(has(message_of([&] { write_whole(f.file("no/such/folder"), "", "test"); }),
            "cannot be written: No such file or directory."));
  CHECK(has(message_of([&] { write_whole(path + "/b", "", "test"); }),
            "cannot be written: Not a directory."));
  if (::geteuid() == 0) return;  // root may write everything
  ::chmod(path.c_str(), 0400);
  CHECK(has(message_of([&] { write_whole(path, "", "test"); }),
            "cannot be written: Permission denied."));
  CHECK(text_of_file(path) == "previous");
}

}  // namespace
}  // namespace ashlar_test
