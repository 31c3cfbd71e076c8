// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/trace_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "analyzer/trace/compress.h"
#include "collector/schema/kernel_name.h"
#include "collector/schema/schema.h"
#include "collector/schema/utf8.h"

namespace plumb::import {
namespace {

constexpr size_t kMostTextBytes = 512u << 20;
constexpr size_t kLongestText = 4u << 20;
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";
constexpr size_t kMostMended = 1u << 20;  // that are told apart

// No journal and no waiting for the disk: a file that is not complete is thrown away.
Status prepare(schema::Database& database) {
  const std::string settings = fmt::format(
      "PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
      "PRAGMA cache_size=-65536; PRAGMA application_id={}; PRAGMA user_version={};",
      schema::kApplicationId, schema::kVersion);
  if (Status status = database.execute(settings); !status.ok()) return status;
  if (Status status = database.execute(std::string(schema::tablesSql())); !status.ok()) return status;
  return database.execute(std::string(schema::viewsSql()));
}

}  // namespace

Result<TraceFile> TraceFile::create(const std::string& path, bool replace) {
  if (const Status free = checkPlace(path, replace); !free.ok()) return free.error();
  auto staging = Staging::file(path, "importing");
  if (!staging.ok()) {
    return Error{fmt::format("Cannot create {}: {}; name another place with -o.", path, staging.error().message)};
  }
  const auto failed = [&](const Error& error) {
    return Error{fmt::format("Cannot write the trace file {}: {}.", path, error.message)};
  };
  // Nobody else knows the file, and its lock is the staging's.
  auto database = schema::Database::open(staging.value().path(), schema::Locking::None);
  if (!database.ok()) return failed(database.error());
  if (const Status prepared = prepare(database.value()); !prepared.ok()) return failed(prepared.error());
  auto writer = schema::Writer::create(std::move(database).value());
  if (!writer.ok()) return failed(writer.error());
  TraceFile file(path, replace, std::move(staging).value(), std::make_unique<RowPipe>(std::move(writer).value()));
  (void)file.textId("");  // id 0
  return file;
}

TraceFile::TraceFile(std::string path, bool replace, Staging staging, std::unique_ptr<RowPipe> rows)
    : m_path(std::move(path)), m_replace(replace), m_staging(std::move(staging)), m_rows(std::move(rows)) {}

Error TraceFile::failure(const std::string& what) const {
  return Error{fmt::format("Cannot write the trace file {}: {}.", m_path, what)};
}

void TraceFile::writeMeta(std::string_view key, std::string_view value) {
  m_rows->replace(schema::MetaRow{.key = key, .value = value});
}

int64_t TraceFile::textId(std::string_view text) {
  if (const auto found = m_textIds.find(text); found != m_textIds.end()) return found->second;
  if (text.size() > kLongestText) {
    ++m_cutTexts;
    size_t length = kLongestText - kEllipsis.size();
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) --length;  // inside a character
    return textId(std::string(text.substr(0, length)).append(kEllipsis));
  }
  if (!schema::isUtf8(text)) {
    const bool isKnown =
        m_mended.size() < kMostMended ? !m_mended.insert(Hash()(text)).second : m_mended.contains(Hash()(text));
    if (!isKnown) ++m_mendedTexts;
    return textId(schema::toUtf8(text));
  }
  if (m_textBytes + text.size() > kMostTextBytes && text != "?") {
    ++m_refusedTexts;
    return textId("?");
  }
  m_textBytes += text.size();
  const auto id = static_cast<int64_t>(m_textIds.size());
  const auto [entry, isNew] = m_textIds.emplace(text, id);
  m_rows->insert(schema::StringRow{.id = id, .text = entry->first});
  return id;
}

int64_t TraceFile::textId(const JsonValue& value) {
  const bool isPlain = value.kind != JsonKind::String || value.text.find('\\') == std::string_view::npos;
  return isPlain ? textId(value.text) : textId(std::string_view(value.toText()));
}

KernelNameIds TraceFile::kernelNameIds(std::string_view name) {
  const int64_t given = textId(name);
  if (const auto found = m_kernelNames.find(given); found != m_kernelNames.end()) return found->second;
  const std::string full = schema::demangle(std::string(name));
  const KernelNameIds ids{textId(full), textId(schema::shortKernelName(full)), given};
  m_kernelNames.emplace(given, ids);
  return ids;
}

KernelNameIds TraceFile::kernelNameIds(const JsonValue& name) {
  const bool isPlain = name.text.find('\\') == std::string_view::npos;
  return isPlain ? kernelNameIds(name.text) : kernelNameIds(std::string_view(name.toText()));
}

std::vector<TableSize> TraceFile::sizes() {
  std::vector<TableSize> sizes;
  auto rows = database().prepare(
      "SELECT d.name, coalesce(s.type, 'table') = 'index', sum(d.pgsize),"
      " sum(CASE WHEN d.pagetype = 'leaf' OR s.type = 'index' THEN d.ncell ELSE 0 END)"
      " FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name GROUP BY d.name ORDER BY 3 DESC");
  while (rows.ok() && rows.value().next()) {
    const auto count = static_cast<uint64_t>(rows.value().integer(3));
    if (count == 0) continue;
    sizes.push_back(
        {rows.value().text(0), rows.value().integer(1) != 0, static_cast<uint64_t>(rows.value().integer(2)), count});
  }
  return sizes;
}

Status TraceFile::publish(const CompressProgress& progress) {
  m_rows->commit();
  if (m_rows->failed()) return failure(m_rows->failure());
  std::string last(schema::indexesSql());
  last += "PRAGMA analysis_limit=400; ANALYZE;";
  if (const Status status = database().execute(last); !status.ok()) return failure(status.error().message);
  const Status published = isCompressedName(m_path) ? publishCompressed(progress) : publishPlain();
  if (published.ok()) return published;
  if (const Status free = checkPlace(m_path, m_replace); !free.ok()) return free.error();
  return failure(published.error().message);
}

Status TraceFile::publishPlain() {
  m_rows.reset();
  return m_staging.publishFile(m_replace);
}

// By way of a copy without gaps, in which every table lies in one piece.
Status TraceFile::publishCompressed(const CompressProgress& progress) {
  auto copy = Staging::file(m_path, "compacting");
  if (!copy.ok()) return copy.error();
  if (Status copied = database().execute(copyStatement(copy.value().path())); !copied.ok()) return copied;
  m_rows.reset();
  std::error_code ignored;
  std::filesystem::resize_file(m_staging.path(), 0, ignored);  // its place on the disk is for the others
  return plumb::publishCompressed(copy.value().path(), m_path, m_replace, progress);
}

}  // namespace plumb::import
