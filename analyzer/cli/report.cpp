// SPDX-License-Identifier: Apache-2.0
// plumb report
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <latch>
#include <memory>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>

#include "analyzer/analyses/peaks.h"
#include "analyzer/analyses/windows.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/empty_reason.h"
#include "analyzer/cli/progress.h"
#include "analyzer/cli/report_lead.h"
#include "analyzer/cli/table_fit.h"
#include "analyzer/cli/text.h"
#include "analyzer/reports/definitions.h"
#include "analyzer/reports/reports.h"
#include "analyzer/sqlext/sql_surface.h"
#include "analyzer/trace/shared_loads.h"
#include "analyzer/trace/text_parts.h"
#include "analyzer/trace/trace.h"

namespace plumb::cli {
namespace {

// Also in main.cpp's help, and in sqlext/README.md.
constexpr const char* kWhatTimesMean =
    "With --from, --to and --step an event counts, with its whole length, when it begins inside; busy, idle, exposed "
    "and\noverlapped time is cut at the edges.";

std::string namesOf(const std::vector<Report>& reports) {
  std::string names;
  for (const Report& report : reports) names += fmt::format("{}{}", names.empty() ? "" : ", ", report.name);
  return names;
}

// How many characters have to be put in, taken out or changed to make one word of the other.
size_t editsBetween(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

// "There is no report kernel; the nearest are kernels, …." All names when none is near.
std::string noReport(const std::string& name, const std::vector<Report>& reports) {
  constexpr size_t kMost = 3, kLongest = 64;
  std::vector<std::pair<size_t, std::string>> near;
  for (const Report& report : reports) {
    if (name.size() > kLongest) break;
    const size_t edits = editsBetween(name, report.name);
    const bool isPart = name.size() >= 4 && report.name.find(name) != std::string::npos;
    if (isPart || edits <= std::max<size_t>(1, name.size() / 3)) near.emplace_back(edits, report.name);
  }
  if (near.empty()) return fmt::format("There is no report {}; there are: {}.", name, namesOf(reports));
  std::ranges::sort(near);
  near.resize(std::min(near.size(), kMost));
  std::string names;
  for (const auto& [edits, one] : near) names += fmt::format("{}{}", names.empty() ? "" : ", ", one);
  return fmt::format("There is no report {}; the nearest {} {}. `plumb report --list` lists them all.", name,
                     near.size() == 1 ? "is" : "are", names);
}

struct Outcome {
  int code = kDone;
  std::string message;  // for standard error; "" when there is nothing to say
};

Outcome printReport(Trace& trace, const ReportArguments& arguments, const Report& report, std::FILE* out,
                    bool showsProgress) {
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return {kBadInput, snapshot.status().error().message};
  auto statement = prepareReport(trace.database(), report, arguments.request);
  if (!statement.ok()) return {kBadInput, statement.error().message};
  if (const Status known = checkFilter(trace, report.lookedUp(arguments.request.filter)); !known.ok())
    return {kBadInput, known.error().message};
  std::optional<Progress> progress;
  if (showsProgress && (arguments.format == Format::Table || ::isatty(STDOUT_FILENO) == 0)) {
    progress.emplace(trace.database());
    progress->begin("report " + escaped(report.name));
  }
  if (arguments.format == Format::Table) {
    const auto lead = leadOf(trace, report, arguments.request);
    if (!lead.ok()) return {kFailed, lead.error().message};
    fmt::print(out, "{}", wrapped(lead.value(), std::min<size_t>(lineWidth(), 100)));
  }
  const auto written =
      writeRows(statement.value(), arguments.format, report.columns, out, arguments.isWide ? SIZE_MAX : lineWidth());
  progress.reset();
  if (!written.ok()) {
    // A report with filters of its own says only now what it does not find.
    const bool looksItself = report.hasOwnStep || report.hasOwnRange;
    return {looksItself ? kBadInput : kFailed, written.error().message};
  }
  if (written.value() == 0) {
    std::string why = whyEmpty(trace, report, arguments.request);
    if (why.empty()) why = fmt::format("Nothing in {} answers: {}", escaped(trace.path()), escaped(report.question));
    if (arguments.format == Format::Table) {
      fmt::print(out, "{}\n", why);
    } else {
      return {kDone, fmt::format("report {}: no rows. {}", report.name, why)};
    }
  }
  return {};
}

// What stands before each of several reports, so that they can be told apart.
void printHeading(const Report& report, Format format, bool isFirst) {
  switch (format) {
    case Format::Table:
      fmt::print("{}{}\n", isFirst ? "" : "\n", escaped(report.title));
      break;
    case Format::Markdown:
      fmt::print("{}## {}\n\n", isFirst ? "" : "\n", markdownText(report.title));
      break;
    case Format::Csv:
      fmt::print("{}# {}\r\n", isFirst ? "" : "\r\n", escaped(report.name));
      break;
    case Format::Json:
      fmt::print("{}{}:\n", isFirst ? "{" : ",\n", jsonText(report.name));
      break;
  }
}

// What a report prints until its turn comes: in memory, from kMostInMemory on in a file.
class HeldOutput {
 public:
  HeldOutput() = default;
  HeldOutput(const HeldOutput&) = delete;
  HeldOutput& operator=(const HeldOutput&) = delete;
  ~HeldOutput() {
    if (m_stream) std::fclose(m_stream);
    if (m_file) std::fclose(m_file);
  }
  // Null with errno set.
  [[nodiscard]] std::FILE* open() {
    static constexpr cookie_io_functions_t kFunctions = {nullptr, write, nullptr, nullptr};
    return m_stream = ::fopencookie(this, "w", kFunctions);
  }
  [[nodiscard]] bool copyTo(std::FILE* to) {
    if (std::fflush(m_stream) != 0) return false;
    if (m_file) {
      std::array<char, 1 << 16> part;
      std::rewind(m_file);
      for (size_t size = 0; (size = std::fread(part.data(), 1, part.size(), m_file)) > 0;) {
        if (std::fwrite(part.data(), 1, size, to) != size) return false;
      }
      if (std::ferror(m_file) != 0) return false;
    }
    return std::fwrite(m_text.data(), 1, m_text.size(), to) == m_text.size();
  }

 private:
  static constexpr size_t kMostInMemory = 1 << 20;
  static ssize_t write(void* self, const char* data, size_t size) {
    return static_cast<HeldOutput*>(self)->add({data, size}) ? static_cast<ssize_t>(size) : 0;
  }
  bool add(std::string_view text) {
    if (m_file == nullptr && m_text.size() + text.size() > kMostInMemory) {
      m_file = std::tmpfile();
      if (!m_file || std::fwrite(m_text.data(), 1, m_text.size(), m_file) != m_text.size()) return false;
      m_text.clear();
    }
    if (m_file) return std::fwrite(text.data(), 1, text.size(), m_file) == text.size();
    m_text += text;
    return true;
  }

  std::FILE* m_stream = nullptr;
  std::FILE* m_file = nullptr;
  std::string m_text;  // empty from when the file is there
};

struct Asked {
  const Report* report = nullptr;
  std::unique_ptr<HeldOutput> held;  // with several reports
  std::FILE* output = nullptr;
  Outcome outcome;
};

// Reports that take long begin first, so that no thread is left with one at the end; and those of them that read
// different tables first stand beside each other.
std::vector<Asked*> inOrderOfWork(std::vector<Asked>& asked) {
  static constexpr std::array<std::string_view, 9> kLongest = {"hta_critical_path_edges",
                                                               "hta_critical_path",
                                                               "critical_path",
                                                               "hta_stragglers",
                                                               "idle",
                                                               "launch",
                                                               "precision",
                                                               "ops",
                                                               "steps"};
  std::vector<Asked*> order;
  for (Asked& one : asked) order.push_back(&one);
  std::ranges::stable_sort(
      order, {}, [](const Asked* one) { return std::ranges::find(kLongest, one->report->name) - kLongest.begin(); });
  return order;
}

// The tables and roofs that reports can use. They hold on to the trace, which therefore stays where it is.
Status addSurface(Trace& trace, const ReportArguments& arguments, const std::vector<Report>& reports) {
  if (Status added = registerSqlSurface(trace, reports); !added.ok()) return added;
  for (const std::string& peak : arguments.peaks) {
    if (Status given = givePeak(trace.database(), peak); !given.ok()) return given;
  }
  return Unit{};
}

// Reports have no use for views of the file.
Result<Trace> openTrace(const std::string& path) { return Trace::open(path, {.views = FileViews::Hidden}); }

// For the calling thread, from one piece that holds whole huge pages. The allocator would get it in pieces of other
// sizes, whose ends take a page fault every 4 KiB.
void reserveMemory() {
  constexpr size_t kBytes = 7 << 20;
  void* volatile reserved = std::malloc(kBytes);  // volatile, or the compiler sees that nothing uses it
  std::free(reserved);
}

// By what it can be told that a file, with its log, is the same and has not changed.
struct FileState {
  struct Part {
    uint64_t device = 0, file = 0;
    int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Part&) const = default;
  };
  Part file, log;
  bool operator==(const FileState&) const = default;

  [[nodiscard]] static FileState of(const std::string& path) { return {partOf(path), partOf(path + "-wal")}; }

 private:
  static Part partOf(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }
};

// A connection, and the state of the file that its snapshot shows.
class Opened {
 public:
  explicit Opened(const std::string& path) : m_before(FileState::of(path)), m_trace(openTrace(path)) {}
  Opened(const Opened&) = delete;  // the snapshot holds on to it
  Opened& operator=(const Opened&) = delete;

