// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/flight_recorder_salvage.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/import/json_reader.h"
#include "analyzer/import/plain_json.h"

namespace plumb::import {
namespace {

// How much is looked at in all, objects that turn out to be damaged included.
constexpr uint64_t kMostSearched = uint64_t{1} << 30;

class Salvage {
 public:
  Salvage(PlainDocument& document, const std::string& text) : m_document(document), m_text(text) {}

  DumpDamage run() {
    const uint64_t place = m_document.problemAt().value_or(0);
    const size_t start = std::min<size_t>(place > 0 ? place - 1 : 0, m_text.size());
    m_damage = {1, start};
    readEntries(start);
    for (const char* name : {"pg_config", "pg_status"}) readMember(name, start);
    if (!m_hasFound) return {};
    m_document.restoreProblem(std::nullopt, std::nullopt);
    return m_damage;
  }

 private:
  struct Found {
    size_t length = 0;  // of what was read
    bool isWhole = false, isEntry = false;
  };
  [[nodiscard]] Found objectAt(size_t at) {
    static constexpr std::array<std::string_view, 4> kOfEntries = {"record_id", "collective_seq_id", "profiling_name",
                                                                   "seq_id"};
    JsonReader reader(std::string_view(m_text).substr(at));
    Found found;
    found.isWhole = reader.object([&](std::string_view key, const JsonValue&) {
      found.isEntry |= std::ranges::find(kOfEntries, key) != kOfEntries.end();
    });
    found.length = static_cast<size_t>(reader.at() - m_text.data()) - at;
    m_searched += found.length;
    return found;
  }

  void readEntries(size_t at) {
    bool isCounted = true;  // the damage before the next entry
    for (at = m_text.find('{', at); at < m_text.size() && m_searched < kMostSearched; at = m_text.find('{', at)) {
      const Found found = objectAt(at);
      if (!found.isWhole) {
        // The object that reading broke off in is not looked at again: this is another one, or part of one.
        if (found.isEntry || !isCounted) ++m_damage.count;
        isCounted = true;
        ++at;
        continue;
      }
      const bool isEntry = found.isEntry && addEntry(at, found.length);
      isCounted = isCounted && !isEntry;
      at += found.length;
    }
  }

  bool addEntry(size_t at, size_t length) {
    const auto entry = addPlainJson(m_document, m_text.substr(at, length), at);
    if (!entry) return false;
    const PlainValue list = entries();
    m_document.mutableItems(list).push_back(*entry);
    m_hasFound = true;
    return true;
  }

  // The list of entries, without the one that reading broke off in: it is counted as the damage.
  [[nodiscard]] PlainValue entries() {
    if (m_entries.isContainer()) return m_entries;
    const PlainValue root = rootOf(PlainKind::List);
    m_entries = root;
    if (root.kind == PlainKind::Dict) {
      const PlainValue* list = m_document.find(root, "entries");
      m_entries = list && list->kind == PlainKind::List
                      ? *list
                      : addMember("entries", m_document.makeContainer(PlainKind::List, 0));
    }
    auto& items = m_document.mutableItems(m_entries);
    if (!items.empty() && m_document.isCut(items.back())) items.pop_back();
    return m_entries;
  }

  // A dictionary, or what else is allowed.
  [[nodiscard]] PlainValue rootOf(PlainKind other) {
    const PlainKind kind = m_document.root().kind;
    if (kind != PlainKind::Dict && kind != other) m_document.setRoot(m_document.makeContainer(PlainKind::Dict, 0));
    return m_document.root();
  }

  PlainValue addMember(const char* name, const PlainValue& value) {
    auto& members = m_document.mutableItems(rootOf(PlainKind::Dict));
    members.push_back(m_document.makeText(name));
    members.push_back(value);
    return value;
  }

  void readMember(const char* name, size_t from) {
    std::string quoted(1, '"');
    quoted.append(name).append(1, '"');
    const size_t key = m_text.find(quoted, from);
    if (key == std::string::npos || m_document.root().kind == PlainKind::List) return;
    JsonReader reader(std::string_view(m_text).substr(key + quoted.size()));
    if (!reader.consume(':') || reader.next() != '{') return;
    const auto start = static_cast<size_t>(reader.at() - m_text.data());
    const Found found = objectAt(start);
    const auto value =
        found.isWhole ? addPlainJson(m_document, m_text.substr(start, found.length), start) : std::nullopt;
    if (!value) return;
    addMember(name, *value);
    m_hasFound = true;
  }

  PlainDocument& m_document;
  const std::string& m_text;
  PlainValue m_entries;
  DumpDamage m_damage;
  uint64_t m_searched = 0;
  bool m_hasFound = false;
};

}  // namespace

DumpDamage salvageDump(PlainDocument& document, const std::string& text) { return Salvage(document, text).run(); }

}  // namespace plumb::import
