// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

// A program that links the target ashlar::precompiled. It calls a function that compiled/text.cpp
// defines. It does not include the umbrella header <ashlar/ashlar.hpp>, because the target adds
// this header as a precompiled header.

#include <iostream>

int main() {
  bool const right = ashlar::to_string(ashlar::parse_placement("S(0),B")) == "[S(0),B]";
  std::cout << "ashlar::compiled is " << (right ? "here" : "wrong") << '\n';
  return right ? 0 : 1;
}
