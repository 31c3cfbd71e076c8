// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/memory_snapshot_said.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "analyzer/import/tally.h"

namespace plumb::import {
namespace {

constexpr LossReason kTiedText = {
    true, false, "info", "texts_not_stored",
    "{0} [text|texts] that {1} ties to events of the allocator (user_metadata, compile_context) [is|are] not stored; "
    "[it is|the first] at byte {2} of its pickle data."};

void keepSettings(SourceContext& context, const PlainDocument& document, int64_t process, const PlainValue& settings,
                  const std::string& name, int depth) {
  constexpr int kDeepest = 2;
  const auto items = document.items(settings);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string key = fmt::format("{}.{}", name, items[i].view());
    const PlainValue& value = items[i + 1];
    if (value.kind == PlainKind::Dict && depth < kDeepest) {
      keepSettings(context, document, process, value, key, depth + 1);
      continue;
    }
    std::string text(value.view());
    if (value.kind == PlainKind::Boolean) text = value.integer != 0 ? "True" : "False";
    if (value.kind == PlainKind::Integer) text = std::to_string(value.integer);
    if (value.kind == PlainKind::Real) text = fmt::format("{}", value.real);
    if (text.empty()) continue;
    context.file.rows().insert(schema::ProcessVariableRow{
        .process_id = process, .name_id = context.file.textId(key), .value_id = context.file.textId(text)});
  }
}

}  // namespace

void storeSnapshotSaid(SourceContext& context, const PlainDocument& document, int64_t process) {
  static constexpr std::array<std::string_view, 4> kRead = {"segments", "device_traces", "external_annotations",
                                                            "allocator_settings"};
  constexpr size_t kMostNames = 20;
  const PlainValue& root = document.root();
  if (root.kind != PlainKind::Dict) return;  // the oldest form: a list of segments
  std::vector<std::string> unused;
  size_t count = 0;
  const auto items = document.items(root);
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const PlainValue& value = items[i + 1];
    const std::string_view name = items[i].view();
    if (name == "allocator_settings" && value.kind == PlainKind::Dict) {
      keepSettings(context, document, process, value, "trace.allocator_settings", 0);
    }
    const bool isEmpty = value.kind == PlainKind::None || (value.isContainer() && document.items(value).empty());
    if (isEmpty || std::ranges::find(kRead, name) != kRead.end()) continue;
    if (++count <= kMostNames) unused.emplace_back(name.empty() ? std::string_view("a member without a name") : name);
  }
  if (count == 0) return;
  writeDiagnostic(context.file, process, "info", "members_not_stored", count,
                  fmt::format("{} also holds {}{}, which is not stored.", context.name, fmt::join(unused, ", "),
                              count > unused.size() ? " …" : ""));
}

void countTiedTexts(const PlainDocument& document, const PlainValue& event, Losses& losses) {
  for (const char* key : {"user_metadata", "compile_context"}) {
    if (!document.text(event, key).empty()) losses.count(kTiedText, document.offset(event));
  }
}

}  // namespace plumb::import
