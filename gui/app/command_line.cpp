// SPDX-License-Identifier: Apache-2.0
#include "gui/app/command_line.h"

#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSaveFile>

namespace plumb::gui {
namespace {

constexpr int kLeastWidth = 400;
constexpr int kLeastHeight = 240;
constexpr int kMostPixels = 20000;

struct Options {
  QCommandLineOption render{
      QStringLiteral("render"),
      QStringLiteral("Draw a picture into a file instead of opening a window: timeline, memory or roofline."),
      QStringLiteral("picture")};
  QCommandLineOption output{{QStringLiteral("o"), QStringLiteral("output")},
                            QStringLiteral("The PNG file that --render writes."),
                            QStringLiteral("file")};
  QCommandLineOption size{
      QStringLiteral("size"),
      QStringLiteral("Its size in pixels, for example 1600x900; without it as large as the content needs."),
      QStringLiteral("WxH")};
  QCommandLineOption rank{QStringLiteral("rank"), QStringLiteral("Draw only this rank."), QStringLiteral("N")};
  QCommandLineOption help{{QStringLiteral("h"), QStringLiteral("help")}, QStringLiteral("Show this help.")};
  QCommandLineOption version{QStringLiteral("version"), QStringLiteral("Show the version.")};
};

void describe(QCommandLineParser& parser, const Options& options) {
  parser.setApplicationDescription(
      QStringLiteral("Shows a recording made by plumb record: timeline, memory, roofline."));
  parser.addPositionalArgument(QStringLiteral("trace"), QStringLiteral("The recording (.sqlite)."),
                               QStringLiteral("[trace]"));
  for (const QCommandLineOption& option :
       {options.render, options.output, options.size, options.rank, options.help, options.version})
    parser.addOption(option);
}

Error error(const QString& message) { return Error{message.toStdString()}; }

Result<QSize> parseSize(const QString& text) {
  static const QRegularExpression kPattern(QStringLiteral("^([0-9]{1,6})x([0-9]{1,6})$"));
  const auto match = kPattern.match(text);
  const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
  if (!match.hasMatch() || size.width() < kLeastWidth || size.height() < kLeastHeight || size.width() > kMostPixels ||
      size.height() > kMostPixels) {
    return error(QStringLiteral("--size '%1' is not a size from %2x%3 to %4x%4, such as 1600x900.")
                     .arg(text)
                     .arg(kLeastWidth)
                     .arg(kLeastHeight)
                     .arg(kMostPixels));
  }
  return size;
}

Result<RenderOptions> parseRender(const QCommandLineParser& parser, const Options& options) {
  RenderOptions render;
  const QString picture = parser.value(options.render);
  if (picture == QLatin1String("timeline"))
    render.picture = Picture::kTimeline;
  else if (picture == QLatin1String("memory"))
    render.picture = Picture::kMemory;
  else if (picture == QLatin1String("roofline"))
    render.picture = Picture::kRoofline;
  else
    return error(QStringLiteral("--render knows the pictures timeline, memory and roofline, not '%1'.").arg(picture));
  if (parser.isSet(options.size)) {
    const auto size = parseSize(parser.value(options.size));
    if (!size.ok()) return size.error();
    render.size = size.value();
  }
  if (parser.isSet(options.rank)) {
    bool ok = false;
    render.rank = parser.value(options.rank).toLongLong(&ok);
    if (!ok || *render.rank < 0)
      return error(QStringLiteral("--rank '%1' is not a rank: give a number from 0.").arg(parser.value(options.rank)));
  }
  return render;
}

}  // namespace

Result<CommandLine> parseCommandLine(const QStringList& arguments) {
  const Options options;
  QCommandLineParser parser;
  describe(parser, options);
  if (!parser.parse(QStringList{QStringLiteral("plumb-gui")} + arguments)) {
    return error(QStringLiteral("%1 See plumb-gui --help.").arg(parser.errorText()));
  }
  CommandLine result;
  result.help = parser.isSet(options.help);
  result.version = parser.isSet(options.version);
  if (result.help || result.version) return result;
  const QStringList positional = parser.positionalArguments();
  if (positional.size() > 1)
    return error(QStringLiteral("One recording at a time: '%1' is too many.").arg(positional[1]));
  if (!positional.isEmpty()) result.trace = positional.front();
  if (!parser.isSet(options.render)) {
    for (const QCommandLineOption& option : {options.output, options.size, options.rank}) {
      if (parser.isSet(option))
        return error(QStringLiteral("--%1 belongs to --render: say which picture to draw.").arg(option.names().back()));
    }
    return result;
  }
  auto render = parseRender(parser, options);
  if (!render.ok()) return render.error();
  result.render = render.value();
  result.output = parser.value(options.output);
  if (result.output.isEmpty()) return error(QStringLiteral("--render needs a file to write: add -o picture.png."));
  if (result.trace.isEmpty()) return error(QStringLiteral("--render needs a recording to draw: name its file."));
  return result;
}

QString helpText() {
  const Options options;
  QCommandLineParser parser;
  describe(parser, options);
  QString text = parser.helpText();
  // Without an application object Qt does not know the program's name.
  text.replace(QRegularExpression(QStringLiteral("^Usage: .*$"), QRegularExpression::MultilineOption),
               QStringLiteral("Usage: plumb-gui [trace]\n       plumb-gui --render timeline|memory|roofline -o "
                              "FILE.png [--size WxH] [--rank N] trace"));
  return text;
}

Status renderToFile(const CommandLine& commandLine) {
  const LoadParts parts{commandLine.render->picture == Picture::kMemory,
                        commandLine.render->picture == Picture::kRoofline, false};
  auto data = loadTraceData(commandLine.trace.toStdString(), {}, parts);
  if (!data.ok()) return data.error();
  auto image = render(*data.value(), *commandLine.render);
  if (!image.ok()) return image.error();
  const QFileInfo target(commandLine.output);
  if (target.isDir())
    return error(QStringLiteral("Cannot write '%1': it is a folder; name a file.").arg(commandLine.output));
  if (target.exists() &&
      (!target.isFile() || target.canonicalFilePath() == QFileInfo(commandLine.trace).canonicalFilePath()))
    return error(
        QStringLiteral("Cannot write '%1': it is the trace itself, or no ordinary file; name another file with -o.")
            .arg(commandLine.output));
  QSaveFile file(commandLine.output);
  if (!file.open(QIODevice::WriteOnly) || !image.value().save(&file, "PNG") || !file.commit()) {
    return error(QStringLiteral("Cannot write '%1' (%2): choose another place with -o.")
                     .arg(commandLine.output, file.errorString()));
  }
  return Unit{};
}

}  // namespace plumb::gui