  // None where the file was changed or replaced since it was opened. The snapshot stays.
  [[nodiscard]] std::optional<FileState> state() {
    if (!m_trace.ok() || !m_snapshot.emplace(m_trace.value()).status().ok()) return std::nullopt;
    auto rows = m_trace.value().query("SELECT 1 FROM main.meta LIMIT 1");  // a transaction begins with a statement
    if (!rows.ok() || !rows.value().next()) return std::nullopt;
    return FileState::of(m_trace.value().path()) == m_before ? std::optional(m_before) : std::nullopt;
  }
  [[nodiscard]] Result<Trace>& trace() { return m_trace; }

 private:
  FileState m_before;
  Result<Trace> m_trace;
  std::optional<Snapshot> m_snapshot;
};

// What the threads share that make several reports.
struct SharedWork {
  const ReportArguments& arguments;
  const std::vector<Report>& reports;  // all there are
  std::vector<Asked*> order;
  std::atomic<size_t> next{0};
  std::shared_ptr<SharedLoads> loads = std::make_shared<SharedLoads>();
  std::optional<FileState> state;  // of the file, as the first connection sees it; none: helpers cannot see the same
};

// Makes one report after the other, with a connection of its own.
void makeReports(SharedWork& work, Result<Trace>& trace) {
  Status ready = Unit{};
  if (trace.ok()) {
    trace.value().shareLoads(work.loads);
    ready = addSurface(trace.value(), work.arguments, work.reports);
  } else {
    ready = trace.error();
  }
  for (size_t mine = work.next++; mine < work.order.size(); mine = work.next++) {
    Asked& one = *work.order[mine];
    one.outcome = ready.ok() ? printReport(trace.value(), work.arguments, *one.report, one.output, false)
                             : Outcome{kBadInput, ready.error().message};
  }
}

// Threads that take part. They open the file while the reports are looked up, and close it while these are printed.
class Helpers {
 public:
  Helpers(const std::string& file, size_t count) : m_done(static_cast<std::ptrdiff_t>(count)) {
    for (size_t i = 0; i < count; ++i) {
      try {
        m_threads.emplace_back([this, &file] { takePart(file); });
      } catch (const std::system_error&) {  // the system has no thread for us; the caller's makes all reports, too
        m_done.count_down();
      }
    }
  }
  ~Helpers() {
    if (!m_begin.try_wait()) m_begin.count_down();  // with nothing to do
  }
  Helpers(const Helpers&) = delete;  // the threads hold on to it
  Helpers& operator=(const Helpers&) = delete;

