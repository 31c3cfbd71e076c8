// SPDX-License-Identifier: Apache-2.0
// Writes a trace as torch.profiler does, of any size, for measuring imports: training steps with Python calls,
// operators with shapes, runtime calls, kernels, arrows, allocations and NCCL metadata. The same arguments give the
// same bytes.
//   make_trace EVENTS FILE(.json or .json.gz) [RANK [RANKS]]
#include <zlib.h>

#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

// Text into a file, compressed when the file's name says so.
class Output {
 public:
  explicit Output(const std::string& path) : m_file(gzopen(path.c_str(), path.ends_with(".gz") ? "wb6" : "wbT")) {}
  ~Output() {
    if (m_file) gzclose(m_file);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  [[nodiscard]] bool isOpen() const { return m_file != nullptr; }
  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...) {
    std::array<char, 4096> text;
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    gzwrite(m_file, text.data(), static_cast<unsigned>(length));
  }

 private:
  gzFile m_file;
};

struct Layer {
  const char *op, *inner, *kernel;
};
constexpr std::array<Layer, 6> kLayers = {
    {{"aten::linear", "aten::addmm", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"},
     {"aten::gelu", "aten::gelu",
      "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
      "at::native::GeluType)::{lambda()#2}::operator()() const::{lambda(c10::BFloat16)#1}, at::detail::Array<char*, 2> "
      ">(int, "
      "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}, "
      "at::detail::Array<char*, 2>)"},
     {"aten::layer_norm", "aten::native_layer_norm",
      "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
      "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)"},
     {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
      "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, "
      "cutlass::bfloat16_t>, false, true, false, false, true, true, false>(pytorch_flash::Flash_fwd_params)"},
     {"aten::add", "aten::add_",
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
      "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3>)"},
     {"aten::copy_", "aten::_to_copy",
      "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda, "
      "at::detail::Array<char*, 2> >(int, at::native::direct_copy_kernel_cuda)"}}};

constexpr int kPid = 20480;
constexpr int kEventsOfLayer = 15;

class Trace {
 public:
  Trace(Output& out, int rank, int ranks) : m_out(out), m_rank(rank), m_ranks(ranks) {}

  void write(int64_t events) {
    m_out.print(
        "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"Made-up GPU\", "
        "\"totalGlobalMem\": "
        "85899345920, \"computeMajor\": 8, \"computeMinor\": 0, \"numSms\": 108}],\n  \"distributedInfo\": "
        "{\"backend\": "
        "\"nccl\", \"rank\": %d, \"world_size\": %d},\n  \"record_shapes\": 1,\n  \"with_stack\": 1,\n  "
        "\"baseTimeNanoseconds\": 1712188800000000000,\n  \"traceEvents\": [\n",
        m_rank, m_ranks);
    const int64_t layers = events / kEventsOfLayer;
    for (int64_t i = 0; i < layers; ++i) layer(i, layers);
    m_out.print(
        "  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", "
        "\"ts\": "
        "%s\n  }\n  ]\n}\n",
        at(m_now).c_str());
  }

 private:
  // Microseconds with three digits, from nanoseconds; the way in which times do not fit a double.
  static std::string at(int64_t ns) {
    constexpr int64_t kStart = 6'695'519'689'047;
    std::array<char, 40> text;
    const int64_t time = kStart + ns;
    std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(time / 1000),
                  static_cast<long long>(time % 1000));
    return text.data();
  }
  static std::string span(int64_t ns) {
    std::array<char, 40> text;
    std::snprintf(text.data(), text.size(), "%lld.%03lld", static_cast<long long>(ns / 1000),
                  static_cast<long long>(ns % 1000));
    return text.data();
  }
  int64_t random(int64_t below) {
    m_seed = m_seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((m_seed >> 33) % static_cast<uint64_t>(below));
  }

  void python(const char* name, int64_t line, int64_t start, int64_t duration, int64_t parent) {
    m_out.print(
        "  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"%s(%lld): forward\", \"pid\": %d, \"tid\": "
        "%d,\n    "
        "\"ts\": %s, \"dur\": %s,\n    \"args\": {\n      \"Python parent id\": %lld, \"Python id\": %lld, \"Ev Idx\": "
        "%lld\n    }\n  },\n",
        name, static_cast<long long>(line), kPid, kPid, at(start).c_str(), span(duration).c_str(),
        static_cast<long long>(parent), static_cast<long long>(++m_python), static_cast<long long>(++m_index));
  }
  int64_t op(const char* name, int64_t start, int64_t duration, const char* more) {
    m_out.print(
        "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d,\n    \"ts\": %s, "
        "\"dur\": %s,\n    "
        "\"args\": {\n      \"External id\": %lld,\"Record function id\": 0, %s\"Ev Idx\": %lld\n    }\n  },\n",
        name, kPid, kPid, at(start).c_str(), span(duration).c_str(), static_cast<long long>(++m_external), more,
        static_cast<long long>(++m_index));
    return m_external;
  }
  void call(const char* name, int64_t start, int64_t duration, int64_t correlation, int64_t external) {
    m_out.print(
        "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d,\n    \"ts\": "
        "%s, \"dur\": "
        "%s,\n    \"args\": {\n      \"External id\": %lld, \"cbid\": 211, \"correlation\": %lld\n    }\n  },\n",
        name, kPid, kPid, at(start).c_str(), span(duration).c_str(), static_cast<long long>(external),
        static_cast<long long>(correlation));
  }
  void flow(char phase, int64_t id, int64_t pid, int64_t tid, int64_t start) {
    m_out.print(
        "  {\n    \"ph\": \"%c\", \"id\": %lld, \"pid\": %lld, \"tid\": %lld, \"ts\": %s,\n    \"cat\": \"ac2g\", "
        "\"name\": "
        "\"ac2g\"%s\n  },\n",
        phase, static_cast<long long>(id), static_cast<long long>(pid), static_cast<long long>(tid), at(start).c_str(),
        phase == 'f' ? ", \"bp\": \"e\"" : "");
  }
  void kernel(const char* name, int stream, int64_t start, int64_t duration, int64_t correlation, int64_t external,
              const char* more) {
    m_out.print(
        "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d,\n    \"ts\": %s, "
        "\"dur\": %s,\n    "
        "\"args\": {\n      \"External id\": %lld, \"queued\": 0, \"device\": 0, \"context\": 1,\n      \"stream\": "
        "%d, "
        "\"correlation\": %lld,\n      \"registers per thread\": 166, \"shared memory\": 81920,\n      \"blocks per "
        "SM\": "
        "%lld.%06lld,\n      \"warps per SM\": 9.481482,\n      \"grid\": [%lld, 2, 1],\n      \"block\": [128, 1, "
        "1],\n      "
        "\"est. achieved occupancy %%\": %lld%s\n    }\n  },\n",
        name, stream, at(start).c_str(), span(duration).c_str(), static_cast<long long>(external), stream,
        static_cast<long long>(correlation), static_cast<long long>(random(9)), static_cast<long long>(random(1000000)),
        static_cast<long long>(8 << random(8)), static_cast<long long>(random(100)), more);
  }
  void memory(int64_t start, int64_t bytes) {
    m_allocated += bytes;
    m_out.print(
        "  {\n    \"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"[memory]\",\n    \"pid\": "
        "%d, \"tid\": "
        "%d,\n    \"ts\": %s,\n    \"args\": {\n      \"Total Reserved\": 25333596160, \"Total Allocated\": %lld, "
        "\"Bytes\": "
        "%lld, \"Addr\": %lld, \"Device Id\": 0, \"Device Type\": 1, \"Ev Idx\": %lld\n    }\n  },\n",
        kPid, kPid, at(start).c_str(), static_cast<long long>(m_allocated), static_cast<long long>(bytes),
        static_cast<long long>(140255988547584 + (m_memory / 2 % 64) * 33554432), static_cast<long long>(++m_index));
    ++m_memory;
  }

  // kEventsOfLayer events: a module's call in Python, its operators, launches and kernels. Every 24th reduces
  // gradients.
  void layer(int64_t i, int64_t layers) {
    const Layer& what = kLayers[static_cast<size_t>(i) % kLayers.size()];
    const int64_t start = m_now, inside = start + 2000 + random(3000), work = inside + 4000 + random(9000);
    if (i % 240 == 0) {
      m_out.print(
          "  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%lld\", \"pid\": %d, "
          "\"tid\": %d,\n    "
          "\"ts\": %s, \"dur\": %s,\n    \"args\": {\n      \"External id\": %lld, \"Ev Idx\": %lld\n    }\n  },\n",
          static_cast<long long>(i / 240), kPid, kPid, at(start).c_str(), span(9'000'000).c_str(),
          static_cast<long long>(++m_external), static_cast<long long>(++m_index));
    }
    const int64_t parent = m_python;
    python("torch/nn/modules/module.py", 1500 + i % 7, start, 40000, i == 0 ? 0 : parent - parent % 3 + 1);
    python("model.py", 20 + i % 48, start + 500, 39000, m_python);
    python("torch/nn/functional.py", 100 + i % 6 * 20, start + 900, 38000, m_python);
    std::array<char, 512> shapes;
    const auto rows = static_cast<long long>(512 << i % 4);
    std::snprintf(
        shapes.data(), shapes.size(),
        "\"Concrete Inputs\": [\"\", \"\", \"\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", "
        "\"c10::BFloat16\"], "
        "\"Input Strides\": [[4096, 1], [4096, 1], [1]], \"Input Dims\": [[%lld, 4096], [4096, 4096], [4096]], ",
        rows);
    const bool isLast = i % 24 == 23;
    op(what.op, start + 1000, 37000, shapes.data());
    std::array<char, 512> metadata{};
    if (isLast) {
      std::snprintf(metadata.data(), metadata.size(),
                    "\"Collective name\": \"allreduce\", \"In msg nelems\": 16777216, \"Out msg nelems\": 16777216, "
                    "\"Group size\": "
                    "%d, \"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \"Process "
                    "Group Name\": \"0\", "
                    "\"Process Group Description\": \"default_pg\", \"Seq\": %lld, ",
                    m_ranks, static_cast<long long>(i / 24));
    }
    const int64_t external =
        op(isLast ? "record_param_comms" : what.inner, inside, 30000, isLast ? metadata.data() : shapes.data());
    op("aten::empty", inside + 200, 1500, "");
    memory(inside + 700, i % 2 == 0 ? 33554432 : -33554432);
    const int64_t correlation = ++m_correlation, begin = work + 15000 + random(20000);
    call("cudaLaunchKernel", work, 5200 + random(2000), correlation, external);
    flow('s', correlation, kPid, kPid, work);
    const char* reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
    std::string more;
    if (isLast) more = std::string(", ") + metadata.data() + "\"Process Group Ranks\": \"\"";
    kernel(isLast ? reduce : what.kernel, isLast ? 13 : 7, begin, 18000 + random(9000), correlation, external,
           more.c_str());
    flow('f', correlation, 0, isLast ? 13 : 7, begin);
    const int64_t other = ++m_correlation;
    call(i % 5 == 0 ? "cudaEventRecord" : "cudaLaunchKernel", work + 9000, 4000 + random(1500), other, external);
    flow('s', other, kPid, kPid, work + 9000);
    if (i % 5 != 0) {
      kernel(kLayers[4].kernel, 7, begin + 30000, 6000 + random(4000), other, external, "");
      flow('f', other, 0, 7, begin + 30000);
    } else {
      python("torch/cuda/streams.py", 170, work + 8000, 9000, m_python - 2);
    }
    (void)layers;
    m_now += 42000 + random(3000);
  }

  Output& m_out;
  int m_rank, m_ranks;
  uint64_t m_seed = 1;
  int64_t m_now = 0, m_python = 0, m_index = 0, m_external = 0, m_correlation = 0, m_allocated = 20'000'000'000,
          m_memory = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: make_trace EVENTS FILE(.json or .json.gz) [RANK [RANKS]]\n", stderr);
    return 2;
  }
  Output out(argv[2]);
  if (!out.isOpen()) {
    std::fprintf(stderr, "make_trace: cannot write %s\n", argv[2]);
    return 1;
  }
  Trace(out, argc > 3 ? std::atoi(argv[3]) : 0, argc > 4 ? std::atoi(argv[4]) : 1).write(std::atoll(argv[1]));
  return 0;
}
