// SPDX-License-Identifier: Apache-2.0
// What torch.profiler wrote over the years and on different devices: every event is in a table, or counted by reason.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using testing::HasSubstr;
using Rows = std::vector<Database::Row>;

class GenerationsTest : public ImportTest {
 protected:
  // Of events that have a row each: all but counters, arrows and [memory] events.
  [[nodiscard]] static uint64_t rowsOf(const Database& db) {
    return static_cast<uint64_t>(db.number(
        "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM memory_copy) + (SELECT count(*) FROM "
        "memory_set) + (SELECT count(*) FROM api_call) + (SELECT count(*) FROM operator) + (SELECT count(*) FROM "
        "python_call) + (SELECT count(*) FROM range) + (SELECT count(*) FROM synchronization)"));
  }
  [[nodiscard]] std::string messageOf(const Database& db, const std::string& code) const {
    return db.text("SELECT message FROM diagnostic WHERE code = '" + code + "'");
  }
};

std::string gpuEvent(const std::string& category, const std::string& name, const std::string& args) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name +
         R"(", "pid": 0, "tid": 3, "ts": 10, "dur": 5, "args": {)" + args + "}}";
}

TEST_F(GenerationsTest, AutogradProfilersOwnExportTellsKernelsByPid) {
  const Database& db = imported(R"([
    {"name": "aten::mm", "ph": "X", "ts": 10.5, "dur": 20, "tid": 1, "pid": "CPU functions", "args": {}},
    {"name": "gemm", "ph": "s", "ts": 10.5, "tid": 1, "pid": "CPU functions", "id": 1, "cat": "cpu_to_cuda", "args": {}},
    {"name": "gemm", "ph": "f", "ts": 15, "tid": 0, "pid": "CUDA functions", "id": 1, "cat": "cpu_to_cuda", "args": {}},
    {"name": "gemm", "ph": "X", "ts": 15, "dur": 4, "tid": 0, "pid": "CUDA functions", "args": {}}])");
  EXPECT_EQ(db.rows("SELECT name, duration_ns, device FROM kernels"), (Rows{{"gemm", "4000", "0"}}));
  EXPECT_EQ(db.rows("SELECT name, duration_ns FROM operators"), (Rows{{"aten::mm", "20000"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM process"), 1);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'flow_event'"), 2);
  EXPECT_EQ(m_result.notStored, 2u);
}

constexpr const char* kWorkOfOperators =
    "SELECT o.name, k.name FROM operators o JOIN operator_launch l ON l.operator_id = o.id JOIN kernels k ON "
    "k.process_id = l.process_id AND k.correlation = l.correlation ORDER BY k.start_ns";

TEST_F(GenerationsTest, AutogradProfilersArrowsLeadFromOperatorsToTheirKernels) {
  const auto event = [](const std::string& phase, const std::string& name, const std::string& of, double us,
                        const std::string& more) {
    return R"({"name": ")" + name + R"(", "ph": ")" + phase + R"(", "ts": )" + std::to_string(us) +
           R"(, "tid": 1, "pid": ")" + of + R"( functions", "args": {}, )" + more + "}";
  };
  std::vector<std::string> events;
  for (int i = 0; i < 3; ++i) {
    const std::string arrow = R"("cat": "cpu_to_cuda", "id": )" + std::to_string(i);
    const std::string inner = i == 1 ? "aten::add" : "aten::mm", kernel = i == 1 ? "add" : "gemm";
    events.push_back(event("X", "aten::linear", "CPU", 100.0 * i, R"("dur": 50)"));
    events.push_back(event("X", inner, "CPU", 100.0 * i + 10.5, R"("dur": 5)"));
    events.push_back(event("s", inner, "CPU", 100.0 * i + 10.5, arrow));
    events.push_back(event("f", kernel, "CUDA", 100.0 * i + 60, arrow));
    events.push_back(event("X", kernel, "CUDA", 100.0 * i + 60, R"("dur": 3)"));
  }
  const Database& db = imported(fmt::format("[{}]", fmt::join(events, ",\n")));
  EXPECT_EQ(db.rows(kWorkOfOperators), (Rows{{"aten::mm", "gemm"}, {"aten::add", "add"}, {"aten::mm", "gemm"}}));
}

TEST_F(GenerationsTest, AnOperatorsIdLeadsToItsWorkWithoutACorrelationId) {
  const std::string place = R"("device": 0, "stream": 3)";
  const Database& db = imported(
      traceOf({hostEvent("cpu_op", "aten::mm", "1", "2", R"({"External id": 4})"),
               hostEvent("cpu_op", "aten::add", "5", "2", R"({"External id": 5})"),
               gpuEvent("kernel", "add", place + R"(, "External id": 5)"), gpuEvent("kernel", "nobody's", place)}));
  EXPECT_EQ(db.rows(kWorkOfOperators), (Rows{{"aten::add", "add"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM kernels WHERE correlation = 0"), 1);
}

TEST_F(GenerationsTest, AnArrowLeadsFromAnOperatorToWorkWithoutALaunchingCall) {
  const auto arrow = [](const std::string& phase, int id, int pid, int tid, int us) {
    return fmt::format(R"({{"ph": "{}", "id": {}, "pid": {}, "tid": {}, "ts": {}, "cat": "ac2g", "name": "ac2g"}})",
                       phase, id, pid, tid, us);
  };
  const Database& db = imported(
      traceOf({hostEvent("cpu_op", "aten::mm", "1", "20"), hostEvent("cpu_op", "aten::sub", "3", "5"),
               hostEvent("cpu_op", "aten::add", "30", "5"),
               hostEvent("cuda_runtime", "cudaLaunchKernel", "31", "1", R"({"correlation": 12})"),
               gpuEvent("kernel", "sub", R"("device": 0, "stream": 3, "correlation": 11)"), arrow("s", 11, 500, 501, 4),
               arrow("f", 11, 0, 3, 10), gpuEvent("kernel", "add", R"("device": 0, "stream": 3, "correlation": 12)"),
               arrow("s", 12, 500, 501, 4)}));
  EXPECT_EQ(db.rows(std::string(kWorkOfOperators) + ", k.id"), (Rows{{"aten::sub", "sub"}, {"aten::add", "add"}}))
      << "the launching call goes before an arrow";
}

TEST_F(GenerationsTest, RocmsTracersNameCopiesInTheirOwnWay) {
  const std::string place = R"("device": 2, "stream": 0, "correlation": )";
  const Database& db =
      imported(traceOf({gpuEvent("gpu_memcpy", "CopyHostToDevice", place + R"(1, "bytes": 64)"),
                        gpuEvent("gpu_memcpy", "CopyDeviceToHost", place + R"(2, "bytes": 64)"),
                        gpuEvent("gpu_memcpy", "MEMORY_COPY_DEVICE_TO_DEVICE", place + R"(3, "bytes": 64)"),
                        gpuEvent("gpu_memset", "FillBuffer", place + R"(4, "bytes": 64)"),
                        hostEvent("cuda_runtime", "hipMemcpyWithStream", "1", "2", R"({"correlation": 1})")}));
  EXPECT_EQ(db.rows("SELECT copy_kind FROM copies ORDER BY id"), (Rows{{"HtoD"}, {"DtoH"}, {"DtoD"}}));
  EXPECT_EQ(rowsOf(db) + m_result.notStored, m_result.events);
}

TEST_F(GenerationsTest, XpusHaveQueuesAndTheirOwnWords) {
  const Database& db = imported(
      traceOf({hostEvent("xpu_runtime", "urEnqueueKernelLaunch", "1", "2", R"({"correlation": 7})"),
               hostEvent("xpu_driver", "zeCommandListAppendLaunchKernel", "1", "1", R"({"correlation": 7})"),
               gpuEvent("kernel", "at::native::xpu::Add", R"("device": 0, "correlation": 7, "sycl queue": "0x55")"),
               gpuEvent("gpu_memcpy", "Memcpy M2D", R"("device": 0, "correlation": 8, "bytes": 4)"),
               gpuEvent("xpu_sync", "Stream Sync", R"("device": 0, "correlation": 9)")}));
  EXPECT_EQ(db.rows("SELECT layer, name FROM api_calls ORDER BY id"),
            (Rows{{"runtime", "urEnqueueKernelLaunch"}, {"driver", "zeCommandListAppendLaunchKernel"}}));
  EXPECT_EQ(db.text("SELECT stream FROM kernels"), "3") << "the tid stands for it";
  EXPECT_EQ(db.text("SELECT copy_kind FROM copies"), "HtoD");
  EXPECT_EQ(db.number("SELECT kind FROM synchronization"), 3);
  EXPECT_EQ(rowsOf(db) + m_result.notStored, m_result.events);
}

// As Kineto's XPU plugin writes them: what the system or SYCL allocated, calls that wait, counters of a kernel.
TEST_F(GenerationsTest, XpusCopiesWaitsAndCountersSayWhatTheyAre) {
  const std::string place = R"("device": 0, "context": "0x00000000a1b2c3d4", "sycl queue": 3, "correlation": )";
  const Database& db = imported(traceOf(
      {gpuEvent("gpu_memcpy", "Memcpy M2D (MEMORY -> DEVICE)",
                place + R"(1, "l0 call": "zeCommandListAppendMemoryCopy", "bytes": 64)"),
       gpuEvent("gpu_memcpy", "Memcpy D2H (DEVICE -> HOST)", place + R"(2, "bytes": 64)"),
       gpuEvent("gpu_memset", "Memset (0 -> SHARED)", place + R"(3, "bytes": 64)"),
       R"({"ph": "X", "cat": "xpu_sync", "name": "zeEventHostSynchronize", "pid": -1, "tid": 9, "ts": 20, "dur": 4, "args": {"correlation": 4, "Type": "HOST_EVENT", "Return_code": 0}})",
       R"({"ph": "X", "cat": "xpu_sync", "name": "zeCommandQueueSynchronize", "pid": -1, "tid": 9, "ts": 30, "dur": 4, "args": {"correlation": 5, "Type": "HOST_COMMAND_QUEUE"}})",
       hostEvent("collective_comm", "xccl::allreduce", "40", "3", R"({"Communicator_id": 7})"),
       R"({"ph": "C", "cat": "xpu_scope_profiler", "name": "Metrics", "pid": 0, "tid": 0, "ts": 4, "args": {"GpuTime": 12}})"}));
  EXPECT_EQ(db.rows("SELECT copy_kind, source_kind, target_kind FROM copies ORDER BY id"),
            (Rows{{"HtoD", "pageable", "device"}, {"DtoH", "device", "pinned"}}));
  EXPECT_EQ(db.number("SELECT memory_kind FROM memory_set"), 5);
  EXPECT_EQ(db.rows("SELECT kind FROM synchronization ORDER BY start_ns"), (Rows{{"1"}, {"3"}}));
  EXPECT_EQ(db.text("SELECT name FROM ranges"), "xccl::allreduce");
  EXPECT_EQ(db.number("SELECT count(*) FROM counter_sample"), 1);
  EXPECT_EQ(rowsOf(db) + 1 + m_result.notStored, m_result.events);
}

// "mtia_ccp_events" are the device's own; Kineto has called them kernels since. What neither a call nor an operator
// started may be anything.
TEST_F(GenerationsTest, MtiasWorkThatWasStartedIsKernels) {
  const Database& db = imported(traceOf(
      {hostEvent("mtia_runtime", "runFunction - job_prep_and_submit_for_execution", "1", "2", R"({"correlation": 5})"),
       gpuEvent("kernel", "fb_mm", R"("device": 0, "stream": 4, "correlation": 5)"),
       gpuEvent("mtia_ccp_events", "fb_add", R"("device": 0, "stream": 4, "correlation": 5)"),
       gpuEvent("mtia_ccp_events", "fb_mul", R"("External id": 17)"),
       gpuEvent("mtia_ccp_events", "Job Execution", R"("device": 0)"), gpuEvent("mtia_insight", "PE stall", ""),
       R"({"ph": "C", "cat": "mtia_counters", "name": "SRAM", "pid": 0, "tid": 0, "ts": 4, "args": {"bytes": 12}})"}));
  EXPECT_EQ(db.rows("SELECT name, device, stream FROM kernels ORDER BY id"),
            (Rows{{"fb_mm", "0", "4"}, {"fb_add", "0", "4"}, {"fb_mul", "0", "3"}}));
  EXPECT_EQ(db.rows("SELECT name, kind FROM ranges ORDER BY id"),
            (Rows{{"Job Execution", "start_end"}, {"PE stall", "start_end"}}));
  EXPECT_EQ(db.rows("SELECT layer, name FROM api_calls"),
            (Rows{{"runtime", "runFunction - job_prep_and_submit_for_execution"}}));
  EXPECT_EQ(db.text("SELECT value FROM counter_sample"), "12.0");
  EXPECT_EQ(rowsOf(db) + 1 + m_result.notStored, m_result.events);
}

TEST_F(GenerationsTest, NamesThatStandForEveryDevicesAreCalls) {
  const Database& db = imported(traceOf(
      {hostEvent("cpu_op", "aten::add", "0", "9"), hostEvent("runtime", "launch", "1", "2", R"({"correlation": 5})"),
       hostEvent("driver", "enqueue", "2", "1", R"({"correlation": 5})"), hostEvent("hpu_op", "synLaunch", "5", "1"),
       hostEvent("privateuse1_runtime", "aiuLaunchComputeStream", "7", "1")}));
  EXPECT_EQ(db.rows("SELECT layer, name FROM api_calls ORDER BY id"), (Rows{{"runtime", "launch"},
                                                                            {"driver", "enqueue"},
                                                                            {"runtime", "synLaunch"},
                                                                            {"runtime", "aiuLaunchComputeStream"}}));
}

TEST_F(GenerationsTest, CategoriesOfTheFutureAreRanges) {
  const Database& db =
      imported(traceOf({hostEvent("cpu_op", "aten::add", "1", "9"), hostEvent("collective_comm", "reduce", "2", "3"),
                        hostEvent("brand_new", "thing", "3", "1", R"({"why": "not"})")}));
  EXPECT_EQ(db.rows("SELECT domain, name FROM ranges ORDER BY id"),
            (Rows{{"collective_comm", "reduce"}, {"brand_new", "thing"}}));
  EXPECT_EQ(rowsOf(db), m_result.events);
}

// Nothing is wrong in silence: what a GPU event lacks is counted, with the place of the first.
TEST_F(GenerationsTest, GpuEventsWithoutDurationNameOrPlaceAreSaid) {
  const std::string place = R"("device": 0, "stream": 7, "correlation": )";
  const std::string whole = gpuEvent("kernel", "good", place + "1");
  const Database& db = imported(traceOf(
      {whole,
       R"({"ph": "X", "cat": "kernel", "name": "endless", "pid": 0, "tid": 7, "ts": 30, "args": {)" + place + "2}}",
       R"({"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 40, "dur": 1, "args": {)" + place + "3}}",
       R"({"ph": "X", "cat": "gpu_memcpy", "name": "", "pid": 0, "tid": 7, "ts": 50, "dur": 1, "args": {)" + place +
           "4}}",
       R"({"ph": "X", "cat": "kernel", "name": "nowhere", "pid": "gpu", "tid": "t", "ts": 60, "dur": 1, "args": {}})",
       R"({"ph": "X", "cat": "cpu_op", "pid": 9, "tid": 9, "ts": 70, "args": {}})"}));
  EXPECT_EQ(db.rows("SELECT name, flags FROM kernels WHERE name = 'endless'"), (Rows{{"endless", "1"}}));
  EXPECT_EQ(
      db.rows("SELECT code, count FROM diagnostic WHERE code IN ('no_gpu_duration', 'no_gpu_name', 'no_place', "
              "'no_duration', 'no_name') ORDER BY code"),
      (Rows{
          {"no_duration", "1"}, {"no_gpu_duration", "1"}, {"no_gpu_name", "2"}, {"no_name", "1"}, {"no_place", "1"}}));
  const size_t second = traceOf({whole}).find(whole) + whole.size() + 2;
  EXPECT_THAT(messageOf(db, "no_gpu_duration"), HasSubstr("byte " + std::to_string(second)));
  EXPECT_EQ(rowsOf(db), m_result.events);
}

// A source that keeps microseconds knows a copy's bandwidth better than its duration does.
TEST_F(GenerationsTest, BandwidthIsKeptWhereTheDurationLostIt) {
  const std::string place = R"("device": 0, "stream": 7, "bytes": 1000, "correlation": )";
  const std::string bandwidth = R"j(, "memory bandwidth (GB/s)": )j";
  const Database& db =
      imported(traceOf({gpuEvent("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", place + "1" + bandwidth + "0.2"),
                        gpuEvent("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", place + "2" + bandwidth + "0.19"),
                        gpuEvent("gpu_memset", "Memset (Device)", place + "3" + bandwidth + "0.21"),
                        gpuEvent("gpu_memset", "Memset (Device)", place + "4")}));
  EXPECT_EQ(db.rows("SELECT memory_copy_id, gb_per_s FROM memory_copy_bandwidth"), (Rows{{"2", "0.19"}}));
  EXPECT_EQ(db.rows("SELECT memory_set_id, gb_per_s FROM memory_set_bandwidth"), (Rows{{"1", "0.21"}}));
}

}  // namespace
}  // namespace plumb::test
