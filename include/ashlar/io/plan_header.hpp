// SPDX-FileCopyrightText: 2026 the ashlar authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Writes a plan as a C++ header that defines a constexpr variable. In a program that includes the
// header, the plan is a constant expression. So the program needs no search, and the types of its
// tensors can contain the placements.
//
//   io::save_plan_header("my_plan.hpp", problem, plan, "my_plan");
//
//   #include "my_plan.hpp"
//   auto model = nn::place<float>(net, mesh, nn::constant<my_plan>);
//
// The header includes only ashlar/step/plan.hpp. It defines each distinct placement once, under the
// names l0, l1, ... A comment beside each definition has the text form of the placement.

#include <charconv>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include <ashlar/mesh/text.hpp>
#include <ashlar/step/own_plan.hpp>
#include <ashlar/step/plan.hpp>
#include <ashlar/support/whole_file.hpp>

namespace ashlar::io {
namespace detail {

/// Names the distinct placements l0, l1, ... in the order of their first use.
class placement_names {
 public:
  std::string operator()(placement const& p) {
    std::size_t i = 0;
    while (i < known_.size() && !(known_[i] == p)) ++i;
    if (i == known_.size()) known_.push_back(p);
    return "l" + std::to_string(i);
  }
  /// Returns the names of several placements, with commas between them.
  std::string list(std::initializer_list<placement> several) {
    std::string text;
    for (auto const& p : several) text += (text.empty() ? "" : ", ") + (*this)(p);
    return text;
  }

  std::string declarations() const {
    std::string text;
    for (std::size_t i = 0; i < known_.size(); ++i) {
      text += "  constexpr placement l" + std::to_string(i) + "{";
      for (int a = 0; a < known_[i].axes(); ++a)
        text += (a > 0 ? ", " : "") + expression(known_[i][a]);
      text += "};  // " + to_string(known_[i]) + "\n";
    }
    return text;
  }

 private:
  static std::string expression(axis_placement const& a) {
    if (a.is_broadcast()) return "broadcast()";
    if (a.is_owned()) return "owned(" + std::to_string(a.owner) + ")";
    if (a.is_partial())
      return a.op == reduction::sum ? "partial()"
                                    : std::string("partial(reduction::") + to_string(a.op) + ")";
    return "split(" + std::to_string(a.dim) + ", " + std::to_string(a.depth) + ")";
  }

  std::vector<placement> known_;
};

/// Returns a number as a text that a compiler converts back to exactly this number. The text does
/// not depend on the locale. Throws ashlar::error if the number is not finite. `what` is the
/// number's name for the error message.
inline std::string exact_text(char const* what, double value) {
  if (!std::isfinite(value))
    throw error(
        "plan_header",
        std::string("plan.") + what +
            " is not finite and cannot be written to a header. Use a machine with finite numbers.");
  char text[40];
  auto const end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 17);
  return {text, end.ptr};
}

/// Returns a wire, the format in which values are sent, as a C++ expression.
inline std::string expression_of(wire_format const& wire) {
  constexpr char const* names[] = {"exact",   "bf16",  "half",     "int8",
                                   "one_bit", "top_k", "power_sgd"};
  std::string text = std::string("wires::") + names[static_cast<int>(wire.kind)];
  if (wire.kind == wire_kind::top_k) text += "(" + std::to_string(wire.one_of) + ")";
  if (wire.is_factored()) text += "(" + std::to_string(wire.rank) + ")";
  return wire.momentum   ? "wires::with_momentum(" + text + ")"
         : wire.feedback ? "wires::with_feedback(" + text + ")"
                         : text;
}

inline bool is_identifier(std::string const& name) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    char const c = name[i];
    bool const letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  for (char const* keyword : {"alignas",       "alignof",     "and",
                              "and_eq",        "asm",         "auto",
                              "bitand",        "bitor",       "bool",
                              "break",         "case",        "catch",
                              "char",          "char8_t",     "char16_t",
                              "char32_t",      "class",       "compl",
                              "concept",       "const",       "consteval",
                              "constexpr",     "constinit",   "const_cast",
                              "continue",      "co_await",    "co_return",
                              "co_yield",      "decltype",    "default",
                              "delete",        "do",          "double",
                              "dynamic_cast",  "else",        "enum",
                              "explicit",      "export",      "extern",
                              "false",         "float",       "for",
                              "friend",        "goto",        "if",
                              "inline",        "int",         "long",
                              "mutable",       "namespace",   "new",
                              "noexcept",      "not",         "not_eq",
                              "nullptr",       "operator",    "or",
                              "or_eq",         "private",     "protected",
                              "public",        "register",    "reinterpret_cast",
                              "requires",      "return",      "short",
                              "signed",        "sizeof",      "static",
                              "static_assert", "static_cast", "struct",
                              "switch",        "template",    "this",
                              "thread_local",  "throw",       "true",
                              "try",           "typedef",     "typeid",
                              "typename",      "union",       "unsigned",
                              "using",         "virtual",     "void",
                              "volatile",      "wchar_t",     "while",
                              "xor",           "xor_eq"})
    if (name == keyword) return false;
  return !name.empty();
}

}  // namespace detail

