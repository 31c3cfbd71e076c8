// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/object_stream.h"

#include <utility>

namespace plumb::import {
namespace {

constexpr size_t kLongestObject = 8u << 20;

// What may stand between objects.
bool isSeparator(char c) { return std::string_view(" \t\r\n,[]}").find(c) != std::string_view::npos; }

// Finds the end of one object, byte by byte, over block borders.
struct Scan {
  int depth = 0;
  bool inText = false, isEscaped = false;

  // True behind the brace that closes the object.
  bool step(char c) {
    if (inText) {
      if (isEscaped) {
        isEscaped = false;
      } else if (c == '\\') {
        isEscaped = true;
      } else if (c == '"') {
        inText = false;
      }
      return false;
    }
    if (c == '"') inText = true;
    if (c == '{') ++depth;
    return c == '}' && --depth == 0;
  }
};

}  // namespace

ObjectStreamEnd readObjects(SourceContext& context, const std::function<bool(std::string_view, uint64_t)>& take) {
  ObjectStreamEnd result;
  std::string buffer;
  uint64_t base = 0;  // offset of the buffer
  size_t start = 0;   // of the object at hand; meaningful inside one
  size_t at = 0;
  bool isInside = false;
  bool isPassing = false;      // what is no object: up to the next line that begins with one
  bool isLineDamaged = false;  // damage of this line has been counted
  char last = '\n';            // before the byte at hand
  Scan scan;
  const auto damage = [&](uint64_t offset) {
    if (result.damaged++ == 0) result.firstDamage = offset;
  };
  while (true) {
    if (at == buffer.size()) {
      const size_t keep = isInside ? start : at;
      base += keep;
      buffer.erase(0, keep);
      at -= keep;
      start = 0;
      if (isInside && buffer.size() > kLongestObject) {
        damage(base);
        isInside = false;
      }
      if (!context.source.append(buffer)) break;
      if (context.progress) context.progress(context.source);
      if (at == buffer.size()) continue;
    }
    const char c = buffer[at], before = std::exchange(last, c);
    // Objects that are written over several lines indent what is inside them.
    const bool isLineOfObject = c == '{' && before == '\n';
    isPassing = isPassing && !isLineOfObject;
    if (!isInside) {
      if (c == '\n') isLineDamaged = false;
      if (c != '{' || isPassing) {
        if (!isPassing && !isSeparator(c)) {
          isPassing = true;
          if (!isLineDamaged) damage(base + at);
        }
        ++at;
        continue;
      }
      isInside = true;
      start = at;
      scan = Scan{};
    } else if (isLineOfObject && at > start) {
      damage(base + start);
      start = at;
      scan = Scan{};
    }
    if (scan.step(c)) {
      isLineDamaged = !take(std::string_view(buffer).substr(start, at + 1 - start), base + start);
      isInside = false;
    }
    ++at;
  }
  if (isInside) {
    damage(base + start);
    result.isCut = true;
  }
  result.bytes = base + buffer.size();
  return result;
}

}  // namespace plumb::import
