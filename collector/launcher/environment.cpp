// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/environment.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "collector/transport/protocol.h"

namespace plumb::launcher {
namespace {

class Variables {
 public:
  explicit Variables(std::vector<std::string> entries) : m_entries(std::move(entries)) {}

  [[nodiscard]] std::optional<std::string> get(const std::string& name) const {
    const auto entry = std::ranges::find_if(m_entries, [&](const std::string& e) { return e.starts_with(name + "="); });
    return entry == m_entries.end() ? std::nullopt : std::optional(entry->substr(name.size() + 1));
  }
  void erase(const std::string& name) {
    std::erase_if(m_entries, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  }
  void set(const std::string& name, const std::string& value) {
    erase(name);
    m_entries.push_back(name + "=" + value);
  }
  void setIfMissing(const std::string& name, const std::string& value) {
    if (get(name).value_or("").empty()) {
      set(name, value);
    }
  }
  void prepend(const std::string& name, const std::string& value) {
    const std::string old = get(name).value_or("");
    const std::string list = ":" + old + ":";
    if (list.find(":" + value + ":") == std::string::npos) {
      set(name, old.empty() ? value : value + ":" + old);
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(m_entries); }

 private:
  std::vector<std::string> m_entries;
};

}  // namespace

std::vector<std::string> recordingEnvironment(const std::vector<std::string>& current, const Installation& installation,
                                              const EnvironmentRequest& request) {
  Variables variables(current);
  variables.prepend("LD_PRELOAD", installation.agent);
  if (!request.addressSanitizer.empty()) {
    variables.prepend("LD_PRELOAD", request.addressSanitizer);
  }
  // For processes that drop LD_PRELOAD but keep the rest.
  for (const char* name : {"NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH", "NCCL_PROFILER_PLUGIN"}) {
    variables.setIfMissing(name, installation.agent);
  }
  variables.set(transport::kSessionVariable, request.sessionDirectory);
  for (const char* name : {"PLUMB_ROOT_PID", "PLUMB_ROOT_OUTPUT", "PLUMB_OUTPUT"}) {
    variables.erase(name);  // of a session that is not this one
  }
  if (!request.plugins.empty()) {
    variables.set("PLUMB_PLUGINS", request.plugins);
  }
  if (request.softwareDevice) {
    variables.prepend("LD_LIBRARY_PATH", installation.softwareDevice);
  }
  return variables.take();
}

std::vector<std::string> currentEnvironment() {
  std::vector<std::string> entries;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    entries.emplace_back(*variable);
  }
  return entries;
}

}  // namespace plumb::launcher
