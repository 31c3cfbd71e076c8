// SPDX-License-Identifier: Apache-2.0
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>

#include <initializer_list>

#include "tests/unit/plugins/nvtx/program.h"

namespace program {
namespace {

nvtxEventAttributes_t attributes(const char* name) {
  nvtxEventAttributes_t out{};
  out.version = NVTX_VERSION;
  out.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  out.messageType = NVTX_MESSAGE_TYPE_ASCII;
  out.message.ascii = name;
  return out;
}

uint64_t registerSchema(const nvtxPayloadSchemaEntry_t* entries, size_t count, size_t bytes) {
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = count;
  schema.payloadStaticSize = bytes;
  return nvtxPayloadSchemaRegister(nullptr, &schema);
}

void pushWithPayload(const char* name, uint64_t schema, const void* payload, size_t bytes) {
  nvtxPayloadData_t data{schema, bytes, payload};
  nvtxEventAttributes_t event = attributes(name);
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = reinterpret_cast<uint64_t>(&data);
  nvtxRangePushEx(&event);
  nvtxRangePop();
}

}  // namespace

void plainRanges() {
  nvtxRangePushA("outer");
  nvtxRangePushA("inner");
  nvtxRangePop();
  nvtxRangePop();
  nvtxMarkA("mark");
}

void* makeDomain() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("trainer");
  nvtxDomainNameCategoryA(domain, 7, "communication");
  return domain;
}

void* registerString(void* domain, const char* text) {
  return nvtxDomainRegisterStringA(static_cast<nvtxDomainHandle_t>(domain), text);
}

void domainRange(void* domain, void* string) {
  nvtxEventAttributes_t event = attributes(nullptr);
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = static_cast<nvtxStringHandle_t>(string);
  event.category = 7;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xFF00FF00;
  nvtxDomainRangePushEx(static_cast<nvtxDomainHandle_t>(domain), &event);
  nvtxDomainRangePop(static_cast<nvtxDomainHandle_t>(domain));
}

uint64_t startRange(void* domain, const char* name) {
  const nvtxEventAttributes_t event = attributes(name);
  return nvtxDomainRangeStartEx(static_cast<nvtxDomainHandle_t>(domain), &event);
}

void stepWithPayload(uint64_t step) {
  nvtxEventAttributes_t event = attributes("step");
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = step;
  nvtxRangePushEx(&event);
  nvtxRangePop();
}

void operationWithCost(const char* name, uint64_t flops, uint64_t bytes) {
  struct Cost {
    uint64_t flops;
    uint64_t bytes;
  };
  static const uint64_t s_schema = [] {
    nvtxPayloadSchemaEntry_t entries[2]{};
    entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
    entries[0].name = "flops";
    entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64;
    entries[1].name = "bytes";
    entries[1].offset = 8;
    return registerSchema(entries, 2, sizeof(Cost));
  }();
  const Cost cost{flops, bytes};
  pushWithPayload(name, s_schema, &cost, sizeof cost);
}

void nestedPayload() {
  struct Shape {
    int32_t rows;
    int32_t columns;
  };
  struct Call {
    double scale;
    Shape shape;
    float factors[3];
    char label[8];
    const char* note;
  };
  nvtxPayloadSchemaEntry_t shape[2]{};
  shape[0].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
  shape[0].name = "rows";
  shape[1].type = NVTX_PAYLOAD_ENTRY_TYPE_INT32;
  shape[1].name = "columns";  // no offset: by C's rules
  const uint64_t shapeSchema = registerSchema(shape, 2, sizeof(Shape));
  nvtxPayloadSchemaEntry_t call[5]{};
  call[0].type = NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE;
  call[0].name = "scale";
  call[1].type = shapeSchema;
  call[1].name = "shape";
  call[1].offset = offsetof(Call, shape);
  call[2].type = NVTX_PAYLOAD_ENTRY_TYPE_FLOAT;
  call[2].name = "factor";
  call[2].flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
  call[2].arrayOrUnionDetail = 3;
  call[2].offset = offsetof(Call, factors);
  call[3].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
  call[3].name = "label";
  call[3].arrayOrUnionDetail = 8;
  call[3].offset = offsetof(Call, label);
  call[4].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
  call[4].name = "note";
  call[4].offset = offsetof(Call, note);
  const uint64_t callSchema = registerSchema(call, 5, sizeof(Call));
  const Call payload{0.5, {-3, 4}, {1, 2, 3}, {'f', 'w', 'd'}, "a longer note"};
  pushWithPayload("nested", callSchema, &payload, sizeof payload);
}

void enumPayload() {
  nvtxPayloadEnum_t names[2]{};
  names[0].name = "RING";
  names[0].value = 1;
  names[1].name = "TREE";
  names[1].value = 2;
  nvtxPayloadEnumAttr_t description{};
  description.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                          NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE;
  description.entries = names;
  description.numEntries = 2;
  description.sizeOfEnum = 4;
  const uint64_t type = nvtxPayloadEnumRegister(nullptr, &description);
  nvtxPayloadSchemaEntry_t entry{};
  entry.type = type;
  entry.name = "algorithm";
  const uint64_t schema = registerSchema(&entry, 1, 4);
  for (const int32_t value : {2, 9}) {
    pushWithPayload("enum", schema, &value, sizeof value);
  }
}

void payloadOnly() {
  struct Event {
    const char* message;
    int64_t items;
  };
  nvtxPayloadSchemaEntry_t entries[2]{};
  entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
  entries[0].flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;
  entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
  entries[1].name = "items";
  entries[1].offset = 8;
  const Event event{"from payload", -1};
  const nvtxPayloadData_t data{registerSchema(entries, 2, sizeof event), sizeof event, &event};
  nvtxRangePushPayload(nullptr, &data, 1);
  nvtxRangePopPayload(nullptr, &data, 1);
}

void unknownSchema() {
  const uint64_t value = 1;
  pushWithPayload("unknown schema", 123'456'789, &value, sizeof value);
}

int isEnabled(void* domain) { return nvtxDomainIsEnabled(static_cast<nvtxDomainHandle_t>(domain)); }

}  // namespace program
