// SPDX-License-Identifier: Apache-2.0
#include "plugins/cupti/api_names.h"

#include <cstdio>
#include <cstring>

namespace plumb::cupti {
namespace {

// Length without a trailing "_v<digits>".
size_t withoutVersion(const char* text, size_t length) noexcept {
  size_t end = length;
  while (end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9') {
    --end;
  }
  const bool versioned = end < length && end > 2 && text[end - 1] == 'v' && text[end - 2] == '_';
  return versioned ? end - 2 : length;
}

// Length without "_ptsz" or "_ptds" (per-thread default stream).
size_t withoutStreamSuffix(const char* text, size_t length) noexcept {
  constexpr size_t kSuffixLength = 5;
  const bool suffixed = length > kSuffixLength && (memcmp(text + length - kSuffixLength, "_ptsz", kSuffixLength) == 0 ||
                                                   memcmp(text + length - kSuffixLength, "_ptds", kSuffixLength) == 0);
  return suffixed ? length - kSuffixLength : length;
}

}  // namespace

size_t plainApiName(const char* cuptiName, char* out, size_t outBytes) noexcept {
  while (*cuptiName == '_') {
    ++cuptiName;
  }
  size_t length = strlen(cuptiName);
  // Both orders of the suffixes occur, and names such as cudaStreamGetCaptureInfo_v2_ptsz_v11030 have two versions.
  for (size_t before = 0; before != length;) {
    before = length;
    length = withoutStreamSuffix(cuptiName, withoutVersion(cuptiName, length));
  }
  length = length < outBytes ? length : outBytes;
  memcpy(out, cuptiName, length);
  return length;
}

StringId ApiNames::find(const CuptiTable& table, Host host, CUpti_CallbackDomain domain, uint32_t cbid,
                        std::atomic<StringId> (&names)[kCapacity]) noexcept {
  const uint32_t slot = cbid < kCapacity ? cbid : 0;
  if (const StringId known = names[slot].load(std::memory_order_relaxed); known && slot) {
    return known;
  }
  char text[256];
  size_t length = 0;
  const char* found = nullptr;
  if (table.getCallbackName && table.getCallbackName(domain, cbid, &found) == CUPTI_SUCCESS && found && *found) {
    length = plainApiName(found, text, sizeof text);
  } else {
    const char* layer = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? "cuda" : "cu";
    length = static_cast<size_t>(snprintf(text, sizeof text, "%s function %u", layer, cbid));
  }
  const StringId id = host.intern(text, length);
  names[slot].store(id, std::memory_order_relaxed);
  return id;
}

}  // namespace plumb::cupti
