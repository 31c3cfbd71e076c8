// SPDX-License-Identifier: Apache-2.0
// The functions of NVTX's payload extension (module 2).
#include "plugins/nvtx/calls.h"

namespace plumb::nvtx {
namespace {

bool off() noexcept { return !lane().isOn.load(std::memory_order_relaxed); }

// The range's name, category and color can be fields of its payloads.
void takeAttributes(StringId domain, const nvtxPayloadData_t* payloads, size_t count,
                    RangeBeginRecord& begin) noexcept {
  Lane& l = lane();
  for (size_t i = 0; payloads && i < count; ++i) {
    const Schema* schema = l.schemas.find(domain, payloads[i].schemaId);
    for (size_t f = 0; schema && payloads[i].payload && f < schema->count; ++f) {
      const Field& field = schema->fields[f];
      PayloadFieldRecord value;
      if (field.use == Field::Use::kValue ||
          !decodeField(l.host, field, payloads[i].payload, payloads[i].size, begin.header.tid, value)) {
        continue;
      }
      if (field.use == Field::Use::kMessage && value.type == FieldType::kText) {
        begin.name = value.text;
      } else if (field.use == Field::Use::kCategory) {
        begin.category = l.categories.find(domain, static_cast<uint32_t>(value.integer));
      } else if (field.use == Field::Use::kColor) {
        begin.color_argb = static_cast<uint32_t>(value.integer);
      }
    }
  }
}

void writeBegin(RangeKind kind, nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count,
                uint64_t rangeId) noexcept {
  const int64_t now = monotonicNowNs();
  const Lane& l = lane();
  RangeBeginRecord begin = makeBegin(kind, l.host.threadId(), now, domainText(domain), 0, rangeId);
  takeAttributes(begin.domain, payloads, count, begin);
  l.host.write(begin);
  writePayloads(begin.domain, payloads, count, begin.header.tid);
}

}  // namespace

namespace calls {

uint64_t payloadSchemaRegister(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* attributes) noexcept {
  return off() || !attributes ? 0 : lane().schemas.registerSchema(lane().host, domainText(domain), *attributes);
}

uint64_t payloadEnumRegister(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t* attributes) noexcept {
  return off() || !attributes ? 0 : lane().schemas.registerEnum(lane().host, domainText(domain), *attributes);
}

void markPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count) noexcept {
  if (!off()) {
    writeBegin(RangeKind::kMark, domain, payloads, count, 0);
  }
}

int rangePushPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count) noexcept {
  if (!off()) {
    writeBegin(RangeKind::kPushPop, domain, payloads, count, pushLevel(domainText(domain)));
  }
  return NVTX_NO_PUSH_POP_TRACKING;
}

int rangePopPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, size_t count) noexcept {
  lane().fieldsLeftOut.fetch_add(count, std::memory_order_relaxed);  // a record of an end has no fields
  return domainRangePop(domain);
}

nvtxRangeId_t rangeStartPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count) noexcept {
  if (off()) {
    return 0;
  }
  const uint64_t id = lane().host.nextId();
  writeBegin(RangeKind::kStartEnd, domain, payloads, count, id);
  return id;
}

void rangeEndPayload(nvtxDomainHandle_t domain, nvtxRangeId_t id, const nvtxPayloadData_t*, size_t count) noexcept {
  lane().fieldsLeftOut.fetch_add(count, std::memory_order_relaxed);
  domainRangeEnd(domain, id);
}

uint8_t domainIsEnabled(nvtxDomainHandle_t) noexcept { return off() ? 0 : 1; }

}  // namespace calls
}  // namespace plumb::nvtx
