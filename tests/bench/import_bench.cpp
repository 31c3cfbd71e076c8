// SPDX-License-Identifier: Apache-2.0
// plumb import on torch.profiler traces, file to finished database: against Python's gunzip and json.load alone, and
// against HolisticTraceAnalysis' load of the same file where Python has that. Time grows with the file, memory does
// not.
//   import_bench [--small] [TRACE.json.gz …]
// measures the named traces, else the real ones of the folder PLUMB_TEST_TRACES if that is set, and made-up ones of 1,
// 3 and 10 million events (--small: 1 million only).
// PLUMB_BENCH_PYTHON names the Python, which may be one that has HTA; default python3.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/database.h"
#include "tests/support/process.h"

namespace plumb::test {
namespace {

struct Cost {
  bool ok = false;
  double wallSeconds = 0, cpuSeconds = 0;
  double peakMegabytes = 0;
};

double secondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Of the whole program.
Cost costOf(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const auto start = std::chrono::steady_clock::now();
  std::fflush(stdout);  // or the child prints it again
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen("/dev/null", "w", stderr) == nullptr)
      _exit(126);
    ::execvp(argv[0], argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child) return {};
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return {WIFEXITED(status) && WEXITSTATUS(status) == 0, took.count(),
          secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime), static_cast<double>(usage.ru_maxrss) / 1024};
}

// The run of median wall time.
Cost median(std::vector<Cost> costs) {
  std::sort(costs.begin(), costs.end(), [](const Cost& a, const Cost& b) { return a.wallSeconds < b.wallSeconds; });
  return costs[costs.size() / 2];
}

double megabytesOf(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<double>(status.st_size) / 1e6 : 0;
}

const char* const kLoadJson = "import gzip, json, sys; json.loads(gzip.open(sys.argv[1]).read())";
// Its load alone, in seconds, without the start of Python and of its libraries.
const char* const kLoadHta =
    "import logging, os, sys, time\nfrom hta.trace_analysis import TraceAnalysis\n"
    "logging.disable(logging.CRITICAL)\nstart = time.perf_counter()\n"
    "TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=os.path.dirname(sys.argv[1]) or '.')\n"
    "open(sys.argv[2], 'w').write(str(time.perf_counter() - start))";

class Bench {
 public:
  Bench() : m_python(std::getenv("PLUMB_BENCH_PYTHON") != nullptr ? std::getenv("PLUMB_BENCH_PYTHON") : "python3") {
    m_hasHta = costOf({m_python, "-c", "from hta.trace_analysis import TraceAnalysis"}).ok;
    if (!m_hasHta) {
      std::printf("import / HTA: cannot say, because HTA is not installed: pip install HolisticTraceAnalysis\n");
    }
  }

  [[nodiscard]] bool made(int64_t events) {
    const std::string trace = m_folder.file("trace.json.gz");
    if (!costOf({PLUMB_MAKE_TRACE, std::to_string(events), trace, "0", "8"}).ok) return false;
    const bool isSmall = events <= 1'000'000;
    const Others others = isSmall ? Others::All : events <= 3'000'000 ? Others::Json : Others::None;
    return measure(trace, std::to_string(events / 1'000'000) + " M events", isSmall ? 3 : 1, others);
  }

  // HTA takes a minute for a million events, json.load a gigabyte.
  enum class Others { None, Json, All };
  [[nodiscard]] bool measure(const std::string& trace, const std::string& what, int runs, Others others) {
    const std::string file = m_folder.file("run.sqlite");
    std::vector<Cost> ours, json;
    std::vector<double> hta;
    for (int i = 0; i < runs; ++i) {
      std::remove(file.c_str());
      ours.push_back(costOf({PLUMB_BUILD_DIR "/bin/plumb", "import", trace, "-o", file}));
      if (others != Others::None) json.push_back(costOf({m_python, "-c", kLoadJson, trace}));
      if (others == Others::All && m_hasHta) hta.push_back(secondsOfHtasLoad(trace));
      if (!ours.back().ok || (!json.empty() && !json.back().ok)) {
        std::fprintf(stderr, "import_bench: importing %s, or reading it with %s, failed\n", trace.c_str(),
                     m_python.c_str());
        return false;
      }
    }
    std::sort(hta.begin(), hta.end());
    print(what, trace, file, median(ours), json.empty() ? Cost{} : median(json), hta.empty() ? 0 : hta[hta.size() / 2]);
    std::remove(file.c_str());
    return true;
  }

