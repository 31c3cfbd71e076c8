// SPDX-License-Identifier: Apache-2.0
// Payload schemas of NVTX's payload extension. Registering one flattens it into a list of leaf fields with fixed
// offsets (that may allocate: it is rare); decoding a payload walks that list and allocates nothing. What a flat list
// cannot express (variable arrays, unions, 128-bit numbers …) is left out and counted.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/api/plugin.hpp"
#include "plugins/nvtx/nvtx_abi.h"

namespace plumb::nvtx {

struct EnumNames;

struct Field {
  enum class Use : uint8_t { kValue, kMessage, kCategory, kColor };
  StringId name;
  const char* text;  // the same as text: enclosing schemas build longer names of it
  uint64_t type;     // NVTX_PAYLOAD_ENTRY_TYPE_*
  uint32_t offset;
  uint32_t bytes;      // of the value; of an embedded text: its longest length
  bool isTextPointer;  // a char* whose text is to be read
  Use use;
  const EnumNames* names;  // NULL: not an enumeration
};

struct EnumNames {
  struct Entry {
    uint64_t value;
    StringId name;
  };
  size_t count;
  size_t valueBytes;
  Entry* entries;
};

struct Schema {
  size_t count;
  size_t payloadBytes;  // 0: not known
  uint32_t leftOut;     // entries that the flat list does not have
  Field* fields;
};

class Schemas {
 public:
  static constexpr size_t kMaxFields = 256;

  // Both return the schema's id (the caller's, or a new one), or 0 if the description cannot be used at all.
  uint64_t registerSchema(Host host, StringId domain, const nvtxPayloadSchemaAttr_t& attributes) noexcept;
  uint64_t registerEnum(Host host, StringId domain, const nvtxPayloadEnumAttr_t& attributes) noexcept;

  // NULL if unknown. Valid for ever. Any thread, no lock.
  [[nodiscard]] const Schema* find(StringId domain, uint64_t id) const noexcept;
  [[nodiscard]] const EnumNames* findEnum(StringId domain, uint64_t id) const noexcept;

 private:
  static constexpr size_t kCapacity = 4096;
  struct Slot {
    std::atomic<uint64_t> key{0};
    std::atomic<const Schema*> schema{nullptr};
    std::atomic<const EnumNames*> names{nullptr};
  };
  [[nodiscard]] const Slot* findSlot(StringId domain, uint64_t id) const noexcept;
  Slot* claimSlot(StringId domain, uint64_t id) noexcept;
  uint64_t newId() noexcept { return m_nextId.fetch_add(1, std::memory_order_relaxed); }

  Slot m_slots[kCapacity];
  std::atomic<uint64_t> m_nextId{NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START};
};

// Bytes of a predefined entry type, 0 if it is not one that we decode.
size_t typeBytes(uint64_t type) noexcept;

// The value of a field of a payload, as a record named after it. Returns false if it lies outside the payload.
bool decodeField(Host host, const Field& field, const void* payload, size_t payloadBytes, uint32_t tid,
                 PayloadFieldRecord& out) noexcept;

}  // namespace plumb::nvtx
