// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/plugin_host.h"

#include <dirent.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <string_view>

#include "collector/agent/attach.h"
#include "collector/agent/config.h"
#include "collector/agent/diagnose.h"
#include "collector/agent/interposed.h"
#include "collector/agent/publisher.h"
#include "collector/agent/text_buffer.h"
#include "collector/agent/ticker.h"
#include "collector/api/time.h"

namespace plumb::agent {

void diagnose(Severity severity, const char* lane, const char* code, uint64_t count, const char* message) noexcept {
  const DiagnosticRecord record{.header = makeHeader<DiagnosticRecord>(RecordKind::kDiagnostic, publisher::threadId()),
                                .time_ns = monotonicNowNs(),
                                .count = count,
                                .lane = publisher::intern(lane, SIZE_MAX),
                                .code = publisher::intern(code, SIZE_MAX),
                                .message = publisher::intern(message, SIZE_MAX),
                                .severity = severity,
                                .reserved = 0};
  publisher::publish(record);
}

namespace plugins {
namespace {

constexpr size_t kMaxPlugins = 32;
constexpr size_t kMaxFileName = 64;

struct Loaded {
  const PlumbPlugin* plugin;
  bool on;
  std::atomic<bool> cudaBound;
};

constinit Loaded s_loaded[kMaxPlugins] = {};
constinit std::atomic<size_t> s_count{0};
constinit std::atomic<uint64_t> s_lastId{0};
constinit std::atomic<void (*)(uint64_t)> s_pushCorrelation{nullptr};
constinit std::atomic<void (*)()> s_popCorrelation{nullptr};

uint64_t nextId() noexcept { return s_lastId.fetch_add(1, std::memory_order_relaxed) + 1; }

void hostDiagnose(uint32_t severity, const char* lane, const char* code, uint64_t count, const char* message) noexcept {
  diagnose(severity <= static_cast<uint32_t>(Severity::kError) ? static_cast<Severity>(severity) : Severity::kError,
           lane, code, count, message);
}

void provideCorrelation(void (*push)(uint64_t), void (*pop)()) noexcept {
  s_popCorrelation.store(pop, std::memory_order_release);
  s_pushCorrelation.store(push, std::memory_order_release);
}

void pushCorrelation(uint64_t externalId) noexcept {
  if (const auto push = s_pushCorrelation.load(std::memory_order_acquire); push != nullptr && publisher::live()) {
    push(externalId);
  }
}

void popCorrelation() noexcept {
  if (const auto pop = s_popCorrelation.load(std::memory_order_acquire); pop != nullptr && publisher::live()) {
    pop();
  }
}

// A forked child attaches with its first event. The text comes before the record that names it.
int hostWrite(const void* record) noexcept {
  if (!publisher::live()) {
    attachForkedChild();
  }
  return publisher::write(record);
}

uint64_t hostIntern(const char* text, size_t lengthBytes) noexcept {
  if (!publisher::live()) {
    attachForkedChild();
  }
  return publisher::intern(text, lengthBytes);
}

constexpr PlumbHost kHost = {
    .size_bytes = sizeof(PlumbHost),
    .abi = PLUMB_PLUGIN_ABI,
    .write = hostWrite,
    .write_patiently = publisher::writePatiently,
    .intern = hostIntern,
    .thread_id = publisher::threadId,
    .next_id = nextId,
    .diagnose = hostDiagnose,
    .setting = setting,
    .provide_correlation = provideCorrelation,
    .push_correlation = pushCorrelation,
    .pop_correlation = popCorrelation,
    .real_function = realFunction,
    .every = ticker::every,
};

void publishState(const char* name, const char* version, bool on) noexcept {
  const PluginRecord record{.header = makeHeader<PluginRecord>(RecordKind::kPlugin, publisher::threadId()),
                            .name = publisher::intern(name, SIZE_MAX),
                            .version = publisher::intern(version, SIZE_MAX),
                            .library = 0,
                            .is_on = on ? 1U : 0U,
                            .reserved = 0};
  publisher::publish(record);
}

void refuse(const char* name, const char* reason, const char* detail) noexcept {
  char message[512];
  TextBuffer(message).add("The plugin ").add(name).add(" is off: ").add(reason).add(detail);
  diagnose(Severity::kWarning, name, "plugin_failed", 1, message);
  publishState(name, "", false);
}

template <class Function>
bool has(const PlumbPlugin* plugin, const Function PlumbPlugin::*member) noexcept {
  // A plugin of an older header has a shorter struct.
  const auto offset = reinterpret_cast<const char*>(&(plugin->*member)) - reinterpret_cast<const char*>(plugin);
  return static_cast<size_t>(offset) + sizeof(Function) <= plugin->size_bytes && plugin->*member != nullptr;
}

void load(const char* folder, const char* fileName) noexcept {
  char name[kMaxFileName];
  TextBuffer(name).add({fileName, std::strlen(fileName) - 3});
  char path[PATH_MAX];
  if (!TextBuffer(path).add(folder).add("/").add(fileName).ok()) {
    return;
  }
  // Never unloaded: the libraries that it hooks into keep pointers to it.
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* error = dlerror();
    refuse(name, "it cannot be loaded: ", error == nullptr ? "" : error);
    return;
  }
  const auto entry = reinterpret_cast<PlumbPluginEntry>(dlsym(library, "plumbPlugin"));
  const PlumbPlugin* plugin = entry == nullptr ? nullptr : entry(PLUMB_PLUGIN_ABI);
  if (plugin == nullptr || plugin->abi != PLUMB_PLUGIN_ABI || !has(plugin, &PlumbPlugin::start)) {
    refuse(name, "it is not a plugin of this version; build it again with this Plumbline", ".");
    return;
  }
  const size_t index = s_count.load(std::memory_order_relaxed);
  if (index == kMaxPlugins) {
    refuse(name, "there are too many plugins", ".");
    return;
  }
  Loaded& slot = s_loaded[index];
  slot.plugin = plugin;
  slot.on = plugin->start(&kHost) != 0;
  s_count.store(index + 1, std::memory_order_release);
}

using FileName = char[kMaxFileName];

size_t listFolder(const char* folder, FileName (&names)[kMaxPlugins]) noexcept {
  DIR* directory = opendir(folder);
  if (directory == nullptr) {
    return 0;
  }
  size_t count = 0;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name{entry->d_name};
    if (count < kMaxPlugins && name.size() > 3 && name.size() < kMaxFileName && name.ends_with(".so") &&
        pluginWanted(head(name, name.size() - 3))) {
      TextBuffer(names[count++]).add(name);
    }
  }
  closedir(directory);
  return count;
}

// What was built with this library and is wanted, but is not in its folder.
void reportMissing(const char* folder, const FileName* names, size_t count) noexcept {
  for (const char* plugin : {PLUMB_SHIPPED_PLUGINS}) {
    const bool found = std::any_of(names, names + count, [plugin](const FileName& name) {
      return std::string_view{name, std::strlen(name) - 3} == plugin;
    });
    if (!found && pluginWanted(plugin)) {
      refuse(plugin, "its file is missing; build or install it again in ", folder);
    }
  }
}

}  // namespace

