// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QString>
#include <QStringList>
#include <optional>

#include "collector/schema/result.h"
#include "gui/app/render.h"

namespace plumb::gui {

struct CommandLine {
  std::optional<RenderOptions> render;  // --render
  QString output;                       // -o, with --render
  QString trace;                        // empty: none named
  bool help = false;
  bool version = false;
};

// arguments without the program's name.
[[nodiscard]] Result<CommandLine> parseCommandLine(const QStringList& arguments);
[[nodiscard]] QString helpText();

// Draws the picture into the file; the file appears whole or not at all.
[[nodiscard]] Status renderToFile(const CommandLine& commandLine);

}  // namespace plumb::gui
