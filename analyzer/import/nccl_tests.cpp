// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/import/losses.h"
#include "analyzer/import/nccl_names.h"
#include "analyzer/import/tally.h"

namespace plumb::import {
namespace {

constexpr LossReason kDamagedLine = {
    false, true, "error", "damaged_event",
    "{0} [measurement|measurements] of {1} [is|are] damaged and left out; [it is|the first] in line {2}."};
constexpr LossReason kNoColumns = {false, true, "error", "no_columns",
                                   "{0} [measurement|measurements] of {1} [comes|come] before the line that names "
                                   "[its|their] columns, and [is|are] left out; [it is|the first] in line {2}."};
constexpr LossReason kColumnsGuessed = {
    true, false, "warning", "columns_guessed",
    "{0} [line|lines] of {1} [comes|come] without a readable line that names [its|their] columns (from line {2}): "
    "[its|their] columns are told by [its|their] number."};
constexpr LossReason kNotMeasured = {
    false, false, "info", "not_measured",
    "{0} [measurement|measurements] of {1} [is|are] 'N/A': the test was not run that way."};
constexpr LossReason kNoSize = {
    false, false, "info", "no_size",
    "{0} [measurement|measurements] of {1} [is|are] of 0 bytes and [tells|tell] no bandwidth."};
constexpr LossReason kUnknownOperation = {
    true, false, "warning", "operation_unknown",
    "{0} [measurement|measurements] of {1} [does|do] not say of which operation [it is|they are] (from line {2}): name "
    "the file after it, such as all_reduce_8gpus.log."};
constexpr LossReason kWrong = {true, false, "warning", "wrong_results",
                               "{0} [measurement|measurements] of {1} had wrong results, by nccl-tests' own check; [it "
                               "is|the first] in line {2}."};

constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr double kMostMicroseconds = 1e15;
constexpr double kMostBandwidth = 1e15;

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < line.size();) {
    const size_t first = line.find_first_not_of(" \t\r", at);
    if (first == std::string_view::npos) break;
    const size_t end = std::min(line.find_first_of(" \t\r", first), line.size());
    words.push_back(line.substr(first, end - first));
    at = end;
  }
  return words;
}

// Before a line, by which program of a job it was written: mpirun's "[1,0]<stdout>:", srun's "0: ".
std::string_view withoutTag(std::string_view line) {
  const auto behindDigits = [&](size_t at) { return std::min(line.find_first_not_of("0123456789", at), line.size()); };
  if (line.starts_with('[')) {
    const size_t comma = behindDigits(1), close = behindDigits(std::min(comma + 1, line.size()));
    const std::string_view rest = line.substr(close);
    for (const std::string_view stream : {"]<stdout>:", "]<stderr>:"}) {
      if (comma < close && line[comma] == ',' && rest.starts_with(stream)) return rest.substr(stream.size());
    }
    return line;
  }
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  const size_t close = behindDigits(first);
  return close > first && line.substr(close).starts_with(": ") ? line.substr(close + 2) : line;
}

