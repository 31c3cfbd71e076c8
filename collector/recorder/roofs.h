// SPDX-License-Identifier: Apache-2.0
// The measured roofs that `plumb calibrate` keeps: a JSON object {"<device uuid>": {"roofs": {"fp32": 1e12, …}, …}, …}.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace plumb::recorder {

struct Roof {
  std::string resource;  // fp32 … (FLOP/s), memory (bytes/s)
  double perSecond;
};

class Roofs {
 public:
  Roofs() = default;
  // A file that is missing or is not what it should be gives no roofs: they are an addition to a recording, never its
  // condition.
  [[nodiscard]] static Roofs read(const std::string& path);
  // ${PLUMB_ROOFS:-${XDG_CACHE_HOME:-~/.cache}/plumb/roofs.json}
  [[nodiscard]] static std::string defaultPath();

  [[nodiscard]] const std::vector<Roof>& of(const std::string& uuid) const;

 private:
  std::map<std::string, std::vector<Roof>> m_byUuid;
};

}  // namespace plumb::recorder
