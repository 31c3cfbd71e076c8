// SPDX-License-Identifier: Apache-2.0
// Streams and events.
#include <time.h>

#include <cmath>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

constexpr int kGreatestPriority = -5;
constexpr int kLeastPriority = 0;

// CUpti_ActivitySynchronizationType
enum SynchronizationType : uint32_t { kEventSync = 1, kStreamWaitEvent = 2, kStreamSync = 3, kContextSync = 4 };

uint64_t monotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

struct Event {
  uint32_t id;
  unsigned flags;
  std::mutex mutex;
  StreamPoint point;  // of the last record
  uint64_t pointNumber = 0;
  uint64_t recorded = 0;  // number of records
  uint64_t reached = 0;   // newest record whose time is known
  uint64_t reachedNs = 0;
  std::weak_ptr<Capture> capture;  // alive: the last record was captured, on the stream below
  StreamPoint captured;

  bool timed() const { return (flags & cudaEventDisableTiming) == 0; }
};
using EventPtr = std::shared_ptr<Event>;

struct EventTable {
  std::shared_mutex mutex;
  std::unordered_map<const void*, EventPtr> events;
  uint32_t nextId = 1;
};
EventTable& events() {
  static auto* instance = new EventTable;
  return *instance;
}

EventPtr findEvent(cudaEvent_t handle) {
  EventTable& all = events();
  std::shared_lock lock(all.mutex);
  const auto found = all.events.find(handle);
  return found == all.events.end() ? nullptr : found->second;
}

