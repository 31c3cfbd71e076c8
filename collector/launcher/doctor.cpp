// SPDX-License-Identifier: Apache-2.0
#include "collector/launcher/doctor.h"

#include <fmt/format.h>

#include "collector/launcher/doctor_checks.h"

namespace plumb::launcher {
namespace {

const char* word(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kOff:
      return "off";
    case Health::kBroken:
      break;
  }
  return "broken";
}

class Report {
 public:
  void add(const Finding& finding) {
    fmt::print("{:7}{:18}{}\n", word(finding.health), finding.subject, finding.sentence);
    std::fflush(stdout);
    m_broken = m_broken || finding.health == Health::kBroken;
  }
  void add(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      add(finding);
    }
  }
  [[nodiscard]] bool broken() const { return m_broken; }

 private:
  bool m_broken = false;
};

}  // namespace

int runDoctor() {
  const Result<Installation> found = findInstallation();
  if (!found.ok()) {
    fmt::print(stderr, "plumb: {}\n", found.error().message);
    return 1;
  }
  const Installation& installation = found.value();
  Report report;
  report.add(checkAgent(installation));
  report.add(checkRecorder(installation));
  report.add(checkPlugins(installation));
  report.add(checkInjectionVariables(installation));
  report.add(checkDriver());
  report.add(checkCupti());
  report.add(checkCounters());
  report.add(checkSoftwareDevice(installation));
  report.add(checkFolder());
  fmt::print("\n{}\n", report.broken() ? "Recording does not work here: see the lines marked broken."
                                       : "Programs can be recorded here; lanes marked off are not.");
  return report.broken() ? 1 : 0;
}

}  // namespace plumb::launcher
