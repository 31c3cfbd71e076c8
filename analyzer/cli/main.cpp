// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/advice/rule_file.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/last_words.h"
#include "analyzer/cli/text.h"
#include "analyzer/cli/version.h"
#include "analyzer/reports/reports.h"
#include "analyzer/trace/sqlite_setup.h"

namespace plumb::cli {
namespace {

const std::map<std::string, Format> kFormats = {
    {"table", Format::Table}, {"csv", Format::Csv}, {"json", Format::Json}, {"markdown", Format::Markdown}};

void addFormat(CLI::App* command, Format& format) {
  command
      ->add_option_function<std::string>(
          "--format",
          [&format](const std::string& name) {
            const auto known = kFormats.find(CLI::detail::to_lower(name));
            if (known == kFormats.end())
              throw CLI::ValidationError("--format",
                                         "there is no format '" + name + "'; use table, csv, json or markdown");
            format = known->second;
          },
          "table (default), csv, json or markdown; csv and json have plain numbers in ns and bytes")
      ->type_name("FORMAT");
}

void addForce(CLI::App* command, bool& force) {
  command->add_flag("--force", force, "replace an output that is there, once the new one is complete");
}

// CLI11 would take the largest number for one that is larger, and an empty text for no option.
int64_t parseWhole(const char* option, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw CLI::ValidationError(option, fmt::format("'{}' is no whole number of 64 bits", text));
  return value;
}

// CLI11's own takes what is not a number for a positive one.
CLI::Validator secondsCheck() {
  const auto check = [](const std::string& text) {
    constexpr double kLeast = 0.001, kMost = 1e6;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool isNumber = error == std::errc() && end == text.data() + text.size();
    if (isNumber && value >= kLeast && value <= kMost) return std::string();
    return fmt::format("'{}' is no number of seconds from {} to {:.0f}", text, kLeast, kMost);
  };
  return CLI::Validator(check, "SECONDS");
}

void addFilters(CLI::App* command, Filter& filter) {
  const auto addNumber = [&](const char* name, std::optional<int64_t>& number, const char* description) {
    return command->add_option_function<std::string>(
        name, [name, &number](const std::string& text) { number = parseWhole(name, text); }, description);
  };
  addNumber("--rank", filter.rank, "only this rank")->type_name("R");
  addNumber("--step", filter.step, "only this step of each rank: see report steps")->type_name("N");
  command->add_option("--range", filter.range, "only what the ranges of this name (report ranges) did, see below")
      ->type_name("NAME");
  const auto addTime = [&](const char* name, std::optional<TimePoint>& time, const char* description) {
    command
        ->add_option_function<std::string>(
            name,
            [name, &time](const std::string& text) {
              const auto parsed = parseNanoseconds(text);
              if (!parsed.ok()) throw CLI::ValidationError(name, parsed.error().message);
              time = TimePoint(parsed.value());
            },
            description)
        ->type_name("T");
  };
  addTime("--from", filter.from, "only from this time of the recording on: 250000 (ns), 250us, 12.5ms, 1s");
  addTime("--to", filter.to, "only before this time");
}

// Arguments after record, doctor and calibrate are not ours to read.
bool isForLauncher(const std::string& command) {
  return command == "record" || command == "doctor" || command == "calibrate";
}

// The groups of commands that the help shows, in this order.
constexpr const char* kRecord = "Record";
constexpr const char* kLook = "Look at a recording";
constexpr const char* kFiles = "Files";

struct Arguments {
  std::string summaryFile, indexFile;
  ReportArguments report;
  QueryArguments query;
  ImportArguments import;
  ExportArguments exporting;
  MergeArguments merge;
  PackArguments pack;
  AdviseArguments advise;
  DiffArguments diff;
  CheckArguments check;
  bool list = false, columns = false;
};

// Commands whose output is more than one table are read best as text.
template <class Chosen>
void addTextOrFormat(CLI::App* command, Chosen& format) {
  command
      ->add_option_function<std::string>(
          "--format",
          [&format](const std::string& text) {
            const std::string name = CLI::detail::to_lower(text);
            const auto known = kFormats.find(name);
            if (name == "text") {
              format = Chosen();
            } else if (known == kFormats.end()) {
              throw CLI::ValidationError("--format",
                                         "there is no format '" + text + "'; use text, table, csv, json or markdown");
            } else {
              format = known->second;
            }
          },
          "text (default), table, csv, json or markdown; csv and json have plain numbers in ns and bytes")
      ->type_name("FORMAT");
}

void describeJudgements(CLI::App& app, Arguments& arguments) {
  CLI::App* advise = app.add_subcommand("advise", "What to change in the run, by rules, and what it could gain");
  advise->group(kLook);
  advise->add_option("FILE", arguments.advise.file, "trace file")->required();
  addFilters(advise, arguments.advise.filter);
  addTextOrFormat(advise, arguments.advise.format);
  advise
      ->add_option("--timeout", arguments.advise.timeout,
                   "seconds after which a rule of yours is stopped (default: 60)")
      ->check(secondsCheck());
  advise->footer(
      "--range and --step: from the first start to the last end of the GPU work that was launched inside (plumb "
      "report\n"
      "--help).\n"
      "'gain: up to' is an upper bound: the remedy saves no more of the part of the run that was asked for. Gains of\n"
      "different rules may be the same time, so they do not add up. What is below half a percent of the run is only\n"
      "named. A rule is an .sql file; your own go into ~/.config/plumb/rules or a folder\n"
      "named by PLUMB_RULES (analyzer/advice/rule_file.h says how they look). One that cannot be used is listed under\n"
      "'cannot say' with the reason, and the others are applied.\n"
      "Exit code: 0 whatever the rules find (plumb --help lists all codes).\n"
      "Example: plumb advise run.sqlite --rank 0 --step 5");

  CLI::App* diff = app.add_subcommand("diff", "Two runs side by side, per step, with confidence intervals");
  diff->group(kLook);
  diff->add_option("A", arguments.diff.a, "trace file before")->required();
  diff->add_option("B", arguments.diff.b, "trace file after")->required();
  diff->add_flag("--all", arguments.diff.all,
                 "rows without a difference, too, and more than the largest 15 of each kind");
  addTextOrFormat(diff, arguments.diff.format);
  diff->footer("Example: plumb diff before.sqlite after.sqlite");

  CLI::App* check = app.add_subcommand("check", "Rules that the run must pass, for CI: exit code 0 or 1");
  check->group(kLook);
  check->add_option("FILE", arguments.check.file, "trace file")->required();
  check->add_option("--rules", arguments.check.rules, "the rules: .sql, .yaml or .yml")->required();
  check->add_option("--baseline", arguments.check.baseline, "trace file for max_slowdown_pct")->type_name("FILE");
  check->add_option("--timeout", arguments.check.timeout, "seconds after which a rule is stopped (default: 300)")
      ->check(secondsCheck());
  check->footer(
      "In .sql a statement with a column 'passed' holds when it is true in every row; any other holds when it finds "
      "no\n"
      "row. In .yaml: rules: [{name: step time, value: SELECT …, max: 120ms}, {name: no slower, max_slowdown_pct: "
      "3}];\n"
      "`when: SELECT …` beside them says which runs a rule is about: of others (0 or NULL) it is skipped.\n"
      "Exit code: 0 all hold, 1 one does not, 2 a rule could not be run (the others were), or the rules or the file "
      "cannot\n"
      "be read (plumb --help lists all codes).\n"
      "Example: plumb check run.sqlite --rules gate.yaml --baseline main.sqlite");
}

void describe(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", std::string("plumb ") + kVersion);
  app.require_subcommand(1);
  app.footer(std::string(R"(Examples:
  plumb record -o run.sqlite -- torchrun --nproc-per-node 2 train.py
  plumb summary run.sqlite
  plumb report kernels run.sqlite --rank 0
  plumb report steps run.sqlite --format csv > steps.csv
  plumb query run.sqlite "SELECT name, count(*) FROM kernels GROUP BY name"

`plumb COMMAND --help` says more about a command.

)") + kExitCodes);

  // Listed for the help; main() hands these to plumb-launch before anything is parsed.
  app.add_subcommand("record", "Run a program and record it into a trace file")->group(kRecord);
  app.add_subcommand("doctor", "Say what can be recorded on this machine, and what is missing")->group(kRecord);
  app.add_subcommand("calibrate", "Measure the device's roofs, for rooflines of later recordings")->group(kRecord);

  CLI::App* summary = app.add_subcommand("summary", "What ran where, and where its time and memory went")->group(kLook);
  summary->add_option("FILE", arguments.summaryFile, "trace file")->required();

  CLI::App* report =
      app.add_subcommand("report", "One table: kernels, copies, collectives, steps, memory …")->group(kLook);
  report->add_option("NAME", arguments.report.name, "which one: see --list; several with commas between run at a time");
  report->add_option("FILE", arguments.report.file, "trace file");
  addFilters(report, arguments.report.request.filter);
  report->add_option("--by", arguments.report.request.by, "what to group by: see --columns")->type_name("X");
  report
      ->add_option("--definition", arguments.report.definition,
                   "exact (default), or as HolisticTraceAnalysis (hta) or TraceLens (tracelens) count it")
      ->type_name("WHOSE");
  report
      ->add_option("--peak", arguments.report.peaks,
                   "what the devices can do, in place of the roof that is known: network=450GB/s, memory=3.35TB/s,\n"
                   "bf16=989TFLOPS; also fp64 fp32 tf32 fp16 fp8 nvlink pcie; may be repeated")
      ->type_name("WHAT=RATE")
      ->allow_extra_args(false);
  report->add_flag("--list", arguments.list, "list the reports");
  report->add_flag("--columns", arguments.columns, "describe the columns of NAME, and which filters it takes");
  report->add_flag("--wide", arguments.report.isWide,
                   "a table with all columns and whole texts, however long its lines");
  addFormat(report, arguments.report.format);
  report->footer(
      "--range and --step name times of the host, where the program marked them. Reports that list or count GPU work\n"
      "(kernels, copies, launch, graphs, roofline, precision, collectives) take with --range the work that was "
      "launched\n"
      "inside, on any thread, whenever it ran (with --step too: launched inside both), and work without a recorded "
      "launch\nthat began inside. Reports of the GPU's time (breakdown, overlap, idle, streams …), and "
      "all\n"
      "with --step, take the time from the first start to the last end of that work: what others launched runs in it, "
      "too.\n"
      "With --from, --to and --step an event counts, with its whole length, when it begins inside; busy, idle, exposed "
      "and\noverlapped time is cut at the edges.\n"
      "A table is made to fit the terminal (COLUMNS; 160 characters in a pipe) and says what it left out. Of several\n"
      "reports, csv has a line `# NAME` before each and json an object by name.\n"
      "A report is an .sql file; your own go into ~/.config/plumb/reports or a folder named by PLUMB_REPORTS.\n"
      "Example: plumb report collectives run.sqlite --format json");

  CLI::App* query = app.add_subcommand("query", "Ask in SQL; reads only")->group(kLook);
  query->add_option("FILE", arguments.query.file, "trace file")->required();
  query->add_option("SQL", arguments.query.sql, "the statement")->type_name("");
  query->add_option("-f,--file", arguments.query.script, "run the statements of a file, - for standard input")
      ->type_name("SCRIPT");
  query
      ->add_option("-p,--parameter", arguments.query.parameters,
                   "a value for :NAME in the SQL: a number, NULL, or text ('…' keeps 12 a text); may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  query->add_flag("--explain", arguments.query.explain, "show how SQLite would find the rows, as a tree");
  addFormat(query, arguments.query.format);
  query->footer(
      "Views: kernels copies memory_sets api_calls ranges collectives allocations synchronizations streams processes\n"
      "devices steps operators python_calls diagnostics. Reports: report_NAME(rank, step, range, from_ns, to_ns, by),\n"
      "all optional; SELECT * FROM plumb_reports lists them. Functions beside SQLite's: median(x) percentile(x, "
      "0..100)\n"
      "stddev(x) geometric_mean(x) histogram(x, bins) demangle(name) interval_union_ns(start_ns, duration_ns), and "
      "the\n"
      "tables interval_union('SELECT start_ns, duration_ns …') interval_intersect(a, b) interval_subtract(a, b)\n"
      "span_join(a, b); plumb_peak('memory', '3.35TB/s') states a roof. analyzer/sqlext/README.md describes all.\n"
      "Examples: plumb query run.sqlite \"SELECT rank, sum(bytes) FROM copies GROUP BY rank\" --format csv\n"
      "          plumb query run.sqlite \"SELECT name, calls FROM report_kernels(:rank)\" -p rank=0\n"
      "          plumb query run.sqlite -f script.sql");

  describeJudgements(app, arguments);

  CLI::App* import = app.add_subcommand("import", "Make a trace file of other profilers' traces")->group(kFiles);
  import->add_option("FILE", arguments.import.files, "traces; several are the ranks of one run")->required();
  import->add_option("-o,--output", arguments.import.output, "trace file to make; NAME.zst is compressed")->required();
  addForce(import, arguments.import.force);
  import->add_flag("--sizes", arguments.import.sizes, "also print what each table and index takes of the file");
  const auto takeRanks = [&arguments](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      const int64_t rank = parseWhole("--rank", text);
      if (rank < 0) throw CLI::ValidationError("--rank", "a rank is not negative");
      arguments.import.ranks.push_back(rank);
    }
  };
  import
      ->add_option_function<std::vector<std::string>>("--rank", takeRanks,
                                                      "the files' ranks, in their order; else read from the traces")
      ->type_name("INT")
      ->delimiter(',');
  import->footer(
      "Reads torch.profiler (Kineto) JSON and Chrome traces in general (plain, .gz or .zst), SQLite exports of Nsight\n"
      "Systems, memory snapshots and raw memory timelines of PyTorch, dumps of its flight recorder, output of "
      "nccl-tests\n"
      "and NCCL Inspector; different kinds of one run may be named together. What is damaged or has no\n"
      "table is counted by reason: plumb query FILE \"SELECT * FROM diagnostics\". Files that are no traces are left "
      "out\n"
      "with a warning when others can be imported. Of a trace of events only what later ones need is kept in memory:\n"
      "some bytes per operator, its different names and arguments, and arrows; the rest does not grow with the file.\n"
      "Exit code: 0 all files imported; 3 the trace file was made, without files that are no traces (each is named on\n"
      "standard error); 2 nothing could be imported, and no file was made (plumb --help lists all codes).\n"
      "Example: plumb import rank*.pt.trace.json.gz -o run.sqlite");

  CLI::App* exporting = app.add_subcommand("export", "Write a trace for other programs")->group(kFiles);
  exporting->add_option("FILE", arguments.exporting.file, "trace file")->required();
  exporting
      ->add_option("-o,--output", arguments.exporting.output,
                   "file or folder to write; - for standard output (chrome, folded, html)")
      ->required();
  exporting->add_option("--format", arguments.exporting.format, "chrome, csv, parquet, nsys, folded, html")
      ->required()
      ->check(CLI::IsMember({"chrome", "csv", "parquet", "nsys", "folded", "html"}));
  exporting->add_option("--weight", arguments.exporting.weight, "folded: gpu (default) or host time")
      ->check(CLI::IsMember({"gpu", "host"}));
  addForce(exporting, arguments.exporting.force);
  exporting->footer(
      "chrome   trace.json[.gz] for Perfetto; a folder gets a file per rank, as HolisticTraceAnalysis wants them\n"
      "csv      a folder with a file per view, and one per table that no view shows\n"
      "parquet  the same as datasets (by rank where all rows have one) for DuckDB, Spark, Dask, pandas\n"
      "nsys     an SQLite file with the tables of Nsight Systems' export, for programs that read those\n"
      "folded   stacks for flamegraph.pl, speedscope, inferno\n"
      "html     one page to send to a colleague: what ran, where its time and memory went, advice\n"
      "What a format has no place for is said at the end, with how many rows it is: of chrome environment variables,\n"
      "clock readings, states of plugins and of communicators, benchmarks, and events without a time; of nsys also\n"
      "ranks, operators, Python calls, collectives, calls of libraries, counters and names of memory.\n"
      "Example: plumb export run.sqlite --format chrome -o run.json.gz");

  CLI::App* merge = app.add_subcommand("merge", "Make one file of the files of several nodes")->group(kFiles);
  merge->add_option("FILE", arguments.merge.files, "trace files of one run")->required();
  merge->add_option("-o,--output", arguments.merge.output, "trace file to make; NAME.zst is compressed")->required();
  addForce(merge, arguments.merge.force);
  merge->footer(
      "Files that hold the same events are refused, and what makes files doubtful together is said: a rank in two of\n"
      "them, times that do not meet, a clock that is not known.\n"
      "Example: plumb merge node0.sqlite node1.sqlite -o run.sqlite");

  CLI::App* pack = app.add_subcommand("pack", "Compress a trace file, or unpack a compressed one")->group(kFiles);
  pack->add_option("FILE", arguments.pack.file, "trace file")->required();
  pack->add_option("-o,--output", arguments.pack.output, "trace file to make: NAME.zst is compressed, others are plain")
      ->required();
  addForce(pack, arguments.pack.force);
  pack->footer(
      "Every command, the GUI and the Python package read a compressed file as it lies; `zstd -d` unpacks it, too. A\n"
      "damaged one is unpacked as far as it can be read.\n"
      "Exit code: 0 done, 3 unpacked without what is damaged, 2 the file cannot be used (plumb --help lists all "
      "codes).\n"
      "Example: plumb pack run.sqlite -o run.sqlite.zst");

  CLI::App* index =
      app.add_subcommand("index", "Finish a file: of a killed recorder, or with a log (FILE-wal) beside it")
          ->group(kFiles);
  index->add_option("FILE", arguments.indexFile, "trace file")->required();
}

// A folder that the user named and that is not there would silently be none.
void warnOfFolders(const CLI::App& app, const Arguments& arguments) {
  const bool isPage = app.got_subcommand("export") && arguments.exporting.format == "html";
  const auto isOneOf = [&](std::initializer_list<const char*> commands) {
    return std::ranges::any_of(commands, [&](const char* command) { return app.got_subcommand(command); });
  };
  std::vector<std::string> warnings;
  if (isPage || isOneOf({"report", "query", "advise", "check"})) warnings = unreadableFolders("PLUMB_REPORTS");
  if (isPage || isOneOf({"advise"})) {
    for (std::string& warning : unreadableFolders("PLUMB_RULES")) warnings.push_back(std::move(warning));
  }
  for (const std::string& warning : warnings) (void)complain(warning, kDone);
}

int runParsed(const CLI::App& app, Arguments& arguments) {
  warnOfFolders(app, arguments);
  arguments.report.folders = arguments.query.folders = userReportFolders();
  arguments.exporting.reportFolders = arguments.advise.reportFolders = arguments.check.reportFolders =
      arguments.report.folders;
  arguments.exporting.ruleFolders = arguments.advise.ruleFolders = userRuleFolders();
  if (app.got_subcommand("summary")) return summarize(arguments.summaryFile);
  if (app.got_subcommand("advise")) return runAdvise(arguments.advise);
  if (app.got_subcommand("diff")) return runDiff(arguments.diff);
  if (app.got_subcommand("check")) return runCheck(arguments.check);
  if (app.got_subcommand("query")) return runQuery(arguments.query);
  if (app.got_subcommand("import")) return runImport(arguments.import);
  if (app.got_subcommand("export")) return runExport(arguments.exporting);
  if (app.got_subcommand("merge")) return runMerge(arguments.merge);
  if (app.got_subcommand("pack")) return runPack(arguments.pack);
  if (app.got_subcommand("index")) return runIndex(arguments.indexFile);
  if (arguments.list) return listReports(arguments.report.folders);
  if (arguments.report.name.empty())
    return complain("Name a report: plumb report NAME FILE. `plumb report --list` lists them.", kBadInput);
  if (arguments.columns) return describeReport(arguments.report.name, arguments.report.folders);
  if (arguments.report.file.empty()) return complain("Name a trace file: plumb report NAME FILE.", kBadInput);
  return runReport(arguments.report);
}

// What to say when the first argument is no command.
std::optional<std::string> unknownCommand(const CLI::App& app, const std::vector<std::string>& all) {
  if (all.empty() || all[0].starts_with('-')) return std::nullopt;
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == all[0]) return std::nullopt;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return "There is no command '" + all[0] + "'; there are " + names + " (plumb --help).";
}

std::string sentenceOf(const CLI::App& app, const CLI::ParseError& error) {
  std::string text = error.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  const auto named = app.get_subcommands();
  return text + " (plumb " + (named.empty() ? "" : named.front()->get_name() + " ") + "--help says more).";
}

int run(int argc, char** argv) {
  const std::vector<std::string> all(argv + 1, argv + argc);
  if (!all.empty() && isForLauncher(all[0])) return becomeSibling("plumb-launch", all);
  CLI::App app("Plumbline shows where the time and the memory of a GPU training run go.", "plumb");
  Arguments arguments;
  describe(app, arguments);
  if (const auto wrong = unknownCommand(app, all)) return complain(*wrong, kBadInput);
  // A reader that has seen enough (plumb query … | head) ends us without a word, whatever we inherited.
  std::signal(SIGPIPE, SIG_DFL);
  // A limit on the size of files is an error of writing, with a sentence.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return complain(sentenceOf(app, error), kBadInput);
  }
  return runParsed(app, arguments);
}

}  // namespace
}  // namespace plumb::cli

int main(int argc, char** argv) {
  plumb::cli::occupyClosedStreams();
  plumb::configureSqlite();
  plumb::cli::endTidilyWhenTerminated();
  try {
    const int code = plumb::cli::run(argc, argv);
    // What was printed may only now meet a full disk.
    std::cout.flush();
    errno = 0;
    if ((std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) || code != plumb::cli::kDone)
      return code;
    return plumb::cli::complain(
        fmt::format("Cannot write to standard output: {}.", errno ? std::strerror(errno) : "it is full or closed"),
        plumb::cli::kFailed);
  } catch (const std::exception& failure) {
    return plumb::cli::complain(plumb::cli::sentenceOf(failure), plumb::cli::kFailed);
  }
}
