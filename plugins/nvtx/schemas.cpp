// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/schemas.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace plumb::nvtx {
namespace {

constexpr size_t kLongestProbe = 64;
constexpr size_t kLongestName = 256;
constexpr size_t kMaxArray = 16;  // elements of a fixed array that become fields of their own
constexpr size_t kMaxEntries = 4096;

uint64_t keyOf(StringId domain, uint64_t id) noexcept {
  // Ids that we generated are unique in the process, and may be used with any domain.
  const StringId scope = id >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START ? 0 : domain;
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  uint64_t key = scope ^ (id * kOdd);
  key ^= key >> 31;
  return key ? key : 1;
}

bool isText(uint64_t type) noexcept {
  return type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING || type == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
}

bool isReal(uint64_t type) noexcept {
  return type == NVTX_PAYLOAD_ENTRY_TYPE_FLOAT || type == NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE ||
         type == NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32 || type == NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64;
}

bool isSigned(uint64_t type) noexcept {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
      return true;
    default:
      return false;
  }
}

Field::Use useOf(const nvtxPayloadSchemaEntry_t& entry) noexcept {
  constexpr uint64_t kEventFlags = 3 << 10;  // message and timestamp share these two bits
  if ((entry.flags & kEventFlags) == NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) {
    return Field::Use::kMessage;
  }
  if (entry.type == NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY) {
    return Field::Use::kCategory;
  }
  return entry.type == NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB ? Field::Use::kColor : Field::Use::kValue;
}

// Flattens one schema. The state of a walk over entries, offsets computed by C's layout rules where not given.
class Flattener {
 public:
  Flattener(Host host, const Schemas& schemas, StringId domain) noexcept
      : m_host(host), m_schemas(schemas), m_domain(domain) {}

  void add(const nvtxPayloadSchemaAttr_t& attributes) noexcept {
    size_t end = 0;
    const size_t pack = attributes.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT ? attributes.packAlign : 0;
    for (size_t i = 0; i < attributes.numEntries; ++i) {
      const nvtxPayloadSchemaEntry_t& entry = attributes.entries[i];
      const Schema* nested = m_schemas.find(m_domain, entry.type);
      const EnumNames* names = m_schemas.findEnum(m_domain, entry.type);
      const Layout layout = layoutOf(entry, nested, names);
      if (layout.bytes == 0) {
        ++m_leftOut;
        m_offsetsKnown = false;  // whatever follows without an offset cannot be placed
        continue;
      }
      const size_t align = pack && pack < layout.align ? pack : layout.align;
      const bool placed = entry.offset != 0 || i == 0;
      if (!placed && !m_offsetsKnown) {
        ++m_leftOut;
        continue;
      }
      const size_t offset = placed ? entry.offset : (end + align - 1) / align * align;
      m_offsetsKnown = true;
      addEntry(entry, nested, names, layout, offset);
      end = offset + layout.bytes * layout.count;
    }
  }

  [[nodiscard]] Schema* finish(size_t payloadBytes) noexcept {
    auto* schema = static_cast<Schema*>(malloc(sizeof(Schema)));
    auto* fields = static_cast<Field*>(malloc(sizeof(Field) * (m_count ? m_count : 1)));
    if (!schema || !fields) {
      free(schema);
      free(fields);
      return nullptr;
    }
    memcpy(fields, m_fields, sizeof(Field) * m_count);
    *schema = Schema{m_count, payloadBytes, m_leftOut, fields};
    return schema;
  }

 private:
  struct Layout {
    size_t bytes;  // of one element; 0: cannot be represented
    size_t align;
    size_t count;
    bool isTextPointer;
  };

