// SPDX-License-Identifier: Apache-2.0
// plumb import on torch.profiler traces, file to finished database: against Python's gunzip and json.load alone, and
// against HolisticTraceAnalysis' load of the same file where Python has that. Time grows with the file, memory does
// not.
//   import_bench [--small | --large] [TRACE.json.gz …]
// measures the named traces, else made-up ones of 1 and 3 million events (--small: 1 million only; --large: also 10).
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
const char* const kLoadHta =
    "import os, sys\nfrom hta.trace_analysis import TraceAnalysis\n"
    "TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=os.path.dirname(sys.argv[1]) or '.')";

class Bench {
 public:
  Bench() : m_python(std::getenv("PLUMB_BENCH_PYTHON") != nullptr ? std::getenv("PLUMB_BENCH_PYTHON") : "python3") {
    m_startHta = costOf({m_python, "-c", "from hta.trace_analysis import TraceAnalysis"});
    if (!m_startHta.ok) {
      std::printf("import / HTA: cannot say, because HTA is not installed: pip install HolisticTraceAnalysis\n");
    }
  }

  [[nodiscard]] bool made(int64_t events) {
    const std::string trace = m_folder.file("trace.json.gz");
    if (!costOf({PLUMB_MAKE_TRACE, std::to_string(events), trace, "0", "8"}).ok) return false;
    return measure(trace, std::to_string(events / 1'000'000) + " M events", events <= 1'000'000 ? 3 : 1);
  }

  [[nodiscard]] bool measure(const std::string& trace, const std::string& what, int runs) {
    const std::string file = m_folder.file("run.sqlite");
    std::vector<Cost> ours, json, hta;
    for (int i = 0; i < runs; ++i) {
      std::remove(file.c_str());
      ours.push_back(costOf({PLUMB_BUILD_DIR "/bin/plumb", "import", trace, "-o", file}));
      json.push_back(costOf({m_python, "-c", kLoadJson, trace}));
      if (m_startHta.ok) hta.push_back(costOf({m_python, "-c", kLoadHta, trace}));
      if (!ours.back().ok || !json.back().ok) {
        std::fprintf(stderr, "import_bench: importing %s, or reading it with %s, failed\n", trace.c_str(),
                     m_python.c_str());
        return false;
      }
    }
    print(what, trace, file, median(ours), median(json), hta.empty() ? Cost{} : median(hta));
    std::remove(file.c_str());
    return true;
  }

 private:
  void print(const std::string& what, const std::string& trace, const std::string& file, const Cost& ours,
             const Cost& json, const Cost& hta) const {
    const Database db(file);
    const auto events = static_cast<double>(db.number(
        "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM memory_copy) + (SELECT count(*) FROM memory_set)"
        " + (SELECT count(*) FROM api_call) + (SELECT count(*) FROM operator) + (SELECT count(*) FROM python_call)"
        " + (SELECT count(*) FROM range) + (SELECT count(*) FROM allocation) + (SELECT count(*) FROM deallocation)"));
    std::printf(
        "%s: plumb import %.2f s (%.2f s of CPU, peak memory %.0f MB), gunzip + json.load %.2f s (%.2f s of CPU)\n",
        what.c_str(), ours.wallSeconds, ours.cpuSeconds, ours.peakMegabytes, json.wallSeconds, json.cpuSeconds);
    std::printf("  gunzip + json.load / plumb import: %.1f in time, %.1f in CPU time   (goal in time: 2)\n",
                json.wallSeconds / ours.wallSeconds, json.cpuSeconds / ours.cpuSeconds);
    if (hta.ok) {  // the start of Python and its libraries is not HTA's load
      std::printf("  HTA's load / plumb import: %.1f in time, %.1f in CPU time   (goal in time: 10)\n",
                  (hta.wallSeconds - m_startHta.wallSeconds) / ours.wallSeconds,
                  (hta.cpuSeconds - m_startHta.cpuSeconds) / ours.cpuSeconds);
    }
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
  Cost m_startHta;
};

int bench(int argc, char** argv) {
  Bench bench;
  std::vector<int64_t> sizes = {1'000'000, 3'000'000};
  std::vector<std::string> traces;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--large") == 0) {
      sizes.push_back(10'000'000);
    } else if (std::strcmp(argv[i], "--small") == 0) {
      sizes.resize(1);
    } else {
      traces.emplace_back(argv[i]);
    }
  }
  bool ok = true;
  for (const std::string& trace : traces) ok = bench.measure(trace, trace, 3) && ok;
  if (!traces.empty()) return ok ? 0 : 1;
  for (const int64_t size : sizes) ok = bench.made(size) && ok;
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace plumb::test

int main(int argc, char** argv) { return plumb::test::bench(argc, argv); }
