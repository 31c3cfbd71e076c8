// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/torch_ranges.h"

#include <algorithm>

namespace plumb {

TorchRangeName torchRangeName(std::string_view text) {
  constexpr std::string_view kSizes = ", sizes = ";
  TorchRangeName result{text, {}};
  const size_t numbers = std::min(text.find(", seq = "), text.find(", op_id = "));
  const size_t sizes = text.find(kSizes);
  if (numbers == std::string_view::npos && sizes == std::string_view::npos) return result;
  result.name = text.substr(0, std::min(numbers, sizes));
  if (sizes == std::string_view::npos) return result;
  result.sizes = text.substr(sizes + kSizes.size());
  result.sizes = result.sizes.substr(0, result.sizes.find(", input_op_ids"));
  return result;
}

Result<std::vector<StringId>> rangeNamesCalled(Trace& trace, std::string_view name) {
  // Numbers are put behind ", ": what begins so sorts before the name and '-', the character behind the comma.
  auto rows =
      trace.query("SELECT id, text FROM main.string WHERE text = ?1 OR (text >= ?1 || ', ' AND text < ?1 || '-')");
  if (!rows.ok()) return rows.error();
  rows.value().bind(1, name);
  std::vector<StringId> names;
  while (rows.value().next()) {
    const std::string_view text = rows.value().text(1);
    if (text == name || torchRangeName(text).name == name) names.push_back(rows.value().id<StringId>(0));
  }
  if (const Status status = rows.value().status(); !status.ok()) return status.error();
  return names;
}

std::string_view placeName(std::string_view text) {
  const std::string_view name = torchRangeName(text).name;
  for (const std::string_view step : {"ProfilerStep#", "step ", "Step "}) {
    const bool isNumbered = name.starts_with(step) && name.size() > step.size() &&
                            name.find_first_not_of("0123456789", step.size()) == std::string_view::npos;
    if (isNumbered) return name.substr(0, step.size() - 1);
  }
  return name;
}

StringId PlainRangeNames::of(StringId name) {
  const auto [plain, isNew] = m_plain.emplace(name, name);
  if (!isNew) return plain->second;
  const std::string_view text = m_trace.text(name);
  const std::string_view shortText = m_what == Of::Places ? placeName(text) : torchRangeName(text).name;
  if (shortText.size() == text.size()) return name;
  const auto [first, isNewText] = m_first.emplace(std::string(shortText), name);
  if (isNewText) {
    const auto known = m_trace.findText(first->first);
    if (known.ok() && known.value()) first->second = *known.value();
  }
  return plain->second = first->second;
}

}  // namespace plumb
