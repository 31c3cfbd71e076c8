// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_nvtx.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "analyzer/import/json.h"

namespace plumb::import {
namespace {

// ENUM_NSYS_EVENT_TYPE
constexpr int64_t kCategory = 33, kMark = 34, kPushPop = 59, kStartEnd = 60, kDomain = 75, kDomainEnd = 76;
// Names of threads, devices, contexts, streams, and the raw halves of ranges, which come as whole ones too.
bool isDefinition(int64_t type) {
  return type == kCategory || type == kDomain || type == kDomainEnd || type == 39 || (type >= 97 && type <= 99);
}

enum Column : int {
  kStart,
  kEnd,
  kType,
  kGlobalTid,
  kEndGlobalTid,
  kText,
  kTextId,
  kDomainId,
  kCategoryId,
  kColor,
  kUint64,
  kInt64,
  kUint32,
  kInt32,
  kDouble,
  kFloat,
  kJsonText,
  kJsonTextId,
  kBinary,
  kEventId
};

class Nvtx {
 public:
  explicit Nvtx(NsysContext& context)
      : m_context(context),
        m_payloads(context.source),
        m_hasType(context.source.has("NVTX_EVENTS", "eventType")),
        m_payloadName(context.file.textId("payload")) {
    readDefinitions();
    readTranslations();
  }

  std::vector<NcclCall> import() {
    for (const std::string& name : m_context.source.tables()) m_hasDynamic |= isDynamic(name);
    m_hasDynamic &= m_context.source.has("NVTX_EVENTS", "eventId");
    m_context.forEachEvent(
        "NVTX_EVENTS",
        {"start|timestamp", "end",        "eventType", "globalTid",   "endGlobalTid", "text",        "textId",
         "domainId",        "category",   "color",     "uint64Value", "int64Value",   "uint32Value", "int32Value",
         "doubleValue",     "floatValue", "jsonText",  "jsonTextId",  "binaryData",   "eventId"},
        [&](const NsysRow& row) { take(row); });
    if (m_hasDynamic) importDynamic();
    return std::move(m_calls);
  }

 private:
  using DomainKey = std::pair<uint64_t, int64_t>;  // process, domain
  struct Owner {
    int64_t range = 0;
    size_t call = kNoCall;
  };
  static constexpr size_t kNoCall = ~size_t{0};

  static bool isDynamic(std::string_view table) { return table.starts_with("DYNAMIC_NVTXPAYLOAD_"); }

  void readDefinitions() {
    if (!m_hasType) return;
    m_context.source.forEach(
        "NVTX_EVENTS", {"eventType", "globalTid", "domainId", "category", "text", "textId"},
        [&](const NsysRow& row) {
          const uint64_t process = GlobalId(row.integerOr(1, 0)).process();
          const int64_t name = nameOf(row, 4, 5);
          if (row.integer(0) == kDomain) m_domains.insert_or_assign({process, row.integerOr(2, 0)}, name);
          if (row.integer(0) == kCategory) {
            m_categories.insert_or_assign({process, row.integerOr(2, 0), row.integerOr(3, 0)}, name);
          }
        },
        nullptr, "eventType IN (33, 75)");
  }

  void readTranslations() {
    m_context.source.forEach("NVTX_EXPORT_TRANSLATION", {"sanitizedName", "originalName"},
                             [&](const NsysRow& row) { m_originalNames.emplace(row.text(0), row.text(1)); });
  }

  // Exports before 3.0 have no nulls but 0 and '' for what is not there.
  static bool isRegistered(const NsysRow& row, int text, int id) {
    return row.text(text).empty() && row.integerOr(id, 0) != 0;
  }
  [[nodiscard]] int64_t nameOf(const NsysRow& row, int text, int id) {
    return isRegistered(row, text, id) ? m_context.names.textId(row.integer(id))
                                       : m_context.file.textId(row.text(text));
  }

  [[nodiscard]] int64_t domainOf(uint64_t process, int64_t domain) {
    const auto [entry, isNew] = m_domains.try_emplace({process, domain}, 0);
    // The export does not say what the domain is called.
    if (isNew && domain != 0) entry->second = m_context.file.textId(fmt::format("domain {}", domain));
    return entry->second;
  }

