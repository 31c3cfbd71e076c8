// SPDX-License-Identifier: Apache-2.0
#include "gui/app/main_window.h"

#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabWidget>
#include <QUrl>

#include "gui/pages/health_page.h"
#include "gui/pages/memory_page.h"
#include "gui/pages/roofline_page.h"
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
      m_healthPage(new HealthPage(this)) {
  m_message->setTextFormat(Qt::PlainText);
  m_message->setAlignment(Qt::AlignCenter);
  m_message->setWordWrap(true);
  m_message->setMargin(40);
  m_tabs->addTab(m_timelinePage, tr("&Timeline"));
  m_tabs->addTab(m_memoryPage, tr("&Memory"));
  m_tabs->addTab(m_rooflinePage, tr("&Roofline"));
  m_tabs->addTab(m_summaryPage, tr("S&ummary"));
  m_tabs->addTab(m_healthPage, tr("Re&cording"));
  m_tabs->setDocumentMode(true);
  m_stack->addWidget(m_message);
  m_stack->addWidget(m_tabs);
  setCentralWidget(m_stack);
  setAcceptDrops(true);
  resize(1400, 860);
  buildMenus();
  buildStatusBar();
  showMessage(tr("Open a recording (Ctrl+O), or drop its file here."));
  connect(&m_state, &ViewState::measuredChanged, this, &MainWindow::updateMeasure);
  connect(m_summaryPage, &SummaryPage::timelineRequested, this, [this] { m_tabs->setCurrentWidget(m_timelinePage); });
}

MainWindow::~MainWindow() = default;

void MainWindow::buildMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::chooseFile);
  file->addAction(tr("&Reload"), QKeySequence::Refresh, this, [this] {
    if (m_data) open(toQString(m_data->path));
  });
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);

  QMenu* view = menuBar()->addMenu(tr("&View"));
  const auto zoom = [this](double factor) {
    const TimeSpan& span = m_state.span();
    m_state.setSpan(zoomed(span, factor, (span.startNs + span.endNs) / 2, m_state.limits()));
  };
  view->addAction(tr("Zoom &in"), QKeySequence::ZoomIn, this, [zoom] { zoom(0.5); });
  view->addAction(tr("Zoom &out"), QKeySequence::ZoomOut, this, [zoom] { zoom(2); });
  view->addAction(tr("Fit &all"), QKeySequence(Qt::CTRL | Qt::Key_0), this, [this] { m_state.showAll(); });
  view->addAction(tr("Fit &selection"), QKeySequence(Qt::CTRL | Qt::Key_J), this,
                  [this] { m_timelinePage->view().zoomToSelection(); });
  view->addAction(tr("&Previous zoom"), QKeySequence::Undo, this, [this] { m_state.undo(); });
  view->addAction(tr("&Next zoom"), QKeySequence::Redo, this, [this] { m_state.redo(); });

  QMenu* search = menuBar()->addMenu(tr("&Search"));
  search->addAction(tr("&Find…"), QKeySequence::Find, this, [this] {
    m_tabs->setCurrentWidget(m_timelinePage);
    m_timelinePage->searchBox().setFocus();
    m_timelinePage->searchBox().selectAll();
  });
  search->addAction(tr("Find &next"), QKeySequence(Qt::Key_F3), this, [this] { m_timelinePage->findNext(1); });
  search->addAction(tr("Find &previous"), QKeySequence(Qt::SHIFT | Qt::Key_F3), this,
                    [this] { m_timelinePage->findNext(-1); });

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keys and mouse"), QKeySequence::HelpContents, this, [this] {
    QMessageBox box(QMessageBox::NoIcon, tr("Keys and mouse"),
                    tr("Timeline\n"
                       "  wheel, W / S: zoom around the cursor\n"
                       "  drag, A / D, Shift+wheel: move in time\n"
                       "  Alt+wheel, wheel on the names: scroll\n"
                       "  click: select · Left / Right: the event before / after · Up / Down: other row\n"
                       "  F: fit the selection · Home: fit all · Backspace, Ctrl+Z: previous zoom\n"
                       "  drag on the ruler: measure a time span · Esc: clear\n"
                       "  click on a name: fold and unfold\n\n"
                       "Ctrl+F: search · F3 / Shift+F3: next / previous match"),
                    QMessageBox::Ok, this);
    box.setTextFormat(Qt::PlainText);
    box.exec();
  });
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
      [path](const JobControl& control) -> Loaded {
        return loadTraceData(path.toStdString(), [&](double share, const char* what) {
          return control.progress(share, QString::fromUtf8(what));
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

void MainWindow::present(std::shared_ptr<const TraceData> trace) {
  // The selection refers to the old data; it goes first.
  m_state.select(std::nullopt);
  m_timelinePage->setData(trace);
  m_memoryPage->setData(trace);
  m_rooflinePage->setData(trace);
  m_summaryPage->setData(trace);
  m_healthPage->setData(trace);
  m_data = std::move(trace);
  if (!m_data) return;
  const timeline::Timeline& all = *m_data->timeline;
  const TimeSpan limits{static_cast<double>(all.extent.startNs),
                        static_cast<double>(std::max(all.extent.endNs, all.extent.startNs + 1))};
  const timeline::Window steady = timeline::steadyWindow(all);
  m_state.reset(limits, {static_cast<double>(steady.startNs), static_cast<double>(steady.endNs)});
  m_stack->setCurrentWidget(m_tabs);
  m_timelinePage->view().setFocus();
  const auto errors = std::count_if(m_data->diagnostics.begin(), m_data->diagnostics.end(),
                                    [](const Diagnostic& d) { return d.severity != "info"; });
  m_tabs->setTabText(m_tabs->indexOf(m_healthPage),
                     errors > 0 ? tr("Re&cording (%1 warnings)").arg(errors) : tr("Re&cording"));
  QString status = tr("%L1 events").arg(all.sliceCount);
  if (all.softwareDevice) status += tr(" · software device: durations are CPU time");
  if (!m_data->info.complete) status += tr(" · the recording is not complete");
  statusBar()->showMessage(status);
}

void MainWindow::showMessage(const QString& message) {
  m_message->setText(message);
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
