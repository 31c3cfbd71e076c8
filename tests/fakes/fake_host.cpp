// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_host.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace plumb::test {
namespace {

FakeHost* g_host = nullptr;

}  // namespace

struct FakeHostCalls {
  static int write(const void* record) {
    g_host->plainWrites.fetch_add(1);
    return g_host->write(record);
  }
  static int writePatiently(const void* record, int64_t) {
    g_host->patientWrites.fetch_add(1);
    return g_host->write(record);
  }
  static uint64_t intern(const char* text, size_t length) {
    if (!text) {
      return 0;
    }
    const std::string_view view(text, length == SIZE_MAX ? std::strlen(text) : length);
    if (view.empty()) {
      return 0;
    }
    const std::lock_guard lock(g_host->m_mutex);
    if (const auto known = g_host->m_ids.find(view); known != g_host->m_ids.end()) {
      return known->second;
    }
    const StringId id = std::hash<std::string_view>{}(view) | 1;
    g_host->m_ids.emplace(view, id);
    g_host->m_texts.emplace(id, view);
    return id;
  }
  static uint32_t threadId() {
    thread_local const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
    return tid;
  }
  static uint64_t nextId() { return g_host->m_nextId.fetch_add(1); }
  static void diagnose(uint32_t severity, const char* lane, const char* code, uint64_t count, const char* message) {
    const std::lock_guard lock(g_host->m_mutex);
    g_host->m_diagnostics.push_back({static_cast<Severity>(severity), lane, code, count, message});
  }
  static const char* setting(const char* name) {
    const auto found = g_host->settings.find(name);
    return found == g_host->settings.end() ? nullptr : found->second.c_str();
  }
  static void provide(void (*push)(uint64_t), void (*pop)()) {
    g_host->pushProvided = push;
    g_host->popProvided = pop;
  }
  static void push(uint64_t id) {
    const std::lock_guard lock(g_host->m_mutex);
    g_host->m_correlationCalls.push_back("push " + std::to_string(id));
  }
  static void pop() {
    const std::lock_guard lock(g_host->m_mutex);
    g_host->m_correlationCalls.emplace_back("pop");
  }
  static void* realFunction(const char* name) {
    const auto found = g_host->realFunctions.find(name);
    return found == g_host->realFunctions.end() ? nullptr : found->second;
  }
  static void every(uint32_t, void (*tick)(void*, int), void* context) { g_host->m_ticks.push_back({tick, context}); }
};

FakeHost::FakeHost() : m_records(kBytes) {
  g_host = this;
  m_host.size_bytes = sizeof m_host;
  m_host.abi = PLUMB_PLUGIN_ABI;
  m_host.write = FakeHostCalls::write;
  m_host.write_patiently = FakeHostCalls::writePatiently;
  m_host.intern = FakeHostCalls::intern;
  m_host.thread_id = FakeHostCalls::threadId;
  m_host.next_id = FakeHostCalls::nextId;
  m_host.diagnose = FakeHostCalls::diagnose;
  m_host.setting = FakeHostCalls::setting;
  m_host.provide_correlation = FakeHostCalls::provide;
  m_host.push_correlation = FakeHostCalls::push;
  m_host.pop_correlation = FakeHostCalls::pop;
  m_host.real_function = FakeHostCalls::realFunction;
  m_host.every = FakeHostCalls::every;
}

FakeHost::~FakeHost() {
  if (g_host == this) {
    g_host = nullptr;
  }
}

int FakeHost::write(const void* record) {
  if (isFull.load()) {
    return 0;
  }
  const size_t bytes = static_cast<const RecordHeader*>(record)->size_bytes;
  const size_t at = m_used.fetch_add(bytes);
  if (at + bytes > kBytes) {
    std::abort();  // the test writes more than the fake holds
  }
  std::memcpy(m_records.data() + at, record, bytes);
  return 1;
}

void FakeHost::forEach(const std::function<void(const RecordHeader*)>& visit) const {
  for (size_t at = 0; at < m_used.load();) {
    const auto* header = reinterpret_cast<const RecordHeader*>(m_records.data() + at);
    visit(header);
    at += header->size_bytes;
  }
}

size_t FakeHost::recordCount() const {
  size_t count = 0;
  forEach([&](const RecordHeader*) { ++count; });
  return count;
}

void FakeHost::clearRecords() { m_used.store(0); }

std::string FakeHost::text(StringId id) const {
  const std::lock_guard lock(m_mutex);
  const auto found = m_texts.find(id);
  return found == m_texts.end() ? "" : found->second;
}

std::vector<FakeDiagnostic> FakeHost::diagnostics() const {
  const std::lock_guard lock(m_mutex);
  return m_diagnostics;
}

FakeDiagnostic FakeHost::diagnostic(std::string_view code) const {
  for (const FakeDiagnostic& diagnostic : diagnostics()) {
    if (diagnostic.code == code) {
      return diagnostic;
    }
  }
  return {};
}

std::vector<std::string> FakeHost::correlationCalls() const {
  const std::lock_guard lock(m_mutex);
  return m_correlationCalls;
}

void FakeHost::runTicks(bool atExit) {
  for (const Tick& tick : m_ticks) {
    tick.function(tick.context, atExit ? 1 : 0);
  }
}

}  // namespace plumb::test
