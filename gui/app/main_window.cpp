// SPDX-License-Identifier: Apache-2.0
#include "gui/app/main_window.h"

#include <QDialog>
#include <QDialogButtonBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QFrame>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabWidget>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <climits>
#include <map>

#include "gui/pages/absence.h"
#include "gui/pages/advice_page.h"
#include "gui/pages/collectives_page.h"
#include "gui/pages/health_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/roofline_page.h"
#include "gui/pages/scenes.h"
#include "gui/pages/summary_page.h"
#include "gui/pages/timeline_page.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      m_stack(new QStackedWidget(this)),
      m_message(new QLabel(this)),
      m_tabs(new QTabWidget(this)),
      m_timelinePage(new TimelinePage(m_state, this)),
      m_memoryPage(new MemoryPage(m_state, this)),
      m_rooflinePage(new RooflinePage(m_state, this)),
      m_summaryPage(new SummaryPage(m_state, this)),
      m_collectivesPage(new CollectivesPage(m_state, this)),
      m_advicePage(new AdvicePage(m_state, this)),
      m_healthPage(new HealthPage(this)) {
  m_message->setTextFormat(Qt::PlainText);
  m_message->setAlignment(Qt::AlignCenter);
  m_message->setWordWrap(true);
  m_message->setMargin(40);
  m_tabs->addTab(m_timelinePage, tr("&Timeline"));
  m_tabs->addTab(m_memoryPage, tr("&Memory"));
  m_tabs->addTab(m_rooflinePage, tr("&Roofline"));
  m_tabs->addTab(m_summaryPage, tr("S&ummary"));
  m_tabs->addTab(m_collectivesPage, tr("C&ollectives"));
  m_tabs->addTab(m_advicePage, tr("&Advice"));
  m_tabs->addTab(m_healthPage, tr("Re&cording"));
  m_tabs->setDocumentMode(true);
  m_stack->addWidget(m_message);
  m_stack->addWidget(m_tabs);
  auto* central = new QWidget(this);
  auto* layout = new QVBoxLayout(central);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(buildNote());
  layout->addWidget(m_stack, 1);
  setCentralWidget(central);
  setAcceptDrops(true);
  resize(1400, 860);
  buildMenus();
  buildStatusBar();
  showMessage(tr("Open a recording (Ctrl+O), or drop its file here."));
  connectPages();
}

MainWindow::~MainWindow() = default;

void MainWindow::connectPages() {
  connect(&m_state, &ViewState::measuredChanged, this, &MainWindow::updateMeasure);
  connect(&m_state, &ViewState::shown, this, [this] {
    m_tabs->setCurrentWidget(m_timelinePage);
    m_timelinePage->view().setFocus();
  });
  connect(m_advicePage, &AdvicePage::ready, this, &MainWindow::nameAdviceTab);
  connect(&m_timelinePage->view(), &TimelineView::commandRequested, this, &MainWindow::run);
}

QWidget* MainWindow::buildNote() {
  m_note = new QFrame(this);
  m_note->setAutoFillBackground(true);
  QPalette warning = m_note->palette();
  warning.setColor(QPalette::Window, QColor(0xfb, 0xe3, 0xd6));
  warning.setColor(QPalette::WindowText, QColor(0x5a, 0x1d, 0x10));
  m_note->setPalette(warning);
  m_noteLabel = new QLabel(m_note);
  m_noteLabel->setTextFormat(Qt::PlainText);
  m_noteLabel->setWordWrap(true);
  m_noteLabel->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_showStuck = new QPushButton(tr("Stuck collectives"), m_note);
  m_showMemory = new QPushButton(tr("Memory"), m_note);
  auto* close = new QToolButton(m_note);
  close->setText(QStringLiteral("×"));
  close->setToolTip(tr("Hide this note"));
  close->setAutoRaise(true);
  auto* layout = new QHBoxLayout(m_note);
  layout->setContentsMargins(10, 4, 6, 4);
  layout->addWidget(m_noteLabel, 1);
  layout->addWidget(m_showStuck);
  layout->addWidget(m_showMemory);
  layout->addWidget(close);
  connect(m_showStuck, &QPushButton::clicked, this, [this] { m_tabs->setCurrentWidget(m_collectivesPage); });
  connect(m_showMemory, &QPushButton::clicked, this, [this] { m_tabs->setCurrentWidget(m_memoryPage); });
  connect(close, &QToolButton::clicked, m_note, &QWidget::hide);
  m_note->hide();
  return m_note;
}

