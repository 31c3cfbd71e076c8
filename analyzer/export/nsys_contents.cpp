// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/nsys_contents.h"

namespace plumb::exports {
namespace {

constexpr std::string_view kNoTime = "flags & 1";
constexpr std::string_view kStacks = "OSRT_CALLCHAINS, CUDA_CALLCHAINS";
constexpr std::string_view kOtherStack =
    "id NOT IN (SELECT stack_id FROM api_call_stack)"
    " AND id NOT IN (SELECT stack_id FROM os_call WHERE stack_id IS NOT NULL)";
constexpr std::string_view kOtherFrame =
    "stack_id NOT IN (SELECT stack_id FROM api_call_stack)"
    " AND stack_id NOT IN (SELECT stack_id FROM os_call WHERE stack_id IS NOT NULL)";

constexpr Content kContents[] = {
    {"meta", "META_DATA_CAPTURE", "", ""},
    {"string", "StringIds", "", ""},
    {"process", "PROCESSES", "rank IS NOT NULL", "ranks of processes"},
    {"process_variable", "", "", "environment variables and facts about the traced program"},
    {"thread", "ThreadNames", "", ""},
    {"device", "TARGET_INFO_GPU, TARGET_INFO_CUDA_DEVICE", "", ""},
    {"device_roof", "", "", "roofs of devices"},
    {"stream", "TARGET_INFO_CUDA_STREAM", "", ""},
    {"kernel", "CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kNoTime, "kernels without a usable time"},
    {"memory_copy", "CUPTI_ACTIVITY_KIND_MEMCPY", kNoTime, "copies without a usable time"},
    {"memory_set", "CUPTI_ACTIVITY_KIND_MEMSET", kNoTime, "sets without a usable time"},
    {"api_call", "CUPTI_ACTIVITY_KIND_RUNTIME", "", ""},
    {"synchronization", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "", ""},
    {"range", "NVTX_EVENTS, PROFILER_OVERHEAD", "", ""},
    {"range_payload", "NVTX_EVENTS", "", ""},
    {"communicator", "", "", "communicators"},
    {"collective", "", "", "collectives"},
    {"library_call", "", "", "calls of libraries"},
    {"correlation_link", "", "", "links between launches and what caused them"},
    {"allocation", "CUDA_GPU_MEMORY_USAGE_EVENTS", "", ""},
    {"deallocation", "CUDA_GPU_MEMORY_USAGE_EVENTS", "", ""},
    {"memory_region", "", "", "named pieces of memory"},
    {"memory_region_end", "", "", "ends of named pieces of memory"},
    {"memory_category", "", "name IN (SELECT category FROM memory_region)", "categories of memory"},
    {"counter_sample", "", "", "samples of counters"},
    {"clock_pair", "", "", "pairs of clock readings"},
    {"plugin", "", "", "states of the recorder's plugins"},
    {"diagnostic", "DIAGNOSTIC_EVENT", "", ""},
    {"stack", kStacks, kOtherStack, "call stacks that are not those of API calls"},
    {"stack_frame", kStacks, kOtherFrame, "frames of those"},
    {"allocation_detail", "", "", "details of allocations"},
    {"communicator_member", "", "", "members of communicators"},
    {"communicator_state", "", "", "states of communicators"},
    {"collective_state", "", "", "states of collectives"},
    {"collective_timing", "", "", "measured times of collectives"},
    {"collective_benchmark", "", "", "results of benchmarks"},
    {"operator", "", "", "operators"},
    {"operator_launch", "", "", "launches of operators"},
    {"operator_argument_set", "", "", "sets of arguments of operators"},
    {"python_call", "", "", "Python calls"},
    {"flow", "", "", "flow arrows"},
    {"collective_detail", "", "", "details of collectives"},
    {"synchronization_event", "", "", "records that synchronizations waited for"},
    {"os_call", "OSRT_API", "", ""},
    {"api_call_stack", "CUPTI_ACTIVITY_KIND_RUNTIME", "", ""},
    {"event_record", "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "", ""},
    {"memory_copy_bandwidth", "", "", "bandwidths of copies in the source's words"},
    {"memory_set_bandwidth", "", "", "bandwidths of sets in the source's words"},
};

}  // namespace

std::span<const Content> nsysContents() { return kContents; }

}  // namespace plumb::exports
