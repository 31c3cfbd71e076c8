// SPDX-License-Identifier: Apache-2.0
// Copies and sets.
#include <algorithm>
#include <cstring>
#include <memory>

#include "workloads/softcuda/cudart/api_call.h"
#include "workloads/softcuda/cudart/memory.h"
#include "workloads/softcuda/cudart/stream.h"
#include "workloads/softcuda/cudart/variable_registry.h"
#include "workloads/softcuda/cudart/work.h"
#include "workloads/softcuda/device.h"

namespace softcuda {
namespace {

// Pageable memory goes through a staging buffer of the driver's; up to this size a copy to the device returns as soon
// as the data is staged.
constexpr std::size_t kStagingBytes = 64 * 1024;

// CUpti_ActivityMemcpyKind
enum CopyKind : uint8_t { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8, kHostToHost = 9 };

struct Area {  // rows of width bytes, pitch bytes apart
  void* address;
  std::size_t pitch;
};
struct Extent {
  std::size_t width;
  std::size_t height;
  std::size_t bytes() const { return width * height; }
};

std::size_t span(const Area& area, const Extent& extent) {
  return extent.height == 0 ? 0 : area.pitch * (extent.height - 1) + extent.width;
}

bool onDevice(MemoryKind kind) { return kind == kDevice || kind == kManaged; }

void copyRows(const Area& to, const Area& from, const Extent& extent) {
  if (extent.height == 1 || (to.pitch == extent.width && from.pitch == extent.width)) {
    std::memmove(to.address, from.address, extent.bytes());
    return;
  }
  for (std::size_t row = 0; row < extent.height; ++row) {
    std::memmove(static_cast<std::byte*>(to.address) + row * to.pitch,
                 static_cast<std::byte*>(from.address) + row * from.pitch, extent.width);
  }
}

SoftcudaEvent deviceEvent(const ApiCall& call, const Stream& stream, SoftcudaEventKind kind, bool async) {
  SoftcudaEvent event{};
  event.kind = kind;
  event.correlation = call.correlation();
  event.stream = stream.id();
  event.flags = async ? 1 : 0;
  event.queued_ns = call.startNs();
  return event;
}

template <class Work>
void timed(SoftcudaEvent& event, Work&& work) {
  if (!observed()) {
    work();
    return;
  }
  event.start_ns = softcuda_now();
  work();
  event.end_ns = softcuda_now();
  emit(event);
}

// Does the direction hold, and does each side lie within an allocation?
cudaError_t checkDirection(cudaMemcpyKind kind, const Place& to, const Place& from) {
  if (!to.inBounds || !from.inBounds) return cudaErrorInvalidValue;
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return to.kind == kPageable || from.kind == kDevice ? cudaErrorInvalidValue : cudaSuccess;
    case cudaMemcpyDeviceToHost:
      return from.kind == kPageable || to.kind == kDevice ? cudaErrorInvalidValue : cudaSuccess;
    case cudaMemcpyDeviceToDevice:
      return to.kind == kPageable || from.kind == kPageable ? cudaErrorInvalidValue : cudaSuccess;
    case cudaMemcpyHostToHost:
      return to.kind == kDevice || from.kind == kDevice ? cudaErrorInvalidValue : cudaSuccess;
    case cudaMemcpyDefault:
      return cudaSuccess;
    default:
      return cudaErrorInvalidMemcpyDirection;
  }
}

uint8_t copyKindOf(const Place& to, const Place& from) {
  if (onDevice(to.kind)) return onDevice(from.kind) ? kDeviceToDevice : kHostToDevice;
  return onDevice(from.kind) ? kDeviceToHost : kHostToHost;
}

// async: as the program asked. What the host waits for follows the "API synchronization behavior" of CUDA's manual.
cudaError_t copy(ApiCall& call, const Area& to, const Area& from, const Extent& extent, cudaMemcpyKind kind,
                 cudaStream_t handle, bool async) {
  const StreamRef stream = findStream(handle);
  if (const cudaError_t error = refuseWork(stream)) return error;
  if (extent.bytes() == 0) return cudaSuccess;
  if (!to.address || !from.address || to.pitch < extent.width || from.pitch < extent.width)
    return cudaErrorInvalidValue;
  const Place toPlace = classify(to.address, span(to, extent));
  const Place fromPlace = classify(from.address, span(from, extent));
  if (const cudaError_t error = checkDirection(kind, toPlace, fromPlace); error != cudaSuccess) return error;

  SoftcudaEvent event = deviceEvent(call, *stream, SOFTCUDA_EVENT_COPY, async);
  event.copy.bytes = extent.bytes();
  event.copy.copy_kind = copyKindOf(toPlace, fromPlace);
  event.copy.source_kind = fromPlace.kind;
  event.copy.destination_kind = toPlace.kind;

  const bool pageable = toPlace.kind == kPageable || fromPlace.kind == kPageable;
  if (!stream->capture() && async && event.copy.copy_kind == kHostToDevice && pageable &&
      extent.bytes() <= kStagingBytes) {
    auto staged = std::make_shared_for_overwrite<std::byte[]>(extent.bytes());
    copyRows({staged.get(), extent.width}, from, extent);
    submit(*stream, [event, to, extent, staged = std::move(staged)](Stream&) mutable {
      timed(event, [&] { copyRows(to, {staged.get(), extent.width}, extent); });
    });
    return cudaSuccess;
  }
  const bool hostWaits = async ? pageable : event.copy.copy_kind != kDeviceToDevice;
  if (!async && hostWaits && captureForbidsThisCall()) return cudaErrorStreamCaptureUnsupported;
  const uint64_t sequence = submit(*stream, cudaGraphNodeTypeMemcpy, [event, to, from, extent](Stream&) mutable {
    timed(event, [&] { copyRows(to, from, extent); });
  });
  if (hostWaits) stream->wait(sequence);
  return stickyError();
}

cudaError_t set(ApiCall& call, const Area& area, const Extent& extent, int value, cudaStream_t handle, bool async) {
  const StreamRef stream = findStream(handle);
  if (const cudaError_t error = refuseWork(stream)) return error;
  if (extent.bytes() == 0) return cudaSuccess;
  if (!area.address || area.pitch < extent.width) return cudaErrorInvalidValue;
  const Place place = classify(area.address, span(area, extent));
  if (place.kind == kPageable || !place.inBounds) return cudaErrorInvalidValue;
  const bool hostWaits = !async && place.kind == kPinned;
  if (hostWaits && captureForbidsThisCall()) return cudaErrorStreamCaptureUnsupported;
  SoftcudaEvent event = deviceEvent(call, *stream, SOFTCUDA_EVENT_SET, async);
  event.set.bytes = extent.bytes();
  event.set.value = static_cast<uint32_t>(value & 0xff);
  event.set.memory_kind = place.kind;
  const uint64_t sequence = submit(*stream, cudaGraphNodeTypeMemset, [event, area, extent](Stream&) mutable {
    timed(event, [&] {
      const int byte = static_cast<int>(event.set.value);
      if (extent.height == 1 || area.pitch == extent.width) {
        std::memset(area.address, byte, extent.bytes());
        return;
      }
      for (std::size_t row = 0; row < extent.height; ++row) {
        std::memset(static_cast<std::byte*>(area.address) + row * area.pitch, byte, extent.width);
      }
    });
  });
  if (hostWaits) stream->wait(sequence);
  return cudaSuccess;
}

struct SymbolPart {
  const void* symbol;
  std::size_t offset;
  std::size_t bytes;
};
cudaError_t locate(const SymbolPart& part, void** address) {
  const auto variable = findVariable(part.symbol);
  if (!variable) return cudaErrorInvalidSymbol;
  if (part.offset > variable->bytes || part.bytes > variable->bytes - part.offset) return cudaErrorInvalidValue;
  *address = variable->address + part.offset;
  return cudaSuccess;
}

Area row(void* address, std::size_t bytes) { return {address, bytes}; }
Area row(const void* address, std::size_t bytes) { return {const_cast<void*>(address), bytes}; }

cudaError_t copyToSymbol(ApiCall& call, const SymbolPart& to, const void* from, cudaMemcpyKind kind,
                         cudaStream_t stream, bool async) {
  void* address = nullptr;
  if (const cudaError_t error = locate(to, &address); error != cudaSuccess) return error;
  if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  return copy(call, row(address, to.bytes), row(from, to.bytes), {to.bytes, 1}, kind, stream, async);
}

cudaError_t copyFromSymbol(ApiCall& call, void* to, const SymbolPart& from, cudaMemcpyKind kind, cudaStream_t stream,
                           bool async) {
  void* address = nullptr;
  if (const cudaError_t error = locate(from, &address); error != cudaSuccess) return error;
  if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost) return cudaErrorInvalidMemcpyDirection;
  return copy(call, row(to, from.bytes), row(address, from.bytes), {from.bytes, 1}, kind, stream, async);
}

}  // namespace

