// SPDX-License-Identifier: Apache-2.0
#include "collector/schema/writer.h"

namespace plumb::schema {

namespace {
// A reader sees events after a quarter of a second; larger batches are not measurably faster.
constexpr int64_t kBatchNs = 250'000'000;
constexpr uint64_t kBatchRows = 200'000;
}  // namespace

Result<Writer> Writer::create(Database database) {
  Writer writer(std::move(database));
  for (const TableText& table : kTables) {
    auto insert = writer.m_database.prepare(std::string("INSERT INTO ") + table.values);
    if (!insert.ok()) return insert.error();
    writer.m_inserts.push_back(std::move(insert).value());
    auto replace = writer.m_database.prepare(std::string("INSERT OR REPLACE INTO ") + table.values);
    if (!replace.ok()) return replace.error();
    writer.m_replaces.push_back(std::move(replace).value());
  }
  return writer;
}

bool Writer::beginBatch() noexcept {
  if (m_inBatch) return true;
  if (!m_database.execute("BEGIN IMMEDIATE").ok()) {
    noteFailure();
    return false;
  }
  m_inBatch = true;
  m_batchRows = 0;
  return true;
}

void Writer::commit() noexcept {
  if (!m_inBatch || failed()) return;
  if (!m_database.execute("COMMIT").ok()) {
    // Without a write-ahead log a reader can be in the way; the batch stays open and is committed with the next one.
    if (!m_database.isBusy()) noteFailure();
    m_batchStartNs = 0;
    return;
  }
  m_inBatch = false;
  m_batchStartNs = 0;
}

void Writer::commitIfDue(int64_t nowNs) noexcept {
  if (!m_inBatch || m_batchRows == 0) return;
  if (m_batchStartNs == 0) m_batchStartNs = nowNs;
  if (m_batchRows < kBatchRows && nowNs - m_batchStartNs < kBatchNs) return;
  commit();
  // At once, so that nobody else's write gets in between and holds us up. After a failure no transaction may stay open:
  // whoever completes the file needs it.
  if (!failed()) (void)beginBatch();
}

void Writer::noteFailure() noexcept {
  if (m_database.isConstraintViolation()) {  // one row that cannot be stored; the batch goes on
    ++m_lost;
    return;
  }
  m_failure = m_database.lastError();
  m_lost += m_batchRows;
  // Rows of earlier batches stay; this one is incomplete and goes.
  (void)m_database.execute("ROLLBACK");
  m_inBatch = false;
}

Database Writer::release() && noexcept {
  m_inserts.clear();
  m_replaces.clear();
  return std::move(m_database);
}

}  // namespace plumb::schema
