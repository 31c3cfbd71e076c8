// SPDX-License-Identifier: Apache-2.0
// Exports of Nsight Systems made on the spot, table by table as its versions write them.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {

class NsysExport {
 public:
  explicit NsysExport(const std::string& path) : m_path(path) {
    if (sqlite3_open(path.c_str(), &m_handle) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(m_handle));
    execute("PRAGMA journal_mode=OFF; PRAGMA page_size=4096;");
  }
  ~NsysExport() { sqlite3_close(m_handle); }
  NsysExport(const NsysExport&) = delete;
  NsysExport& operator=(const NsysExport&) = delete;

  NsysExport& execute(const std::string& sql) {
    char* message = nullptr;
    if (sqlite3_exec(m_handle, sql.c_str(), nullptr, nullptr, &message) != SQLITE_OK) {
      throw std::runtime_error(std::string(message) + " in " + sql);
    }
    return *this;
  }
  // Number of a text in StringIds.
  int64_t text(const std::string& value) {
    m_texts.push_back(value);
    const auto id = static_cast<int64_t>(m_texts.size());
    execute(
        "CREATE TABLE IF NOT EXISTS StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
        "INSERT INTO StringIds VALUES(" +
        std::to_string(id) + ", '" + value + "')");
    return id;
  }
  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  std::string m_path;
  sqlite3* m_handle = nullptr;
  std::vector<std::string> m_texts;
};

constexpr int64_t globalTid(int64_t pid, int64_t tid) { return int64_t{1} << 48 | pid << 24 | tid; }

// A schema of 3.x: the tables that have rows here, with the columns that matter.
class NsysImportTest : public ImportTest {
 protected:
  NsysImportTest() : nsys(m_folder.file("run.sqlite")) {}

  void kernelTable() {
    nsys.execute(
        "CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId "
        "INTEGER NOT "
        "NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
        "globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
        "launchType "
        "INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT "
        "NULL, "
        "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
        "staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT "
        "NULL, "
        "localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, graphNodeId INTEGER)");
  }
  void kernel(const std::string& name, int64_t start, int64_t end, int64_t correlation, int64_t pid = 500,
              int64_t device = 0, const std::string& graphNode = "NULL") {
    kernelTable();
    const std::string id = std::to_string(nsys.text(name));
    nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(" + std::to_string(start) + ", " + std::to_string(end) +
                 ", " + std::to_string(device) + ", 1, NULL, 7, " + std::to_string(correlation) + ", " +
                 std::to_string(globalTid(pid, 0)) + ", " + id + ", " + id + ", " + id +
                 ", 1, 1, 32, 4, 2, 1, 128, 1, 1, 16, 1024, 0, 0, 1, " + graphNode + ")");
  }
  void api(const std::string& name, int64_t start, int64_t end, int64_t correlation, int64_t pid = 500,
           int64_t tid = 501, int64_t eventClass = 0, int64_t result = 0) {
    nsys.execute(
        "CREATE TABLE IF NOT EXISTS CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, "
        "eventClass INTEGER "
        "NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
        "callchainId INTEGER)");
    nsys.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(" + std::to_string(start) + ", " +
                 std::to_string(end) + ", " + std::to_string(eventClass) + ", " + std::to_string(globalTid(pid, tid)) +
                 ", " + std::to_string(correlation) + ", " + std::to_string(nsys.text(name)) + ", " +
                 std::to_string(result) + ", NULL)");
  }
  void nvtxTable() {
    nsys.execute(
        "CREATE TABLE IF NOT EXISTS NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, "
        "rangeId INTEGER, "
        "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId "
        "INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, "
        "floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT, eventId INTEGER NOT NULL PRIMARY KEY)");
  }
  // columns and values of one event on thread 501 of process 500, besides its times and type.
  void nvtx(int64_t type, const std::string& start, const std::string& end, const std::string& columns,
            const std::string& values) {
    nvtxTable();
    nsys.execute("INSERT INTO NVTX_EVENTS(start, end, eventType, globalTid, " + columns + ") VALUES(" + start + ", " +
                 end + ", " + std::to_string(type) + ", " + std::to_string(globalTid(500, 501)) + ", " + values + ")");
  }

  // Imports the export, which must be importable, and opens the result.
  const Database& imported() {
    const auto result = import({nsys.path()});
    if (!result.ok()) throw std::runtime_error(result.error().message);
    m_result = result.value();
    m_database = std::make_unique<Database>(output());
    return *m_database;
  }

  NsysExport nsys;
};

using Rows = std::vector<Database::Row>;

}  // namespace plumb::test