cudaError_t createEvent(cudaEvent_t* event, unsigned flags) {
  constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (!event || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  if (flags & cudaEventInterprocess) return softcuda_unsupported("cudaEventInterprocess");
  auto created = std::make_shared<Event>();
  created->flags = flags;
  EventTable& all = events();
  std::lock_guard lock(all.mutex);
  created->id = all.nextId++;
  *event = reinterpret_cast<cudaEvent_t>(created.get());
  all.events.emplace(created.get(), std::move(created));
  return cudaSuccess;
}

void emitSynchronization(const ApiCall& call, SynchronizationType type, uint32_t streamId, uint32_t eventId) {
  if (!observed()) return;
  SoftcudaEvent event{};
  event.kind = SOFTCUDA_EVENT_SYNCHRONIZATION;
  event.correlation = call.correlation();
  event.stream = streamId;
  event.start_ns = call.startNs();
  event.end_ns = softcuda_now();
  event.synchronization.type = type;
  event.synchronization.event_id = eventId;
  emit(event);
}

cudaError_t record(ApiCall& call, cudaEvent_t handle, cudaStream_t streamHandle) {
  EventPtr event = findEvent(handle);
  const StreamRef stream = findStream(streamHandle);
  if (!event) return cudaErrorInvalidResourceHandle;
  if (const cudaError_t error = refuseWork(stream)) return error;
  if (const auto capture = stream->capture()) {
    std::lock_guard lock(event->mutex);
    event->capture = capture;
    event->captured = stream->tail();
    return cudaSuccess;
  }
  uint64_t number;
  {
    std::lock_guard lock(event->mutex);
    event->capture.reset();
    number = ++event->recorded;
  }
  const uint32_t correlation = call.correlation();
  const uint64_t sequence = submit(*stream, [event, number, correlation](Stream& self) {
    if (observed()) {
      SoftcudaEvent report{};
      report.kind = SOFTCUDA_EVENT_EVENT_RECORD;
      report.correlation = correlation;
      report.stream = self.id();
      report.start_ns = report.end_ns = softcuda_now();
      report.event_record.event_id = event->id;
      emit(report);
    }
    if (!event->timed()) return;
    std::lock_guard reachedLock(event->mutex);
    if (number <= event->reached) return;
    event->reached = number;
    event->reachedNs = monotonicNs();
  });
  // Not one critical section: submitting may wait for the worker, which may wait for the event.
  std::lock_guard lock(event->mutex);
  if (number > event->pointNumber) {
    event->pointNumber = number;
    event->point = StreamPoint(&*stream, sequence);
  }
  return cudaSuccess;
}

StreamPoint lastRecord(Event& event) {
  std::lock_guard lock(event.mutex);
  return event.point;
}

std::shared_ptr<Capture> captureOf(Event& event) {
  std::lock_guard lock(event.mutex);
  return event.capture.lock();
}

// A stream that waits for captured work is captured too. Waiting for other work within a capture makes it void.
cudaError_t waitInCapture(Stream& stream, Event& event, const std::shared_ptr<Capture>& ofEvent) {
  const auto ofStream = stream.capture();
  if (!ofEvent) {
    if (lastRecord(event).done()) return cudaSuccess;
    ofStream->invalidate();
    return cudaErrorStreamCaptureIsolation;
  }
  if (ofStream && ofStream != ofEvent) {
    ofEvent->invalidate();
    ofStream->invalidate();
    return cudaErrorStreamCaptureMerge;
  }
  if (!ofStream) {
    if (isLegacy(stream)) return cudaErrorStreamCaptureImplicit;
    ofEvent->join(stream);
    stream.setCapture(ofEvent);
  }
  std::lock_guard lock(event.mutex);
  if (event.captured.stream() != &stream) ofEvent->joinedBack(*event.captured.stream());
  return cudaSuccess;
}

// Captured work has not begun: nobody can wait for it.
cudaError_t refuseCaptured(const std::shared_ptr<Capture>& capture, cudaError_t error) {
  if (!capture) return cudaSuccess;
  capture->invalidate();
  return error;
}

cudaError_t elapsed(float* milliseconds, cudaEvent_t startHandle, cudaEvent_t endHandle) {
  if (!milliseconds) return cudaErrorInvalidValue;
  const EventPtr start = findEvent(startHandle);
  const EventPtr end = findEvent(endHandle);
  if (!start || !end || !start->timed() || !end->timed()) return cudaErrorInvalidResourceHandle;
  uint64_t times[2];
  int i = 0;
  for (const EventPtr& event : {start, end}) {
    std::lock_guard lock(event->mutex);
    if (event->recorded == 0) return cudaErrorInvalidResourceHandle;
    if (!event->point.done()) return cudaErrorNotReady;
    times[i++] = event->reachedNs;
  }
  *milliseconds = static_cast<float>(static_cast<double>(static_cast<int64_t>(times[1] - times[0])) * 1e-6);
  return cudaSuccess;
}

cudaError_t createStreamChecked(cudaStream_t* stream, unsigned flags, int priority) {
  if (!stream || (flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) return cudaErrorInvalidValue;
  *stream = createStream(flags, std::min(std::max(priority, kGreatestPriority), kLeastPriority));
  return cudaSuccess;
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return SOFTCUDA_CALL(cudaStreamCreate, v3020, { return createStreamChecked(pStream, 0, 0); });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return SOFTCUDA_CALL(cudaStreamCreateWithFlags, v5000, { return createStreamChecked(pStream, flags, 0); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
  return SOFTCUDA_CALL(cudaStreamCreateWithPriority, v5050, { return createStreamChecked(pStream, flags, priority); });
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaStreamDestroy, v5050,
                       { return destroyStream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
  return SOFTCUDA_CALL(cudaStreamGetPriority, v5050, {
    const StreamRef stream = findStream(hStream);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (!priority) return cudaErrorInvalidValue;
    *priority = stream->priority();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
  return SOFTCUDA_CALL(cudaStreamGetFlags, v5050, {
    const StreamRef stream = findStream(hStream);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (!flags) return cudaErrorInvalidValue;
    *flags = stream->flags();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long* streamId) {
  return SOFTCUDA_CALL(cudaStreamGetId, v12000, {
    const StreamRef stream = findStream(hStream);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (!streamId) return cudaErrorInvalidValue;
    *streamId = stream->id();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int* device) {
  return SOFTCUDA_CALL(cudaStreamGetDevice, v12080, {
    if (!findStream(hStream)) return cudaErrorInvalidResourceHandle;
    if (!device) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return SOFTCUDA_CALL(cudaDeviceGetStreamPriorityRange, v5050, {
    if (leastPriority) *leastPriority = kLeastPriority;
    if (greatestPriority) *greatestPriority = kGreatestPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaStreamSynchronize, v3020, {
    const StreamRef found = findStream(stream);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuseCaptured(found->capture(), cudaErrorStreamCaptureUnsupported)) return error;
    if (const cudaError_t error = refuseWork(found)) return error;
    found->wait(isLegacy(*found) ? submit(*found, [](Stream&) {}) : found->submitted());
    emitSynchronization(call, kStreamSync, found->id(), 0);
    return stickyError();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaStreamQuery, v3020, {
    const StreamRef found = findStream(stream);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuseCaptured(found->capture(), cudaErrorStreamCaptureUnsupported)) return error;
    if (const cudaError_t error = refuseWork(found)) return error;
    return found->completed(found->submitted()) ? stickyError() : cudaErrorNotReady;
  });
}

cudaError_t cudaDeviceSynchronize(void) {
  return SOFTCUDA_CALL(cudaDeviceSynchronize, v3020, {
    if (captureForbidsWaitingForTheDevice()) return cudaErrorStreamCaptureUnsupported;
    synchronizeAll();
    emitSynchronization(call, kContextSync, 0, 0);
    return stickyError();
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return SOFTCUDA_CALL(cudaStreamWaitEvent, v3020, {
    if (flags != cudaEventWaitDefault) return cudaErrorInvalidValue;
    const StreamRef found = findStream(stream);
    const EventPtr waited = findEvent(event);
    if (!waited) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuseWork(found)) return error;
    if (const auto capture = captureOf(*waited); capture || found->capture()) {
      return waitInCapture(*found, *waited, capture);
    }
    StreamPoint point = lastRecord(*waited);
    if (!point.done() && point.stream() != &*found) {
      submit(*found, [point = std::move(point)](Stream&) { point.wait(); });
    }
    emitSynchronization(call, kStreamWaitEvent, found->id(), waited->id);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return SOFTCUDA_CALL(cudaEventCreate, v3020, { return createEvent(event, cudaEventDefault); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return SOFTCUDA_CALL(cudaEventCreateWithFlags, v3020, { return createEvent(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return SOFTCUDA_CALL(cudaEventDestroy, v3020, {
    EventTable& all = events();
    std::lock_guard lock(all.mutex);
    return all.events.erase(event) != 0 ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaEventRecord, v3020, { return record(call, event, stream); });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return SOFTCUDA_CALL(cudaEventRecordWithFlags, v11010, {
    if (flags != cudaEventRecordDefault) return cudaErrorInvalidValue;
    return record(call, event, stream);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return SOFTCUDA_CALL(cudaEventQuery, v3020, {
    const EventPtr found = findEvent(event);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuseCaptured(captureOf(*found), cudaErrorCapturedEvent)) return error;
    return lastRecord(*found).done() ? stickyError() : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return SOFTCUDA_CALL(cudaEventSynchronize, v3020, {
    const EventPtr found = findEvent(event);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuseCaptured(captureOf(*found), cudaErrorCapturedEvent)) return error;
    const StreamPoint point = lastRecord(*found);
    point.wait();
    emitSynchronization(call, kEventSync, point.stream() ? point.stream()->id() : 0, found->id);
    return stickyError();
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return SOFTCUDA_CALL(cudaEventElapsedTime, v12080, { return elapsed(ms, start, end); });
}
}
