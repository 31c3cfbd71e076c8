// SPDX-License-Identifier: Apache-2.0
#include "collector/recorder/roofs.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace plumb::recorder {

std::string Roofs::defaultPath() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (const std::string path = variable("PLUMB_ROOFS"); !path.empty()) return path;
  const std::string cache = variable("XDG_CACHE_HOME");
  return (cache.empty() ? variable("HOME") + "/.cache" : cache) + "/plumb/roofs.json";
}

Roofs Roofs::read(const std::string& path) {
  Roofs roofs;
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) return roofs;
  for (const auto& [uuid, device] : json.items()) {
    if (!device.is_object() || !device.contains("roofs") || !device["roofs"].is_object()) continue;
    for (const auto& [resource, value] : device["roofs"].items()) {
      if (!value.is_number()) continue;
      const double perSecond = value.get<double>();
      if (std::isfinite(perSecond) && perSecond > 0) roofs.m_byUuid[uuid].push_back({resource, perSecond});
    }
  }
  return roofs;
}

const std::vector<Roof>& Roofs::of(const std::string& uuid) const {
  static const std::vector<Roof> kNone;
  const auto found = m_byUuid.find(uuid);
  return found == m_byUuid.end() ? kNone : found->second;
}

}  // namespace plumb::recorder
