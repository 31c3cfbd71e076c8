// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/advice_text.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>
#include <utility>

#include "analyzer/analyses/windows.h"
#include "analyzer/cli/text.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("advice", text); }

// Rules' sentences hold names of the trace, which may come from anybody.
QString shown(const std::string& text) { return toQString(cli::escaped(text)); }
QString html(const std::string& text) { return shown(text).toHtmlEscaped(); }

QString markdown(const std::string& text) {
  QString result;
  for (const QChar c : shown(text)) {
    if (QStringLiteral("\\`*_{}[]<>#|").contains(c)) result += QLatin1Char('\\');
    result += c;
  }
  return result;
}

QString rules(size_t count) { return count == 1 ? tr("1 rule") : tr("%1 rules").arg(count); }

QString titleOf(const Finding& finding) {
  QString title = shown(finding.title);
  if (!finding.whom.empty()) title += QStringLiteral(" (%1)").arg(shown(finding.whom));
  return title;
}

QString duration(Duration value) { return toQString(cli::formatDuration(value)); }

// "up to 304.76 ms, 10.5 % of the device's span"
QString gainSentence(const Finding& finding) {
  if (!finding.gain) return finding.arithmetic.empty() ? tr("not estimated") : shown(finding.arithmetic);
  QString text = tr("up to %1").arg(duration(*finding.gain));
  if (finding.share() && finding.gainRank)
    text += tr(", %1 of rank %2's span").arg(shareText(finding)).arg(*finding.gainRank);
  else if (finding.share())
    text += tr(", %1 of %2")
                .arg(shareText(finding),
                     finding.isOutsideSteps ? tr("the device's span in the whole run") : tr("the device's span"));
  if (finding.leastGain && finding.rank)
    text += tr("; of the other ranks %1 or more; numbers are of rank %2")
                .arg(duration(*finding.leastGain))
                .arg(*finding.rank);
  else if (finding.leastGain && finding.pid)
    text += tr("; of the other processes %1 or more; numbers are of process %2")
                .arg(duration(*finding.leastGain))
                .arg(*finding.pid);
  return text;
}

QString whereText(const Finding& finding) {
  if (!finding.where) return {};
  return tr("%1 … %2 after the start of the recording")
      .arg(duration(finding.where->start - TimePoint()), duration(finding.where->end - TimePoint()));
}

QString evidenceText(const Finding& finding) {
  QStringList events;
  for (const std::string& event : finding.evidence) events << shown(event);
  return events.join(QStringLiteral(", "));
}

// What stands in front of each line, and the line, both not escaped; lines without text are left out.
std::vector<std::pair<QString, std::string>> linesOf(const Finding& finding) {
  std::vector<std::pair<QString, std::string>> lines{{tr("found"), finding.finding},
                                                     {tr("gain"), gainSentence(finding).toStdString()}};
  if (finding.gain) lines.emplace_back(tr("arithmetic"), finding.arithmetic);
  lines.emplace_back(tr("where"), whereText(finding).toStdString());
  lines.emplace_back(tr("events"), evidenceText(finding).toStdString());
  lines.emplace_back(tr("do"), finding.remedy);
  lines.emplace_back(tr("rule"), finding.rule);
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  return lines;
}

// Rules that lack the same are told together, in the order of the first.
std::vector<std::pair<std::string, QStringList>> byReason(const std::vector<Abstention>& abstentions) {
  std::vector<std::pair<std::string, QStringList>> result;
  for (const Abstention& one : abstentions) {
    const auto known = std::ranges::find(result, one.reason, [](const auto& entry) { return entry.first; });
    if (known != result.end())
      known->second << shown(one.title);
    else
      result.push_back({one.reason, {shown(one.title)}});
  }
  return result;
}

}  // namespace

QString gainText(const Finding& finding) { return finding.gain ? duration(*finding.gain) : QStringLiteral("–"); }

QString shareText(const Finding& finding) {
  const auto share = finding.share();
  return share ? toQString(cli::formatPercent(*share * 100)) : QStringLiteral("–");
}

QString findingAsText(const Finding& finding) {
  QString text = titleOf(finding) + QLatin1Char('\n');
  for (const auto& [name, line] : linesOf(finding)) text += QStringLiteral("  %1: %2\n").arg(name, shown(line));
  return text;
}

