// SPDX-License-Identifier: Apache-2.0
// Everything that a key, a menu entry or the mouse does, in one list: the menus, the keys of the timeline and the help
// are made from it.
#pragma once
#include <QKeySequence>
#include <QList>
#include <QString>
#include <optional>
#include <span>

namespace plumb::gui {

enum class Command {
  kNone,  // only a gesture of the mouse
  kOpen,
  kReload,
  kQuit,
  kZoomIn,
  kZoomOut,
  kPanLeft,
  kPanRight,
  kFitAll,
  kFitSelection,
  kPreviousZoom,
  kNextZoom,
  kMeasureSelection,
  kClear,
  kPreviousEvent,
  kNextEvent,
  kRowAbove,
  kRowBelow,
  kPreviousStep,
  kNextStep,
  kGoToStep,
  kFind,
  kFindNext,
  kFindPrevious,
  kTimelinePage,
  kMemoryPage,
  kRooflinePage,
  kSummaryPage,
  kCollectivesPage,
  kAdvicePage,
  kRecordingPage,
  kShowFinding,
  kCopyFinding,
  kCopyFindingAsMarkdown,
  kHelp
};

struct CommandInfo {
  Command id = Command::kNone;
  const char* menu = "";      // "" : in no menu
  const char* text = "";      // in a menu; & marks its letter
  const char* keys = "";      // everywhere in the window, as QKeySequence reads them; several by blanks
  const char* viewKeys = "";  // where the timeline has the focus; likewise
  const char* mouse = "";     // on the timeline
};

// In the order of the menus and of the help.
[[nodiscard]] std::span<const CommandInfo> commands();

[[nodiscard]] QList<QKeySequence> shortcutsOf(const CommandInfo& command);
// What a key does on the timeline.
[[nodiscard]] std::optional<Command> timelineCommand(const QKeySequence& key);

// A table in HTML: what, keys, mouse.
[[nodiscard]] QString helpHtml();
// One line of the most important ones.
[[nodiscard]] QString shortHelp();

}  // namespace plumb::gui