  void begin(SharedWork& work) {
    m_work = &work;
    m_begin.count_down();
  }
  void waitUntilMade() { m_done.wait(); }

 private:
  // With the file in the same state: what is read once is shared, and reports of one call belong together.
  void takePart(const std::string& file) {
    reserveMemory();
    Opened opened(file);
    m_begin.wait();
    if (m_work && m_work->state && opened.state() == m_work->state) makeReports(*m_work, opened.trace());
    m_done.count_down();
  }

  SharedWork* m_work = nullptr;
  std::latch m_begin{1}, m_done;
  std::vector<std::jthread> m_threads;  // last, so that they end before the rest does
};

// How many threads make that many reports of a file. With a small one, a second thread would be busy longer with
// opening it than with reports.
size_t threadsFor(const std::string& file, size_t reports) {
  constexpr uintmax_t kSmallBytes = 1 << 20;
  std::error_code failed;
  const uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed || size < kSmallBytes) return 1;
  return std::clamp<size_t>(reports, 1, std::max(1U, std::thread::hardware_concurrency()));
}

// On one or more threads, each with the file opened for itself and the rows that many reports want shared; printed in
// the order of their names.
int printReports(const ReportArguments& arguments, const std::vector<Report>& reports, std::vector<Asked>& asked,
                 Helpers& helpers) {
  for (Asked& one : asked) {
    one.held = std::make_unique<HeldOutput>();
    one.output = one.held->open();
    if (!one.output) return complain(fmt::format("Cannot hold a report's output ({}).", std::strerror(errno)), kFailed);
  }
  reserveMemory();
  SharedWork work{arguments, reports, inOrderOfWork(asked)};
  Opened opened(arguments.file);
  work.state = opened.state();
  helpers.begin(work);
  makeReports(work, opened.trace());
  helpers.waitUntilMade();
  const Outcome& first = asked.front().outcome;
  const auto failedAlike = [&](const Asked& one) { return one.outcome.message == first.message; };
  if (first.code != kDone && std::ranges::all_of(asked, failedAlike)) return complain(first.message, first.code);
  int code = kDone;
  for (const Asked& one : asked) {
    printHeading(*one.report, arguments.format, &one == &asked.front());
    if (one.outcome.code != kDone) {
      if (arguments.format == Format::Json) fmt::print("null");
      std::fflush(stdout);
      code = complain(one.report->name + ": " + one.outcome.message, one.outcome.code);
    } else if (!one.held->copyTo(stdout)) {
      return complain(fmt::format("Cannot write the report ({}).", std::strerror(errno)), kFailed);
    } else if (!one.outcome.message.empty()) {
      std::fflush(stdout);
      (void)complain(one.outcome.message, kDone);
    }
  }
  if (arguments.format == Format::Json) fmt::print("}}\n");
  return code;
}

}  // namespace

