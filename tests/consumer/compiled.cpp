// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A program that links the target ashlar::precompiled. It calls a function that compiled/text.cpp
// defines, and does not include the umbrella header, which the target includes first.

#include <iostream>

int main() {
  bool const right = ashlar::to_string(ashlar::parse_placement("S(0),B")) == "[S(0),B]";
  std::cout << "ashlar::compiled is " << (right ? "here" : "wrong") << '\n';
  return right ? 0 : 1;
}
