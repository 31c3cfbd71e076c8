// SPDX-License-Identifier: Apache-2.0
// A program that uses NVTX from two shared objects.
#pragma once
#include <cstdint>

#define PROGRAM_API __attribute__((visibility("default")))

namespace program {

// Unit one: plain functions, a domain with a category and a registered string, payloads.
PROGRAM_API void plainRanges();
PROGRAM_API void* makeDomain();  // nvtxDomainHandle_t
PROGRAM_API void* registerString(void* domain, const char* text);
PROGRAM_API void domainRange(void* domain, void* string);
PROGRAM_API uint64_t startRange(void* domain, const char* name);
PROGRAM_API void stepWithPayload(uint64_t step);
PROGRAM_API void operationWithCost(const char* name, uint64_t flops, uint64_t bytes);
PROGRAM_API void nestedPayload();
PROGRAM_API void enumPayload();
PROGRAM_API void payloadOnly();
PROGRAM_API void unknownSchema();
PROGRAM_API int isEnabled(void* domain);

// Unit two: works with what unit one made.
PROGRAM_API void endRange(void* domain, uint64_t id);
PROGRAM_API void useForeignString(void* domain, void* string);
PROGRAM_API void nameThisThread(uint32_t tid, const char* name);
PROGRAM_API void wideRange();

}  // namespace program
