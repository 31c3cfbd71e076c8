// SPDX-License-Identifier: Apache-2.0
// Composes the pages; loads a trace in the background and hands it to them.
#pragma once
#include <QMainWindow>
#include <memory>

#include "gui/async/job.h"
#include "gui/async/trace_data.h"
#include "gui/state/commands.h"
#include "gui/state/view_state.h"

class QFrame;
class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTabWidget;

namespace plumb::gui {

class AdvicePage;
class CollectivesPage;
class HealthPage;
class MemoryPage;
class RooflinePage;
class SummaryPage;
class TimelinePage;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  // Returns at once; loaded() or failed() follows, unless another file is opened meanwhile.
  void open(const QString& path);
  [[nodiscard]] ViewState& state() { return m_state; }
  [[nodiscard]] TimelinePage& timelinePage() { return *m_timelinePage; }
  [[nodiscard]] MemoryPage& memoryPage() { return *m_memoryPage; }
  [[nodiscard]] RooflinePage& rooflinePage() { return *m_rooflinePage; }
  [[nodiscard]] SummaryPage& summaryPage() { return *m_summaryPage; }
  [[nodiscard]] CollectivesPage& collectivesPage() { return *m_collectivesPage; }
  [[nodiscard]] AdvicePage& advicePage() { return *m_advicePage; }
  [[nodiscard]] HealthPage& healthPage() { return *m_healthPage; }
  [[nodiscard]] QTabWidget& tabs() { return *m_tabs; }
  // The note above the pages: that the run did not end as it should; "" when there is none.
  [[nodiscard]] QString note() const;
  void run(Command command);
  // What stands in the window instead of pages: a hint, or why a file could not be opened; "" while pages are shown.
  [[nodiscard]] QString message() const;
  [[nodiscard]] const std::shared_ptr<const TraceData>& data() const { return m_data; }

 signals:
  // The timeline can be looked at; the other pages follow with loaded().
  void timelineShown();
  void loaded();
  void failed(const QString& message);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void buildMenus();
  void buildStatusBar();
  void chooseFile();
  [[nodiscard]] QWidget* buildNote();
  void connectPages();
  void present(std::shared_ptr<const TraceData> trace);
  void setPages(const std::shared_ptr<const TraceData>& trace);
  void showFirst(const TraceData& trace);
  void showFacts(const TraceData& trace);
  void showPage(Command command);
  void nameAdviceTab();
  void showHelp();
  void askForStep();
  void showMessage(const QString& message);
  void updateMeasure();

  ViewState m_state;
  JobRunner m_jobs;
  std::shared_ptr<const TraceData> m_data;
  QStackedWidget* m_stack;
  QLabel* m_message;
  QTabWidget* m_tabs;
  TimelinePage* m_timelinePage;
  MemoryPage* m_memoryPage;
  RooflinePage* m_rooflinePage;
  SummaryPage* m_summaryPage;
  CollectivesPage* m_collectivesPage;
  AdvicePage* m_advicePage;
  HealthPage* m_healthPage;
  QFrame* m_note = nullptr;
  QLabel* m_noteLabel = nullptr;
  QPushButton* m_showStuck = nullptr;
  QPushButton* m_showMemory = nullptr;
  QLabel* m_measureLabel = nullptr;
  QProgressBar* m_progress = nullptr;
  QPushButton* m_cancel = nullptr;
};

}  // namespace plumb::gui
