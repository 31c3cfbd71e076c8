// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/chrome_contents.h"

namespace plumb::exports {
namespace {

constexpr std::string_view kNoTime = "flags & 1";
constexpr std::string_view kNotOfTheTrace =
    "name_id NOT IN (SELECT id FROM main.string WHERE substr(text, 1, 6) = 'trace.')";
constexpr std::string_view kNoNumber = "value IS NULL OR abs(value) > 1.7976931348623157e308";

constexpr Content kContents[] = {
    {"meta", "members of the file", "", ""},
    {"string", "the texts of the others", "", ""},
    {"process", "process_name, distributedInfo", "", ""},
    {"process_variable", "members of the file, what the trace was imported with", kNotOfTheTrace,
     "environment variables"},
    {"thread", "thread_name", "", ""},
    {"device", "deviceProperties", "", ""},
    {"device_roof", "deviceProperties", "", ""},
    {"stream", "thread_name", "", ""},
    {"kernel", "kernel", kNoTime, "kernels without a usable time"},
    {"memory_copy", "gpu_memcpy", kNoTime, "copies without a usable time"},
    {"memory_set", "gpu_memset", kNoTime, "sets without a usable time"},
    {"api_call", "cuda_runtime, cuda_driver", "", ""},
    {"synchronization", "cuda_sync", "", ""},
    {"range", "user_annotation, or the range's domain", "", ""},
    {"range_payload", "arguments of ranges", "", ""},
    {"communicator", "arguments of collectives, pg_config", "", ""},
    {"collective", "arguments of operators and kernels, else collective", "", ""},
    {"library_call", "library_call", "", ""},
    {"correlation_link", "the correlations of library calls and collectives", "", ""},
    {"allocation", "[memory], [allocation]", "", ""},
    {"deallocation", "[memory], [allocation]", "", ""},
    {"memory_region", "[memory region]", "", ""},
    {"memory_region_end", "[memory region]", "", ""},
    {"memory_category", "the category of memory regions", "", ""},
    {"counter_sample", "counters", kNoNumber, "samples of counters that are no number"},
    {"clock_pair", "", "", "pairs of clock readings"},
    {"plugin", "", "", "states of the recorder's plugins"},
    {"diagnostic", "diagnostic", "", ""},
    {"stack", "Call stack", "", ""},
    {"stack_frame", "Call stack", "", ""},
    {"allocation_detail", "arguments of allocations", "", ""},
    {"communicator_member", "Process Group Ranks, pg_config", "", ""},
    {"communicator_state", "", "", "states of communicators"},
    {"collective_state", "arguments of collectives", "", ""},
    {"collective_timing", "arguments of collectives", "", ""},
    {"collective_benchmark", "", "", "results of benchmarks"},
    {"operator", "cpu_op", "", ""},
    {"operator_launch", "External id", "", ""},
    {"operator_argument_set", "arguments of operators", "", ""},
    {"python_call", "python_function", "", ""},
    {"flow", "flow events", "", ""},
    {"collective_detail", "arguments of collectives", "", ""},
    {"synchronization_event", "arguments of cuda_sync", "", ""},
    {"os_call", "os_call", "", ""},
    {"api_call_stack", "Call stack", "", ""},
    {"event_record", "cuda_event_record", "start_ns IS NULL", "records of events whose time is not known"},
    {"memory_copy_bandwidth", "memory bandwidth (GB/s)", "", ""},
    {"memory_set_bandwidth", "memory bandwidth (GB/s)", "", ""},
};

}  // namespace

std::span<const Content> chromeContents() { return kContents; }

}  // namespace plumb::exports