  static Layout layoutOf(const nvtxPayloadSchemaEntry_t& entry, const Schema* nested, const EnumNames* names) noexcept {
    const uint64_t array = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry.flags);
    const bool pointer = (entry.flags & (NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
                                         NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE)) != 0;
    const bool direct = (entry.flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER) != 0;
    if (isText(entry.type)) {
      const bool fixed = array == 0 || array == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE;
      if (!pointer && fixed && entry.arrayOrUnionDetail > 0) {
        return {static_cast<size_t>(entry.arrayOrUnionDetail), 1, 1, false};
      }
      if (direct || (!pointer && array == 0)) {
        return {sizeof(char*), alignof(char*), 1, true};
      }
      return {};
    }
    if (pointer || (array != 0 && array != NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE)) {
      return {};
    }
    const size_t count = array ? static_cast<size_t>(entry.arrayOrUnionDetail) : 1;
    if (nested) {
      return {nested->payloadBytes, alignof(uint64_t), count, false};
    }
    const size_t bytes = names ? names->valueBytes : typeBytes(entry.type);
    return {bytes, bytes ? bytes : 1, count, false};
  }

  void addEntry(const nvtxPayloadSchemaEntry_t& entry, const Schema* nested, const EnumNames* names,
                const Layout& layout, size_t offset) noexcept {
    const char* name = entry.name ? entry.name : "value";
    const size_t shown = layout.count < kMaxArray ? layout.count : kMaxArray;
    m_leftOut += static_cast<uint32_t>(layout.count - shown);
    for (size_t i = 0; i < shown; ++i) {
      char text[kLongestName];
      if (layout.count > 1) {
        snprintf(text, sizeof text, "%.200s[%zu]", name, i);
      } else {
        snprintf(text, sizeof text, "%.200s", name);
      }
      const size_t at = offset + i * layout.bytes;
      if (nested) {
        addNested(*nested, text, at);
        continue;
      }
      push(text, Field{0, nullptr, entry.type, static_cast<uint32_t>(at), static_cast<uint32_t>(layout.bytes),
                       layout.isTextPointer, useOf(entry), names});
    }
  }

  void addNested(const Schema& nested, const char* outer, size_t offset) noexcept {
    m_leftOut += nested.leftOut;
    for (size_t i = 0; i < nested.count; ++i) {
      Field field = nested.fields[i];
      field.offset += static_cast<uint32_t>(offset);
      char text[kLongestName];
      snprintf(text, sizeof text, "%.120s.%.120s", outer, nested.fields[i].text);
      push(text, field);
    }
  }

  void push(const char* text, Field field) noexcept {
    field.text = m_count < Schemas::kMaxFields ? strdup(text) : nullptr;
    if (!field.text) {
      ++m_leftOut;
      return;
    }
    field.name = m_host.intern(text);
    m_fields[m_count++] = field;
  }

  Host m_host;
  const Schemas& m_schemas;
  StringId m_domain;
  bool m_offsetsKnown = true;
  uint32_t m_leftOut = 0;
  size_t m_count = 0;
  Field m_fields[Schemas::kMaxFields];
};

}  // namespace

size_t typeBytes(uint64_t type) noexcept {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_UCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT8:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR8:
    case NVTX_PAYLOAD_ENTRY_TYPE_BYTE:
      return 1;
    case NVTX_PAYLOAD_ENTRY_TYPE_SHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_USHORT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT16:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR16:
      return 2;
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_WCHAR:
    case NVTX_PAYLOAD_ENTRY_TYPE_CHAR32:
    case NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY:
    case NVTX_PAYLOAD_ENTRY_TYPE_COLOR_ARGB:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT32:
      return 4;
    case NVTX_PAYLOAD_ENTRY_TYPE_LONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_ULONGLONG:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE:
    case NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
    case NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS:
    case NVTX_PAYLOAD_ENTRY_TYPE_SCOPE_ID:
    case NVTX_PAYLOAD_ENTRY_TYPE_PID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE:
      return 8;
    default:
      return 0;
  }
}

const Schemas::Slot* Schemas::findSlot(StringId domain, uint64_t id) const noexcept {
  const uint64_t key = keyOf(domain, id);
  for (size_t i = 0; i < kLongestProbe; ++i) {
    const Slot& slot = m_slots[(key + i) % kCapacity];
    const uint64_t found = slot.key.load(std::memory_order_acquire);
    if (found == key) {
      return &slot;
    }
    if (found == 0) {
      return nullptr;
    }
  }
  return nullptr;
}

Schemas::Slot* Schemas::claimSlot(StringId domain, uint64_t id) noexcept {
  const uint64_t key = keyOf(domain, id);
  for (size_t i = 0; i < kLongestProbe; ++i) {
    Slot& slot = m_slots[(key + i) % kCapacity];
    uint64_t found = 0;
    if (slot.key.compare_exchange_strong(found, key, std::memory_order_acq_rel) || found == key) {
      return &slot;
    }
  }
  return nullptr;
}

const Schema* Schemas::find(StringId domain, uint64_t id) const noexcept {
  const Slot* slot = id >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START ? findSlot(domain, id) : nullptr;
  return slot ? slot->schema.load(std::memory_order_acquire) : nullptr;
}

