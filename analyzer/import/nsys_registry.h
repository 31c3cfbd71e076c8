// SPDX-License-Identifier: Apache-2.0
// The processes, threads, devices and streams that an Nsight Systems export talks about. Ids are given on first sight;
// the rows are written at the end of the file, when all is known about them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/import/nsys_names.h"
#include "analyzer/import/nsys_source.h"
#include "analyzer/import/trace_file.h"

namespace plumb::import {

// A serialized id: hardware, virtual machine, process and thread in 8, 8, 24 and 24 bits.
struct GlobalId {
  uint64_t value = 0;
  explicit GlobalId(int64_t serialized) : value(static_cast<uint64_t>(serialized)) {}
  [[nodiscard]] uint64_t process() const noexcept { return value >> 24; }
  [[nodiscard]] int64_t pid() const noexcept { return static_cast<int64_t>(value >> 24 & 0xFFFFFF); }
  [[nodiscard]] int64_t tid() const noexcept { return static_cast<int64_t>(value & 0xFFFFFF); }
};

class NsysRegistry {
 public:
  NsysRegistry(NsysSource& source, TraceFile& file, NsysNames& names);

  // Of a globalPid or globalTid; null is the export's only process that makes CUDA calls.
  [[nodiscard]] int64_t process(std::optional<int64_t> global);
  [[nodiscard]] std::optional<int64_t> knownProcess(std::optional<int64_t> global) const;
  [[nodiscard]] int64_t thread(std::optional<int64_t> globalTid);
  // The thread that has the process' own id; for what is known of the process only.
  [[nodiscard]] int64_t mainThread(int64_t process);
  [[nodiscard]] int64_t device(int64_t process, int64_t ordinal);
  [[nodiscard]] int64_t stream(int64_t process, int64_t device, int64_t context, int64_t number);
  // For records whose device is not to be trusted: the context's own, as GPU work has told it.
  [[nodiscard]] int64_t streamOfContext(int64_t process, int64_t ordinal, int64_t context, int64_t number);
  // The device and process that a GPU of the machine is, for what is known of the GPU only; process 0: none.
  [[nodiscard]] int64_t processOfGpu(int64_t gpu) const;

  void noteTime(int64_t process, int64_t start, int64_t end);
  void noteRank(int64_t process, int64_t rank);  // a weaker claim than one that was made before is ignored

  [[nodiscard]] std::vector<int64_t> processes() const;
  [[nodiscard]] std::vector<int64_t> gpuProcesses() const;
  [[nodiscard]] std::optional<int64_t> firstNs() const;
  // rank: of the file, by its name or the user; it is the one process' with GPU work, if there is but one.
  // True: the rank was used.
  [[nodiscard]] bool write(std::optional<int64_t> rank, const std::string& fileName);

 private:
  struct Process {
    int64_t id = 0, pid = 0;
    uint64_t key = 0;
    std::optional<int64_t> start, end, rank;
    bool usesGpu = false;
  };
  struct Thread {
    int64_t id = 0, process = 0, tid = 0;
    uint64_t global = 0;
  };
  struct Device {
    int64_t id = 0, process = 0, ordinal = 0;
  };
  struct Stream {
    int64_t id = 0, process = 0, device = 0, context = 0, number = 0;
  };
  struct Gpu {
    int64_t id = 0;
    std::optional<int64_t> ordinal, multiprocessors, memory, bandwidth, clock, major, minor, threads;
    std::string name, uuid;
  };
  struct StreamFacts {
    std::optional<int64_t> priority;
    const char* kind = nullptr;
    std::string name;
  };

  [[nodiscard]] uint64_t keyOf(std::optional<int64_t> global);
  void readGpus();
  [[nodiscard]] const Gpu* gpuOf(const Device& device) const;
  void writeProcesses(std::optional<int64_t> rank, const std::string& fileName);
  void writeThreads();
  void writeDevices();
  void writeStreams();
  [[nodiscard]] Process& of(int64_t process) { return m_processes[m_indexById.at(process)]; }

  NsysSource& m_source;
  TraceFile& m_file;
  NsysNames& m_names;
  std::vector<Process> m_processes;
  std::unordered_map<uint64_t, size_t> m_indexByKey;
  std::unordered_map<int64_t, size_t> m_indexById;
  std::unordered_map<uint64_t, Thread> m_threads;  // by global id
  std::map<std::pair<int64_t, int64_t>, Device> m_devices;
  std::map<std::pair<int64_t, std::pair<int64_t, int64_t>>, Stream> m_streams;  // by device, context, number
  std::map<std::pair<int64_t, int64_t>, int64_t> m_contextDevice;               // by process, context
  std::map<std::pair<int64_t, int64_t>, int64_t> m_contextOrdinal;              // by pid, context, as the export says
  std::vector<Gpu> m_gpus;
  std::map<std::pair<int64_t, int64_t>, int64_t> m_gpuOfCuda;     // by pid, CUDA's number
  std::map<std::pair<int64_t, int64_t>, std::string> m_cudaUuid;  // by pid, CUDA's number
  std::optional<uint64_t> m_defaultKey;
};

}  // namespace plumb::import
