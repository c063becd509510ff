# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
"""Measures how long small programs take to compile, relative to a small program of Eigen.

bench/run_compile_time.sh calls this program. The small programs are compiled in turns, in several
rounds. The median of a program's CPU seconds (user and system) is divided by the median of Eigen's
program, which is compiled with the same options in the same rounds. The memory is the peak of the
compiler's processes.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

EIGEN = """#include <iostream>
#include <Eigen/Dense>
int main() {
  Eigen::MatrixXf const a = Eigen::MatrixXf::Random(3, 3), b = Eigen::MatrixXf::Random(3, 3);
  std::cout << a * b << '\\n';
}
"""
OPTIONS = {"O0": ["-O0"], "O3": ["-O3", "-march=native"]}
# Name; source (a file of examples/, or the text itself); the largest accepted CPU times with
# headers alone, at -O0 and at -O3, relative to Eigen's program. With the precompiled header, half
# of these times is accepted.
PROGRAMS = [
    ("Eigen", EIGEN, None),
    ("`ashlar.hpp` alone", "#include <ashlar/ashlar.hpp>\n", (0.6, 0.6)),
    ("`tensor.hpp` alone", "#include <ashlar/tensor.hpp>\n", None),
    ("`hello_placements`", "hello_placements.cpp", (1.0, 2.0)),
    ("`custom_layer`", "custom_layer.cpp", (2.0, 4.0)),
    ("`typed_mlp`", "typed_mlp.cpp", (2.0, 4.0)),
]
FORMS = ["headers", "compiled", "precompiled"]


def run(command):
    """Returns the CPU seconds and the peak memory in MiB of a command, which must succeed."""
    child = subprocess.Popen(command)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit("failed: " + shlex.join(command))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compiler_and_flags(build):
    """Returns the compiler and the include options with which the build compiles an example."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for entry in commands:
        if not entry["file"].endswith("examples/hello_placements.cpp"):
            continue
        words = shlex.split(entry["command"])
        while "ccache" in os.path.basename(words[0]):
            words = words[1:]
        flags, take_next = [], False
        for word in words[1:]:
            if take_next or word.startswith("-I") or (word.startswith("-D") and "COMPILED" not in word):
                flags.append(word)
                take_next = word == "-I"
            elif word == "-isystem":
                flags.append(word)
                take_next = True
        return words[0], ["-std=c++20"] + flags
    sys.exit("compile_commands.json of the build has no examples/hello_placements.cpp")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/default")
    parser.add_argument("--eigen", default="/usr/include/eigen3", help="folder of Eigen's headers")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    compiler, flags = compiler_and_flags(args.build)
    flags += ["-isystem", args.eigen]

    with tempfile.TemporaryDirectory() as work:
        jobs = []  # (options, form, name, command)
        for level, options in OPTIONS.items():
            prefix = os.path.join(work, level + ".hpp")
            with open(prefix, "w", encoding="utf-8") as file:
                file.write("#include <ashlar/ashlar.hpp>\n")
            header = ".pch" if "clang" in os.path.basename(compiler) else ".gch"
            run([compiler, *flags, *options, "-DASHLAR_COMPILED=1", "-x", "c++-header", prefix,
                 "-o", prefix + header])
            for index, (name, source, _) in enumerate(PROGRAMS):
                path = os.path.join("examples", source)
                if not source.endswith(".cpp"):
                    path = os.path.join(work, f"program_{index}.cpp")
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(source)
                for form in FORMS[:1] if name == "Eigen" else FORMS:
                    extra = [] if form == "headers" else ["-DASHLAR_COMPILED=1"]
                    if form == "precompiled":
                        extra += ["-Winvalid-pch", "-Werror=invalid-pch", "-include", prefix] if header == ".gch" else ["-include-pch", prefix + header]
                    jobs.append((level, form, name, [compiler, *flags, *options, *extra, "-c", path,
                                                     "-o", os.path.join(work, "out.o")]))
        seconds, memory = {}, {}
        for turn in range(args.rounds):
            for level, form, name, command in jobs:
                print(f"round {turn + 1} of {args.rounds}: {name} {form} -{level}", file=sys.stderr)
                used, peak = run(command)
                seconds.setdefault((level, form, name), []).append(used)
                memory[level, form, name] = max(peak, memory.get((level, form, name), 0))

    print("| program | options | headers alone | limit | `ashlar::compiled` | with its precompiled header | limit | peak memory, MiB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, _, limits in PROGRAMS:
        if name == "Eigen":
            continue
        for which, level in enumerate(OPTIONS):
            unit = statistics.median(seconds[level, "headers", "Eigen"])
            limit = limits[which] if limits else None
            cells = []
            for form in FORMS:
                ratio = statistics.median(seconds[level, form, name]) / unit
                most = None if limit is None or form == "compiled" else limit if form == "headers" else limit / 2
                cells.append(f"**{ratio:.2f}**" if most is not None and ratio > most else f"{ratio:.2f}")
                if form != "compiled":
                    cells.append("" if most is None else f"{most:.1f}")
            peaks = " / ".join(f"{memory[level, form, name]:.0f}" for form in FORMS)
            print(f"| {name} | `{' '.join(OPTIONS[level])}` | " + " | ".join(cells) + f" | {peaks} |")
    for level in OPTIONS:
        unit = statistics.median(seconds[level, "headers", "Eigen"])
        print(f"| Eigen | `{' '.join(OPTIONS[level])}` | 1 ({unit:.2f} s) | | | | | {memory[level, 'headers', 'Eigen']:.0f} |")


if __name__ == "__main__":
    main()