/// Returns the text of a header that defines the variable `name`. The type of the variable is
/// search::basic_plan<n>, where n is the number of elements of the plan. Throws ashlar::error if
///
///   `name` is not a C++ identifier,
///   the plan and `net` have different numbers of elements or parameters, or
///   the plan's seconds or gap are not finite.
template <int N>
std::string plan_header_text(search::basic_problem<N> const& net, search::basic_plan<N> const& plan,
                             std::string const& name) {
  if (!detail::is_identifier(name))
    throw error("plan_header", "\"" + name +
                                   "\" is not a valid C++ variable name. Use letters, digits and "
                                   "'_', and do not start with a digit.");
  search::require_own_plan("plan_header", net, plan);
  detail::placement_names lies;
  std::string body;
  for (int i = 0; i < plan.size(); ++i) {
    auto const& c = plan[i];
    body += "  add({" + lies.list({c.x, c.y, c.dy, c.dx}) + ", {";
    for (int k = 0; k < c.parameters.size(); ++k) {
      auto const& p = c.parameters[k];
      body += (k > 0 ? ", {" : "{") + lies.list({p.use, p.grad, p.store});
      bool const more = p.in_rows || !p.wire.is_exact() || p.delay != 0;
      if (p.is_updated_apart() || more)
        body += ", " + (p.is_updated_apart() ? lies(p.update) : std::string("{}"));
      if (more) body += p.in_rows ? ", true" : ", false";
      if (!p.wire.is_exact() || p.delay != 0) body += ", " + detail::expression_of(p.wire);
      if (p.delay != 0) body += ", " + std::to_string(p.delay);
      body += "}";
    }
    body += "}, {";
    for (int k = 0; k < c.statistics.size(); ++k)
      body += (k > 0 ? ", {" : "{") + lies.list({c.statistics[k].from, c.statistics[k].to}) + "}";
    body += "}});  // " + std::to_string(i) + " " + net.spec(i).name.text + "\n";
  }
  std::string mesh, input;
  for (auto const& a : plan.mesh.axis)
    mesh += std::string(mesh.empty() ? "" : ", ") + "{\"" + std::string(a.name.view()) + "\", " +
            std::to_string(a.extent) +
            ", link_tier::" + (a.tier == link_tier::inter_node ? "inter_node" : "intra_node") + "}";
  for (auto const n : plan.input.extent) input += (input.empty() ? "" : ", ") + std::to_string(n);
  return "// A plan for " + to_string(plan.mesh) +
         ", written by ashlar::io::save_plan_header. Use it as\n"
         "//   ashlar::nn::place<float>(net, mesh, ashlar::nn::constant<" +
         name +
         ">)\n\n#pragma once\n\n#include <ashlar/step/plan.hpp>\n\n"
         "inline constexpr auto " +
         name + " = [] {\n  using namespace ashlar;\n" + lies.declarations() +
         "  search::basic_plan<" + std::to_string(plan.size()) +
         "> plan;\n  plan.mesh = topology{" + mesh + "};\n  plan.input = shape{" + input +
         "};\n  plan.micro_batches = " + std::to_string(plan.micro_batches) +
         (plan.interleaved > 1 ? ";\n  plan.interleaved = " + std::to_string(plan.interleaved)
                               : "") +
         (plan.recomputed > 0 ? ";\n  plan.recomputed = " + std::to_string(plan.recomputed) : "") +
         (plan.plain_steps > 0 ? ";\n  plan.plain_steps = " + std::to_string(plan.plain_steps)
                               : "") +
         (is_stale(plan) ? ";\n  plan.staleness = " + std::to_string(plan.staleness) : "") +
         ";\n  plan.seconds = " + detail::exact_text("seconds", plan.seconds) +
         ";\n  plan.communication_seconds = " +
         detail::exact_text("communication_seconds", plan.communication_seconds) +
         ";\n  plan.memory = " + std::to_string(plan.memory) +
         ";\n  plan.gap = " + detail::exact_text("gap", plan.gap) +
         ";\n  plan.problem_hash = " + std::to_string(plan.problem_hash) +
         "u;\n  auto const add = [&plan](search::layer_choice const& c) { "
         "plan.choices.push_back(c); };\n  // x, y, dy, dx, parameters {use, grad, store" +
         (search::has_delays(plan)      ? "[, update, in rows, wire, delay]"
          : search::has_wires(plan)     ? "[, update, in rows, wire]"
          : search::has_rows(plan)      ? "[, update, in rows]"
          : search::updates_apart(plan) ? "[, update]"
                                        : "") +
         "}, statistics {from, to}\n" + body + "  return plan;\n}();\n";
}

/// Writes the header to a file. Throws ashlar::error if plan_header_text does or if the file cannot
/// be written.
template <int N>
void save_plan_header(std::string const& path, search::basic_problem<N> const& net,
                      search::basic_plan<N> const& plan, std::string const& name) {
  write_whole(path, plan_header_text(net, plan, name), "save_plan_header");
}

}  // namespace ashlar::io
