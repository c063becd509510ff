// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// Compares the output of two versions of the library, case by case, for tests/same_bits.sh:
//
//   compare_bits OLD NEW [--tolerance T]    lines of the program bits (suite.hpp)
//   compare_bits OLD NEW --plans            lines of the program plan_bits (plans.cpp)
//
// A case of the program bits is a training. The case is equal if its losses and the hash of its
// parameters are equal in both outputs. With --tolerance the hash is ignored, and the case is
// accepted if its losses differ by at most T relative to the old losses. Differences of gradient
// norms are only counted. If the two versions trained under different plans, the case is marked in
// the list, since its results may differ.
//
// A case of the program plan_bits is a plan. The case is equal if all its columns are equal in both
// outputs. With --tolerance, a case is accepted if only the predicted seconds differ, by at most T
// relative to the old seconds.
//
// The first 12 cases that differ are listed, or all such cases with --all. With --only TEXT, only
// cases of nets whose names contain TEXT are compared, and NEW must contain no other cases. The
// exit status is:
//
//   0   all cases are equal or accepted
//   1   some cases differ, or exist in one version only
//   2   there is nothing to compare, or an argument is wrong

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using columns = std::vector<std::string>;

columns split(std::string const& text, char at) {
  columns parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

/// Returns the lines of a file that contain tabs, split into columns. The other lines are messages
/// of MPI and are skipped.
std::vector<columns> read(char const* path) {
  std::ifstream in(path);
  std::vector<columns> lines;
  for (std::string line; std::getline(in, line);)
    if (line.find('\t') != std::string::npos) lines.push_back(split(line, '\t'));
  return lines;
}

/// Compares two texts that are lists of numbers separated by spaces. Returns the largest relative
/// difference between corresponding numbers. Returns infinity if the lists have different lengths,
/// if a difference is NaN, or if the texts differ although the numbers are equal.
double apart(std::string const& a, std::string const& b) {
  if (a == b) return 0;
  auto const x = split(a, ' '), y = split(b, ' ');
  if (x.size() != y.size()) return HUGE_VAL;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double const u = std::strtod(x[i].c_str(), nullptr), v = std::strtod(y[i].c_str(), nullptr);
    double const d = x[i] == y[i] ? 0 : std::abs(u - v) / std::max(std::abs(u), 1e-300);
    worst = d <= worst ? worst : (d < HUGE_VAL ? d : HUGE_VAL);
  }
  // The texts differ. If all their numbers are equal, they differ in something that is not a
  // number.
  return worst == 0 ? HUGE_VAL : worst;
}

struct comparison {
  double tolerance = 0;
  bool plans = false;
  std::size_t most_examples = 12;
  int cases = 0, equal = 0, accepted = 0, differ = 0, missing = 0;
  int unlimited = 0, faster_below_limit = 0, slower_below_limit = 0;
  int other_plans = 0, clip_differs = 0, norms_differ = 0;
  double worst_loss = 0, worst_norm = 0;
  std::vector<std::string> examples;

  void add(columns const& a, columns const& b) {
    ++cases;
    if (plans) compare_plans(a, b);
    else compare_bits(a, b);
  }

  /// Compares one case of the program bits, with the columns name, plan, losses, norms and hash.
  void compare_bits(columns const& a, columns const& b) {
    bool const other_plan = a[1] != b[1];
    if (other_plan) ++other_plans;
    double const loss = apart(a[2], b[2]), norm = apart(a[3], b[3]);
    if (!other_plan) {
      worst_loss = std::max(worst_loss, loss);
      worst_norm = std::max(worst_norm, norm);
      norms_differ += norm > 0;
    }
    if (loss == 0 && a[4] == b[4]) {
      ++equal;
    } else if (loss <= tolerance && tolerance > 0) {
      ++accepted;
    } else {
      ++differ;
      clip_differs += a[0].find("with clip") != std::string::npos;
      char text[64];
      std::snprintf(text, sizeof text, "%-9.2g %-9.2g ", loss, norm);
      examples.push_back(text + a[0] + (other_plan ? "   (another plan)" : ""));
    }
  }

