// SPDX-License-Identifier: Apache-2.0
// The processes, threads, devices and streams that one source file talks about. Ids are given on first sight; the rows
// are written at the end of the file, when all is known about them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/import/json.h"
#include "analyzer/import/trace_file.h"

namespace plumb::import {

// What is known of the run from outside the events.
struct RunFacts {
  std::optional<int64_t> rank, worldSize;
  std::string source;                // name of the file
  std::string host;                  // as the source says; may be empty
  std::string deviceProperties;      // JSON array as in the file; may be empty
  std::string groups;                // of processes, the same
  std::map<int64_t, int64_t> ranks;  // by process, where one source holds several; before rank
  std::optional<int64_t> ownPid;     // of the program, where the source's events have another
};

// What tells that a pid is the program's own, the weakest first: it does anything but work on a device; the source
// labels it so; it has ranges or runs Python; it runs operators or makes API calls.
enum class HostSign : uint8_t { None, Other, Label, Range, Call };

class Registry {
 public:
  // one: all events are of one process (a torch.profiler trace, where the pid of GPU events is a device); otherwise a
  // process per pid.
  Registry(TraceFile& file, bool oneProcess) : m_file(file), m_oneProcess(oneProcess) {}

  [[nodiscard]] int64_t process(std::string_view pid);
  [[nodiscard]] int64_t thread(int64_t process, std::string_view pid, std::string_view tid);
  [[nodiscard]] std::optional<int64_t> knownThread(std::string_view pid, std::string_view tid) const;
  [[nodiscard]] int64_t device(int64_t process, int64_t ordinal);
  [[nodiscard]] int64_t stream(int64_t process, int64_t device, int64_t number, int64_t context);

  void nameProcess(std::string_view pid, std::string name);
  void nameThread(std::string_view pid, std::string_view tid, std::string name);
  void takeNames(const Registry& other);
  [[nodiscard]] const std::string& hostPid() const noexcept { return m_hostPid; }  // "" when none is known
  // The first pid with the strongest sign is the program's own.
  void noteHostPid(std::string_view pid, HostSign sign);

  [[nodiscard]] std::vector<int64_t> processes() const;
  // Times in the file's own origin.
  void write(const RunFacts& facts, int64_t startNs, int64_t endNs);

 private:
  struct ProcessFacts {
    int64_t id = 0;
    std::string pid;
  };
  struct ThreadFacts {
    int64_t id = 0, process = 0;
    std::string pid, tid;
  };
  struct DeviceFacts {
    int64_t id = 0, process = 0, ordinal = 0;
  };
  struct StreamFacts {
    int64_t id = 0, process = 0, device = 0, number = 0, context = 0;
  };

  [[nodiscard]] std::string ownPid() const;
  void writeThreads(const std::string& ownPid);
  void writeDevices(const RunFacts& facts);

  TraceFile& m_file;
  bool m_oneProcess;
  std::map<std::string, ProcessFacts, std::less<>> m_processes;
  std::unordered_map<std::string, ThreadFacts> m_threads;  // by pid, line end, tid
  std::map<std::pair<int64_t, int64_t>, DeviceFacts> m_devices;
  std::map<std::pair<int64_t, int64_t>, StreamFacts> m_streams;  // by device, number
  std::map<std::string, std::string, std::less<>> m_processNames;
  std::unordered_map<std::string, std::string> m_threadNames;
  std::string m_hostPid, m_threadKey;
  HostSign m_hostSign = HostSign::None;
};

}  // namespace plumb::import