  void take(const NsysRow& row) {
    const int64_t type = m_hasType ? row.integerOr(kType, -1) : row.isNull(kEnd) ? kMark : kPushPop;
    if (type != kMark && type != kPushPop && type != kStartEnd) {
      if (!isDefinition(type)) m_context.tally.count(NsysReason::NotUnderstood);
      return;
    }
    const bool isMark = type == kMark;
    const bool isOpen = !isMark && row.integerOr(kEnd, 0) <= 0 && row.integerOr(kEnd, 0) < row.integerOr(kStart, 0);
    const auto times = m_context.times(row.integer(kStart), row.integer(isMark ? kStart : kEnd));
    if (!times) return;
    if (!times->isUsable && !isOpen) return m_context.tally.count(NsysReason::BadDuration);
    if (isOpen) m_context.tally.count(NsysReason::NeverEnded);
    const auto global = row.integer(kGlobalTid);
    const int64_t process = m_context.registry.process(global);
    const uint64_t key = GlobalId(global.value_or(0)).process();
    const int64_t thread = m_context.registry.thread(global);
    const auto endThread = row.integer(kEndGlobalTid);
    m_context.registry.noteTime(process, times->start, times->start + times->duration);
    const int64_t id = m_context.file.rows().nextId<schema::RangeRow>();
    std::string_view text = row.text(kText);
    std::string registered;
    if (isRegistered(row, kText, kTextId)) text = registered = textOf(*row.integer(kTextId));
    const auto category = row.integer(kCategoryId);
    m_context.file.rows().insert(
        schema::RangeRow{.id = id,
                         .process_id = process,
                         .thread_id = thread,
                         .end_thread_id = endThread && *endThread != 0 && endThread != global
                                              ? std::optional(m_context.registry.thread(endThread))
                                              : std::nullopt,
                         .start_ns = times->start,
                         .duration_ns = isOpen ? std::nullopt : std::optional(times->duration),
                         .kind = isMark              ? "mark"
                                 : type == kStartEnd ? "start_end"
                                                     : "push_pop",
                         .depth = 0,  // the last pass over the file knows
                         .parent_id = std::nullopt,
                         .domain_id = domainOf(key, row.integerOr(kDomainId, 0)),
                         .name_id = m_context.file.textId(text),
                         .category_id = category && *category != 0
                                            ? std::optional(categoryOf(key, row.integerOr(kDomainId, 0), *category))
                                            : std::nullopt,
                         .color_argb = row.integerOr(kColor, 0) != 0 ? row.integer(kColor) : std::nullopt});
    Owner owner{id, kNoCall};
    if (isNcclFunction(text)) {
      owner.call = m_calls.size();
      m_calls.push_back({process, thread, times->start, times->duration, std::string(text), {}});
    }
    payload(row, owner);
    if (m_hasDynamic && row.integer(kEventId)) m_owners.insert_or_assign(*row.integer(kEventId), owner);
  }

  static bool isNcclFunction(std::string_view name) {
    return name.size() > 4 && name.starts_with("nccl") && name[4] >= 'A' && name[4] <= 'Z';
  }

  const std::string& textOf(int64_t id) {
    const auto [entry, isNew] = m_texts.try_emplace(id);
    if (isNew) entry->second = m_context.names.text(id);
    return entry->second;
  }

  [[nodiscard]] int64_t categoryOf(uint64_t process, int64_t domain, int64_t category) {
    const auto [entry, isNew] = m_categories.try_emplace({process, domain, category}, 0);
    if (isNew) entry->second = m_context.file.textId(fmt::format("category {}", category));
    return entry->second;
  }

  void payload(const NsysRow& row, const Owner& owner) {
    int present = 0;
    for (const int column : {kUint64, kInt64, kUint32, kInt32, kDouble, kFloat}) present += row.isNull(column) ? 0 : 1;
    for (const int column : {kUint64, kInt64, kUint32, kInt32, kDouble, kFloat}) {
      const bool isDefault = present > 1 && row.real(column) == 0;
      if (row.isNull(column) || isDefault) continue;
      const bool isReal = column == kDouble || column == kFloat;
      store(owner, m_payloadName, isReal ? schema::Value(row.real(column)) : schema::Value(row.integerOr(column, 0)));
    }
    if (!row.text(kJsonText).empty()) json(owner, row.text(kJsonText));
    if (row.integerOr(kJsonTextId, 0) != 0) json(owner, textOf(*row.integer(kJsonTextId)));
    if (row.bytes(kBinary).empty()) return;
    std::vector<PayloadField> fields;
    const bool isText = row.type(kBinary) == ValueType::Text;
    if (!m_payloads.decode(isText ? row.text(kBinary) : row.bytes(kBinary), isText, fields)) {
      m_context.tally.count(NsysReason::BadPayload);
    }
    for (PayloadField& field : fields) store(owner, std::move(field));
  }