 private:
  // 0 when it fails.
  double secondsOfHtasLoad(const std::string& trace) const {
    const std::string result = m_folder.file("seconds");
    if (!costOf({m_python, "-c", kLoadHta, trace, result}).ok) return 0;
    std::ifstream text(result);
    double seconds = 0;
    text >> seconds;
    return seconds;
  }

  void print(const std::string& what, const std::string& trace, const std::string& file, const Cost& ours,
             const Cost& json, double hta) {
    const Database db(file);
    const auto events = static_cast<double>(db.number(
        "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM memory_copy) + (SELECT count(*) FROM memory_set)"
        " + (SELECT count(*) FROM api_call) + (SELECT count(*) FROM operator) + (SELECT count(*) FROM python_call)"
        " + (SELECT count(*) FROM range) + (SELECT count(*) FROM allocation) + (SELECT count(*) FROM deallocation)"));
    std::printf("%s: plumb import %.2f s (%.2f s of CPU, %.2f us an event, peak memory %.0f MB)\n", what.c_str(),
                ours.wallSeconds, ours.cpuSeconds, ours.wallSeconds / events * 1e6, ours.peakMegabytes);
    if (json.ok) {
      std::printf("  gunzip + json.load (%.2f s) / plumb import: %.1f in time, %.1f in CPU time   (goal in time: 2)\n",
                  json.wallSeconds, json.wallSeconds / ours.wallSeconds, json.cpuSeconds / ours.cpuSeconds);
    }
    if (hta > 0) std::printf("  HTA's load / plumb import: %.1f in time   (goal: 10)\n", hta / ours.wallSeconds);
    const double gzip = megabytesOf(trace) * 1e6;
    double tables = 0, indexes = 0;
    std::string largest;
    for (const Database::Row& row : db.rows("SELECT d.name, sum(d.pgsize), sum(d.ncell), s.type FROM dbstat d LEFT "
                                            "JOIN sqlite_schema s ON s.name = d.name"
                                            " GROUP BY d.name ORDER BY 2 DESC")) {
      const double bytes = std::stod(row[1]);
      (row[3] == "index" ? indexes : tables) += bytes;
      if (bytes < gzip / 100) continue;
      largest += (largest.empty() ? "" : ", ") + row[0] + " " +
                 std::to_string(static_cast<int>(bytes / events * 10) / 10) + "." +
                 std::to_string(static_cast<int>(bytes / events * 10) % 10);
    }
    std::printf("  tables / gzip: %.2f   (goal: 1), indexes / gzip: %.2f; bytes per stored event: %s\n", tables / gzip,
                indexes / gzip, largest.c_str());
  }

  TemporaryFolder m_folder;
  std::string m_python;
  bool m_hasHta = false;
};

// Of real recordings, the larger ones: the time for a small one is that of starting.
std::vector<std::string> realTraces() {
  constexpr uintmax_t kSmallBytes = 500'000;
  std::vector<std::string> traces;
  const char* folder = std::getenv("PLUMB_TEST_TRACES");
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(folder ? folder : "") + "/kineto", failed)) {
    if (entry.path().extension() == ".gz" && entry.file_size() >= kSmallBytes) traces.push_back(entry.path());
  }
  std::sort(traces.begin(), traces.end());
  return traces;
}

int bench(int argc, char** argv) {
  Bench bench;
  std::vector<int64_t> sizes = {1'000'000, 3'000'000, 10'000'000};
  std::vector<std::string> traces;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--small") == 0) {
      sizes.resize(1);
    } else {
      traces.emplace_back(argv[i]);
    }
  }
  const bool isNamed = !traces.empty();
  bool ok = true;
  for (const std::string& trace : isNamed ? traces : realTraces()) {
    ok = bench.measure(trace, std::filesystem::path(trace).filename(), 3, Bench::Others::All) && ok;
  }
  for (const int64_t size : sizes) ok = (isNamed || bench.made(size)) && ok;
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace plumb::test

int main(int argc, char** argv) { return plumb::test::bench(argc, argv); }
