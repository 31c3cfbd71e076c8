// SPDX-License-Identifier: Apache-2.0
// What torch.profiler says beyond kernels and ranges: operators, Python calls, memory, flows, collectives, itself.
#include <gmock/gmock.h>

#include <filesystem>

#include "analyzer/analyses/gpu_events.h"
#include "analyzer/trace/trace.h"
#include "tests/unit/analyzer/import/support.h"

namespace plumb::test {
namespace {

using Rows = std::vector<Database::Row>;

std::string op(const std::string& name, const std::string& ts, const std::string& dur, int external,
               const std::string& more = "") {
  return hostEvent("cpu_op", name, ts, dur, R"({"External id": )" + std::to_string(external) + more + "}");
}

std::string launch(const std::string& ts, int correlation) {
  return hostEvent("cuda_runtime", "cudaLaunchKernel", ts, "1",
                   R"({"correlation": )" + std::to_string(correlation) + "}");
}

std::string external(int id) { return R"(, "External id": )" + std::to_string(id); }

std::string flow(const std::string& phase, const std::string& category, int id, const std::string& place,
                 const std::string& ts) {
  return R"({"ph": ")" + phase + R"(", "cat": ")" + category + R"(", "name": ")" + category + R"(", "id": )" +
         std::to_string(id) + ", " + place + R"(, "ts": )" + ts + "}";
}

std::string memory(const std::string& ts, const std::string& address, int bytes, int allocated, int reserved) {
  return R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 500, "tid": 501, "ts": )" +
         ts + R"(, "args": {"Total Reserved": )" + std::to_string(reserved) + R"(, "Total Allocated": )" +
         std::to_string(allocated) + R"(, "Bytes": )" + std::to_string(bytes) + R"(, "Addr": )" + address +
         R"(, "Device Id": 0, "Device Type": 1}})";
}

TEST_F(ImportTest, OperatorsKeepShapesSequenceAndNesting) {
  const std::string shapes =
      R"(, "Input Dims": [[64, 3], []], "Input type": ["float", "Scalar"], "Concrete Inputs": ["", "2"], "Ev Idx": 7)";
  const Database& db = imported(traceOf(
      {op("aten::linear", "10", "20", 1, shapes + R"(, "Sequence number": 5)"), op("aten::addmm", "12", "5", 2, shapes),
       op("aten::t", "17", "1", 3), op("aten::relu", "30", "2", 4, R"(, "Fwd thread id": 1, "Call stack": "a;b")")}));
  EXPECT_EQ(db.rows("SELECT o.name, coalesce(p.name, '-'), o.input_dims, o.sequence, o.forward_thread, o.external_id "
                    "FROM operators o LEFT JOIN operators p ON p.id = o.parent_id ORDER BY o.start_ns"),
            (Rows{{"aten::linear", "-", "[[64, 3], []]", "5", "NULL", "1"},
                  {"aten::addmm", "aten::linear", "[[64, 3], []]", "NULL", "NULL", "2"},
                  {"aten::t", "aten::linear", "NULL", "NULL", "NULL", "3"},
                  {"aten::relu", "-", "NULL", "NULL", "1", "4"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM operator_argument_set"), 2) << "equal arguments are stored once";
  EXPECT_EQ(db.text("SELECT text FROM operator_argument_set JOIN string ON string.id = other_id WHERE text <> ''"),
            R"({"Call stack": "a;b"})");
}

TEST_F(ImportTest, OperatorsThatComeUnsortedNestAllTheSame) {
  const Database& db = imported(traceOf(
      {op("inner", "12", "5", 2), op("outer", "10", "20", 1), op("same", "12", "5", 3), op("after", "31", "1", 4)}));
  EXPECT_EQ(db.rows("SELECT o.name, coalesce(p.name, '-') FROM operators o LEFT JOIN operators p ON p.id = o.parent_id "
                    "ORDER BY o.external_id"),
            (Rows{{"outer", "-"}, {"inner", "outer"}, {"same", "inner"}, {"after", "-"}}));
}

constexpr const char* kTimeByOperator =
    "SELECT o.name, count(*), sum(k.duration_ns) FROM operators o JOIN operator_launch l ON l.operator_id = o.id "
    "JOIN kernel k ON k.process_id = l.process_id AND k.correlation = l.correlation GROUP BY o.id ORDER BY o.id";

TEST_F(ImportTest, WorkBelongsToTheOperatorThatItsExternalIdNames) {
  const Database& db =
      imported(traceOf({op("a", "10", "20", 1), op("b", "12", "5", 2), kernelEvent("k", "40", "1", 7, external(2)),
                        kernelEvent("k", "50", "2", 7, external(2)), kernelEvent("k", "60", "3", 8, external(1))}));
  EXPECT_EQ(db.rows(kTimeByOperator), (Rows{{"a", "1", "3000"}, {"b", "2", "3000"}}));
}

TEST_F(ImportTest, WorkWithoutAnOperatorsIdBelongsToTheOneAroundItsLaunch) {
  const Database& db = imported(
      traceOf({op("a", "10", "20", 1), op("b", "12", "5", 2), launch("13", 7), launch("18", 8), launch("40", 9),
               kernelEvent("inner", "50", "1", 7, external(7)),  // its correlation id: there is no operator's
               kernelEvent("outer", "60", "2", 8), kernelEvent("outside", "70", "3", 9)}));
  EXPECT_EQ(db.rows(kTimeByOperator), (Rows{{"a", "1", "2000"}, {"b", "1", "1000"}}));
}

TEST_F(ImportTest, ACorrelationIdThatIsUsedAgainLeadsToTheLaterCall) {
  const auto driver = hostEvent("cuda_driver", "cuLaunchKernel", "13.2", "0.5", R"({"correlation": 7})");
  const Database& db = imported(traceOf(
      {op("a", "10", "20", 1), op("b", "40", "20", 2), launch("13", 7), driver, launch("45", 7), launch("70", 7),
       kernelEvent("first", "20", "1", 7, external(1)), kernelEvent("second", "46", "2", 7, external(2)),
       kernelEvent("second's too", "50", "3", 7, external(2))}));
  EXPECT_EQ(db.rows("SELECT k.name, k.correlation, k.start_ns - min(a.start_ns), o.name FROM kernels k "
                    "JOIN api_call a ON a.correlation = k.correlation JOIN operator_launch l ON l.correlation = "
                    "k.correlation JOIN operators o ON o.id = l.operator_id GROUP BY k.id ORDER BY k.start_ns"),
            (Rows{{"first", "7", "7000", "a"},
                  {"second", "4294967303", "1000", "b"},
                  {"second's too", "4294967303", "5000", "b"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'reused_correlation'"), 1)
      << "a driver's call inside, and one without work, are no further uses";
}

TEST_F(ImportTest, PythonCallsKnowTheirCallers) {
  const auto call = [](const std::string& name, const std::string& ts, const std::string& ids) {
    return hostEvent("python_function", name, ts, "10", "{" + ids + "}");
  };
  const std::string trace = traceOf({call("main.py(1): main", "10", R"("Python parent id": null, "Python id": 1)"),
                                     call("f.py(2): f", "12", R"("Python parent id": 1, "Python id": 2)"),
                                     call("g.py(3): g", "13", R"("Python parent id": 2, "Python id": 3)"),
                                     call("again", "30", R"("Python parent id": 1, "Python id": 3)")});
  const auto result = import({write("r0.json", trace), write("r1.json", trace)}, {0, 1});
  ASSERT_TRUE(result.ok()) << result.error().message;
  const Database db(output());
  for (const char* rank : {"0", "1"}) {
    EXPECT_EQ(db.rows("SELECT c.name, coalesce(p.name, '-') FROM python_calls c LEFT JOIN python_calls p ON p.id = "
                      "c.parent_id WHERE c.rank = " +
                      std::string(rank) + " ORDER BY c.start_ns"),
              (Rows{{"main.py(1): main", "-"},
                    {"f.py(2): f", "main.py(1): main"},
                    {"g.py(3): g", "f.py(2): f"},
                    {"again", "main.py(1): main"}}));
  }
}

TEST_F(ImportTest, MemoryEventsAreAllocationsThatSumUpToTheAllocatorsTotal) {
  // 1000 bytes live before the trace begins, 300 of them are freed in it.
  imported(traceOf({memory("10", "4096", 200, 1200, 2000), memory("20", "8192", -300, 900, 2000),
                    memory("30", "12288", 500, 1400, 4000), memory("40", "4096", -200, 1200, 4000)}));
  const Database& db = *m_database;
  EXPECT_EQ(db.rows("SELECT bytes, start_ns, freed_ns, space, device FROM allocations ORDER BY start_ns, bytes"),
            (Rows{{"200", "0", "30000", "device", "0"},
                  {"300", "0", "10000", "device", "0"},
                  {"700", "0", "NULL", "device", "0"},
                  {"500", "20000", "NULL", "device", "0"}}));
  EXPECT_EQ(
      db.rows("SELECT text, count(*), max(value) FROM counter_sample JOIN string ON id = name_id GROUP BY 1"),
      (Rows{{"torch allocated bytes, device 0", "4", "1400.0"}, {"torch reserved bytes, device 0", "2", "4000.0"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'free_of_earlier_memory'"), 1);
  for (const auto& [time, total] : {std::pair{0, 1200}, {10000, 900}, {20000, 1400}, {30000, 1200}}) {
    EXPECT_EQ(
        db.number("SELECT sum(bytes) FROM allocations WHERE start_ns <= :t AND (freed_ns IS NULL OR freed_ns > :t)",
                  {{":t", time}}),
        total);
  }
}

TEST_F(ImportTest, FlowsLendCorrelationIdsToEventsThatHaveNone) {
  const std::string kernel =
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 20, "dur": 3, "args": {"device": 0, "stream": 7}})";
  const Database& db =
      imported(traceOf({op("a", "5", "10", 1), hostEvent("cuda_runtime", "cudaLaunchKernel", "10", "2"),
                        flow("s", "ac2g", 77, R"("pid": 500, "tid": 501)", "10"), kernel,
                        flow("f", "ac2g", 77, R"("pid": 0, "tid": 7)", "20")}));
  EXPECT_EQ(db.number("SELECT k.correlation FROM kernel k JOIN api_call a ON a.correlation = k.correlation"), 77);
  EXPECT_EQ(db.rows(kTimeByOperator), (Rows{{"a", "1", "3000"}}));
}

TEST_F(ImportTest, FlowsFromForwardToBackwardAreRows) {
  const std::string host = R"("pid": 500, "tid": 501)", backward = R"("pid": 500, "tid": 502)";
  const Database& db = imported(
      traceOf({op("forward", "10", "1", 1), flow("f", "fwdbwd", 4, backward, "30"), flow("s", "fwdbwd", 4, host, "10"),
               flow("s", "fwdbwd", 5, host, "12"), flow("f", "fwdbwd", 5, backward, "35"),
               flow("s", "fwdbwd", 6, host, "14"), flow("f", "ac2g", 9, host, "14")}));
  EXPECT_EQ(
      db.rows(
          "SELECT text, source_start_ns, target_start_ns, s.tid, t.tid FROM flow JOIN string ON string.id = "
          "flow.name_id JOIN thread s ON s.id = source_thread_id JOIN thread t ON t.id = target_thread_id ORDER BY 2"),
      (Rows{{"fwdbwd", "0", "20000", "501", "502"}, {"fwdbwd", "2000", "25000", "501", "502"}}));
  EXPECT_EQ(db.rows("SELECT code, count FROM diagnostic WHERE code LIKE 'flow%' ORDER BY code"),
            (Rows{{"flow_event", "1"}, {"flow_one_end", "1"}}));
}

std::string collectiveFacts(const std::string& name, int elements, const std::string& more = "") {
  return R"(, "Collective name": ")" + name + R"(", "In msg nelems": )" + std::to_string(elements) +
         R"(, "Out msg nelems": )" + std::to_string(elements) +
         R"(, "Group size": 2, "dtype": "Float", "Process Group Name": "3", "Process Group Description": "tp", "Process Group Ranks": "[4, 6]")" +
         more;
}

TEST_F(ImportTest, GatheredAndScatteredBytesAreThoseOfAllRanks) {
  const auto facts = [](const std::string& name, int in, int out) {
    return R"(, "Collective name": ")" + name + R"(", "In msg nelems": )" + std::to_string(in) +
           R"(, "Out msg nelems": )" + std::to_string(out) + R"(, "Group size": 4, "dtype": "Float")";
  };
  const Database& db = imported(traceOf({op("record_param_comms", "10", "5", 1, facts("gather", 10, 40)),
                                         op("record_param_comms", "20", "5", 2, facts("scatter", 40, 10))}));
  EXPECT_EQ(db.rows("SELECT operation, bytes FROM collectives ORDER BY start_ns"),
            (Rows{{"Gather", "160"}, {"Scatter", "160"}}));
}

TEST_F(ImportTest, CollectivesComeFromOperatorsAndLeadToKernels) {
  const Database& db = imported(traceOf(
      {op("record_param_comms", "10", "5", 1,
          collectiveFacts("allreduce", 100, R"(, "Seq": 8, "Is asynchronized op": true, "In split size": "[1, 2]")")),
       op("record_param_comms", "17", "2", 2, collectiveFacts("wait", 0)),
       op("record_param_comms", "20", "5", 3, collectiveFacts("_allgather_base", 10)),
       kernelEvent("ncclDevKernel_AllReduce(args)", "30", "5", 11, external(1) + collectiveFacts("allreduce", 100)),
       kernelEvent("ncclDevKernel_AllGather(args)", "40", "5", 12, external(3))},
      R"("distributedInfo": {"rank": 6, "world_size": 8, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 3, "ranks": [2, 4, 6]}]})"));
  EXPECT_EQ(db.rows("SELECT operation, bytes, sequence, start_ns, duration_ns, communicator_name, n_ranks, "
                    "communicator_rank, device_start_ns FROM collectives ORDER BY start_ns"),
            (Rows{{"AllReduce", "400", "8", "0", "5000", "3: tp", "2", "1", "20000"},
                  {"AllGather", "40", "-1", "10000", "5000", "3: tp", "2", "1", "30000"}}));
  EXPECT_EQ(
      db.rows("SELECT input_elements, is_async, text, operator_id FROM collective_detail JOIN string ON string.id "
              "= input_splits_id"),
      (Rows{{"100", "1", "[1, 2]", "1"}}));
  EXPECT_EQ(db.rows("SELECT text, rank, n_ranks FROM communicator JOIN string ON string.id = name_id ORDER BY text"),
            (Rows{{"0: default_pg", "2", "3"}, {"3: tp", "1", "2"}}));
  EXPECT_EQ(db.number("SELECT count(*) FROM communicator_member"), 5);
  EXPECT_EQ(db.number("SELECT count(*) FROM operator WHERE argument_set_id IS NOT NULL"), 1) << "of wait";
}

TEST_F(ImportTest, CommunicationIsToldPerKernelWhereRecordsAreIncomplete) {
  imported(traceOf({op("record_param_comms", "10", "5", 1, collectiveFacts("allreduce", 100)),
                    kernelEvent("ncclDevKernel_AllReduce(args)", "30", "5", 11, external(1)),
                    kernelEvent("ncclDevKernel_Broadcast(args)", "40", "7", 12), kernelEvent("gemm", "50", "9", 13)}));
  EXPECT_EQ(m_database->number("SELECT count(*) FROM collectives WHERE kernel_id IS NOT NULL"), 1);
  EXPECT_EQ(m_database->number("SELECT count FROM diagnostic WHERE code = 'communication_by_name'"), 1);
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok());
  const auto activity = loadGpuActivity(trace.value());
  ASSERT_TRUE(activity.ok());
  ASSERT_EQ(activity.value().size(), 1u);
  EXPECT_EQ(activity.value()[0].communicationSource, CommunicationSource::Names);
  EXPECT_EQ(activity.value()[0].communication.length().ns(), 12000);
  EXPECT_EQ(activity.value()[0].compute.length().ns(), 9000);
}

TEST_F(ImportTest, CopiesOfACollectiveWithoutKernelsAreCommunication) {
  const auto copy = [](const char* name, const char* ts, int correlation, int operatorId) {
    return std::string(R"({"ph": "X", "cat": "gpu_memcpy", "name": ")") + name + R"(", "pid": 0, "tid": 7, "ts": )" +
           ts + R"(, "dur": 3, "args": {"device": 0, "context": 1, "stream": 7, "bytes": 400, "correlation": )" +
           std::to_string(correlation) + external(operatorId) + "}}";
  };
  imported(traceOf({copy("Memcpy PtoP (Device -> Device)", "20", 11, 1),  // copy engines do the collective
                    op("record_param_comms", "10", "5", 1, collectiveFacts("_allgather_base", 100)),
                    op("record_param_comms", "30", "5", 2, collectiveFacts("_allgather_base", 100)),
                    copy("Memcpy DtoD (Device -> Device)", "36", 12, 2),  // it unpacks what the kernel received
                    kernelEvent("ncclDevKernel_AllGather(args)", "40", "5", 13, external(2)),
                    copy("Memcpy HtoD (Pageable -> Device)", "50", 14, 1)}));
  auto trace = Trace::open(output());
  ASSERT_TRUE(trace.ok());
  const auto activity = loadGpuActivity(trace.value());
  ASSERT_TRUE(activity.ok());
  ASSERT_EQ(activity.value().size(), 1u);
  EXPECT_EQ(activity.value()[0].communication.length().ns(), 3000 + 5000);
  EXPECT_EQ(activity.value()[0].memory.length().ns(), 2 * 3000);
}

TEST_F(ImportTest, WaitsForEventsSayWhereTheEventWasRecorded) {
  const Database& db = imported(traceOf(
      {R"({"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 10, "dur": 1, "args": {"stream": 7, "device": 0, "context": 1, "correlation": 5, "wait_on_stream": 20, "wait_on_cuda_event_id": 3, "wait_on_cuda_event_record_corr_id": 99}})"}));
  EXPECT_EQ(
      db.rows("SELECT y.name, y.stream, y.event_id, s.number, e.recorded_correlation FROM synchronizations y JOIN "
              "synchronization_event e ON e.synchronization_id = y.id JOIN stream s ON s.id = e.recorded_stream_id"),
      (Rows{{"stream wait event", "7", "3", "20", "99"}}));
}

TEST_F(ImportTest, WhatTheTraceSaysOfItselfIsKept) {
  const Database& db = imported(traceOf(
      {kernelEvent("k", "1", "1", 1)}, R"("with_stack": 1, "cuda_driver_version": 13000, "username": "me", "x": [1])"));
  EXPECT_EQ(db.rows("SELECT n.text, v.text FROM process_variable JOIN string n ON n.id = name_id JOIN string v ON v.id "
                    "= value_id ORDER BY 1"),
            (Rows{{"trace.baseTimeNanoseconds", "0"},
                  {"trace.cuda_driver_version", "13000"},
                  {"trace.schemaVersion", "1"},
                  {"trace.with_stack", "1"}}));
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'members_not_stored'"), 2);
  EXPECT_EQ(db.number("SELECT count(*) FROM string WHERE text = 'me'"), 0) << "nobody's name";
}

TEST_F(ImportTest, TheProgramsPidAndNameAreKnownWithoutOperatorsAndCalls) {
  const auto named = [](int pid, const std::string& name) {
    return R"({"ph": "M", "name": "process_name", "ts": 0, "pid": )" + std::to_string(pid) + R"(, "args": {"name": ")" +
           name + R"("}})";
  };
  const std::string trainer = named(500, "trainer"), device = named(0, "python"),
                    kernel = kernelEvent("k", "5", "1", 1),
                    overhead = R"({"ph": "X", "cat": "overhead", "name": "o", "pid": -1, "tid": 0, "ts": 1, "dur": 1})",
                    labels = R"({"ph": "M", "name": "process_labels", "pid": 500, "args": {"labels": "CPU"}})";
  for (const std::vector<std::string>& events : std::vector<std::vector<std::string>>{
           {trainer, hostEvent("user_annotation", "forward", "1", "9")},
           {trainer, kernel, overhead, hostEvent("user_annotation", "forward", "1", "9")},
           {trainer, kernel, hostEvent("python_function", "main", "1", "9", R"({"Python id": 1})")},
           {device, trainer, kernel},
           {device, named(7, "python"), trainer, labels, kernel}}) {
    const Database& db = imported(traceOf(events, R"("distributedInfo": {"rank": 0})"));
    EXPECT_EQ(db.rows("SELECT pid, text FROM process JOIN string ON string.id = program_id"),
              (Rows{{"500", "trainer"}}))
        << testing::PrintToString(events);
    m_database.reset();
    std::filesystem::remove(output());
  }
}

TEST_F(ImportTest, NumbersOfProcessesAndThreadsMayBeAnything) {
  const auto event = [](const std::string& pid, const std::string& tid, const std::string& ts) {
    return R"({"ph": "X", "cat": "cpu_op", "name": "op", "pid": )" + pid + R"(, "tid": )" + tid + R"(, "ts": )" + ts +
           R"(, "dur": 1})";
  };
  const Database& db =
      imported(traceOf({event("7", "-1", "1"), event("\"7\"", "4294967297", "2"), event("7", "\"4294967297\"", "3"),
                        event("7", "\"\"", "4"), event("7", "\"Spans\"", "5"), event("7", "-1", "6")}));
  EXPECT_EQ(db.number("SELECT count(*) FROM process"), 1);
  EXPECT_EQ(db.rows("SELECT tid, count(*) FROM operators GROUP BY thread_id ORDER BY min(start_ns)"),
            (Rows{{"-1", "2"}, {"4294967297", "2"}, {"0", "1"}, {"0", "1"}}));
}

TEST_F(ImportTest, VeryLongNamesAndVeryLongArgumentsAreWhole) {
  const std::string name(5160, 'n'), text(3u << 20, 't');
  const Database& db = imported(
      traceOf({kernelEvent(name, "1", "1", 1), hostEvent("cpu_op", "op", "2", "1", R"({"a": ")" + text + R"("})")}));
  EXPECT_EQ(db.number("SELECT length(full_name) FROM kernels"), 5160);
  EXPECT_EQ(db.number("SELECT max(length(text)) FROM string"), static_cast<int64_t>(text.size() + 9));
}

// torch.profiler of 2021: without addresses nothing says what a negative size gives back.
TEST_F(ImportTest, MemoryEventsWithoutAddressesAreSums) {
  const auto event = [](const char* ts, const char* bytes) {
    return std::string(R"({"ph": "i", "s": "t", "name": "[memory]", "pid": 500, "tid": 501, "ts": )") + ts +
           R"(, "args": {"Device Type": 1, "Device Id": 0, "Bytes": )" + bytes + "}}";
  };
  const Database& db = imported(traceOf({event("1", "64"), event("2", "32"), event("3", "-64")}));
  EXPECT_EQ(db.number("SELECT count(*) FROM allocation"), 0);
  EXPECT_EQ(db.number("SELECT count FROM diagnostic WHERE code = 'no_address'"), 3);
  EXPECT_EQ(
      db.rows("SELECT text, CAST(value AS INTEGER) FROM counter_sample JOIN string ON string.id = name_id ORDER BY"
              " start_ns"),
      (Rows{{"torch allocated bytes since the trace's start, device 0", "64"},
            {"torch allocated bytes since the trace's start, device 0", "96"},
            {"torch allocated bytes since the trace's start, device 0", "32"}}));
}

}  // namespace
}  // namespace plumb::test
