// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nsys_payload.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace plumb::import {
namespace {

// nvToolsExtPayload.h: numbers of entry types and flags.
enum Type : int64_t {
  kChar = 1,
  kUChar,
  kShort,
  kUShort,
  kInt,
  kUInt,
  kLong,
  kULong,
  kLongLong,
  kULongLong,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat,
  kDouble,
  kLongDouble,
  kSize,
  kAddress,
  kWChar,
  kChar8,
  kChar16,
  kChar32,
  kByte = 32,
  kFloat32 = 43,
  kFloat64 = 44,
  kCategory = 68,
  kColor = 69,
  kScope = 70,
  kPid32 = 71,
  kPid64 = 72,
  kTid32 = 73,
  kTid64 = 74,
  kCString = 75,
  kCStringUtf8 = 76
};
constexpr int64_t kPointerFlags = 1 << 1 | 1 << 2 | 1 << 3;
constexpr int64_t kArrayFlags = 7 << 4;
constexpr int64_t kFixedArray = 1 << 4;
constexpr size_t kLargestPayload = 1 << 20;
constexpr size_t kMostElements = 16;  // of an array that become fields of their own

size_t bytesOf(int64_t type) {
  switch (type) {
    case kChar:
    case kUChar:
    case kInt8:
    case kUInt8:
    case kChar8:
    case kByte:
      return 1;
    case kShort:
    case kUShort:
    case kInt16:
    case kUInt16:
    case kChar16:
      return 2;
    case kInt:
    case kUInt:
    case kInt32:
    case kUInt32:
    case kFloat:
    case kFloat32:
    case kWChar:
    case kChar32:
    case kCategory:
    case kColor:
    case kPid32:
    case kTid32:
      return 4;
    case kLong:
    case kULong:
    case kLongLong:
    case kULongLong:
    case kInt64:
    case kUInt64:
    case kDouble:
    case kFloat64:
    case kSize:
    case kAddress:
    case kScope:
    case kPid64:
    case kTid64:
      return 8;
    default:
      return 0;
  }
}

bool isSigned(int64_t type) {
  return type == kChar || type == kShort || type == kInt || type == kLong || type == kLongLong || type == kInt8 ||
         type == kInt16 || type == kInt32 || type == kInt64;
}

uint64_t unsignedAt(std::string_view data, size_t offset, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= static_cast<uint64_t>(static_cast<unsigned char>(data[offset + i])) << (8 * i);
  }
  return value;
}

int64_t integerAt(std::string_view data, size_t offset, size_t bytes, bool isSigned) {
  const uint64_t value = unsignedAt(data, offset, bytes);
  if (!isSigned || bytes == 8) return static_cast<int64_t>(value);
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  return static_cast<int64_t>((value ^ sign) - sign);
}

double realAt(std::string_view data, size_t offset, size_t bytes) {
  if (bytes == 4) {
    float value = 0;
    std::memcpy(&value, data.data() + offset, sizeof value);
    return static_cast<double>(value);
  }
  double value = 0;
  std::memcpy(&value, data.data() + offset, sizeof value);
  return value;
}

std::optional<std::string> bytesFromHex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() % 2 != 0) return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

NsysPayloads::NsysPayloads(NsysSource& source) {
  source.forEach("NVTX_PAYLOAD_SCHEMAS", {"domainId", "schemaId", "payloadSize"}, [&](const NsysRow& row) {
    const Key key{row.integerOr(0, 0), row.integerOr(1, 0)};
    m_schemas.try_emplace(key);
    const int64_t size = row.integerOr(2, 0);
    if (size > 0 && size <= static_cast<int64_t>(kLargestPayload)) m_sizes.try_emplace(key, static_cast<size_t>(size));
  });
  source.forEach("NVTX_PAYLOAD_SCHEMA_ENTRIES",
                 {"domainId", "schemaId", "idx", "flags", "type", "name", "arrayOrUnionDetail", "offset"},
                 [&](const NsysRow& row) {
                   constexpr size_t kMostEntries = 4096;
                   auto& entries = m_schemas[{row.integerOr(0, 0), row.integerOr(1, 0)}];
                   const int64_t index = row.integerOr(2, static_cast<int64_t>(entries.size()));
                   // Processes register the same schema each; the first one counts.
                   if (index != static_cast<int64_t>(entries.size()) || entries.size() >= kMostEntries) return;
                   entries.push_back({row.integerOr(3, 0), row.integerOr(4, 0), row.integerOr(6, 0),
                                      row.isNull(5) ? "value" : std::string(row.text(5)), row.integer(7)});
                 });
  source.forEach("NVTX_PAYLOAD_ENUMS", {"domainId", "schemaId", "size"}, [&](const NsysRow& row) {
    const int64_t bytes = row.integerOr(2, 4);
    m_enums[{row.integerOr(0, 0), row.integerOr(1, 0)}].bytes =
        bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? bytes : 4;
  });
  source.forEach("NVTX_PAYLOAD_ENUM_ENTRIES", {"domainId", "schemaId", "value", "name"}, [&](const NsysRow& row) {
    m_enums[{row.integerOr(0, 0), row.integerOr(1, 0)}].names.try_emplace(row.integerOr(2, 0), row.text(3));
  });
  std::set<Key> open;
  for (const auto& [key, entries] : m_schemas) findSize(key, open);
}

const std::vector<NsysPayloads::Entry>* NsysPayloads::find(int64_t domain, int64_t schema) const {
  const auto found = m_schemas.find({domain, schema});
  return found == m_schemas.end() || found->second.empty() ? nullptr : &found->second;
}