int listReports(const std::vector<std::string>& folders) {
  auto reports = findReports(folders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  for (const Report& report : reports.value()) {
    const std::string& text = report.problem.empty() ? report.question : report.problem;
    const bool isBuiltIn = report.origin == "built in" || !report.problem.empty();
    fmt::print("{:<22}  {}{}\n", escaped(report.name), escaped(text),
               isBuiltIn ? "" : fmt::format(" ({})", escaped(report.origin)));
  }
  fmt::print("\nThe columns of a report: plumb report NAME --columns\n");
  return kDone;
}

int describeReport(const std::string& name, const std::vector<std::string>& folders) {
  auto reports = findReports(folders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  for (const Report& report : reports.value()) {
    if (report.name != name) continue;
    if (!report.problem.empty()) return complain(report.problem, kBadInput);
    fmt::print("{}: {}\n\n", escaped(report.title), escaped(report.question));
    TextTable table({"column", "unit", "what it is"},
                    {TextTable::Align::Left, TextTable::Align::Left, TextTable::Align::Left});
    for (const ReportColumn& column : report.columns) {
      table.add({escaped(column.name), escaped(column.unit), escaped(column.description)});
    }
    fmt::print("{}\nFilters: {}\n", table.text(), report.optionList());
    for (const std::string& line : report.refusalLines()) fmt::print("  {}\n", escaped(line));
    const auto takes = [&](Limit limit) { return report.takes[static_cast<size_t>(limit)]; };
    if (takes(Limit::From) || takes(Limit::Step)) fmt::print("{}\n", kWhatTimesMean);
    if (!report.by.empty()) {
      std::string values;
      for (const std::string& value : report.by) {
        values += values.empty() ? escaped(value) + " (default)" : ", " + escaped(value);
      }
      fmt::print("--by: {}\n", values);
    }
    fmt::print("In SQL: report_{0}, or with filters report_{0}(rank, step, range, from_ns, to_ns, by)\n",
               escaped(report.name));
    return kDone;
  }
  return complain(noReport(name, reports.value()), kBadInput);
}

int runReport(const ReportArguments& arguments) {
  if (const Filter& filter = arguments.request.filter; filter.from && filter.to && *filter.to < *filter.from) {
    return complain("--from is after --to.", kBadInput);
  }
  const std::vector<std::string> names = commaList(arguments.name);
  Result<std::vector<Report>> reports = Error{};  // outlives the helpers' connections, which hold on to it
  Helpers helpers(arguments.file, threadsFor(arguments.file, names.size()) - 1);
  reports = findReports(arguments.folders);
  if (!reports.ok()) return complain(reports.error().message, kBadInput);
  std::vector<Asked> asked;
  for (const std::string& text : names) {
    const auto name = reportByDefinition(text, arguments.definition);
    if (!name.ok()) return complain(name.error().message, kBadInput);
    const auto report = std::ranges::find(reports.value(), name.value(), &Report::name);
    if (report == reports.value().end()) {
      return complain(noReport(text, reports.value()), kBadInput);
    }
    // One that is named twice comes once: in JSON its name is a key.
    const bool isNew = std::ranges::find(asked, &*report, &Asked::report) == asked.end();
    if (isNew) asked.push_back({&*report, {}, nullptr, {}});
  }
  if (asked.empty()) return complain("Name a report: `plumb report --list` lists them.", kBadInput);
  if (asked.size() > 1) return printReports(arguments, reports.value(), asked, helpers);
  auto trace = openTrace(arguments.file);
  if (!trace.ok()) return complain(trace.error().message, kBadInput);
  if (const Status added = addSurface(trace.value(), arguments, reports.value()); !added.ok())
    return complain(added.error().message, kBadInput);
  const Outcome outcome = printReport(trace.value(), arguments, *asked.front().report, stdout, true);
  return outcome.message.empty() ? outcome.code : complain(outcome.message, outcome.code);
}

}  // namespace plumb::cli