void MainWindow::buildMenus() {
  std::map<QString, QMenu*> menus;
  for (const CommandInfo& command : commands()) {
    const QString name = QString::fromUtf8(command.menu);
    if (name.isEmpty()) continue;
    QMenu*& menu = menus[name];
    if (!menu) menu = menuBar()->addMenu(name);
    QAction* action = menu->addAction(QString::fromUtf8(command.text), this, [this, id = command.id] { run(id); });
    action->setShortcuts(shortcutsOf(command));
    // A key of the timeline alone is no shortcut of the window, but the menu is where people look for it.
    if (action->shortcuts().isEmpty())
      action->setText(action->text() + QLatin1Char('\t') +
                      QString::fromUtf8(command.viewKeys).section(QLatin1Char(' '), 0, 0));
  }
}

void MainWindow::run(Command command) {
  switch (command) {
    case Command::kOpen:
      return chooseFile();
    case Command::kReload:
      if (m_data) open(toQString(m_data->path));
      return;
    case Command::kQuit:
      close();
      return;
    case Command::kPreviousStep:
      return m_timelinePage->moveByStep(-1);
    case Command::kNextStep:
      return m_timelinePage->moveByStep(1);
    case Command::kGoToStep:
      return askForStep();
    case Command::kFind:
      m_tabs->setCurrentWidget(m_timelinePage);
      m_timelinePage->searchBox().setFocus();
      m_timelinePage->searchBox().selectAll();
      return;
    case Command::kFindNext:
      return m_timelinePage->findNext(1);
    case Command::kFindPrevious:
      return m_timelinePage->findNext(-1);
    case Command::kShowFinding:
      return m_advicePage->showInTimeline();
    case Command::kCopyFinding:
      return m_advicePage->copyAsText();
    case Command::kCopyFindingAsMarkdown:
      return m_advicePage->copyAsMarkdown();
    case Command::kTimelinePage:
    case Command::kMemoryPage:
    case Command::kRooflinePage:
    case Command::kSummaryPage:
    case Command::kCollectivesPage:
    case Command::kAdvicePage:
    case Command::kRecordingPage:
      return showPage(command);
    case Command::kHelp:
      return showHelp();
    default:
      m_timelinePage->view().run(command);
  }
}

void MainWindow::showPage(Command command) {
  const std::pair<Command, QWidget*> pages[] = {
      {Command::kTimelinePage, m_timelinePage},       {Command::kMemoryPage, m_memoryPage},
      {Command::kRooflinePage, m_rooflinePage},       {Command::kSummaryPage, m_summaryPage},
      {Command::kCollectivesPage, m_collectivesPage}, {Command::kAdvicePage, m_advicePage},
      {Command::kRecordingPage, m_healthPage}};
  for (const auto& [id, page] : pages) {
    if (id != command) continue;
    m_tabs->setCurrentWidget(page);
    page->setFocus();
  }
}

void MainWindow::nameAdviceTab() {
  const auto& advice = m_advicePage->advice();
  const size_t count = advice ? advice->findings.size() : 0;
  m_tabs->setTabText(m_tabs->indexOf(m_advicePage), count > 0 ? tr("&Advice (%1)").arg(count) : tr("&Advice"));
}

