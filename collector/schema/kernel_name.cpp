// SPDX-License-Identifier: Apache-2.0
#include "collector/schema/kernel_name.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace plumb::schema {

namespace {

bool isIdentifierCharacter(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

bool startsWith(std::string_view text, std::string_view prefix) noexcept {
  return text.substr(0, prefix.size()) == prefix;
}

// The position behind the bracket that closes the one at `open`; the text's end when none does.
size_t skipBrackets(std::string_view text, size_t open) noexcept {
  const char opening = text[open];
  const char closing = opening == '<' ? '>' : opening == '(' ? ')' : opening == '{' ? '}' : ']';
  size_t depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (opening == '<' && text[i] == '(') i = skipBrackets(text, i) - 1;  // ((4)>(2)) closes nothing
    if (text[i] == opening) ++depth;
    if (text[i] == closing && (closing != '>' || text[i - 1] != '-') && --depth == 0) return i + 1;
  }
  return text.size();
}

// The length of "operator…" with its symbol at the start of text; 0: no operator function is named there.
size_t operatorLength(std::string_view text) noexcept {
  constexpr std::string_view kOperator = "operator";
  if (!startsWith(text, kOperator) || text.size() == kOperator.size()) return 0;
  const std::string_view rest = text.substr(kOperator.size());
  if (isIdentifierCharacter(rest[0])) return 0;
  for (const std::string_view symbol :
       {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"}) {
    if (startsWith(rest, symbol)) return kOperator.size() + symbol.size();
  }
  // operator==, operator bool, operator new: up to the template arguments or parameters.
  return kOperator.size() + std::min(rest.find_first_of("(<"), rest.size());
}

std::string demangledOrNone(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : std::string();
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find(from, at), text.size());
    result += text.substr(at, next - at);
    if (next < text.size()) result += to;
    at = next + from.size();
  }
  return result;
}

std::string_view lastComponent(std::string_view name) {
  // One walk from the left over the outermost level: the last component before the parameters is the answer.
  std::string_view component;
  size_t start = 0;
  size_t i = 0;
  while (i < name.size()) {
    if (const size_t length = i == start ? operatorLength(name.substr(i)) : 0; length != 0) {
      component = name.substr(i, length);
      i += length;
      start = std::string_view::npos;  // template arguments or parameters follow
      continue;
    }
    const char c = name[i];
    if (startsWith(name.substr(i), "(anonymous namespace)")) {
      i += std::string_view("(anonymous namespace)").size();
    } else if (startsWith(name.substr(i), "::")) {
      i += 2;
      start = i;
      component = {};
    } else if (c == ' ') {  // a return type or "const" before it ends here
      if (component.empty() || start != std::string_view::npos) component = {};
      start = ++i;
    } else if (c == '(') {
      const size_t end = skipBrackets(name, i);
      if (component.empty() && start != std::string_view::npos) component = name.substr(start, i - start);
      if (name.substr(end, 2) == "::" || startsWith(name.substr(end), " const::")) {  // a local entity of that function
        i = name.find("::", end);
        continue;
      }
      break;
    } else if (c == '<' || c == '{' || c == '[') {
      if (component.empty() && start != std::string_view::npos && c != '{') component = name.substr(start, i - start);
      i = skipBrackets(name, i);
      if (c == '{' && component.empty()) component = "lambda";
    } else {
      ++i;
    }
  }
  if (component.empty() && start < name.size()) component = name.substr(start, i - start);
  return component.empty() ? name : component;
}

bool hasOuterSpace(std::string_view name) noexcept {
  for (size_t i = 0; i < name.size();) {
    if (name[i] == ' ') return true;
    i = std::string_view("<({[").find(name[i]) != std::string_view::npos ? skipBrackets(name, i) : i + 1;
  }
  return false;
}

// Without " [clone .kd]", which is no part of the function's name.
std::string_view withoutClones(std::string_view name) noexcept {
  while (name.ends_with(']')) {
    const size_t clone = name.rfind(" [clone ");
    if (clone == std::string_view::npos || clone == 0 || name.find(']', clone) != name.size() - 1) break;
    name = name.substr(0, clone);
  }
  return name;
}

// Whether the text ends in a parameter list, maybe with qualifiers behind it. "attention (causal)" has none.
bool endsInParameters(std::string_view name) noexcept {
  for (const std::string_view qualifier : {" const", " volatile", "&", "&", " "}) {
    if (name.ends_with(qualifier)) name.remove_suffix(qualifier.size());
  }
  if (!name.ends_with(')')) return false;
  size_t depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i > 0 && name[i - 1] != ' ';
  }
  return false;
}