cudaError_t queueCopy(ApiCall& call, const cudaPitchedPtr& to, const cudaPitchedPtr& from, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(call, row(to.ptr, to.pitch), row(from.ptr, from.pitch), {width, height}, kind, stream, true);
}

cudaError_t queueSet(ApiCall& call, const cudaMemsetParams& parameters, cudaStream_t stream) {
  const unsigned element = parameters.elementSize;
  if (element != 1 && element != 2 && element != 4) return cudaErrorInvalidValue;
  const unsigned byte = parameters.value & 0xffu;
  const unsigned repeated = byte * (element == 1 ? 0x1u : element == 2 ? 0x101u : 0x1010101u);
  if (repeated != parameters.value) return softcuda_unsupported("a memset node with an element of unequal bytes");
  const std::size_t width = parameters.width * element;
  const std::size_t pitch = parameters.height <= 1 ? width : parameters.pitch;
  return set(call, row(parameters.dst, pitch), {width, std::max<std::size_t>(parameters.height, 1)},
             static_cast<int>(byte), stream, true);
}

}  // namespace softcuda

using namespace softcuda;

extern "C" {

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return SOFTCUDA_CALL(cudaMemcpy, v3020, {
    return copy(call, row(dst, count), row(src, count), {count, 1}, kind, nullptr, false);
  });
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemcpyAsync, v3020, {
    return copy(call, row(dst, count), row(src, count), {count, 1}, kind, stream, true);
  });
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return SOFTCUDA_CALL(cudaMemcpy2D, v3020, {
    return copy(call, row(dst, dpitch), row(src, spitch), {width, height}, kind, nullptr, false);
  });
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemcpy2DAsync, v3020, {
    return copy(call, row(dst, dpitch), row(src, spitch), {width, height}, kind, stream, true);
  });
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  return SOFTCUDA_CALL(cudaMemcpyPeer, v4000, {
    if (dstDevice != 0 || srcDevice != 0) return cudaErrorInvalidDevice;
    return copy(call, row(dst, count), row(src, count), {count, 1}, cudaMemcpyDeviceToDevice, nullptr, true);
  });
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
                                cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemcpyPeerAsync, v4000, {
    if (dstDevice != 0 || srcDevice != 0) return cudaErrorInvalidDevice;
    return copy(call, row(dst, count), row(src, count), {count, 1}, cudaMemcpyDeviceToDevice, stream, true);
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset, cudaMemcpyKind kind) {
  return SOFTCUDA_CALL(cudaMemcpyToSymbol, v3020, {
    return copyToSymbol(call, {symbol, offset, count}, src, kind, nullptr, false);
  });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemcpyToSymbolAsync, v3020, {
    return copyToSymbol(call, {symbol, offset, count}, src, kind, stream, true);
  });
}

cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind) {
  return SOFTCUDA_CALL(cudaMemcpyFromSymbol, v3020, {
    return copyFromSymbol(call, dst, {symbol, offset, count}, kind, nullptr, false);
  });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemcpyFromSymbolAsync, v3020, {
    return copyFromSymbol(call, dst, {symbol, offset, count}, kind, stream, true);
  });
}

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
  return SOFTCUDA_CALL(cudaMemset, v3020, { return set(call, row(devPtr, count), {count, 1}, value, nullptr, false); });
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemsetAsync, v3020, {
    return set(call, row(devPtr, count), {count, 1}, value, stream, true);
  });
}

cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
  return SOFTCUDA_CALL(cudaMemset2D, v3020, {
    return set(call, row(devPtr, pitch), {width, height}, value, nullptr, false);
  });
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return SOFTCUDA_CALL(cudaMemset2DAsync, v3020, {
    return set(call, row(devPtr, pitch), {width, height}, value, stream, true);
  });
}
}