  /// Compares one plan, with the columns that plans.cpp prints: name, fingerprint, seconds
  /// (hexadecimal), seconds (decimal), memory, and a text with the other properties of the plan.
  void compare_plans(columns const& a, columns const& b) {
    auto const of = [](columns const& c) {
      return c[3] + " s, " + c[4] + " B, " + c[5] + ", " + c[1];
    };
    worst_loss = std::max(worst_loss, apart(a[2], b[2]));
    if (a == b) {
      ++equal;
    } else if (a[1] == b[1] && a[4] == b[4] && a[5] == b[5] && tolerance > 0 &&
               apart(a[2], b[2]) <= tolerance) {
      ++accepted;
    } else {
      ++differ;
      other_plans += a[1] != b[1];
      bool const limited = a[0].find("no limit") == std::string::npos;
      auto const seconds = [](columns const& c) { return std::strtod(c[2].c_str(), nullptr); };
      // With a memory limit, a case is marked "no slower" if the new version's plan is not slower
      // than the old version's plan. The mark is also set if the old version found no plan and the
      // new one did.
      bool const none_before = seconds(a) == 0, none_now = seconds(b) == 0;
      bool const faster = !none_now && (none_before || seconds(b) <= seconds(a) * (1 + 1e-9));
      if (!limited) ++unlimited;
      else ++(faster ? faster_below_limit : slower_below_limit);
      examples.push_back(a[0] + (limited && faster ? "   (no slower)" : "") + "\n    old " + of(a) +
                         "\n    new " + of(b));
    }
  }

  void print() const {
    std::printf("cases: %d, equal: %d", cases, equal);
    if (tolerance > 0) std::printf(", accepted within %g: %d", tolerance, accepted);
    std::printf(", differ: %d", differ);
    if (missing > 0) std::printf(", in one of both only: %d", missing);
    if (plans) {
      std::printf(" (without a limit: %d; below a limit no slower: %d, slower or none: %d; other "
                  "placements: %d)\nlargest relative difference of seconds: %.3g\n",
                  unlimited, faster_below_limit, slower_below_limit, other_plans, worst_loss);
    } else {
      std::printf(" (with clip: %d; another plan: %d)\n", clip_differs, other_plans);
      std::printf("under equal plans, largest relative difference of losses: %.3g, of norms: %.3g "
                  "in %d cases\n",
                  worst_loss, worst_norm, norms_differ);
    }
    if (examples.empty()) return;
    std::puts(plans ? "the first that differ:" : "the first that differ (loss, norm, case):");
    for (std::size_t i = 0; i < examples.size() && i < most_examples; ++i)
      std::printf("  %s\n", examples[i].c_str());
  }
};

}  // namespace

int main(int argc, char** argv) {
  comparison all;
  std::string only;  // only nets whose name contains this text are compared
  for (int i = 3; i < argc; ++i) {
    std::string const option = argv[i];
    if (option == "--plans") all.plans = true;
    else if (option == "--all") all.most_examples = static_cast<std::size_t>(-1);
    else if (option == "--tolerance" && i + 1 < argc) all.tolerance = std::atof(argv[++i]);
    else if (option == "--only" && i + 1 < argc) only = argv[++i];
    else argc = 0;
  }
  if (argc < 3) {
    std::cerr << "compare_bits OLD NEW [--tolerance T] [--only TEXT] [--plans] [--all]\n";
    return 2;
  }
  auto const old_lines = read(argv[1]), new_lines = read(argv[2]);
  std::size_t const width = all.plans ? 6 : 5;
  std::map<std::string, columns> by_name;
  for (auto const& line : new_lines)
    if (line.size() == width) by_name[line[0]] = line;
  std::size_t matched = 0;
  for (auto const& line : old_lines) {
    if (split(line[0], '|')[0].find(only) == std::string::npos) continue;
    auto const found = by_name.find(line[0]);
    if (line.size() != width || found == by_name.end()) {
      ++all.missing;
      all.examples.push_back(line[0] + "   (not in the new version)");
      continue;
    }
    ++matched;
    all.add(line, found->second);
  }
  all.missing += static_cast<int>(new_lines.size() - matched);
  all.print();
  if (all.cases == 0) return 2;
  return all.differ == 0 && all.missing == 0 ? 0 : 1;
}
