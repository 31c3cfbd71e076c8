// SPDX-License-Identifier: Apache-2.0
// Writes small trace files from code, with the schema's own tables, for tests. Aborts on an SQLite error: a test's
// fixture must not fail silently. Not for use outside tests.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

struct sqlite3;

namespace plumb::test {

// Columns with defaults are what a test rarely cares about. Every add… returns the new row's id.
class TraceBuilder {
 public:
  // Creates the file anew.
  explicit TraceBuilder(std::string path);
  ~TraceBuilder();  // finishes
  TraceBuilder(const TraceBuilder&) = delete;
  TraceBuilder& operator=(const TraceBuilder&) = delete;

  // Commits and closes. complete: sets meta 'complete' and builds the indexes; otherwise the file looks like one whose
  // recorder was killed.
  void finish(bool complete = true);

  struct ProcessSpec {
    std::optional<int64_t> rank = {};
    int64_t worldSize = 1;
    int64_t pid = 0;  // 0: made up
    std::string program = "train";
    std::string host = "node0";
    std::optional<int64_t> endNs = 1'000'000'000;
    std::string ended = "exit";
  };
  int64_t addProcess(const ProcessSpec& spec);
  int64_t addRank(int64_t rank, int64_t worldSize = 1) { return addProcess({.rank = rank, .worldSize = worldSize}); }
  int64_t addThread(int64_t process, int64_t tid = 0, std::string_view name = "");

  struct DeviceSpec {
    int64_t ordinal = 0;
    std::string name = "software device (CPU)";
    std::string kind = "software";
    std::optional<int64_t> computeMajor = {}, computeMinor = {}, multiprocessors = {}, memoryBytes = {}, bandwidth = {};
    std::optional<int64_t> clockHz = {};
  };
  int64_t addDevice(int64_t process, const DeviceSpec& spec);
  int64_t addDevice(int64_t process) { return addDevice(process, DeviceSpec{}); }
  void addRoof(int64_t process, int64_t ordinal, std::string_view resource, double perSecond,
               std::string_view source = "measured");
  int64_t addStream(int64_t process, int64_t device, int64_t number, std::string_view name = "");

  struct Work {  // where and when GPU work ran
    int64_t process, device, stream, startNs, durationNs;
    int64_t correlation = 0;  // 0: the next free one of the builder
    int64_t flags = 0;
  };
  int64_t addKernel(const Work& work, std::string_view name);
  int64_t addCopy(const Work& work, int64_t bytes, int64_t copyKind = 1, int64_t sourceKind = 2,
                  int64_t targetKind = 3);
  int64_t addSet(const Work& work, int64_t bytes);
  int64_t addApiCall(int64_t process, int64_t thread, int64_t startNs, int64_t durationNs, std::string_view name,
                     int64_t correlation);

  // durationNs none: still open.
  int64_t addRange(int64_t process, int64_t thread, int64_t startNs, std::optional<int64_t> durationNs,
                   std::string_view name, int64_t depth = 0, std::optional<int64_t> parent = {});
  using Value = std::variant<int64_t, double, std::string>;
  void addPayload(int64_t range, std::string_view field, const Value& value);

  int64_t addCommunicator(int64_t process, int64_t hash, int64_t nRanks, int64_t rank, std::string_view name = "");
  struct CollectiveSpec {
    int64_t process, thread, communicator;
    int64_t startNs, durationNs = 1000;
    std::string operation = "AllReduce";
    int64_t sequence = 0;
    int64_t elementCount = 0;
    int64_t bytes = 0;
    std::string datatype = "ncclFloat32";
    std::optional<int64_t> externalId = {};
  };
  int64_t addCollective(const CollectiveSpec& spec);

  struct LibraryCallSpec {
    int64_t process, thread, startNs, durationNs = 1000;
    int64_t m = 1, n = 1, k = 1;
    std::string computeType = "bf16";
    int64_t externalId = 0;
    std::string name = "cublasGemmEx";
    double bytes = 0;  // 0: 2 bytes an element
  };
  int64_t addLibraryCall(const LibraryCallSpec& spec);
  void addLink(int64_t process, int64_t externalId, int64_t correlation);

  struct AllocationSpec {
    int64_t process;
    std::optional<int64_t> device = {};
    int64_t startNs, address, bytes;
    std::optional<int64_t> freedNs = {};
    std::string space = "device";
    bool fromPool = false;
  };
  int64_t addAllocation(const AllocationSpec& spec);
  int64_t addRegion(int64_t process, int64_t startNs, int64_t address, int64_t bytes, std::string_view name,
                    std::optional<int64_t> endNs = {});

  void addDiagnostic(std::optional<int64_t> process, std::string_view severity, std::string_view lane,
                     std::string_view code, int64_t count, std::string_view message);
  void addCounter(int64_t process, int64_t startNs, std::string_view name, double value);
  void addPlugin(int64_t process, std::string_view name, std::string_view state = "on");
  void setMeta(std::string_view key, std::string_view value);
  // Anything else, for bad input.
  void execute(const std::string& sql);

  // The id of a text; adds it when it is new.
  int64_t text(std::string_view text);
  int64_t newCorrelation() { return m_nextCorrelation++; }

 private:
  using Bound = std::variant<std::nullptr_t, int64_t, double, std::string>;
  int64_t insert(const char* sql, std::initializer_list<Bound> values);
  std::string m_path;
  sqlite3* m_database = nullptr;
  std::map<std::string, int64_t, std::less<>> m_texts;
  int64_t m_nextCorrelation = 1'000'000;
  int64_t m_nextPid = 1000;
};

struct SampleOptions {
  int64_t ranks = 2;
  int64_t layers = 4;
  int64_t steps = 5;
  bool complete = true;
};
// A plausible recording of the sharded training run: steps, forward, backward, optimizer, layers; kernels, copies,
// collectives on their own stream with skew between ranks; named memory; roofs; diagnostics. Deterministic.
void makeSampleTrace(const std::string& path, const SampleOptions& options = {});

}  // namespace plumb::test
