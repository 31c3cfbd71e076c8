// SPDX-License-Identifier: Apache-2.0
#include "gui/app/command_line.h"

#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <QSaveFile>

#include "analyzer/cli/text.h"

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
  QCommandLineOption rank{QStringLiteral("rank"), QStringLiteral("Draw only this rank."), QStringLiteral("R")};
  QCommandLineOption step{QStringLiteral("step"),
                          QStringLiteral("Draw only this step of each rank (plumb report steps)."),
                          QStringLiteral("N")};
  QCommandLineOption range{
      QStringLiteral("range"),
      QStringLiteral("Draw only what the ranges of this name did (plumb report ranges): timeline and memory from the "
                     "first to the last of them and of the GPU work launched in them, the roofline that work alone."),
      QStringLiteral("name")};
  QCommandLineOption from{
      QStringLiteral("from"),
      QStringLiteral("Draw only from this time of the recording on: 250000 (ns), 250us, 12.5ms, 1s."),
      QStringLiteral("T")};
  QCommandLineOption to{QStringLiteral("to"), QStringLiteral("Draw only what is before this time."),
                        QStringLiteral("T")};
  QCommandLineOption help{{QStringLiteral("h"), QStringLiteral("help")}, QStringLiteral("Show this help.")};
  QCommandLineOption version{QStringLiteral("version"), QStringLiteral("Show the version.")};
};

void describe(QCommandLineParser& parser, const Options& options) {
  parser.setApplicationDescription(
      QStringLiteral("Shows a recording made by plumb record: timeline, memory, roofline."));
  parser.addPositionalArgument(QStringLiteral("trace"), QStringLiteral("The recording (.sqlite)."),
                               QStringLiteral("[trace]"));
  for (const QCommandLineOption& option : {options.render, options.output, options.size, options.rank, options.step,
                                           options.range, options.from, options.to, options.help, options.version})
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

// Into value, when the option is there.
Status parseNumber(const QCommandLineParser& parser, const QCommandLineOption& option, std::optional<int64_t>& value) {
  if (!parser.isSet(option)) return Unit{};
  const QString name = option.names().front(), text = parser.value(option);
  bool ok = false;
  value = text.toLongLong(&ok);
  if (ok && *value >= 0) return Unit{};
  return error(QStringLiteral("--%1 '%2' is not a %1: give a number from 0.").arg(name, text));
}

Status parseTime(const QCommandLineParser& parser, const QCommandLineOption& option, std::optional<TimePoint>& time) {
  if (!parser.isSet(option)) return Unit{};
  const auto parsed = cli::parseNanoseconds(parser.value(option).toStdString());
  if (!parsed.ok()) return Error{"--" + option.names().front().toStdString() + ": " + parsed.error().message};
  time = TimePoint(parsed.value());
  return Unit{};
}

Result<Filter> parseFilter(const QCommandLineParser& parser, const Options& options) {
  Filter filter;
  for (const Status& parsed :
       {parseNumber(parser, options.rank, filter.rank), parseNumber(parser, options.step, filter.step),
        parseTime(parser, options.from, filter.from), parseTime(parser, options.to, filter.to)}) {
    if (!parsed.ok()) return parsed.error();
  }
  if (parser.isSet(options.range)) filter.range = parser.value(options.range).toStdString();
  if (filter.from && filter.to && *filter.to <= *filter.from)
    return error(QStringLiteral("--from %1 is not before --to %2: give the earlier time with --from.")
                     .arg(parser.value(options.from), parser.value(options.to)));
  return filter;
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
  auto filter = parseFilter(parser, options);
  if (!filter.ok()) return filter.error();
  render.filter = std::move(filter.value());
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
    for (const QCommandLineOption& option :
         {options.output, options.size, options.rank, options.step, options.range, options.from, options.to}) {
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
  text.replace(
      QRegularExpression(QStringLiteral("^Usage: .*$"), QRegularExpression::MultilineOption),
      QStringLiteral(
          "Usage: plumb-gui [trace]\n       plumb-gui --render timeline|memory|roofline -o "
          "FILE.png [--size WxH]\n                 [--rank R] [--step N] [--range NAME] [--from T] [--to T] trace"));
  return text;
}

Status renderToFile(const CommandLine& commandLine) {
  const LoadParts parts{commandLine.render->picture == Picture::kMemory,
                        commandLine.render->picture == Picture::kRoofline, false, commandLine.render->filter};
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