void MainWindow::askForStep() {
  const auto& steps = m_timelinePage->steps();
  if (steps.empty()) {
    statusBar()->showMessage(m_data ? whyNoSteps(*m_data) : tr("Open a recording first."), 8000);
    return;
  }
  const TimeSpan& span = m_state.span();
  const StepSpan& here = steps[*stepAt(steps, (span.startNs + span.endNs) / 2)];
  const auto bound = [](int64_t number) { return static_cast<int>(std::clamp<int64_t>(number, INT_MIN, INT_MAX)); };
  bool ok = false;
  const int number = QInputDialog::getInt(this, tr("Go to step"), tr("Step:"), bound(here.number),
                                          bound(steps.front().number), bound(steps.back().number), 1, &ok);
  if (!ok) return;
  m_tabs->setCurrentWidget(m_timelinePage);
  if (!m_timelinePage->goToStep(number)) statusBar()->showMessage(tr("There is no step %1.").arg(number), 8000);
}

void MainWindow::showHelp() {
  auto* dialog = new QDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setWindowTitle(tr("Keys and mouse"));
  auto* text = new QTextBrowser(dialog);
  text->setHtml(helpHtml());
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
  connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
  auto* layout = new QVBoxLayout(dialog);
  layout->addWidget(text, 1);
  layout->addWidget(buttons);
  dialog->resize(780, std::min(760, height()));
  dialog->open();
}

void MainWindow::buildStatusBar() {
  m_measureLabel = new QLabel(this);
  m_measureLabel->setTextFormat(Qt::PlainText);
  m_progress = new QProgressBar(this);
  m_progress->setMaximumWidth(220);
  m_progress->setRange(0, 1000);
  m_cancel = new QPushButton(tr("Cancel"), this);
  statusBar()->addPermanentWidget(m_measureLabel);
  statusBar()->addPermanentWidget(m_progress);
  statusBar()->addPermanentWidget(m_cancel);
  m_progress->hide();
  m_cancel->hide();
  connect(m_cancel, &QPushButton::clicked, this, [this] {
    m_jobs.cancel();
    if (m_data && !m_data->isWhole)
      statusBar()->showMessage(tr("Stopped: the other pages were not computed; F5 reads the recording again."));
    if (!m_data) showMessage(tr("Loading was cancelled. Open a recording (Ctrl+O), or drop its file here."));
  });
  connect(&m_jobs, &JobRunner::runningChanged, this, [this](bool running) {
    m_progress->setVisible(running);
    m_cancel->setVisible(running);
    m_progress->setValue(0);
  });
  connect(&m_jobs, &JobRunner::progressed, this, [this](double share, const QString& what) {
    m_progress->setValue(static_cast<int>(share * 1000));
    m_progress->setFormat(what + QStringLiteral(" %p %"));
  });
}

void MainWindow::open(const QString& path) {
  const QString name = QFileInfo(path).fileName();
  setWindowTitle(tr("%1 – Plumbline").arg(name));
  if (!m_data) showMessage(tr("Loading %1 …").arg(name));
  using Loaded = Result<std::shared_ptr<const TraceData>>;
  m_jobs.start(
      [this, path](const JobControl& control) -> Loaded {
        return loadTraceData(
            path.toStdString(),
            [&](double share, const char* what) { return control.progress(share, QString::fromUtf8(what)); }, {},
            [&](std::shared_ptr<const TraceData> early) {
              control.post([this, early = std::move(early)] {
                present(early);
                emit timelineShown();
              });
            });
      },
      [this](Loaded result) {
        if (result.ok()) {
          present(std::move(result.value()));
          emit loaded();
          return;
        }
        const QString message = toQString(result.error().message);
        present(nullptr);
        showMessage(message);
        emit failed(message);
      });
}

void MainWindow::setPages(const std::shared_ptr<const TraceData>& trace) {
  m_timelinePage->setData(trace);
  m_memoryPage->setData(trace);
  m_rooflinePage->setData(trace);
  m_summaryPage->setData(trace);
  m_collectivesPage->setData(trace);
  m_advicePage->setData(trace);
  m_healthPage->setData(trace);
}