// Whether a word can be one of a return type: "unsigned", "std::enable_if<true, void>::type", "float*".
bool isOfType(std::string_view word) noexcept {
  for (const std::string_view known : {"void", "bool", "char", "short", "int", "long", "float", "double", "signed",
                                       "unsigned", "const", "volatile", "auto", "static", "typename"}) {
    if (word == known) return true;
  }
  return word.find("::") != std::string_view::npos || word.find_first_of("<(*&") != std::string_view::npos;
}

// Whether what stands before the function's name, up to the last blank outside of brackets, can be a return type.
bool beginsWithType(std::string_view name) noexcept {
  size_t start = 0;
  for (size_t i = 0; i < name.size();) {
    if (name[i] == ' ') {
      if (!isOfType(name.substr(start, i - start))) return false;
      start = i + 1;
    }
    i = std::string_view("<({[").find(name[i]) != std::string_view::npos ? skipBrackets(name, i) : i + 1;
  }
  return true;
}

// Whether a blank in the name ends a return type, rather than being a part of what a person called the kernel:
// "fused attention fwd", "op: add", "my kernel fwd(x)". A signature may be cut, and is then told by its beginning.
bool isFunction(std::string_view name) noexcept {
  constexpr std::string_view kVoid = "void ";
  if (!hasOuterSpace(startsWith(name, kVoid) ? name.substr(kVoid.size()) : name)) return true;
  return endsInParameters(name) && beginsWithType(name);
}

// True for entry points of template libraries that only their template argument tells apart: cutlass::Kernel2 (also of
// cutlass__5x_cudnn and other copies), ck_tile::kentry.
bool isEntryPoint(std::string_view scope, std::string_view component) noexcept {
  if (scope.size() < 2 || scope.substr(scope.size() - 2) != "::") return false;
  scope.remove_suffix(2);
  size_t begin = scope.size();
  while (begin > 0 && isIdentifierCharacter(scope[begin - 1])) --begin;
  scope.remove_prefix(begin);
  if (component == "kentry") return scope == "ck_tile";
  constexpr std::string_view kKernel = "Kernel";
  return startsWith(scope, "cutlass") && startsWith(component, kKernel) &&
         component.find_first_not_of("0123456789", kKernel.size()) == std::string_view::npos;
}

// Of such an entry point the name of the first template argument that is a type; "" for other kernels. `component` is
// a part of `name`.
std::string_view tellingArgument(std::string_view name, std::string_view component) noexcept {
  if (component.data() < name.data() || component.data() > name.data() + name.size()) return {};
  const auto begin = static_cast<size_t>(component.data() - name.data());
  size_t at = begin + component.size();
  if (at >= name.size() || name[at] != '<' || !isEntryPoint(name.substr(0, begin), component)) return {};
  const size_t end = skipBrackets(name, at) - 1;
  for (++at; at < end; ++at) {
    while (at < end && name[at] == ' ') ++at;
    const size_t start = at;
    while (at < end && name[at] != ',') {
      const bool isOpening = std::string_view("<({[").find(name[at]) != std::string_view::npos;
      at = isOpening ? skipBrackets(name, at) : at + 1;
    }
    std::string_view argument = name.substr(start, std::min(at, end) - start);
    while (argument.ends_with(' ')) argument.remove_suffix(1);
    const bool isType = !argument.empty() && isIdentifierCharacter(argument[0]) &&
                        std::isdigit(static_cast<unsigned char>(argument[0])) == 0 && argument != "true" &&
                        argument != "false";
    if (isType) return lastComponent(argument);
  }
  return {};
}

}  // namespace

std::string demangle(const std::string& mangled) {
  if (mangled.rfind("_Z", 0) != 0) return mangled;
  // libstdc++ knows std::bfloat16_t (DF16b) from GCC 13 on, and reads something else before: give it another built-in
  // type in its place. In an identifier this breaks its length, and the name is read as it is.
  constexpr std::string_view kBfloat16 = "DF16b", kQuad = "g", kQuadName = "__float128";
  if (mangled.find(kBfloat16) != std::string::npos) {
    const std::string name = demangledOrNone(replaced(mangled, kBfloat16, kQuad));
    if (!name.empty()) return replaced(name, kQuadName, "std::bfloat16_t");
  }
  const std::string name = demangledOrNone(mangled);
  return name.empty() ? mangled : name;
}

std::string shortKernelName(std::string_view demangled) {
  const std::string_view name = withoutClones(demangled);
  if (!isFunction(name)) return std::string(demangled);
  const std::string_view component = lastComponent(name);
  const std::string_view telling = tellingArgument(name, component);
  return std::string(telling.empty() ? component : telling);
}

}  // namespace plumb::schema
