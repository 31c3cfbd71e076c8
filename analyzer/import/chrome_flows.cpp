// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/chrome_flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace plumb::import {
namespace {

// More events without a correlation id than this are not waited for: a trace has them by mistake, not by the million.
constexpr size_t kMostUncorrelated = 1u << 20;
constexpr size_t kMostLaunches = 1u << 21;
constexpr size_t kMostPlaces = 1u << 12;
// Beyond those of all sources, which have 32 bits.
constexpr int64_t kFirstLent = int64_t{1} << 40;
// Of torch.autograd.profiler's own export: from an operator, counted from 0.
constexpr std::string_view kFromOperator = "cpu_to_cuda";

}  // namespace

bool ChromeFlows::isLaunch(const ChromeEvent& event) {
  static constexpr std::array<std::string_view, 6> kCategories = {
      "ac2g", "async", "async_gpu", "async_cpu_to_gpu", "launch", kFromOperator};
  for (const std::string_view category : kCategories) {
    if (event.category == category) return true;
  }
  return false;
}

std::string ChromeFlows::keyOf(const ChromeEvent& event, int64_t start) const {
  return fmt::format("{}\n{}\n{}", event.pid, event.tid, start);
}

void ChromeFlows::addLaunch(const ChromeEvent& event, int64_t start, uint64_t offset) {
  const bool isWanted = !m_hasCorrelations || !m_uncorrelated.empty();
  int64_t id = 0;
  const auto [at, error] = std::from_chars(event.id.data(), event.id.data() + event.id.size(), id);
  if (event.category == kFromOperator) ++id;
  const bool isNumber = error == std::errc() && at == event.id.data() + event.id.size() && id > 0;
  if (isWanted && isNumber && m_launches.size() < kMostLaunches) m_launches.emplace(keyOf(event, start), id);
  if (isNumber && event.phase == 's' && id != m_lastCall) noteSource(event, id, start);
  m_tally.count(isNumber ? Reason::FlowEvent : Reason::FlowOneEnd, offset);
}

void ChromeFlows::noteSource(const ChromeEvent& event, int64_t id, int64_t start) {
  if (m_sources.size() >= kMostLaunches) return;
  const auto isPlace = [&](const auto& place) { return place.first == event.pid && place.second == event.tid; };
  auto place = m_sources.empty() ? m_places.end() : m_places.begin() + static_cast<ptrdiff_t>(m_sources.back().place);
  if (place == m_places.end() || !isPlace(*place)) place = std::find_if(m_places.begin(), m_places.end(), isPlace);
  if (place == m_places.end()) {
    if (m_places.size() >= kMostPlaces) return;
    place = m_places.emplace(place, event.pid, event.tid);
  }
  m_sources.push_back({id, start, static_cast<size_t>(place - m_places.begin())});
}

void ChromeFlows::noteUncorrelated(const char* table, int64_t id, const ChromeEvent& event, int64_t start,
                                   std::optional<int64_t> external) {
  if (m_uncorrelated.size() >= kMostUncorrelated) return;
  m_uncorrelated.push_back({table, id, keyOf(event, start), external});
}

void ChromeFlows::draw(const ChromeEvent& event, int64_t process, const End& source, const End& target) {
  m_file.rows().insert(
      schema::FlowRow{.process_id = process,
                      .name_id = event.category.empty() ? m_file.textId(event.name) : m_file.textId(event.category),
                      .source_thread_id = source.thread,
                      .source_start_ns = source.start,
                      .target_thread_id = target.thread,
                      .target_start_ns = target.start});
}

// The ends come in any order. One source can lead to several targets.
void ChromeFlows::add(const ChromeEvent& event, int64_t process, int64_t thread, int64_t start, uint64_t offset) {
  m_key.assign(event.category).append(1, '\n').append(event.id);
  Arrow& arrow = m_arrows[m_key];
  const End end{thread, start, offset};
  if (event.phase == 's') {
    if (arrow.source && !arrow.isDrawn) m_tally.count(Reason::FlowOneEnd, arrow.source->offset);
    arrow.source = end;
    arrow.isDrawn = false;
    if (!arrow.target) return;
    draw(event, process, end, *arrow.target);
    arrow.target.reset();
    arrow.isDrawn = true;
    return;
  }
  if (!arrow.source) {
    if (arrow.target) m_tally.count(Reason::FlowOneEnd, arrow.target->offset);
    arrow.target = end;
    return;
  }
  draw(event, process, *arrow.source, end);
  arrow.isDrawn = true;
  if (event.phase == 't') arrow.source = end;  // a step: the next leads on from here
}

Result<std::vector<ChromeFlows::Lent>> ChromeFlows::finish() {
  std::vector<Lent> lent;
  for (const auto& [key, arrow] : m_arrows) {
    if (arrow.source && !arrow.isDrawn) m_tally.count(Reason::FlowOneEnd, arrow.source->offset);
    if (arrow.target) m_tally.count(Reason::FlowOneEnd, arrow.target->offset);
  }
  if (m_uncorrelated.empty()) return lent;
  int64_t own = kFirstLent;
  schema::Database& database = m_file.database();
  for (const char* table : {"kernel", "memory_copy", "memory_set", "api_call"}) {
    auto update = database.prepare(fmt::format("UPDATE {} SET correlation = ? WHERE id = ?", table));
    if (!update.ok()) return update.error();
    for (const Uncorrelated& one : m_uncorrelated) {
      if (one.table != std::string_view(table)) continue;
      const auto found = m_launches.find(one.place);
      // An operator that is known by its own id needs some correlation id to lead to its work.
      if (found == m_launches.end() && !one.external) continue;
      const int64_t correlation = found == m_launches.end() ? ++own : found->second;
      update.value().bind(correlation);
      update.value().bind(one.id);
      if (!update.value().run()) return Error{database.lastError()};
      if (table != std::string_view("api_call")) lent.push_back({correlation, one.external});
    }
  }
  return lent;
}

}  // namespace plumb::import
