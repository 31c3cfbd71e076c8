// SPDX-License-Identifier: Apache-2.0
// The functions that NVTX calls instead of doing nothing, and the state behind them. All are hot paths unless they name
// or register something: one clock read, interning of the text, one or more writes.
//
// Return values of push and pop are those of a program without a tool (NVTX_NO_PUSH_POP_TRACKING): the program behaves
// the same.
#pragma once
#include <atomic>

#include "plugins/nvtx/categories.h"
#include "plugins/nvtx/convert.h"
#include "plugins/nvtx/schemas.h"

namespace plumb::nvtx {

struct Lane {
  Host host;
  std::atomic<bool> isOn{false};  // false before start and after a failure
  StringId payloadName = 0;
  Categories categories;
  Schemas schemas;
  std::atomic<uint64_t> fieldsLeftOut{0};
  std::atomic<uint64_t> unknownSchemas{0};
};

// The lane of this process; NVTX's functions have no context argument.
Lane& lane() noexcept;

// The level of the range that the calling thread pushes now (RangeBeginRecord::range_id); its pop takes it back.
uint64_t pushLevel(StringId domain) noexcept;

// In the child of a fork: the ranges that its thread had open are the parent's.
void forgetLevels() noexcept;

// An event with attributes: its range or mark, then its payload fields. attributes may be NULL (ignored).
void writeEvent(RangeKind kind, nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes,
                uint64_t rangeId) noexcept;

// The fields of extended payloads, for the range that was just written.
void writePayloads(StringId domain, const nvtxPayloadData_t* payloads, size_t count, uint32_t tid) noexcept;

// Reports what could not be decoded. Not for hot paths.
void reportLeftOut() noexcept;

namespace calls {
void markA(const char* message) noexcept;
void markW(const wchar_t* message) noexcept;
void markEx(const nvtxEventAttributes_t* attributes) noexcept;
int rangePushA(const char* message) noexcept;
int rangePushW(const wchar_t* message) noexcept;
int rangePushEx(const nvtxEventAttributes_t* attributes) noexcept;
int rangePop() noexcept;
nvtxRangeId_t rangeStartA(const char* message) noexcept;
nvtxRangeId_t rangeStartW(const wchar_t* message) noexcept;
nvtxRangeId_t rangeStartEx(const nvtxEventAttributes_t* attributes) noexcept;
void rangeEnd(nvtxRangeId_t id) noexcept;
void nameCategoryA(uint32_t category, const char* name) noexcept;
void nameCategoryW(uint32_t category, const wchar_t* name) noexcept;
void nameOsThreadA(uint32_t tid, const char* name) noexcept;
void nameOsThreadW(uint32_t tid, const wchar_t* name) noexcept;

void domainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept;
int domainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept;
int domainRangePop(nvtxDomainHandle_t domain) noexcept;
nvtxRangeId_t domainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept;
void domainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) noexcept;
nvtxResourceHandle_t domainResourceCreate(nvtxDomainHandle_t domain, nvtxResourceAttributes_t* attributes) noexcept;
void domainResourceDestroy(nvtxResourceHandle_t resource) noexcept;
void domainNameCategoryA(nvtxDomainHandle_t domain, uint32_t category, const char* name) noexcept;
void domainNameCategoryW(nvtxDomainHandle_t domain, uint32_t category, const wchar_t* name) noexcept;
nvtxStringHandle_t domainRegisterStringA(nvtxDomainHandle_t domain, const char* text) noexcept;
nvtxStringHandle_t domainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) noexcept;
nvtxDomainHandle_t domainCreateA(const char* name) noexcept;
nvtxDomainHandle_t domainCreateW(const wchar_t* name) noexcept;
void domainDestroy(nvtxDomainHandle_t domain) noexcept;
void initialize(const void* reserved) noexcept;

uint64_t payloadSchemaRegister(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* attributes) noexcept;
uint64_t payloadEnumRegister(nvtxDomainHandle_t domain, const nvtxPayloadEnumAttr_t* attributes) noexcept;
void markPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count) noexcept;
int rangePushPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count) noexcept;
int rangePopPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count) noexcept;
nvtxRangeId_t rangeStartPayload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, size_t count) noexcept;
void rangeEndPayload(nvtxDomainHandle_t domain, nvtxRangeId_t id, const nvtxPayloadData_t* payloads,
                     size_t count) noexcept;
uint8_t domainIsEnabled(nvtxDomainHandle_t domain) noexcept;
}  // namespace calls
}  // namespace plumb::nvtx
