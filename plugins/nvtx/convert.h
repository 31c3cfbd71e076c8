// SPDX-License-Identifier: Apache-2.0
// NVTX's arguments -> records. Nothing here allocates, locks or keeps state.
//
// Handles: what NVTX's client gets for a registered string or a domain is the StringId of its text. So a handle made in
// one shared object works in every other, a lookup costs nothing, and nothing has to be kept or freed.
#pragma once
#include "collector/api/plugin.hpp"
#include "plugins/nvtx/nvtx_abi.h"

namespace plumb::nvtx {

inline StringId domainText(nvtxDomainHandle_t domain) noexcept { return reinterpret_cast<StringId>(domain); }
inline nvtxDomainHandle_t domainHandle(StringId text) noexcept { return reinterpret_cast<nvtxDomainHandle_t>(text); }
inline StringId registeredText(nvtxStringHandle_t string) noexcept { return reinterpret_cast<StringId>(string); }
inline nvtxStringHandle_t stringHandle(StringId text) noexcept { return reinterpret_cast<nvtxStringHandle_t>(text); }

// The StringId of a wide text (UTF-32), as UTF-8; cut at 1 KiB. NULL: 0.
StringId internWide(Host host, const wchar_t* text) noexcept;

// The StringId of an NVTX message; 0 for none or an unknown type.
StringId internMessage(Host host, int32_t type, const nvtxMessageValue_t& message) noexcept;

// UTF-32 -> UTF-8. Returns the bytes written, at most outBytes; never a part of a character.
size_t encodeUtf8(const wchar_t* text, char* out, size_t outBytes) noexcept;

// The plain payload of an event as a field named `name`. Returns false if it has none that we can represent.
bool convertPayload(const nvtxEventAttributes_t& in, StringId name, uint32_t tid, PayloadFieldRecord& out) noexcept;

RangeBeginRecord makeBegin(RangeKind kind, uint32_t tid, int64_t timeNs, StringId domain, StringId name,
                           uint64_t rangeId) noexcept;
RangeEndRecord makeEnd(RangeKind kind, uint32_t tid, int64_t timeNs, StringId domain, uint64_t rangeId) noexcept;

}  // namespace plumb::nvtx