  void json(const Owner& owner, std::string_view text) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    const bool isObject = first != std::string_view::npos && text[first] == '{';
    const bool isValid = isObject && readObject(text, [&](std::string_view key, const JsonValue& value) {
                           if (value.kind == JsonKind::Null || value.kind == JsonKind::NotFinite) return;
                           PayloadField field{std::string(key), value.toText()};
                           const auto integer = value.toInteger();
                           const auto real = value.toReal();
                           if (value.kind == JsonKind::Number && integer) field.value = *integer;
                           if (value.kind == JsonKind::Number && !integer && real) field.value = *real;
                           store(owner, std::move(field));
                         });
    if (!isValid) store(owner, m_payloadName, schema::Value(text));
  }

  void store(const Owner& owner, int64_t name, const schema::Value& value) {
    m_context.file.rows().insert(schema::RangePayloadRow{.range_id = owner.range, .name_id = name, .value = value});
  }

  void store(const Owner& owner, PayloadField field) {
    schema::Value value;
    if (const auto* integer = std::get_if<int64_t>(&field.value)) value = *integer;
    if (const auto* real = std::get_if<double>(&field.value)) value = *real;
    if (const auto* text = std::get_if<std::string>(&field.value)) value = std::string_view(*text);
    store(owner, m_context.file.textId(field.name), value);
    if (owner.call != kNoCall) m_calls[owner.call].fields.push_back(std::move(field));
  }

  // One table per payload schema, a row per event; arrays in tables of their own.
  void importDynamic() {
    for (const std::string& table : m_context.source.tables()) {
      if (!isDynamic(table) || !m_context.source.has(table, "eventId")) continue;
      const std::vector<std::string> columns = m_context.source.columns(table);
      std::vector<const char*> wanted = {"eventId"};
      std::vector<std::string> names = {""};
      for (const std::string& column : columns) {
        if (column == "eventId" || column == "globalPid") continue;
        wanted.push_back(column.c_str());
        const auto original = m_originalNames.find(column);
        names.push_back(original == m_originalNames.end() ? column : original->second);
      }
      m_context.source.forEach(table, wanted, [&](const NsysRow& row) {
        const auto owner = m_owners.find(row.integerOr(0, 0));
        if (owner == m_owners.end()) return m_context.tally.count(NsysReason::BadPayload);
        for (size_t i = 1; i < wanted.size(); ++i) {
          const int at = static_cast<int>(i);
          if (row.type(at) == ValueType::Integer) store(owner->second, PayloadField{names[i], *row.integer(at)});
          if (row.type(at) == ValueType::Real) store(owner->second, PayloadField{names[i], row.real(at)});
          if (row.type(at) == ValueType::Text) store(owner->second, PayloadField{names[i], std::string(row.text(at))});
        }
      });
    }
    for (const char* table : {"NVTX_EVENTS_PAYLOAD_SCHEMAS", "NVTX_PAYLOAD_SCHEMA_RELATIONS"}) {
      m_context.source.markRead(table);  // the tables' names and columns say the same
    }
  }

  NsysContext& m_context;
  NsysPayloads m_payloads;
  bool m_hasType, m_hasDynamic = false;
  int64_t m_payloadName;
  std::map<DomainKey, int64_t> m_domains;
  std::map<std::tuple<uint64_t, int64_t, int64_t>, int64_t> m_categories;
  std::map<std::string, std::string, std::less<>> m_originalNames;  // of payload fields
  std::unordered_map<int64_t, std::string> m_texts;
  std::unordered_map<int64_t, Owner> m_owners;  // by event id
  std::vector<NcclCall> m_calls;
};

}  // namespace

std::vector<NcclCall> importNvtx(NsysContext& context) { return Nvtx(context).import(); }

}  // namespace plumb::import