template <class Number>
std::optional<Number> numberOf(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool isData(const std::vector<std::string_view>& words) {
  constexpr size_t kFewest = 3;
  return words.size() >= kFewest && numberOf<int64_t>(words[0]) && numberOf<int64_t>(words[1]);
}

// Words before the first measurement.
constexpr size_t kFewestBefore = 3, kMostBefore = 5;

// The columns of the table as its header names them.
struct Columns {
  size_t count = 0;  // before the first measurement: size, count, type and perhaps redop and root
  bool hasReduction = false;
  std::vector<std::string_view> measured;  // of one measurement: time, algbw, busbw, error
};

std::optional<Columns> columnsIn(const std::vector<std::string_view>& words) {
  // "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
  const auto first = std::find(words.begin(), words.end(), "time");
  if (words.size() < 6 || words[0] != "#" || words[1] != "size" || first == words.end()) return std::nullopt;
  const auto second = std::find(first + 1, words.end(), "time");
  Columns columns;
  columns.count = static_cast<size_t>(first - words.begin()) - 1;
  columns.hasReduction = std::find(words.begin(), first, "redop") != first;
  columns.measured.assign(first, second);
  const auto names = [&](std::string_view name) { return std::ranges::count(columns.measured, name) == 1; };
  const bool isWhole = columns.count >= kFewestBefore && columns.count <= kMostBefore && names("algbw") &&
                       names("busbw") && (second == words.end() || words.end() - second == second - first);
  return isWhole ? std::optional(std::move(columns)) : std::nullopt;
}

// What a measurement without a header must be: two times four words behind size, count, type and perhaps redop and
// root, with a bandwidth that the size and the time make.
std::optional<Columns> columnsOf(const std::vector<std::string_view>& words) {
  constexpr size_t kMeasured = 8;
  constexpr double kRounded = 0.01, kTolerance = 0.05;
  if (words.size() < kFewestBefore + kMeasured || words.size() > kMostBefore + kMeasured) return std::nullopt;
  if (ncclDatatype(words[2]).bytes == 0) return std::nullopt;
  for (const size_t at : {words.size() - kMeasured, words.size() - kMeasured / 2}) {
    const auto bytes = numberOf<double>(words[0]), time = numberOf<double>(words[at]),
               algbw = numberOf<double>(words[at + 1]);
    if (words[at] == "N/A") continue;
    if (!time || *time <= 0 || !algbw || std::abs(*algbw - *bytes / *time / 1e3) > kRounded + kTolerance * *algbw) {
      return std::nullopt;
    }
  }
  Columns columns;
  columns.count = words.size() - kMeasured;
  columns.hasReduction = columns.count > kFewestBefore && !numberOf<int64_t>(words[kFewestBefore]);
  columns.measured = {"time", "algbw", "busbw", "#wrong"};
  return columns;
}

class Log {
 public:
  explicit Log(SourceContext& context) : m_context(context) {}

  void read(std::string_view text) {
    uint64_t number = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      m_isWhole = end < text.size();
      line(withoutTag(text.substr(at, end - at)), ++number);
      at = end + 1;
    }
  }
  [[nodiscard]] SourceResult finish(const std::optional<std::string>& problem) {
    m_losses.write(m_context.file, std::nullopt, m_context.name, m_result);
    if (problem) {
      noteCut(m_context, std::nullopt, *problem, m_result);
    } else if (!m_hasFooter) {
      noteCut(m_context, std::nullopt, "it ends without the lines that nccl-tests write last", m_result);
    }
    return std::move(m_result);
  }
  [[nodiscard]] bool isEmpty() const { return m_result.events == 0; }

 private:
  void line(std::string_view text, uint64_t number) {
    const std::vector<std::string_view> words = wordsOf(text);
    if (words.empty()) return;
    if (isData(words)) return data(words, number);
    if (const size_t perf = text.find("_perf"); perf != std::string_view::npos) {
      // The command line, or "# Collective test starting: all_reduce_perf".
      const size_t start = text.find_last_of(" /\t", perf);
      const auto operation = ncclOperation(text.substr(start == std::string_view::npos ? 0 : start + 1));
      if (!operation.empty()) m_operation = operation;
    }
    if (words[0] != "#") return;
    if (text.find("Using devices") != std::string_view::npos) {
      m_ranks = 0;
      m_hosts.clear();
    }
    if (text.find("Avg bus bandwidth") != std::string_view::npos) m_hasFooter = true;
    if (words.size() > 2 && words[1] == "Rank") device(text, words);
    if (auto columns = columnsIn(words)) {
      use(std::move(*columns));
      m_isGuessed = m_hasFooter = false;
    }
  }

  void use(Columns columns) {
    m_names.assign(columns.measured.begin(), columns.measured.end());
    m_columns = std::move(columns);
  }

  // "#  Rank  0 Group  0 Pid 1234 on host device  0 [0x07] NVIDIA A100-SXM4-40GB"
  void device(std::string_view text, const std::vector<std::string_view>& words) {
    constexpr int64_t kMostRanks = 1 << 24;
    const auto rank = numberOf<int64_t>(words[2]);
    if (!rank || *rank < 0 || *rank > kMostRanks) return;
    m_ranks = std::max(m_ranks, *rank + 1);
    const auto on = std::find(words.begin(), words.end(), "on");
    if (on != words.end() && on + 1 != words.end()) m_hosts.insert(std::string(on[1]));
    const size_t bracket = text.find("] ");
    if (bracket == std::string_view::npos) return;
    const std::string_view name = text.substr(bracket + 2);
    const size_t last = name.find_last_not_of(" \t\r");
    m_device = last == std::string_view::npos ? std::string_view() : name.substr(0, last + 1);
  }

  void data(const std::vector<std::string_view>& words, uint64_t number) {
    if (!m_columns) {
      auto guessed = m_isWhole ? columnsOf(words) : std::nullopt;
      if (!guessed) {
        ++m_result.events;
        return m_losses.count(kNoColumns, number);
      }
      use(std::move(*guessed));
      m_isGuessed = true;
    }
    if (m_isGuessed) m_losses.count(kColumnsGuessed, number);
    const size_t width = m_names.size();
    size_t group = 0;
    for (size_t at = m_columns->count; at < words.size(); at += width, ++group) {
      ++m_result.events;
      const size_t there = std::min(width, words.size() - at);
      // The last word of a line that has no end may be half of one.
      const bool isCut = there < width || (!m_isWhole && at + width >= words.size());
      if (isCut || group > 1) {
        m_losses.count(kDamagedLine, number);
      } else {
        measurement(words, at, group == 1, number);
      }
    }
    if (group == 0) {
      ++m_result.events;
      m_losses.count(kDamagedLine, number);
    }
  }

  [[nodiscard]] std::string_view word(const std::vector<std::string_view>& words, size_t at,
                                      std::string_view name) const {
    const auto found = std::find(m_names.begin(), m_names.end(), name);
    return found == m_names.end() ? std::string_view() : words[at + static_cast<size_t>(found - m_names.begin())];
  }

  void measurement(const std::vector<std::string_view>& words, size_t at, bool inPlace, uint64_t number) {
    const auto bytes = numberOf<int64_t>(words[0]), count = numberOf<int64_t>(words[1]);
    const std::string_view timeText = word(words, at, "time");
    if (timeText == "N/A") return m_losses.count(kNotMeasured, number);
    const auto time = numberOf<double>(timeText), algbw = numberOf<double>(word(words, at, "algbw")),
               busbw = numberOf<double>(word(words, at, "busbw"));
    const auto isSane = [](std::optional<double> value, double most) { return value && *value >= 0 && *value < most; };
    const bool isUsable = bytes && *bytes >= 0 && count && *count >= 0 && isSane(time, kMostMicroseconds) &&
                          isSane(algbw, kMostBandwidth) && isSane(busbw, kMostBandwidth);
    if (!isUsable) return m_losses.count(kDamagedLine, number);
    if (*bytes == 0) return m_losses.count(kNoSize, number);
    std::string_view wrongText = word(words, at, "#wrong");
    if (wrongText.empty()) wrongText = word(words, at, "error");
    // Old versions print the largest error, new ones the number of wrong results.
    const auto wrong = numberOf<int64_t>(wrongText);
    if (wrong && *wrong > 0) m_losses.count(kWrong, number);

    std::string_view operation = m_operation;
    if (operation.empty()) operation = ncclOperation(m_context.name);
    if (operation.empty()) operation = operationBy(*algbw, *busbw);
    if (operation.empty()) m_losses.count(kUnknownOperation, number);
    auto& file = m_context.file;
    const std::string_view reduction = m_columns->hasReduction && words.size() > 3 ? words[3] : std::string_view();
    file.rows().insert(schema::CollectiveBenchmarkRow{
        .id = file.rows().nextId<schema::CollectiveBenchmarkRow>(),
        .source_id = file.textId(m_context.name),
        .operation_id = file.textId(operation),
        .datatype_id = file.textId(ncclDatatype(words[2]).name),
        .reduction_id = file.textId(reduction == "none" ? std::string_view() : reduction),
        .device_name_id = file.textId(m_device),
        .n_ranks = m_ranks,
        .n_hosts = static_cast<int64_t>(m_hosts.size()),
        .bytes = *bytes,
        .element_count = *count,
        .in_place = inPlace ? 1 : 0,
        .duration_ns = std::llround(*time * 1000),
        .algbw_bytes_per_s = *algbw * 1e9,
        .busbw_bytes_per_s = *busbw * 1e9,
        .wrong = wrong});
  }

  // A reduction whose bus bandwidth is 2(n-1)/n of its algorithm bandwidth is an all-reduce.
  [[nodiscard]] std::string_view operationBy(double algbw, double busbw) const {
    constexpr double kLeast = 1, kTolerance = 0.02;
    if (algbw < kLeast || m_ranks < 3 || !m_columns->hasReduction) return {};
    const double share = static_cast<double>(m_ranks - 1) / static_cast<double>(m_ranks), ratio = busbw / algbw;
    if (std::abs(ratio - 2 * share) < kTolerance) return "AllReduce";
    return std::abs(ratio - share) < kTolerance ? "ReduceScatter" : std::string_view();
  }

  SourceContext& m_context;
  SourceResult m_result;
  Losses m_losses;
  std::optional<Columns> m_columns;
  std::vector<std::string> m_names;
  std::string_view m_operation;
  std::string m_device;
  std::set<std::string> m_hosts;
  int64_t m_ranks = 0;
  bool m_isWhole = true, m_hasFooter = false, m_isGuessed = false;
};

}  // namespace

bool looksLikeNcclTests(std::string_view head, const std::string&) {
  const auto holds = [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; };
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  // A program has these words, too, but is no text; nor has JSON a line that begins with '#'.
  constexpr std::ptrdiff_t kFewZeros = 4;
  if (std::ranges::count(head, '\0') > kFewZeros || (head[first] == '{' && !holds("\n#"))) return false;
  return holds("# nThread ") || (holds("algbw") && holds("busbw") && holds("out-of-place"));
}

Result<SourceResult> readNcclTests(SourceContext& context) {
  auto text = readWhole(context, kMostBytes);
  if (!text.ok()) return text.error();
  Log log(context);
  log.read(text.value());
  if (log.isEmpty()) {
    const auto& problem = context.source.problem();
    return Error{fmt::format("{} is output of nccl-tests, but holds no measurement{}{}.", context.path,
                             problem ? ": " : "", problem.value_or(""))};
  }
  return log.finish(context.source.problem());
}

}  // namespace plumb::import
