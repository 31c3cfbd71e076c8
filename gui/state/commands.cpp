// SPDX-License-Identifier: Apache-2.0
#include "gui/state/commands.h"

#include <QStringList>

namespace plumb::gui {
namespace {

constexpr CommandInfo kCommands[] = {
    {Command::kOpen, "&File", "&Open…", "Ctrl+O", "", ""},
    {Command::kReload, "&File", "&Reload", "F5", "", ""},
    {Command::kQuit, "&File", "&Quit", "Ctrl+Q", "", ""},
    {Command::kZoomIn, "&View", "Zoom &in", "Ctrl++ Ctrl+=", "W + =", "wheel up, at the cursor"},
    {Command::kZoomOut, "&View", "Zoom &out", "Ctrl+-", "S -", "wheel down"},
    {Command::kPanLeft, "&View", "Move &left in time", "", "A Shift+Left", "drag; Shift+wheel"},
    {Command::kPanRight, "&View", "Move &right in time", "", "D Shift+Right", "drag; Shift+wheel"},
    {Command::kFitAll, "&View", "Fit &all", "Ctrl+0", "Home", ""},
    {Command::kFitSelection, "&View", "Fit the &selection or the measured span", "Ctrl+J", "F",
     "double click on an event"},
    {Command::kPreviousZoom, "&View", "&Previous zoom", "Ctrl+Z", "Backspace", ""},
    {Command::kNextZoom, "&View", "&Next zoom", "Ctrl+Shift+Z", "Shift+Backspace", ""},
    {Command::kMeasureSelection, "&View", "&Measure the selected event", "Ctrl+M", "M",
     "a span: drag on the ruler, or Shift+drag"},
    {Command::kClear, "&View", "&Clear selection and measured span", "", "Esc", "click beside the events"},
    {Command::kPreviousEvent, "&Go", "Event &before", "", "Left", "a certain one: click"},
    {Command::kNextEvent, "&Go", "Event &after", "", "Right", ""},
    {Command::kRowAbove, "&Go", "Row a&bove", "", "Up", ""},
    {Command::kRowBelow, "&Go", "Row be&low", "", "Down", ""},
    {Command::kPreviousStep, "&Go", "&Previous step", "Alt+Left", "[ PgUp", ""},
    {Command::kNextStep, "&Go", "&Next step", "Alt+Right", "] PgDown", ""},
    {Command::kGoToStep, "&Go", "To &step…", "Ctrl+G", "G", ""},
    {Command::kFind, "&Search", "&Find a name…", "Ctrl+F", "/", ""},
    {Command::kFindNext, "&Search", "Find &next", "F3", "N", ""},
    {Command::kFindPrevious, "&Search", "Find &previous", "Shift+F3", "Shift+N", ""},
    {Command::kTimelinePage, "&Page", "Page &Timeline", "Ctrl+1", "", ""},
    {Command::kMemoryPage, "&Page", "Page &Memory", "Ctrl+2", "", ""},
    {Command::kRooflinePage, "&Page", "Page &Roofline", "Ctrl+3", "", ""},
    {Command::kSummaryPage, "&Page", "Page S&ummary", "Ctrl+4", "", ""},
    {Command::kCollectivesPage, "&Page", "Page C&ollectives", "Ctrl+5", "", ""},
    {Command::kAdvicePage, "&Page", "Page &Advice", "Ctrl+6", "", ""},
    {Command::kRecordingPage, "&Page", "Page Re&cording", "Ctrl+7", "", ""},
    {Command::kShowFinding, "A&dvice", "&Show the chosen finding in the timeline", "Ctrl+T", "", ""},
    {Command::kCopyFinding, "A&dvice", "&Copy the chosen finding as text", "Ctrl+Shift+C", "", ""},
    {Command::kCopyFindingAsMarkdown, "A&dvice", "Copy the chosen finding as &Markdown", "Ctrl+Shift+M", "", ""},
    {Command::kHelp, "&Help", "&Keys and mouse", "F1", "?", ""},
    {Command::kNone, "", "Scroll through the rows", "", "", "Alt+wheel; wheel on the names; drag"},
    {Command::kNone, "", "Fold and unfold a rank or row", "", "", "click on its name"},
    {Command::kNone, "", "Make the names wider or narrower", "", "",
     "drag their right edge; double click there: as at first"}};

QStringList split(const char* keys) { return QString::fromUtf8(keys).split(QLatin1Char(' '), Qt::SkipEmptyParts); }

QString plainText(const CommandInfo& command) {
  QString text = QString::fromUtf8(command.text);
  return text.remove(QLatin1Char('&')).remove(QChar(0x2026));
}

}  // namespace

std::span<const CommandInfo> commands() { return kCommands; }

QList<QKeySequence> shortcutsOf(const CommandInfo& command) {
  QList<QKeySequence> shortcuts;
  for (const QString& key : split(command.keys)) shortcuts << QKeySequence(key, QKeySequence::PortableText);
  return shortcuts;
}

std::optional<Command> timelineCommand(const QKeySequence& key) {
  for (const CommandInfo& command : kCommands) {
    for (const QString& text : split(command.viewKeys)) {
      if (QKeySequence(text, QKeySequence::PortableText) == key) return command.id;
    }
  }
  return std::nullopt;
}

QString helpHtml() {
  QString html = QStringLiteral(
      "<table cellspacing='0' cellpadding='3'><tr><th align='left'>What</th><th align='left'>Keys</th>"
      "<th align='left'>Mouse on the timeline</th></tr>");
  for (const CommandInfo& command : kCommands) {
    const QStringList keys = split(command.keys) + split(command.viewKeys);
    html += QStringLiteral("<tr><td>%1</td><td>%2</td><td>%3</td></tr>")
                .arg(plainText(command).toHtmlEscaped(), keys.join(QStringLiteral(" &nbsp; ")),
                     QString::fromUtf8(command.mouse).toHtmlEscaped());
  }
  return html + QStringLiteral("</table><p>Keys without Ctrl, Alt or F work while the timeline has the focus.</p>");
}

QString shortHelp() {
  QStringList parts;
  const auto add = [&](const char* what, std::initializer_list<Command> ids) {
    QStringList keys;
    for (const Command id : ids) {
      for (const CommandInfo& command : kCommands) {
        if (command.id == id) keys << (split(command.viewKeys) + split(command.keys)).front();
      }
    }
    parts << QStringLiteral("%1: %2").arg(keys.join(QLatin1Char('/')), QString::fromUtf8(what));
  };
  add("zoom", {Command::kZoomIn, Command::kZoomOut});
  add("move", {Command::kPanLeft, Command::kPanRight});
  add("fit", {Command::kFitSelection, Command::kFitAll});
  add("step", {Command::kPreviousStep, Command::kNextStep});
  add("all keys", {Command::kHelp});
  return QStringLiteral("Shift+drag: measure · ") + parts.join(QStringLiteral(" · "));
}

}  // namespace plumb::gui