void loadAll() noexcept {
  char folder[PATH_MAX];
  const char* chosen = setting("plugin_dir");
  if (chosen != nullptr) {
    TextBuffer(folder).add(chosen);
  } else if (!besideLibrary("plumb/plugins", folder, sizeof folder)) {
    return;
  }
  FileName names[kMaxPlugins];
  const size_t count = listFolder(folder, names);
  if (chosen == nullptr && count > 0) {
    reportMissing(folder, names, count);
  }
  if (count == 0) {
    char message[PATH_MAX + 160];
    TextBuffer(message)
        .add("No plugin was loaded, so nothing is recorded: there is none that is wanted in ")
        .add(folder)
        .add(".");
    diagnose(Severity::kError, "agent", "no_plugins", 1, message);
  }
  // An order that does not depend on the file system.
  size_t order[kMaxPlugins];
  for (size_t i = 0; i < count; ++i) {
    order[i] = i;
  }
  std::sort(order, order + count, [&names](size_t a, size_t b) { return std::strcmp(names[a], names[b]) < 0; });
  for (size_t i = 0; i < count; ++i) {
    load(folder, names[order[i]]);
  }
  publishStates();
}

void publishStates() noexcept {
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    publishState(s_loaded[i].plugin->name, s_loaded[i].plugin->version, s_loaded[i].on);
  }
}

bool bindCuda() noexcept {
  // The driver's call and the agent's thread may meet here; whoever comes second need not wait.
  static constinit std::atomic<bool> s_busy{false};
  if (s_busy.exchange(true)) {
    return false;
  }
  bool bound = false;
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    Loaded& loaded = s_loaded[i];
    if (!loaded.on || !has(loaded.plugin, &PlumbPlugin::on_cuda) || loaded.cudaBound.load()) {
      continue;
    }
    if (loaded.plugin->on_cuda() != 0) {
      loaded.cudaBound.store(true);
      bound = true;
    }
  }
  s_busy.store(false);
  return bound;
}

bool cudaBound() noexcept {
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    const Loaded& loaded = s_loaded[i];
    if (loaded.on && has(loaded.plugin, &PlumbPlugin::on_cuda) && !loaded.cudaBound.load()) {
      return false;
    }
  }
  return true;
}

void reportUnboundCuda() noexcept {
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    const Loaded& loaded = s_loaded[i];
    if (loaded.on && has(loaded.plugin, &PlumbPlugin::on_cuda) && !loaded.cudaBound.load()) {
      publishState(loaded.plugin->name, loaded.plugin->version, false);
    }
  }
}

bool attachNvtx(void* getExportTable) noexcept {
  bool attached = false;
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    const Loaded& loaded = s_loaded[i];
    if (loaded.on && has(loaded.plugin, &PlumbPlugin::on_nvtx)) {
      attached = loaded.plugin->on_nvtx(getExportTable) != 0 || attached;
    }
  }
  return attached;
}

bool attachNvtxExtension(void* moduleInfo) noexcept {
  bool attached = false;
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    const Loaded& loaded = s_loaded[i];
    if (loaded.on && has(loaded.plugin, &PlumbPlugin::on_nvtx_extension)) {
      attached = loaded.plugin->on_nvtx_extension(moduleInfo) != 0 || attached;
    }
  }
  return attached;
}

const void* ncclProfiler(int version) noexcept {
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    const Loaded& loaded = s_loaded[i];
    if (loaded.on && has(loaded.plugin, &PlumbPlugin::nccl_profiler)) {
      if (const void* profiler = loaded.plugin->nccl_profiler(version); profiler != nullptr) {
        return profiler;
      }
    }
  }
  return nullptr;
}

void* replacement(const char* function) noexcept {
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    const Loaded& loaded = s_loaded[i];
    if (loaded.on && has(loaded.plugin, &PlumbPlugin::interpose)) {
      if (void* address = loaded.plugin->interpose(function); address != nullptr) {
        return address;
      }
    }
  }
  return nullptr;
}

void onForkChild() noexcept {
  for (size_t i = 0; i < s_count.load(std::memory_order_acquire); ++i) {
    Loaded& loaded = s_loaded[i];
    if (loaded.on && has(loaded.plugin, &PlumbPlugin::on_fork_child)) {
      loaded.plugin->on_fork_child();
    }
  }
}

}  // namespace plugins
}  // namespace plumb::agent
