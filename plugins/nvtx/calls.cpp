// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/calls.h"

namespace plumb::nvtx {
namespace {

bool off() noexcept { return !lane().isOn.load(std::memory_order_relaxed); }

// Open push/pop ranges of the calling thread by domain, so that begin and end records can name their level.
class Levels {
 public:
  uint64_t push(StringId domain) noexcept {
    Slot* slot = find(domain);
    return slot == nullptr ? 0 : ++slot->open;
  }
  uint64_t pop(StringId domain) noexcept {
    Slot* slot = find(domain);
    return slot == nullptr || slot->open == 0 ? 0 : slot->open--;
  }

 private:
  struct Slot {
    StringId domain;
    uint64_t open;
  };
  static constexpr size_t kDomains = 32;  // those beyond have no levels

  Slot* find(StringId domain) noexcept {
    for (size_t i = 0; i < m_count; ++i) {
      if (m_slots[i].domain == domain) {
        return &m_slots[i];
      }
    }
    if (m_count == kDomains) {
      return nullptr;
    }
    m_slots[m_count] = {domain, 0};
    return &m_slots[m_count++];
  }

  Slot m_slots[kDomains] = {};
  size_t m_count = 0;
};

thread_local constinit Levels t_levels;

void writePlain(RangeKind kind, StringId name, uint64_t rangeId, int64_t timeNs) noexcept {
  const Lane& l = lane();
  l.host.write(makeBegin(kind, l.host.threadId(), timeNs, 0, name, rangeId));
}

void writeEnd(RangeKind kind, StringId domain, uint64_t rangeId) noexcept {
  if (off()) {
    return;
  }
  const Lane& l = lane();
  l.host.write(makeEnd(kind, l.host.threadId(), monotonicNowNs(), domain, rangeId));
}

void nameThread(uint32_t tid, StringId name) noexcept {
  ThreadNameRecord record{};
  record.header = makeHeader<ThreadNameRecord>(RecordKind::kThreadName, tid);
  record.name = name;
  lane().host.write(record);
}

}  // namespace

uint64_t pushLevel(StringId domain) noexcept { return t_levels.push(domain); }

void forgetLevels() noexcept { t_levels = Levels{}; }

Lane& lane() noexcept {
  static constinit Lane theLane;
  return theLane;
}

void writePayloads(StringId domain, const nvtxPayloadData_t* payloads, size_t count, uint32_t tid) noexcept {
  Lane& l = lane();
  for (size_t i = 0; payloads && i < count; ++i) {
    const nvtxPayloadData_t& data = payloads[i];
    if (data.schemaId == NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED || !data.payload) {
      continue;
    }
    const Schema* schema = l.schemas.find(domain, data.schemaId);
    if (!schema) {
      l.unknownSchemas.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    // SIZE_MAX: the size is the schema's.
    const size_t bytes = data.size == SIZE_MAX && schema->payloadBytes ? schema->payloadBytes : data.size;
    uint64_t leftOut = schema->leftOut;
    for (size_t f = 0; f < schema->count; ++f) {
      PayloadFieldRecord record;
      if (schema->fields[f].use == Field::Use::kMessage) {
        continue;
      }
      if (decodeField(l.host, schema->fields[f], data.payload, bytes, tid, record)) {
        l.host.write(record);
      } else {
        ++leftOut;
      }
    }
    if (leftOut) {
      l.fieldsLeftOut.fetch_add(leftOut, std::memory_order_relaxed);
    }
  }
}

void writeEvent(RangeKind kind, nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes,
                uint64_t rangeId) noexcept {
  if (off() || !attributes) {
    return;
  }
  const int64_t now = monotonicNowNs();
  const Lane& l = lane();
  const uint32_t tid = l.host.threadId();
  const StringId name = internMessage(l.host, attributes->messageType, attributes->message);
  RangeBeginRecord begin = makeBegin(kind, tid, now, domainText(domain), name, rangeId);
  begin.category = l.categories.find(domainText(domain), attributes->category);
  begin.color_argb = attributes->colorType == NVTX_COLOR_ARGB ? attributes->color : 0;
  l.host.write(begin);
  if (attributes->payloadType == NVTX_PAYLOAD_TYPE_EXT) {
    writePayloads(domainText(domain), reinterpret_cast<const nvtxPayloadData_t*>(attributes->payload.ullValue),
                  static_cast<size_t>(attributes->reserved0 > 0 ? attributes->reserved0 : 0), tid);
    return;
  }
  PayloadFieldRecord field;
  if (attributes->payloadType != NVTX_PAYLOAD_UNKNOWN && convertPayload(*attributes, l.payloadName, tid, field)) {
    l.host.write(field);
  }
}

void reportLeftOut() noexcept {
  Lane& l = lane();
  const uint64_t fields = l.fieldsLeftOut.load(std::memory_order_relaxed);
  const uint64_t schemas = l.unknownSchemas.load(std::memory_order_relaxed);
  if (fields) {
    l.host.diagnose(
        Severity::kInfo, "nvtx", "payload_fields_left_out", fields,
        "payload fields of NVTX ranges are not in the trace: variable arrays, unions and 128-bit numbers are not "
        "decoded.");
  }
  if (schemas) {
    l.host.diagnose(
        Severity::kWarning, "nvtx", "payload_schema_unknown", schemas,
        "payloads of NVTX ranges are not in the trace because their schema was not registered while we were "
        "attached.");
  }
}

namespace calls {

void markEx(const nvtxEventAttributes_t* attributes) noexcept { writeEvent(RangeKind::kMark, nullptr, attributes, 0); }

void markA(const char* message) noexcept {
  if (!off()) {
    const int64_t now = monotonicNowNs();
    writePlain(RangeKind::kMark, lane().host.intern(message), 0, now);
  }
}

void markW(const wchar_t* message) noexcept {
  if (!off()) {
    const int64_t now = monotonicNowNs();
    writePlain(RangeKind::kMark, internWide(lane().host, message), 0, now);
  }
}

int rangePushEx(const nvtxEventAttributes_t* attributes) noexcept { return domainRangePushEx(nullptr, attributes); }

int rangePushA(const char* message) noexcept {
  if (!off()) {
    const int64_t now = monotonicNowNs();
    writePlain(RangeKind::kPushPop, lane().host.intern(message), pushLevel(0), now);
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

int rangePushW(const wchar_t* message) noexcept {
  if (!off()) {
    const int64_t now = monotonicNowNs();
    writePlain(RangeKind::kPushPop, internWide(lane().host, message), pushLevel(0), now);
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

int rangePop() noexcept { return domainRangePop(nullptr); }

nvtxRangeId_t rangeStartEx(const nvtxEventAttributes_t* attributes) noexcept {
  return domainRangeStartEx(nullptr, attributes);
}

nvtxRangeId_t rangeStartA(const char* message) noexcept {
  if (off()) {
    return 0;
  }
  const int64_t now = monotonicNowNs();
  const uint64_t id = lane().host.nextId();
  writePlain(RangeKind::kStartEnd, lane().host.intern(message), id, now);
  return id;
}

nvtxRangeId_t rangeStartW(const wchar_t* message) noexcept {
  if (off()) {
    return 0;
  }
  const int64_t now = monotonicNowNs();
  const uint64_t id = lane().host.nextId();
  writePlain(RangeKind::kStartEnd, internWide(lane().host, message), id, now);
  return id;
}

void rangeEnd(nvtxRangeId_t id) noexcept { writeEnd(RangeKind::kStartEnd, 0, id); }

void nameCategoryA(uint32_t category, const char* name) noexcept { domainNameCategoryA(nullptr, category, name); }
void nameCategoryW(uint32_t category, const wchar_t* name) noexcept { domainNameCategoryW(nullptr, category, name); }

void nameOsThreadA(uint32_t tid, const char* name) noexcept {
  if (!off()) {
    nameThread(tid, lane().host.intern(name));
  }
}

void nameOsThreadW(uint32_t tid, const wchar_t* name) noexcept {
  if (!off()) {
    nameThread(tid, internWide(lane().host, name));
  }
}

void domainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  writeEvent(RangeKind::kMark, domain, attributes, 0);
}

int domainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  if (!off() && attributes) {
    writeEvent(RangeKind::kPushPop, domain, attributes, pushLevel(domainText(domain)));
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

int domainRangePop(nvtxDomainHandle_t domain) noexcept {
  if (!off()) {
    writeEnd(RangeKind::kPushPop, domainText(domain), t_levels.pop(domainText(domain)));
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

nvtxRangeId_t domainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
  if (off() || !attributes) {
    return 0;
  }
  const uint64_t id = lane().host.nextId();
  writeEvent(RangeKind::kStartEnd, domain, attributes, id);
  return id;
}

void domainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) noexcept {
  writeEnd(RangeKind::kStartEnd, domainText(domain), id);
}

nvtxResourceHandle_t domainResourceCreate(nvtxDomainHandle_t, nvtxResourceAttributes_t* attributes) noexcept {
  if (off() || !attributes) {
    return nullptr;
  }
  const StringId name = internMessage(lane().host, attributes->messageType, attributes->message);
  if (attributes->identifierType == static_cast<int32_t>(NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE)) {
    nameThread(static_cast<uint32_t>(attributes->identifier.ullValue), name);
  }
  return reinterpret_cast<nvtxResourceHandle_t>(name);
}

void domainResourceDestroy(nvtxResourceHandle_t) noexcept {}

void domainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char* name) noexcept {
  if (!off()) {
    lane().categories.name(domainText(domain), category, lane().host.intern(name));
  }
}

void domainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t* name) noexcept {
  if (!off()) {
    lane().categories.name(domainText(domain), category, internWide(lane().host, name));
  }
}

nvtxStringHandle_t domainRegisterStringA(nvtxDomainHandle_t, const char* text) noexcept {
  return off() ? nullptr : stringHandle(lane().host.intern(text));
}

nvtxStringHandle_t domainRegisterStringW(nvtxDomainHandle_t, const wchar_t* text) noexcept {
  return off() ? nullptr : stringHandle(internWide(lane().host, text));
}

nvtxDomainHandle_t domainCreateA(const char* name) noexcept {
  return off() ? nullptr : domainHandle(lane().host.intern(name));
}

nvtxDomainHandle_t domainCreateW(const wchar_t* name) noexcept {
  return off() ? nullptr : domainHandle(internWide(lane().host, name));
}

void domainDestroy(nvtxDomainHandle_t) noexcept {}
void initialize(const void*) noexcept {}

}  // namespace calls
}  // namespace plumb::nvtx
