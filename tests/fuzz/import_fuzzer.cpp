// SPDX-License-Identifier: Apache-2.0
// One importer under libFuzzer; FUZZ_TARGET says which. Any bytes must give rows or an error that is a sentence, within
// bounded memory. Every eighth input, told by its content so that a finding can be repeated, goes through the whole
// import up to the finished file.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/import/chrome_import.h"
#include "analyzer/import/flight_recorder.h"
#include "analyzer/import/import.h"
#include "analyzer/import/memory_timeline.h"
#include "analyzer/import/nccl_inspector.h"
#include "analyzer/import/nccl_tests.h"
#include "analyzer/import/nsys_import.h"
#include "analyzer/import/pickle_import.h"

namespace {

using plumb::import::ByteSource;
using plumb::import::SourceContext;
using plumb::import::SourceResult;
using plumb::import::TraceFile;

struct Target {
  std::string_view name;
  plumb::Result<SourceResult> (*read)(SourceContext&);
};
constexpr Target kTargets[] = {
    {"chrome", plumb::import::readChromeTrace},   {"nsys", plumb::import::readNsysExport},
    {"pickle", plumb::import::readPickledTrace},  {"memory_timeline", plumb::import::readMemoryTimeline},
    {"nccl_tests", plumb::import::readNcclTests}, {"flight_recorder", plumb::import::readFlightRecorderJson},
    {"inspector", plumb::import::readInspector},  {"nccl_profiler", plumb::import::readNcclProfiler},
};

const Target& target() {
  for (const Target& one : kTargets) {
    if (one.name == FUZZ_TARGET) return one;
  }
  std::abort();
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

// The input as a file that has a name.
class InputFile {
 public:
  InputFile(const uint8_t* data, size_t size) : m_fd(::memfd_create("input", 0)) {
    if (m_fd < 0 || ::write(m_fd, data, size) != static_cast<ssize_t>(size)) fail("no file for the input");
    m_path = "/proc/self/fd/" + std::to_string(m_fd);
  }
  ~InputFile() { ::close(m_fd); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  [[nodiscard]] const std::string& path() const { return m_path; }

 private:
  int m_fd;
  std::string m_path;
};

std::string outputPath() {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/fuzz-" FUZZ_TARGET "-" + std::to_string(::getpid()) +
         ".sqlite";
}

void checkError(const std::string& message) {
  const bool isSentence = message.size() > 10 && message.back() == '.' && message.find('\n') == std::string::npos;
  if (!isSentence) fail("this error is no sentence: " + message);
}

void checkResult(const SourceResult& result) {
  if (result.notStored > result.events) fail("more events are not stored than there are");
  if (result.damaged > result.events) fail("more events are damaged than there are");
}

// One trace file serves many inputs, because a new one costs more than most imports.
TraceFile& traceFile() {
  constexpr int kInputsPerFile = 500;
  static std::unique_ptr<TraceFile> file;
  static int inputs = 0;
  if (!file || ++inputs % kInputsPerFile == 0) {
    file.reset();
    auto created = TraceFile::create(outputPath());
    if (!created.ok()) fail(created.error().message);
    file = std::make_unique<TraceFile>(std::move(created).value());
  }
  return *file;
}

void importWhole(const std::string& path) {
  plumb::import::ImportOptions options;
  options.files = {path};
  options.output = outputPath() + "-whole";
  options.version = "fuzz";
  const auto result = plumb::import::importTraces(options);
  ::unlink(options.output.c_str());
  if (!result.ok()) checkError(result.error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const InputFile input(data, size);
  size_t sum = 0;
  for (size_t i = 0; i < size; ++i) sum = sum * 31 + data[i];
  if (sum % 8 == 0) {
    importWhole(input.path());
    return 0;
  }
  auto source = ByteSource::open(input.path());
  if (!source.ok()) fail(source.error().message);
  SourceContext context{traceFile(), std::move(source).value(), input.path(), "input", {}, {}, {}};
  const auto result = target().read(context);
  if (result.ok()) {
    checkResult(result.value());
  } else {
    checkError(result.error().message);
  }
  return 0;
}
