#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Checks that no header uses a name that a common header of another library defines as a macro. A
# program that includes such a header before ours would otherwise not compile.
#
# The table has a line "SOURCE: NAME..." for each group of macros. A name with () is a macro with
# parameters, which the compiler replaces only in front of a parenthesis. The table lacks macros
# that have the names of public functions of ashlar, such as check on older versions of macOS.
set -euo pipefail

cd -- "${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}/include"

macros='
complex.h: I complex imaginary _Complex_I
math.h: DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS HUGE
sys/sysmacros.h: major() minor() makedev()
termios.h: B0 B50 B75 B110 B134 B150 B200 B300 B600 CR0 CR1 FF0 FF1 NL0 NL1 TAB0 TAB1 VT0 VT1 BS0 BS1 ECHO
the compiler in its GNU mode: unix linux i386
Qt: emit foreach forever signals slots
X.h: Above Always Below Bool Complex Convex False None Status Success True Unsorted
windows.h: CONST DELETE DIFFERENCE ERROR FALSE IGNORE IN OPTIONAL OUT STRICT TRUE VOID far near interface pascal small
'

find ashlar \( -name '*.hpp' -o -name '*.cuh' \) -print0 | sort -z | MACROS="$macros" xargs -0 perl -0777 -e '
  use strict;
  use warnings;
  my (%source, %has_parameters, $bad);
  for (split /\n/, $ENV{MACROS}) {
    my ($source, $names) = /^(.*?): (.*)$/ or next;
    for my $name (split / /, $names) {
      my $parameters = $name =~ s/\(\)$//;
      $source{$name} = $source;
      $has_parameters{$name} = $parameters;
    }
  }
  for my $file (@ARGV) {
    open my $in, "<", $file or die "$file: $!";
    my $number = 0;
    for (split /\n/, <$in>) {
      ++$number;
      s{//.*|"(?:[^"\\]|\\.)*"}{ }g;  # neither comments nor literals
      next if /^\s*#\s*include/;
      while (/(?<![\w\x27])([A-Za-z_]\w*)(?=(\s*\()?)/g) {
        my ($name, $is_called) = ($1, defined $2);
        next if !$source{$name} || ($has_parameters{$name} && !$is_called);
        print "$file:$number: $name is a macro of $source{$name}\n";
        ++$bad;
      }
    }
  }
  printf "macros of others: %d headers checked\n", scalar @ARGV;
  exit($bad ? 1 : 0);
'
