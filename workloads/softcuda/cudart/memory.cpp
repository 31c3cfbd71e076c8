// SPDX-License-Identifier: Apache-2.0
#include "workloads/softcuda/cudart/memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "workloads/softcuda/cudart/settings.h"
#include "workloads/softcuda/cudart/variable_registry.h"

namespace softcuda {
namespace {

struct HostRanges {
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> ranges;
};
HostRanges& hostRanges() {
  static auto* instance = new HostRanges;
  return *instance;
}

// The default memory pool. A block that was freed on a stream stays the program's, so to speak, until the stream
// reaches the free; until then only later allocations of the same stream may have it.
class Pool {
 public:
  std::atomic<uint64_t> releaseThreshold{0};

  void* allocate(std::size_t bytes, Stream& stream) {
    const std::size_t size = Heap::rounded(std::max<std::size_t>(bytes, 1));
    {
      std::lock_guard lock(m_mutex);
      if (const auto found = m_pending.find({stream.id(), size}); found != m_pending.end()) {
        void* address = found->second;
        m_pendingKeys.erase(address);
        m_pending.erase(found);
        m_pendingBytes -= size;
        use(address, size, bytes);
        return address;
      }
    }
    void* address = deviceHeap().allocate(size, kDevice);
    if (!address) {  // wait for what is on its way back
      synchronizeAll();
      address = deviceHeap().allocate(size, kDevice);
    }
    if (!address) return nullptr;
    std::lock_guard lock(m_mutex);
    use(address, size, bytes);
    return address;
  }

  std::optional<std::size_t> free(void* address, Stream& stream) {
    std::size_t asked;
    {
      std::lock_guard lock(m_mutex);
      const auto found = m_live.find(address);
      if (found == m_live.end()) return std::nullopt;
      const auto [size, bytes] = found->second;
      asked = bytes;
      m_live.erase(found);
      m_used -= size;
      const Key key{stream.id(), size};
      m_pending.emplace(key, address);
      m_pendingKeys.emplace(address, key);
      m_pendingBytes += size;
      ++m_frees[address];
    }
    submit(stream, [this, address](Stream&) { reached(address); });
    return asked;
  }

  // cudaFree of stream-ordered memory, whose streams have been waited for.
  std::optional<std::size_t> forget(void* address) {
    std::lock_guard lock(m_mutex);
    const auto found = m_live.find(address);
    if (found == m_live.end()) return std::nullopt;
    const auto [size, bytes] = found->second;
    m_used -= size;
    m_live.erase(found);
    return bytes;
  }

  PoolState state() {
    std::lock_guard lock(m_mutex);
    return {m_used, m_usedHigh, m_used + m_pendingBytes, m_reservedHigh};
  }
  void resetHighMarks(bool used, bool reserved) {
    std::lock_guard lock(m_mutex);
    if (used) m_usedHigh = m_used;
    if (reserved) m_reservedHigh = m_used + m_pendingBytes;
  }

 private:
  using Key = std::pair<uint32_t, std::size_t>;  // stream id, rounded bytes
  struct Live {
    std::size_t size;
    std::size_t asked;
  };

  void use(void* address, std::size_t size, std::size_t asked) {
    m_live.emplace(address, Live{size, asked});
    m_used += size;
    m_usedHigh = std::max(m_usedHigh, m_used);
    m_reservedHigh = std::max(m_reservedHigh, m_used + m_pendingBytes);
  }

  // A stream came to a free. The memory goes back when all frees of its address have been reached, unless it is in use
  // again.
  void reached(void* address) {
    std::lock_guard lock(m_mutex);
    const auto frees = m_frees.find(address);
    if (--frees->second > 0) return;
    m_frees.erase(frees);
    const auto key = m_pendingKeys.find(address);
    if (key == m_pendingKeys.end()) return;
    const auto [begin, end] = m_pending.equal_range(key->second);
    m_pending.erase(std::find_if(begin, end, [&](const auto& item) { return item.second == address; }));
    m_pendingBytes -= key->second.second;
    m_pendingKeys.erase(key);
    deviceHeap().free(address);
  }

  std::mutex m_mutex;
  std::unordered_map<void*, Live> m_live;
  std::multimap<Key, void*> m_pending;
  std::unordered_map<void*, Key> m_pendingKeys;
  std::unordered_map<void*, uint32_t> m_frees;  // frees of an address that their stream has not reached
  std::size_t m_pendingBytes = 0;
  std::size_t m_used = 0;
  std::size_t m_usedHigh = 0;
  std::size_t m_reservedHigh = 0;
};

struct GraphMemory {
  std::mutex mutex;
  std::unordered_set<void*> addresses;
};
GraphMemory& graphMemory() {
  static auto* instance = new GraphMemory;
  return *instance;
}

// Never freed: frees that a stream has not reached yet need them.
struct Pools {
  Pool standard;
  std::shared_mutex mutex;
  std::vector<Pool*> made;
  std::vector<Pool*> destroyed;

