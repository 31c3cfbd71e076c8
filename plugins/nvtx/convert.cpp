// SPDX-License-Identifier: Apache-2.0
#include "plugins/nvtx/convert.h"

namespace plumb::nvtx {
namespace {

constexpr size_t kWideTextBytes = 1024;

// Writes one code point; returns its length, or 0 if it does not fit.
size_t encodeOne(uint32_t code, char* out, size_t room) noexcept {
  const auto byte = [](uint32_t bits) { return static_cast<char>(bits); };
  const auto tail = [byte](uint32_t bits) { return byte(0x80 | (bits & 0x3F)); };
  if (code < 0x80 && room >= 1) {
    out[0] = byte(code);
    return 1;
  }
  if (code >= 0x80 && code < 0x800 && room >= 2) {
    out[0] = byte(0xC0 | (code >> 6));
    out[1] = tail(code);
    return 2;
  }
  if (code >= 0x800 && code < 0x10000 && room >= 3) {
    out[0] = byte(0xE0 | (code >> 12));
    out[1] = tail(code >> 6);
    out[2] = tail(code);
    return 3;
  }
  if (code >= 0x10000 && code < 0x110000 && room >= 4) {
    out[0] = byte(0xF0 | (code >> 18));
    out[1] = tail(code >> 12);
    out[2] = tail(code >> 6);
    out[3] = tail(code);
    return 4;
  }
  return 0;
}

}  // namespace

size_t encodeUtf8(const wchar_t* text, char* out, size_t outBytes) noexcept {
  constexpr uint32_t kReplacement = 0xFFFD;
  size_t used = 0;
  for (; *text; ++text) {
    auto code = static_cast<uint32_t>(*text);
    const bool valid = code < 0x110000 && !(code >= 0xD800 && code < 0xE000);
    const size_t length = encodeOne(valid ? code : kReplacement, out + used, outBytes - used);
    if (length == 0) {
      break;
    }
    used += length;
  }
  return used;
}

StringId internWide(Host host, const wchar_t* text) noexcept {
  if (!text) {
    return 0;
  }
  char utf8[kWideTextBytes];
  return host.intern(utf8, encodeUtf8(text, utf8, sizeof utf8));
}

StringId internMessage(Host host, int32_t type, const nvtxMessageValue_t& message) noexcept {
  switch (type) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return host.intern(message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return internWide(host, message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return registeredText(message.registered);
    default:
      return 0;
  }
}

bool convertPayload(const nvtxEventAttributes_t& in, StringId name, uint32_t tid, PayloadFieldRecord& out) noexcept {
  out = PayloadFieldRecord{};
  out.header = makeHeader<PayloadFieldRecord>(RecordKind::kPayloadField, tid);
  out.name = name;
  out.type = FieldType::kInteger;
  switch (in.payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      out.integer = static_cast<int64_t>(in.payload.ullValue);
      return true;
    case NVTX_PAYLOAD_TYPE_INT64:
      out.integer = in.payload.llValue;
      return true;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      out.integer = in.payload.uiValue;
      return true;
    case NVTX_PAYLOAD_TYPE_INT32:
      out.integer = in.payload.iValue;
      return true;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      out.type = FieldType::kReal;
      out.real = in.payload.dValue;
      return true;
    case NVTX_PAYLOAD_TYPE_FLOAT:
      out.type = FieldType::kReal;
      out.real = in.payload.fValue;
      return true;
    default:
      return false;
  }
}

RangeBeginRecord makeBegin(RangeKind kind, uint32_t tid, int64_t timeNs, StringId domain, StringId name,
                           uint64_t rangeId) noexcept {
  RangeBeginRecord record{};
  record.header = makeHeader<RangeBeginRecord>(RecordKind::kRangeBegin, tid);
  record.time_ns = timeNs;
  record.range_id = rangeId;
  record.domain = domain;
  record.name = name;
  record.kind = kind;
  return record;
}

RangeEndRecord makeEnd(RangeKind kind, uint32_t tid, int64_t timeNs, StringId domain, uint64_t rangeId) noexcept {
  RangeEndRecord record{};
  record.header = makeHeader<RangeEndRecord>(RecordKind::kRangeEnd, tid);
  record.time_ns = timeNs;
  record.range_id = rangeId;
  record.domain = domain;
  record.kind = kind;
  return record;
}

}  // namespace plumb::nvtx
