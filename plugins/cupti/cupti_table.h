// SPDX-License-Identifier: Apache-2.0
// The functions of a libcupti, found by name at run time: linking would pin one major version and could map a second
// library beside the one that the program already has.
#pragma once
#include <cupti.h>

// PLUMB_REQUIRED(member, symbol): without it the lane stays off. PLUMB_OPTIONAL: NULL if the library lacks it.
#define PLUMB_CUPTI_FUNCTIONS(PLUMB_REQUIRED, PLUMB_OPTIONAL)                               \
  PLUMB_REQUIRED(getVersion, cuptiGetVersion)                                               \
  PLUMB_REQUIRED(getTimestamp, cuptiGetTimestamp)                                           \
  PLUMB_REQUIRED(subscribe, cuptiSubscribe)                                                 \
  PLUMB_REQUIRED(activityRegisterCallbacks, cuptiActivityRegisterCallbacks)                 \
  PLUMB_REQUIRED(activityEnable, cuptiActivityEnable)                                       \
  PLUMB_REQUIRED(activityFlushAll, cuptiActivityFlushAll)                                   \
  PLUMB_REQUIRED(activityGetNextRecord, cuptiActivityGetNextRecord)                         \
  PLUMB_OPTIONAL(unsubscribe, cuptiUnsubscribe)                                             \
  PLUMB_OPTIONAL(getResultString, cuptiGetResultString)                                     \
  PLUMB_OPTIONAL(getCallbackName, cuptiGetCallbackName)                                     \
  PLUMB_OPTIONAL(setThreadIdType, cuptiSetThreadIdType)                                     \
  PLUMB_OPTIONAL(activitySetAttribute, cuptiActivitySetAttribute)                           \
  PLUMB_OPTIONAL(activityDisable, cuptiActivityDisable)                                     \
  PLUMB_OPTIONAL(activityEnableRuntimeApi, cuptiActivityEnableRuntimeApi)                   \
  PLUMB_OPTIONAL(activityEnableDriverApi, cuptiActivityEnableDriverApi)                     \
  PLUMB_OPTIONAL(activityEnableAllSyncRecords, cuptiActivityEnableAllSyncRecords)           \
  PLUMB_OPTIONAL(activityRegisterTimestampCallback, cuptiActivityRegisterTimestampCallback) \
  PLUMB_OPTIONAL(activityGetNumDroppedRecords, cuptiActivityGetNumDroppedRecords)           \
  PLUMB_OPTIONAL(activityPushExternalCorrelationId, cuptiActivityPushExternalCorrelationId) \
  PLUMB_OPTIONAL(activityPopExternalCorrelationId, cuptiActivityPopExternalCorrelationId)

namespace plumb::cupti {

struct CuptiTable {
#define PLUMB_MEMBER(member, symbol) decltype(&::symbol) member = nullptr;
  PLUMB_CUPTI_FUNCTIONS(PLUMB_MEMBER, PLUMB_MEMBER)
#undef PLUMB_MEMBER
};

// Fills the table from a dlopen handle. Returns NULL, or the name of the first required function that is missing.
const char* bindTable(void* library, CuptiTable& table) noexcept;

}  // namespace plumb::cupti
