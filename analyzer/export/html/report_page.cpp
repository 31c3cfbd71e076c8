// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/html/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/advice/advice.h"
#include "analyzer/analyses/breakdown.h"
#include "analyzer/analyses/steps.h"
#include "analyzer/cli/recorded_time.h"
#include "analyzer/cli/text.h"
#include "analyzer/export/html/html_text.h"
#include "analyzer/export/html/pictures.h"
#include "analyzer/export/html/report_table.h"
#include "analyzer/reports/reports.h"
#include "analyzer/trace/device_text.h"

namespace plumb::exports {
namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{0}</title>
<style>
body {{ font: 14px/1.45 system-ui, sans-serif; color: #1f2933; max-width: 1140px; margin: 2em auto; padding: 0 1em; }}
h1 {{ font-size: 1.5em; }} h2 {{ font-size: 1.15em; margin: 2em 0 .3em; border-bottom: 1px solid #e3e6ea; }}
p.question {{ color: #616e7c; margin: .2em 0 .6em; }}
table {{ border-collapse: collapse; font-size: 12px; }}
th, td {{ padding: 2px 8px; border-bottom: 1px solid #eef0f3; text-align: right; white-space: nowrap; }}
th {{ text-align: right; color: #616e7c; font-weight: 600; }}
th.text, td.text {{ text-align: left; white-space: normal; }}
div.wide {{ overflow-x: auto; }}
svg {{ max-width: 100%; height: auto; font-family: system-ui, sans-serif; }}
div.finding {{ border-left: 4px solid #e08a3c; padding: .2em .8em; margin: .8em 0; }}
.muted {{ color: #616e7c; }} .error {{ color: #b3261e; }} .warning {{ color: #8a5a00; }}
</style></head><body>
<h1>{0}</h1>
)";

// A report as a section of the page.
struct Section {
  const char* report;
  const char* by;  // "" for the report's default
  size_t mostRows;
};
// After the pictures' sections, in this order; a report that the program does not have is passed over, and one without
// rows is named at the end of the page.
constexpr Section kOtherSections[] = {{"kernels", "", 25},
                                      {"ops", "", 25},
                                      {"idle", "", 25},
                                      {"synchronizations", "", 15},
                                      {"copies", "", 20},
                                      {"collectives", "", 40},
                                      {"collective_timings", "", 30},
                                      {"benchmarks", "", 80},
                                      {"stragglers", "", 40},
                                      {"api", "", 15},
                                      {"os_calls", "", 15},
                                      {"counters", "", 20}};

std::string gainText(const Finding& finding) {
  if (!finding.gain) return finding.arithmetic;
  const std::string how = finding.arithmetic.empty() ? "" : fmt::format(" ({})", finding.arithmetic);
  return fmt::format("gain: up to {}{}", cli::formatDuration(*finding.gain), how);
}

std::string whomText(const Finding& finding) {
  std::string whom = finding.whom;
  if (finding.isOutsideSteps) whom += whom.empty() ? "outside the steps" : ", outside the steps";
  return whom.empty() ? whom : fmt::format(" ({})", html(whom));
}

class Page {
 public:
  Page(Trace& trace, const PageOptions& options, OutputFile& out) : m_trace(trace), m_options(options), m_out(out) {}
  [[nodiscard]] Status write();

 private:
  void head();
  void heading(std::string_view title, std::string_view question);
  void note(std::string_view text) { m_out.write(fmt::format("<p class=\"muted\">{}</p>\n", html(text))); }
  // False: there was nothing to draw.
  bool picture(const Result<std::string>& drawn);
  // isBelow: it stands under a heading that is written already.
  void report(const Section& section, bool isBelow = false);
  // Whether the query has a row.
  [[nodiscard]] bool tells(std::string_view sql);
  void steps();
  void timeline();
  void memory();
  void roofline();
  void nothing();
  void overview();
  void advice();
  [[nodiscard]] Status diagnostics();

  Trace& m_trace;
  const PageOptions& m_options;
  OutputFile& m_out;
  std::vector<Report> m_reports;
  std::vector<std::string> m_nothing;  // titles of what the trace has nothing of
  bool m_areRepetitions = false;       // what the page calls steps: nothing declares them
  Result<Advice> m_advice = Error{"no rule was applied"};
};

void Page::heading(std::string_view title, std::string_view question) {
  m_out.write(fmt::format("<h2>{}</h2>\n<p class=\"question\">{}</p>\n", html(title), html(question)));
}

bool Page::picture(const Result<std::string>& drawn) {
  if (!drawn.ok()) {
    m_out.write(fmt::format("<p class=\"error\">Cannot say, because: {}</p>\n", html(drawn.error().message)));
    return true;
  }
  m_out.write(drawn.value());
  return !drawn.value().empty();
}

void Page::report(const Section& section, bool isBelow) {
  const auto found = std::ranges::find(m_reports, section.report, &Report::name);
  if (found == m_reports.end()) return;
  ReportRequest request;
  if (*section.by) request.by = section.by;
  auto statement = prepareReport(m_trace.database(), *found, request);
  const Result<ReportTable> table =
      statement.ok() ? tableOf(statement.value(), *found, section.mostRows) : Result<ReportTable>(statement.error());
  if (table.ok() && table.value().rows == 0) {
    if (!isBelow) m_nothing.push_back(found->title);
    return;
  }
  if (!isBelow) heading(found->title, found->question);
  if (!table.ok()) {
    m_out.write(fmt::format("<p class=\"error\">Cannot say, because: {}</p>\n", html(table.error().message)));
    return;
  }
  m_out.write(table.value().html);
  if (const uint64_t more = table.value().notShown; more > 0) {
    note(fmt::format("and {} more row{}: plumb report {} FILE", more, more == 1 ? "" : "s", found->name));
  }
}

void Page::head() {
  const std::string title =
      m_options.title.empty() ? std::filesystem::path(m_trace.path()).filename().string() : m_options.title;
  m_out.write(fmt::format(kHead, html(title)));
  const TraceInfo& info = m_trace.info();
  std::set<std::string> devices;
  bool software = false;
  for (const Device& device : m_trace.devices()) {
    devices.insert(deviceText(device));
    software = software || device.isSoftware;
  }
  std::string names;
  for (const std::string& name : devices) names += (names.empty() ? "" : ", ") + name;
  m_out.write(fmt::format("<p><b>{}</b><br>{}{} process{}; {}</p>\n", html(info.command),
                          info.host.empty() ? std::string() : "on " + html(info.host) + "; ",
                          m_trace.processes().size(), m_trace.processes().size() == 1 ? "" : "es",
                          html(names.empty() ? std::string("no device recorded") : names)));
  if (software) note("The device is the software device: durations are CPU time, not comparable with hardware.");
  if (!info.complete) note("The recording is not complete: it is still going on, or its recorder was killed.");
}

// On the steady steps of all ranks; without declared ones on the repetitions.
void Page::steps() {
  auto rows = m_trace.query(
      "WITH found AS MATERIALIZED (SELECT *, coalesce(span_ns, host_ns) AS time_ns FROM analysis_steps),"
      " chosen AS (SELECT min(source) AS source FROM found WHERE warmup = 0)"
      " SELECT count(*), median(time_ns), percentile(time_ns, 10), percentile(time_ns, 90), min(time_ns), max(time_ns),"
      " count(DISTINCT step), count(start_to_start_ns), median(start_to_start_ns), percentile(start_to_start_ns, 10),"
      " percentile(start_to_start_ns, 90), min(start_to_start_ns), max(start_to_start_ns),"
      " count(DISTINCT iif(start_to_start_ns IS NULL, NULL, step)), count(span_ns), source = 'period',"
      " count(DISTINCT pid || ' ' || coalesce(rank, '')),"
      " (SELECT count(*) FROM found WHERE warmup = 1 AND source = (SELECT source FROM chosen))"
      " FROM found WHERE warmup = 0 AND source = (SELECT source FROM chosen)");
  if (!rows.ok() || !rows.value().next() || rows.value().integer(0) == 0)
    return note("The run has no training steps that are declared, and no kernels that repeat.");
  const Statement& row = rows.value();
  const auto time = [&](int column) { return html(cli::formatDuration(row.real(column))); };
  m_areRepetitions = row.integer(15) != 0;
  const std::string thing = m_areRepetitions ? "repetition" : "step";
  // `count`: the column with the number of values; median, tenths, extremes and different steps follow.
  const auto spread = [&](int count) {
    const int64_t steps = row.integer(count + 6), processes = row.integer(16);
    std::string text = fmt::format("{} steady {}{}", steps, thing, steps == 1 ? "" : "s");
    if (processes > 1) text += fmt::format(" on {} ranks", processes);
    if (row.integer(count) == 1) return fmt::format("({})", text);
    if (steps < kLeastForPercentiles)
      return fmt::format("(median of {}; from {} to {})", text, time(count + 4), time(count + 5));
    return fmt::format("(median of {}; one in ten takes less than {}, one in ten more than {})", text, time(count + 2),
                       time(count + 3));
  };
  const bool isApart = row.integer(7) > 0;
  const int shown = isApart ? 7 : 0;
  if (m_areRepetitions) {
    m_out.write(
        fmt::format("<p>No steps are marked; the work repeats every <b>{}</b> {}. That may be a layer, not a "
                    "step. ",
                    time(shown + 1), spread(shown)));
  } else {
    m_out.write(fmt::format("<p>A training step takes <b>{}</b>{} {}. ", time(shown + 1),
                            isApart ? " from its start to that of the next one" : "", spread(shown)));
  }
  if (isApart) {
    m_out.write(fmt::format("{} takes {} {}; what lies between two {}s, as loading data, is not in that. ",
                            row.integer(14) > 0 ? "Its own work on the GPU, from first to last," : "Its own range",
                            time(1), spread(0), thing));
  }
  if (const int64_t warmup = row.integer(17); warmup > 0)
    m_out.write(fmt::format("{} warm-up {}{} left out.", warmup, thing, warmup == 1 ? " is" : "s are"));
  m_out.write("</p>\n");
}

// The first screen: how long a step takes, where the time went, and the most that could be gained.
void Page::overview() {
  const Result<std::string> drawn = breakdownPicture(m_trace);
  if (drawn.ok() && drawn.value().empty()) {
    m_nothing.emplace_back("Where the time went (no work of a device)");
  } else {
    heading("Where the time went", "What did each device do, from its first work to its last?");
    steps();
    if (const auto devices = breakDown(m_trace); devices.ok()) {
      if (const std::string recorded = cli::recordedText(m_trace, devices.value()); !recorded.empty()) note(recorded);
    }
    (void)picture(drawn);
  }
  if (!m_advice.ok() || m_advice.value().findings.empty()) return;
  constexpr size_t kMost = 3;
  const std::vector<Finding>& findings = m_advice.value().findings;
  m_out.write("<p>The rules that found most:</p>\n<ol>\n");
  for (size_t i = 0; i < std::min(findings.size(), kMost); ++i) {
    const Finding& finding = findings[i];
    m_out.write(
        fmt::format("<li><b>{}</b>{}: {}</li>\n", html(finding.title), whomText(finding), html(finding.finding)));
  }
  m_out.write(fmt::format("</ol>\n<p class=\"muted\">All {} findings with what to do are under Advice.</p>\n",
                          findings.size()));
}

void Page::advice() {
  heading("Advice", "What would make this run faster, and by how much at most?");
  const Result<Advice>& found = m_advice;
  if (!found.ok()) {
    m_out.write(fmt::format("<p class=\"error\">Cannot say, because: {}</p>\n", html(found.error().message)));
    return;
  }
  if (found.value().findings.empty()) note("No rule found anything in what the file holds.");
  for (const Finding& finding : found.value().findings) {
    m_out.write(fmt::format("<div class=\"finding\"><b>{}</b>{}<br>{}<br><span class=\"muted\">{}</span><br>{}</div>\n",
                            html(finding.title), whomText(finding), html(finding.finding), html(gainText(finding)),
                            html(finding.remedy)));
  }
  if (!found.value().small.empty()) {
    const size_t count = found.value().small.size();
    const std::string least = cli::formatDuration(found.value().smallBelow);
    note(count == 1 ? fmt::format("1 finding with a gain of less than {} is left out.", least)
                    : fmt::format("{} findings with gains of less than {} are left out.", count, least));
  }
  std::string missing;
  for (const Abstention& abstention : found.value().abstentions) {
    missing += fmt::format("<li>{}: {}</li>\n", html(abstention.title), html(abstention.reason));
  }
  if (!missing.empty())
    m_out.write("<details><summary>Rules that cannot say</summary><ul>\n" + missing + "</ul></details>\n");
}

Status Page::diagnostics() {
  heading("What is missing or doubtful", "What did the recording lose, and which numbers does it touch?");
  auto all = m_trace.diagnostics();
  if (!all.ok()) return all.error();
  if (all.value().empty()) note("Nothing was lost.");
  m_out.write("<ul>\n");
  for (const Diagnostic& diagnostic : all.value()) {
    const char* level = diagnostic.severity == "error"     ? "error"
                        : diagnostic.severity == "warning" ? "warning"
                                                           : "muted";
    m_out.write(fmt::format("<li class=\"{}\">{}: {}</li>\n", level, html(diagnostic.lane), html(diagnostic.message)));
  }
  m_out.write("</ul>\n");
  return Unit{};
}

bool Page::tells(std::string_view sql) {
  auto rows = m_trace.query(sql);
  return rows.ok() && rows.value().next();
}

void Page::timeline() {
  const Result<std::string> drawn = timelinePicture(m_trace);
  if (drawn.ok() && drawn.value().empty()) return m_nothing.emplace_back("A typical step"), void();
  heading(m_areRepetitions ? "A typical repetition of the kernels" : "A typical step",
          "What ran when, on each rank's streams? (up to 8 ranks; blue: kernels, orange: communication, green: copies "
          "and sets, light: ranges; names appear under the pointer)");
  (void)picture(drawn);
}

void Page::memory() {
  const Result<std::string> drawn = memoryPicture(m_trace);
  const bool isDrawn = !drawn.ok() || !drawn.value().empty();
  if (isDrawn) {
    heading("Memory", "What held device memory when? (the device with the largest peak)");
    (void)picture(drawn);
  }
  report({"memory", "", 40}, isDrawn);
  if (tellsOrderOnly(m_trace)) {
    note("The file tells the order of what happened to memory, not the times: n µs in these tables is its event n.");
  }
  report({"memory_peak", "", 15});
  report({"memory_leaks", "", 10});
}

void Page::roofline() {
  const Result<std::string> drawn = rooflinePicture(m_trace);
  const bool isDrawn = !drawn.ok() || !drawn.value().empty();
  if (isDrawn) {
    heading("Roofline",
            "Are the kernels limited by arithmetic, by memory, or by neither? (a circle is a kernel or operation, as "
            "large as its share of the time: blue is limited by arithmetic, green by memory, orange by neither, red is "
            "above a roof)");
    (void)picture(drawn);
  }
  report({"roofline", "", 25}, isDrawn);
}

// What the page would show of another trace.
void Page::nothing() {
  if (m_nothing.empty()) return;
  heading("What the file has nothing of", "Which parts of such a page are not here?");
  std::string titles;
  for (const std::string& title : m_nothing) titles += (titles.empty() ? "" : "; ") + title;
  note(titles + ".");
}

Status Page::write() {
  auto reports = findReports(m_options.reportFolders);
  if (!reports.ok()) return reports.error();
  m_reports = std::move(reports).value();
  m_advice = advise(m_trace, {}, m_options.ruleFolders);
  head();
  if (tells("SELECT 1 FROM report_stuck WHERE state <> 'cannot say' LIMIT 1")) report({"stuck", "", 20});
  overview();
  timeline();
  advice();
  report({"steps", "summary", 96});  // apart: a long list of steps would cut it off
  report({"steps", "step", 30}, true);
  memory();
  roofline();
  for (const Section& section : kOtherSections) report(section);
  nothing();
  if (const Status done = diagnostics(); !done.ok()) return done;
  m_out.write(fmt::format(
      "<p class=\"muted\">Made by Plumbline {} from {}. Exact values appear under the pointer; `plumb report NAME FILE "
      "--format csv` has all of them, to sort and to compute with. Shares are of the span between a device's first and "
      "last work; exposed means not covered by compute.</p>\n</body></html>\n",
      html(m_options.version), html(std::filesystem::path(m_trace.path()).filename().string())));
  return Unit{};
}

}  // namespace

Status exportReportPage(Trace& trace, const PageOptions& options, OutputFile& out) {
  const Snapshot snapshot(trace);
  if (!snapshot.status().ok()) return snapshot.status();
  return Page(trace, options, out).write();
}

}  // namespace plumb::exports
