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

}  // namespace

std::string demangle(const std::string& mangled) {
  if (mangled.rfind("_Z", 0) != 0) return mangled;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : mangled;
}

std::string shortKernelName(std::string_view name) {
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
  return component.empty() ? std::string(name) : std::string(component);
}

}  // namespace plumb::schema