  // The first answer of a pool that has one.
  template <class Ask>
  auto ask(Ask&& answer) -> decltype(answer(standard)) {
    if (auto found = answer(standard)) return found;
    std::shared_lock lock(mutex);
    for (const auto* list : {&made, &destroyed}) {
      for (Pool* pool : *list) {
        if (auto found = answer(*pool)) return found;
      }
    }
    return std::nullopt;
  }
};
Pools& pools() {
  static auto* instance = new Pools;
  return *instance;
}

cudaMemPool_t handleOf(Pool& pool) { return reinterpret_cast<cudaMemPool_t>(&pool); }
Pool& poolOf(cudaMemPool_t handle) { return *reinterpret_cast<Pool*>(handle); }

}  // namespace

Heap& deviceHeap() {
  static auto* heap = new Heap(deviceMemoryBytes());
  return *heap;
}

Heap& pinnedHeap() {
  static auto* heap = new Heap(machineMemoryBytes());
  return *heap;
}

Place classify(const void* address, std::size_t bytes) {
  for (Heap* heap : {&deviceHeap(), &pinnedHeap()}) {
    if (!heap->contains(address)) continue;
    const auto block = heap->find(address);
    const MemoryKind kind = block ? static_cast<MemoryKind>(block->label) : heap == &deviceHeap() ? kDevice : kPinned;
    const auto* end = static_cast<const std::byte*>(address) + bytes;
    return {kind, block && end <= block->address + block->bytes};
  }
  HostRanges& host = hostRanges();
  std::lock_guard lock(host.mutex);
  auto after = host.ranges.upper_bound(static_cast<const std::byte*>(address));
  if (after != host.ranges.begin()) {
    const auto& [start, size] = *std::prev(after);
    if (static_cast<const std::byte*>(address) + bytes <= start + size) return {kPinned, true};
  }
  if (const auto variable = variableAround(address)) {
    return {kDevice, static_cast<const std::byte*>(address) + bytes <= variable->address + variable->bytes};
  }
  return {kPageable, true};
}

bool registerHost(void* address, std::size_t bytes) {
  HostRanges& host = hostRanges();
  std::lock_guard lock(host.mutex);
  return host.ranges.emplace(static_cast<const std::byte*>(address), bytes).second;
}

bool unregisterHost(void* address) {
  HostRanges& host = hostRanges();
  std::lock_guard lock(host.mutex);
  return host.ranges.erase(static_cast<const std::byte*>(address)) != 0;
}

cudaMemPool_t defaultPool() { return handleOf(pools().standard); }

cudaMemPool_t createPool() {
  auto* pool = new Pool;
  std::lock_guard lock(pools().mutex);
  pools().made.push_back(pool);
  return handleOf(*pool);
}

bool isPool(cudaMemPool_t pool) {
  if (pool == defaultPool()) return true;
  std::shared_lock lock(pools().mutex);
  const auto& made = pools().made;
  return std::find(made.begin(), made.end(), reinterpret_cast<Pool*>(pool)) != made.end();
}

bool destroyPool(cudaMemPool_t pool) {
  std::lock_guard lock(pools().mutex);
  if (std::erase(pools().made, reinterpret_cast<Pool*>(pool)) == 0) return false;
  pools().destroyed.push_back(reinterpret_cast<Pool*>(pool));
  return true;
}

std::atomic<uint64_t>& releaseThreshold(cudaMemPool_t pool) { return poolOf(pool).releaseThreshold; }

void* allocateOnStream(std::size_t bytes, Stream& stream, cudaMemPool_t pool) {
  return poolOf(pool).allocate(bytes, stream);
}

std::optional<Freed> freeOnStream(void* address, Stream& stream) {
  const auto freed = pools().ask([&](Pool& pool) -> std::optional<Freed> {
    const auto bytes = pool.free(address, stream);
    if (!bytes) return std::nullopt;
    return Freed{*bytes, handleOf(pool)};
  });
  if (freed) return freed;
  const auto block = deviceHeap().find(address);
  if (!block || block->address != address) return std::nullopt;
  submit(stream, [address](Stream&) { deviceHeap().free(address); });
  return Freed{block->bytes, nullptr};
}

std::shared_ptr<void> allocateForGraph(std::size_t bytes) {
  void* address = deviceHeap().allocate(bytes, kDevice);
  if (!address) return nullptr;
  {
    std::lock_guard lock(graphMemory().mutex);
    graphMemory().addresses.insert(address);
  }
  return {address, [](void* owned) {
            {
              std::lock_guard lock(graphMemory().mutex);
              graphMemory().addresses.erase(owned);
            }
            deviceHeap().free(owned);
          }};
}

bool ownedByGraph(const void* address) {
  std::lock_guard lock(graphMemory().mutex);
  return graphMemory().addresses.contains(const_cast<void*>(address));
}

std::optional<std::size_t> forgetPooled(void* address) {
  return pools().ask([&](Pool& pool) { return pool.forget(address); });
}

PoolState poolState(cudaMemPool_t pool) { return poolOf(pool).state(); }
void resetPoolHighMarks(cudaMemPool_t pool, bool used, bool reserved) { poolOf(pool).resetHighMarks(used, reserved); }

}  // namespace softcuda
