#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the ashlar authors
# SPDX-License-Identifier: Apache-2.0
# processors: 1
#
# Checks that each public header includes what it uses of the C++ standard library and of other
# libraries, directly or through other headers of ashlar. The test `headers` cannot check this,
# because with Clang it makes all headers of other libraries visible at once.
#
# The first table has a line "HEADER...: NAME..." for each group of names of the standard library,
# which may come from any of these headers. A name is what follows std:: up to the next ::. The
# header * stands for any header, for names that many headers declare, such as std::size_t. The
# second table has lines of the same form for other libraries, with a regular expression in place of
# the names.
set -euo pipefail

cd -- "${ASHLAR_SOURCE_DIR:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}/include"

names='
*: size_t ptrdiff_t nullptr_t
algorithm: adjacent_find all_of any_of binary_search clamp copy copy_if copy_n count count_if equal fill fill_n
algorithm: find find_if lower_bound max max_element min min_element minmax minmax_element next_permutation none_of nth_element
algorithm: partial_sort pop_heap push_heap ranges reverse rotate sort stable_sort transform unique upper_bound
array: array
atomic: atomic atomic_thread_fence memory_order_acquire memory_order_relaxed memory_order_release
bit: bit_cast bit_floor bit_width endian popcount rotl
charconv: chars_format from_chars to_chars
chrono: chrono
cctype: isdigit isspace
cmath: ceil copysign cos erf exp expm1 floor isfinite isinf isnan log log1p lround nextafter pow sin sqrt tanh
cmath cstdlib: abs
concepts: convertible_to integral same_as
condition_variable: condition_variable
cstddef: byte to_integer
cstdint: int16_t int32_t int64_t int8_t uint16_t uint32_t uint64_t uint8_t uintptr_t
cstdio: FILE fclose fflush fopen fprintf fwrite remove rename snprintf sscanf
cstdlib: _Exit abort atexit getenv strtod strtoll
cstring: memcmp memcpy memset strerror strncat
ctime: clock timespec timespec_get
deque: deque
exception: current_exception exception exception_ptr rethrow_exception set_terminate uncaught_exceptions
filesystem: filesystem
fstream: ifstream ofstream
functional: cref function greater less plus
initializer_list: initializer_list
ios ostream istream fstream sstream: ios streamsize
iostream: cout
istream sstream fstream: istream ws
iterator array span string string_view vector: begin end prev size
iterator: istream_iterator
limits: float_round_style numeric_limits round_to_nearest
locale: locale
map: map
mdspan experimental/mdspan: dextents experimental mdspan
memory: allocate_shared get_deleter make_shared make_unique make_unique_for_overwrite shared_ptr
memory: static_pointer_cast uninitialized_default_construct_n unique_ptr weak_ptr
mutex: lock_guard mutex unique_lock
new: align_val_t bad_alloc
numbers: numbers
numeric: accumulate iota
optional: nullopt optional
ostream sstream iostream: ostream
random: mt19937_64 random_device
set: set
span: dynamic_extent span
sstream: istringstream ostringstream
stdexcept: invalid_argument length_error logic_error overflow_error runtime_error
stop_token: stop_token
string map set vector deque: erase erase_if
string: getline stoll stoul string to_string
string_view string: string_view
system_error charconv: errc
system_error: error_code generic_category system_error
thread: this_thread thread
tuple array utility: tuple_element_t tuple_size_v
tuple array utility variant: get
tuple: apply tie tuple
type_traits: common_type_t conditional_t integral_constant is_arithmetic_v is_const_v is_constant_evaluated is_constructible_v
type_traits: is_convertible_v is_default_constructible_v is_empty_v is_floating_point_v is_integral_v
type_traits: is_invocable_r_v is_invocable_v is_nothrow_move_constructible_v is_same_v is_trivial_v
type_traits: is_signed_v is_trivially_copyable_v is_void_v make_unsigned_t remove_const_t remove_cv_t remove_cvref_t
type_traits: remove_pointer_t remove_reference_t type_identity type_identity_t
unordered_map: unordered_map
utility: as_const declval exchange forward index_sequence index_sequence_for integer_sequence
utility: make_index_sequence make_integer_sequence move pair swap
variant: get_if holds_alternative monostate variant visit
vector: vector
'
others='
cblas.h: \bcblas_
cublasLt.h: \bcublas[A-Z]
cuda_runtime_api.h cuda_runtime.h cublasLt.h nccl.h: \bcuda[A-Z]
fcntl.h: \B::open\(
mpi.h: \bMPI_[A-Z]
nccl.h: \bnccl[A-Z]
netdb.h: \B::(getaddrinfo|freeaddrinfo)\(
nlohmann/json.hpp: \bnlohmann::
nvtx3/nvtx3.hpp: \bnvtx3::
poll.h: \B::poll\(
sys/mman.h: \B::(mmap|munmap)\(
sys/socket.h: \B::(accept4|bind|connect|getsockname|getsockopt|listen|recv|send|sendto|setsockopt|socket)\(
sys/stat.h: \B::(fchmod|fstat|stat)\(
unistd.h: \B::(access|close|fsync|ftruncate|getpid|lseek|pread|pwrite|syscall|unlink|write)\(
'

find ashlar -name '*.hpp' -print0 | sort -z | NAMES="$names" OTHERS="$others" xargs -0 perl -0777 -e '
  use strict;
  use warnings;
  my (%from, @other, %own, %foreign, %text, $bad);
  for (split /\n/, $ENV{NAMES}) {
    my ($headers, $names) = /^(.*?): (.*)$/ or next;
    $from{$_} = [split / /, $headers] for split / /, $names;
  }
  for (split /\n/, $ENV{OTHERS}) {
    my ($headers, $pattern) = /^(.*?): (.*)$/ or next;
    push @other, [[split / /, $headers], $pattern];
  }
  for my $file (@ARGV) {
    open my $in, "<", $file or die "$file: $!";
    $text{$file} = <$in>;
    $text{$file} =~ s{//[^\n]*|"(?:[^"\\\n]|\\.)*"}{}g;  # neither comments nor literals
    $own{$file} = [$text{$file} =~ /^# *include <(ashlar\/[^>]+)>/mg];
    $foreign{$file} = [$text{$file} =~ /^# *include <((?!ashlar\/)[^>]+)>/mg];
  }
  sub complain { print "@_\n"; ++$bad; }
  for my $file (@ARGV) {
    my (%seen, %includes);
    my @left = ($file);
    while (defined(my $next = pop @left)) {
      next if $seen{$next}++;
      $includes{$_} = 1 for @{$foreign{$next} // []};
      push @left, @{$own{$next} // []};
    }
    my %used = map { $_ => 1 } $text{$file} =~ /(?<![\w:])(?:::)?std::(\w+)/g;
    for my $name (sort keys %used) {
      my $headers = $from{$name};
      if (!$headers) {
        complain("$file: std::$name is not in the table of tests/scripts/other_includes.sh");
      } elsif ($headers->[0] eq "*" ? !%includes : !grep { $includes{$_} } @$headers) {
        complain("$file: uses std::$name and does not include <$headers->[0]>");
      }
    }
    for (@other) {
      my ($headers, $pattern) = @$_;
      if ($text{$file} =~ /($pattern)/ && !grep { $includes{$_} } @$headers) {
        complain("$file: has $1 and does not include <$headers->[0]>");
      }
    }
  }
  printf "other includes: %d headers checked\n", scalar @ARGV;
  exit($bad ? 1 : 0);'