QString findingAsMarkdown(const Finding& finding) {
  QString text = QStringLiteral("### %1\n\n").arg(markdown(titleOf(finding).toStdString()));
  for (const auto& [name, line] : linesOf(finding)) text += QStringLiteral("- **%1:** %2\n").arg(name, markdown(line));
  return text;
}

QString findingAsHtml(const Finding& finding, const std::vector<std::optional<timeline::SliceRef>>& events) {
  QString text = QStringLiteral("<h3>%1</h3>").arg(titleOf(finding).toHtmlEscaped());
  text += QStringLiteral("<table cellspacing='0' cellpadding='3'>");
  const auto add = [&](const QString& name, const QString& value) {
    if (!value.isEmpty()) text += QStringLiteral("<tr><td>%1&nbsp;&nbsp;</td><td>%2</td></tr>").arg(name, value);
  };
  add(tr("found"), html(finding.finding));
  add(tr("gain"), QStringLiteral("<b>%1</b>").arg(gainSentence(finding).toHtmlEscaped()));
  if (finding.gain) add(tr("arithmetic"), html(finding.arithmetic));
  add(tr("do"), html(finding.remedy));
  add(tr("where"), whereText(finding).toHtmlEscaped());
  QStringList links;
  for (size_t i = 0; i < finding.evidence.size(); ++i) {
    const QString name = html(finding.evidence[i]);
    links << (i < events.size() && events[i] ? QStringLiteral("<a href='event:%1'>%2</a>").arg(i).arg(name) : name);
  }
  add(tr("events"), links.join(QStringLiteral(", ")));
  if (!finding.range.empty()) add(tr("range"), html(finding.range));
  add(tr("rule"), html(finding.rule));
  return text + QStringLiteral("</table>");
}

QString scopeText(const Advice& advice) {
  if (advice.findings.empty() && advice.small.empty()) return {};
  QString text = tr("Rules may count the same time, so gains do not add up.");
  if (advice.steps) {
    QString where;
    if (advice.steps->start > kAllTime.start) where += tr(" from %1").arg(duration(advice.steps->start - TimePoint()));
    if (advice.steps->end < kAllTime.end) where += tr(" to %1").arg(duration(advice.steps->end - TimePoint()));
    text += tr(" The rules looked at the steps (the recording%1); what was found outside them comes last.").arg(where);
  }
  if (!advice.small.empty()) text += tr(" Small: below %1, 0.5 % of the run.").arg(duration(advice.smallBelow));
  return text;
}

QString whyNoAdvice(const Advice& advice) {
  if (!advice.findings.empty() || !advice.small.empty()) return {};
  QStringList reasons;
  for (const auto& [reason, titles] : byReason(advice.abstentions)) reasons << shown(reason);
  if (!advice.quiet.empty())
    return tr("Nothing was found; it was looked for by %1, and %2 cannot say.")
        .arg(rules(advice.quiet.size()), rules(advice.abstentions.size()));
  if (reasons.isEmpty()) return tr("Cannot say what to change, because there are no rules.");
  return tr("Cannot say what to change, because %1.").arg(reasons.join(QStringLiteral("; ")));
}

QString otherRulesTitle(const Advice& advice) {
  return tr("%1 cannot say · %2 found nothing").arg(rules(advice.abstentions.size())).arg(advice.quiet.size());
}

QString otherRulesAsHtml(const Advice& advice) {
  QString text;
  const auto reasons = byReason(advice.abstentions);
  if (!reasons.empty()) {
    text += QStringLiteral("<p>%1</p><ul>").arg(tr("These rules cannot say:"));
    for (const auto& [reason, titles] : reasons)
      text += QStringLiteral("<li>%1: %2</li>")
                  .arg(titles.join(QStringLiteral("; ")).toHtmlEscaped(), tr("because ") + html(reason));
    text += QStringLiteral("</ul>");
  }
  if (!advice.quiet.empty()) {
    QStringList titles;
    for (const std::string& title : advice.quiet) titles << html(title);
    text += QStringLiteral("<p>%1 %2</p>").arg(tr("Looked for and not found:"), titles.join(QStringLiteral("; ")));
  }
  return text;
}

}  // namespace plumb::gui