const EnumNames* Schemas::findEnum(StringId domain, uint64_t id) const noexcept {
  const Slot* slot = id >= NVTX_PAYLOAD_SCHEMA_ID_STATIC_START ? findSlot(domain, id) : nullptr;
  return slot ? slot->names.load(std::memory_order_acquire) : nullptr;
}

uint64_t Schemas::registerSchema(Host host, StringId domain, const nvtxPayloadSchemaAttr_t& attributes) noexcept {
  constexpr uint64_t kNeeded = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  const bool usable = (attributes.fieldMask & kNeeded) == kNeeded && attributes.entries && attributes.numEntries > 0 &&
                      attributes.numEntries <= kMaxEntries;
  const uint64_t given = attributes.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID ? attributes.schemaId : 0;
  if (!usable) {
    return 0;
  }
  Flattener flattener(host, *this, domain);
  const bool isUnion =
      attributes.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE && attributes.type >= NVTX_PAYLOAD_SCHEMA_TYPE_UNION;
  if (!isUnion) {
    flattener.add(attributes);
  }
  const size_t bytes =
      attributes.fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE ? attributes.payloadStaticSize : 0;
  const Schema* schema = flattener.finish(bytes);
  const uint64_t id = given ? given : newId();
  Slot* slot = schema ? claimSlot(domain, id) : nullptr;
  if (!slot) {
    return 0;
  }
  slot->schema.store(schema, std::memory_order_release);  // an older one may be in use by another thread: never freed
  return id;
}

uint64_t Schemas::registerEnum(Host host, StringId domain, const nvtxPayloadEnumAttr_t& attributes) noexcept {
  if (!attributes.entries || attributes.numEntries == 0 || attributes.numEntries > kMaxEntries) {
    return 0;
  }
  auto* names = static_cast<EnumNames*>(malloc(sizeof(EnumNames)));
  auto* entries = static_cast<EnumNames::Entry*>(malloc(sizeof(EnumNames::Entry) * attributes.numEntries));
  const uint64_t id = attributes.schemaId ? attributes.schemaId : newId();
  Slot* slot = names && entries ? claimSlot(domain, id) : nullptr;
  if (!slot) {
    free(names);
    free(entries);
    return 0;
  }
  for (size_t i = 0; i < attributes.numEntries; ++i) {
    entries[i] = {attributes.entries[i].value, host.intern(attributes.entries[i].name)};
  }
  const size_t bytes = attributes.sizeOfEnum;
  *names = EnumNames{attributes.numEntries, bytes == 1 || bytes == 2 || bytes == 8 ? bytes : 4, entries};
  slot->names.store(names, std::memory_order_release);
  return id;
}

bool decodeField(Host host, const Field& field, const void* payload, size_t payloadBytes, uint32_t tid,
                 PayloadFieldRecord& out) noexcept {
  if (size_t{field.offset} + field.bytes > payloadBytes) {
    return false;
  }
  const char* at = static_cast<const char*>(payload) + field.offset;
  out = PayloadFieldRecord{};
  out.header = makeHeader<PayloadFieldRecord>(RecordKind::kPayloadField, tid);
  out.name = field.name;
  if (isText(field.type)) {
    const char* text = at;
    if (field.isTextPointer) {
      memcpy(&text, at, sizeof text);
    }
    out.type = FieldType::kText;
    out.text = field.isTextPointer ? host.intern(text) : host.intern(text, strnlen(text, field.bytes));
    return true;
  }
  uint64_t bits = 0;
  memcpy(&bits, at, field.bytes);
  if (field.type == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE) {
    out.type = FieldType::kText;
    out.text = bits;
    return true;
  }
  for (size_t i = 0; field.names && i < field.names->count; ++i) {
    if (field.names->entries[i].value == bits) {
      out.type = FieldType::kText;
      out.text = field.names->entries[i].name;
      return true;
    }
  }
  if (isReal(field.type)) {
    out.type = FieldType::kReal;
    float narrow = 0;
    memcpy(&narrow, at, sizeof narrow);
    memcpy(&out.real, at, sizeof out.real < field.bytes ? sizeof out.real : field.bytes);
    out.real = field.bytes == sizeof narrow ? narrow : out.real;
    return true;
  }
  out.type = FieldType::kInteger;
  const unsigned unusedBits = static_cast<unsigned>(64 - 8 * field.bytes);
  out.integer =
      isSigned(field.type) ? static_cast<int64_t>(bits << unusedBits) >> unusedBits : static_cast<int64_t>(bits);
  return true;
}

}  // namespace plumb::nvtx
