// SPDX-License-Identifier: Apache-2.0
#include "analyzer/advice/rule_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "analyzer/reports/reports.h"
#include "analyzer/trace/text_file.h"

namespace plumb {
namespace {

// A user's file, or what is wrong with it.
RuleFile readRule(const std::string& name, const std::string& path) {
  constexpr uintmax_t kMostBytes = 1 << 20;
  RuleFile broken;
  broken.name = broken.title = name;
  broken.origin = path;
  auto text = readTextFile("The rule", path, kMostBytes);
  if (!text.ok()) {
    broken.problem = text.error().message;
    return broken;
  }
  auto rule = parseRule(name, text.value(), path);
  if (rule.ok()) return std::move(rule).value();
  broken.problem = rule.error().message;
  return broken;
}

// "device work, collectives"
Status parseNeeds(std::string_view list, RuleFile& rule) {
  constexpr std::string_view kBetween = ", ";
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(kBetween));
    const auto known = std::ranges::find(kRuleNeeds, one, &RuleNeed::name);
    if (known == std::end(kRuleNeeds)) {
      std::string names;
      for (const RuleNeed& need : kRuleNeeds) names += fmt::format("{}{}", names.empty() ? "" : ", ", need.name);
      return Error{
          fmt::format("The rule {} ({}) needs '{}', which is none of: {}.", rule.name, rule.origin, one, names)};
    }
    rule.needs.push_back(&*known);
    list.remove_prefix(std::min(one.size() + kBetween.size(), list.size()));
  }
  return Unit{};
}

}  // namespace

Result<RuleFile> parseRule(std::string_view name, std::string_view text, std::string_view origin) {
  RuleFile rule;
  rule.name = name;
  rule.sql = text;
  rule.origin = origin;
  constexpr std::string_view kRemedy = "remedy: ", kOutside = "remedy outside the steps: ",
                             kWithoutTorch = "remedy without torch: ", kThreshold = "threshold: ", kNeeds = "needs: ";
  std::string* remedy = nullptr;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("--")) break;
    line.remove_prefix(2);
    const bool continues = line.starts_with("   ");
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("SPDX-")) continue;
    if (line.starts_with(kRemedy)) {
      rule.remedy = line.substr(kRemedy.size());
      remedy = &rule.remedy;
    } else if (line.starts_with(kThreshold)) {
      rule.threshold = line.substr(kThreshold.size());
    } else if (line.starts_with(kNeeds)) {
      if (const Status known = parseNeeds(line.substr(kNeeds.size()), rule); !known.ok()) return known.error();
    } else if (line.starts_with(kOutside)) {
      rule.remedyOutside = line.substr(kOutside.size());
      remedy = &rule.remedyOutside;
    } else if (line.starts_with(kWithoutTorch)) {
      rule.remedyWithoutTorch = line.substr(kWithoutTorch.size());
      remedy = &rule.remedyWithoutTorch;
    } else if (remedy && continues) {
      *remedy += ' ';
      *remedy += line;
    } else if (rule.title.empty()) {
      rule.title = line;
    } else if (rule.question.empty()) {
      rule.question = line;
    }
  }
  if (rule.title.empty() || rule.question.empty() || rule.remedy.empty()) {
    return Error{
        fmt::format("The rule {} ({}) must begin with three comment lines: its title, what it looks for, and "
                    "'-- remedy: …'.",
                    name, origin)};
  }
  return rule;
}

std::vector<std::string> userRuleFolders() { return userFolders("rules", "PLUMB_RULES"); }

Result<std::vector<RuleFile>> findRules(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::map<std::string, RuleFile> found;
  for (const BuiltinRule& builtin : builtinRules()) {
    auto rule = parseRule(builtin.name, builtin.text, "built in");
    if (!rule.ok()) return rule.error();
    found.insert_or_assign(builtin.name, std::move(rule).value());
  }
  for (const std::string& folder : folders) {
    std::error_code failed;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
      if (entry.path().extension() == ".sql") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const fs::path& path : files) {
      const std::string name = path.stem().string();
      found.insert_or_assign(name, readRule(name, path.string()));
    }
  }
  std::vector<RuleFile> rules;
  for (auto& [name, rule] : found) rules.push_back(std::move(rule));
  return rules;
}

}  // namespace plumb