void MainWindow::present(std::shared_ptr<const TraceData> trace) {
  const bool isMoreOfTheSame = trace && m_data && trace->timeline == m_data->timeline;
  // The selection refers to the old data; it goes first.
  if (!isMoreOfTheSame) m_state.select(std::nullopt);
  setPages(trace);
  m_data = std::move(trace);
  if (!m_data) {
    m_note->hide();
    return;
  }
  // A dump of memory alone has nothing else to look at.
  const bool isMemoryAlone =
      m_data->timeline->sliceCount <= 1 &&
      std::ranges::any_of(m_data->memory.devices, [](const auto& memory) { return !memory.points.empty(); });
  if (isMoreOfTheSame && !isMemoryAlone) {
    m_state.setLimits(wholeSpan(*m_data));
    m_noteLabel->setText(runEndNote(*m_data));  // which may know more by now
  } else {
    showFirst(*m_data);
  }
  showFacts(*m_data);
  if (isMemoryAlone) m_tabs->setCurrentWidget(m_memoryPage);
}

// What a trace shows before the user has looked around: a step, or where its events are; of a run that hangs all.
void MainWindow::showFirst(const TraceData& trace) {
  const TimeSpan limits = wholeSpan(trace);
  const timeline::Window steady =
      trace.timeline->steps.empty() ? trace.mainPart.window : timeline::steadyWindow(*trace.timeline);
  const bool isWhole = !trace.open.empty() || trace.timeline->sliceCount <= 1;
  m_state.reset(limits,
                isWhole ? limits : TimeSpan{static_cast<double>(steady.startNs), static_cast<double>(steady.endNs)});
  m_stack->setCurrentWidget(m_tabs);
  m_timelinePage->view().setFocus();
  m_noteLabel->setText(runEndNote(trace));
  m_note->setVisible(!m_noteLabel->text().isEmpty());
  m_showStuck->setVisible(!trace.stuck.collectives.empty());
  m_showMemory->setVisible(!trace.outOfMemory.empty());
}

void MainWindow::showFacts(const TraceData& trace) {
  const auto errors = std::count_if(trace.diagnostics.begin(), trace.diagnostics.end(),
                                    [](const Diagnostic& d) { return d.severity != "info"; });
  m_tabs->setTabText(m_tabs->indexOf(m_healthPage), errors == 0   ? tr("Re&cording")
                                                    : errors == 1 ? tr("Re&cording (1 warning)")
                                                                  : tr("Re&cording (%1 warnings)").arg(errors));
  const auto stuck = trace.stuck.collectives.size();
  m_tabs->setTabText(m_tabs->indexOf(m_collectivesPage),
                     stuck > 0 ? tr("C&ollectives (%1 stuck)").arg(stuck) : tr("C&ollectives"));
  const size_t count = trace.timeline->sliceCount;
  QString status = count == 1 ? tr("1 event on the timeline") : tr("%L1 events").arg(count);
  if (trace.timeline->softwareDevice) status += tr(" · software device: durations are CPU time");
  if (!trace.info.complete) status += tr(" · the recording is not complete");
  statusBar()->showMessage(status);
}

QString MainWindow::note() const { return m_note->isVisibleTo(this) ? m_noteLabel->text() : QString(); }

void MainWindow::showMessage(const QString& message) {
  m_message->setText(message);
  m_note->hide();
  m_stack->setCurrentWidget(m_message);
}

QString MainWindow::message() const { return m_stack->currentWidget() == m_message ? m_message->text() : QString(); }

void MainWindow::updateMeasure() {
  const auto& measured = m_state.measured();
  m_measureLabel->setText(measured ? tr("measured: %1").arg(formatDuration(measured->length())) : QString());
}

void MainWindow::chooseFile() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a recording"), {},
                                                    tr("Recordings (*.sqlite *.db *.sqlite.zst);;All files (*)"));
  if (!path.isEmpty()) open(path);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() && event->mimeData()->urls().size() == 1 &&
      event->mimeData()->urls().front().isLocalFile())
    event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const auto urls = event->mimeData()->urls();
  if (!urls.isEmpty() && urls.front().isLocalFile()) open(urls.front().toLocalFile());
}

}  // namespace plumb::gui