void NsysPayloads::findSize(const Key& key, std::set<Key>& open) {
  const auto schema = m_schemas.find(key);
  if (schema == m_schemas.end() || m_sizes.count(key) != 0 || !open.insert(key).second) return;
  size_t end = 0;
  for (const Entry& entry : schema->second) {
    findSize({key.first, entry.type}, open);
    const Layout layout = layoutOf(key.first, entry);
    const size_t start = entry.offset && *entry.offset >= 0 ? static_cast<size_t>(*entry.offset) : end;
    end = std::max(end, start + layout.bytes * layout.count);
  }
  m_sizes.try_emplace(key, std::min(end, kLargestPayload));
}

NsysPayloads::Layout NsysPayloads::layoutOf(int64_t domain, const Entry& entry) const {
  Layout layout;
  if ((entry.flags & kPointerFlags) != 0) return layout;
  const int64_t array = entry.flags & kArrayFlags;
  constexpr int64_t kLongest = 1 << 16;
  if (entry.detail < 0 || entry.detail > kLongest) return layout;
  if (entry.type == kCString || entry.type == kCStringUtf8) {
    if (entry.detail > 0) layout.bytes = static_cast<size_t>(entry.detail);
    return layout;
  }
  if (array != 0 && array != kFixedArray) return layout;
  if (array == kFixedArray) layout.count = static_cast<size_t>(entry.detail);
  const Key key{domain, entry.type};
  if (const auto names = m_enums.find(key); names != m_enums.end()) {
    layout.names = &names->second;
    layout.bytes = static_cast<size_t>(names->second.bytes);
  } else if (const auto* nested = find(domain, entry.type)) {
    layout.nested = nested;
    const auto size = m_sizes.find(key);
    layout.bytes = size == m_sizes.end() ? 0 : size->second;
  } else {
    constexpr int64_t kFirstSchema = 1 << 24;  // an enum that the export does not describe has an int's size
    layout.bytes = entry.type >= kFirstSchema ? 4 : bytesOf(entry.type);
  }
  return layout;
}

bool NsysPayloads::decodeStruct(int64_t domain, const std::vector<Entry>& entries, std::string_view data,
                                const std::string& prefix, int& budget, std::vector<PayloadField>& fields) const {
  bool isComplete = true;
  size_t end = 0;
  for (const Entry& entry : entries) {
    if (--budget <= 0) return false;
    const Layout layout = layoutOf(domain, entry);
    const size_t align = std::min<size_t>(std::max<size_t>(layout.bytes, 1), 8);
    const size_t offset =
        entry.offset && *entry.offset >= 0 ? static_cast<size_t>(*entry.offset) : (end + align - 1) / align * align;
    if (layout.bytes == 0 || offset > data.size() || layout.bytes * layout.count > data.size() - offset) {
      isComplete = false;
      continue;
    }
    end = offset + layout.bytes * layout.count;
    if (layout.count > kMostElements) isComplete = false;
    for (size_t i = 0; i < std::min(layout.count, kMostElements); ++i) {
      const size_t at = offset + i * layout.bytes;
      std::string name = prefix + entry.name;
      if (layout.count > 1) name += "[" + std::to_string(i) + "]";
      if (layout.nested != nullptr) {
        isComplete &= decodeStruct(domain, *layout.nested, data.substr(at, layout.bytes), name + ".", budget, fields);
      } else if (entry.type == kCString || entry.type == kCStringUtf8) {
        const std::string_view text = data.substr(at, layout.bytes);
        fields.push_back({std::move(name), std::string(text.substr(0, text.find('\0')))});
      } else if (entry.type == kFloat || entry.type == kFloat32 || entry.type == kDouble || entry.type == kFloat64) {
        fields.push_back({std::move(name), realAt(data, at, layout.bytes)});
      } else {
        const int64_t value = integerAt(data, at, layout.bytes, layout.names != nullptr || isSigned(entry.type));
        const auto label =
            layout.names ? layout.names->names.find(value) : std::map<int64_t, std::string>::const_iterator();
        if (layout.names && label != layout.names->names.end()) {
          fields.push_back({std::move(name), label->second});
        } else {
          fields.push_back({std::move(name), value});
        }
      }
    }
  }
  return isComplete;
}

bool NsysPayloads::decode(std::string_view data, bool isText, std::vector<PayloadField>& fields) const {
  std::string unpacked;
  if (isText) {
    auto bytes = bytesFromHex(data);
    if (!bytes) return false;
    unpacked = std::move(*bytes);
    data = unpacked;
  }
  // A header per payload: domain, schema, size and offset, each of 8 bytes; the first payload follows the last header.
  constexpr size_t kHeader = 32, kMostPayloads = 64;
  if (data.size() < kHeader) return false;
  const size_t count = static_cast<size_t>(unsignedAt(data, 24, 8)) / kHeader;
  if (count == 0 || count > kMostPayloads || count * kHeader > data.size()) return false;
  bool isComplete = true;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = i * kHeader;
    const auto domain = static_cast<int64_t>(unsignedAt(data, at, 8));
    const auto schema = static_cast<int64_t>(unsignedAt(data, at + 8, 8));
    const uint64_t size = unsignedAt(data, at + 16, 8), offset = unsignedAt(data, at + 24, 8);
    const auto* entries = find(domain, schema);
    if (entries == nullptr || offset > data.size() || size > data.size() - offset) {
      isComplete = false;
      continue;
    }
    int budget = 4096;
    isComplete &= decodeStruct(domain, *entries, data.substr(offset, size), "", budget, fields);
  }
  return isComplete;
}

}  // namespace plumb::import
