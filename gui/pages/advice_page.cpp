// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/advice_page.h"

#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSpinBox>
#include <QSplitter>
#include <QTableView>
#include <QTextBrowser>
#include <QToolButton>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <climits>
#include <set>
#include <utility>

#include "gui/async/advice_data.h"
#include "gui/pages/advice_text.h"
#include "gui/pages/cells.h"
#include "gui/pages/step_list.h"
#include "gui/state/commands.h"
#include "gui/state/evidence.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {
namespace {

QString keysOf(Command id) {
  const auto command = std::ranges::find(commands(), id, &CommandInfo::id);
  return command == commands().end() ? QString() : QString::fromUtf8(command->keys);
}

QTextBrowser* makeBrowser(const QString& name, QWidget* parent) {
  auto* browser = new QTextBrowser(parent);
  browser->setOpenLinks(false);  // nothing is ever fetched
  browser->setAccessibleName(name);
  return browser;
}

}  // namespace

AdvicePage::AdvicePage(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_rankBox(new QComboBox(this)),
      m_stepBox(new QSpinBox(this)),
      m_onlyVisible(new QCheckBox(this)),
      m_scope(new QLabel(this)),
      m_table(new TableSection(
          tr("Findings"),
          tr("gain: upper bound of the time that a remedy saves; share: gain / span of the rank's device in what was "
             "looked at; –: no time, or not known. Enter or double click shows a finding on the timeline."),
          {tr("gain, at most"), tr("share"), tr("finding"), tr("of"), tr("part"), tr("what was found")}, this)),
      m_details(makeBrowser(tr("The chosen finding"), this)),
      m_show(new QPushButton(tr("Show in timeline"), this)),
      m_copy(new QPushButton(tr("Copy"), this)),
      m_copyMarkdown(new QPushButton(tr("Copy as Markdown"), this)),
      m_chosenPart(new QWidget(this)),
      m_othersButton(new QToolButton(this)),
      m_others(makeBrowser(tr("Rules that cannot say, and rules that found nothing"), this)) {
  m_table->view().horizontalHeader()->setStretchLastSection(true);
  m_scope->setTextFormat(Qt::PlainText);
  m_scope->setWordWrap(true);
  m_othersButton->setCheckable(true);
  m_othersButton->setAutoRaise(true);
  m_othersButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  m_othersButton->setArrowType(Qt::RightArrow);
  m_others->hide();
  auto* below = new QVBoxLayout(m_chosenPart);
  below->setContentsMargins(0, 0, 0, 0);
  below->addWidget(m_details, 1);
  below->addLayout(makeButtons());
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->addWidget(m_table);
  splitter->addWidget(m_chosenPart);
  splitter->setChildrenCollapsible(false);
  splitter->setSizes({300, 300});
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(makeBar());
  layout->addWidget(m_scope);
  layout->addWidget(splitter, 3);
  layout->addWidget(m_othersButton);
  layout->addWidget(m_others, 1);

  connect(m_table, &TableSection::rowActivated, this, [this] { showInTimeline(); });
  connect(m_table->view().selectionModel(), &QItemSelectionModel::currentRowChanged, this, &AdvicePage::showDetails);
  connect(m_details, &QTextBrowser::anchorClicked, this,
          [this](const QUrl& link) { showEvents(link.path().toULongLong()); });
  connect(m_othersButton, &QToolButton::toggled, this, [this](bool isOpen) {
    m_others->setVisible(isOpen);
    m_othersButton->setArrowType(isOpen ? Qt::DownArrow : Qt::RightArrow);
  });
  connect(&m_state, &ViewState::filterChanged, this, [this] {
    readFilters();
    invalidate();
  });
}

QHBoxLayout* AdvicePage::makeBar() {
  m_rankBox->setAccessibleName(tr("Rank"));
  m_rankBox->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  m_stepBox->setAccessibleName(tr("Step"));
  m_stepBox->setPrefix(tr("step "));
  m_stepBox->setKeyboardTracking(false);
  m_onlyVisible->setToolTip(tr("The rules look only at the time span that the timeline showed when this was checked"));
  auto* bar = new QHBoxLayout;
  bar->addWidget(m_rankBox);
  bar->addWidget(m_stepBox);
  bar->addWidget(m_onlyVisible);
  bar->addStretch();
  connect(m_rankBox, &QComboBox::currentIndexChanged, this, [this] {
    Filter filter = m_state.filter();
    const QVariant rank = m_rankBox->currentData();
    filter.rank = rank.isValid() ? std::optional<int64_t>(rank.toLongLong()) : std::nullopt;
    m_state.setFilter(filter);
  });
  connect(m_stepBox, &QSpinBox::valueChanged, this, [this](int step) {
    Filter filter = m_state.filter();
    filter.step = step == m_stepBox->minimum() ? std::nullopt : std::optional<int64_t>(step);
    m_state.setFilter(filter);
  });
  connect(m_onlyVisible, &QCheckBox::toggled, this, [this](bool isOn) {
    m_onlySpan = isOn ? std::optional(m_state.span()) : std::nullopt;
    nameSpan();
    invalidate();
  });
  nameSpan();
  return bar;
}

QHBoxLayout* AdvicePage::makeButtons() {
  auto* buttons = new QHBoxLayout;
  for (const auto& [button, command] : {std::pair{m_show, Command::kShowFinding},
                                        {m_copy, Command::kCopyFinding},
                                        {m_copyMarkdown, Command::kCopyFindingAsMarkdown}}) {
    buttons->addWidget(button);
    button->setToolTip(keysOf(command));
  }
  buttons->addStretch();
  connect(m_show, &QPushButton::clicked, this, &AdvicePage::showInTimeline);
  connect(m_copy, &QPushButton::clicked, this, &AdvicePage::copyAsText);
  connect(m_copyMarkdown, &QPushButton::clicked, this, &AdvicePage::copyAsMarkdown);
  return buttons;
}

void AdvicePage::setData(const std::shared_ptr<const TraceData>& trace) {
  const bool isSame = trace && m_data && trace->timeline == m_data->timeline;
  m_data = trace;
  if (!isSame) m_onlyVisible->setChecked(false);
  fillFilters();
  if (isSame && m_advice) return showDetails();
  invalidate();
}

void AdvicePage::fillFilters() {
  const QSignalBlocker blockers[] = {QSignalBlocker(m_rankBox), QSignalBlocker(m_stepBox)};
  m_rankBox->clear();
  m_rankBox->addItem(tr("all ranks"));
  std::set<int64_t> ranks;
  for (const plumb::Process& process : m_data ? m_data->processes : std::vector<plumb::Process>()) {
    if (process.rank) ranks.insert(*process.rank);
  }
  for (const int64_t rank : ranks) m_rankBox->addItem(tr("rank %1").arg(rank), QVariant::fromValue<qlonglong>(rank));
  m_rankBox->setEnabled(!ranks.empty());
  const std::vector<StepSpan> steps = m_data ? stepSpans(*m_data) : std::vector<StepSpan>();
  m_stepBox->setEnabled(!steps.empty());
  m_stepBox->setSpecialValueText(steps.empty() ? tr("no steps") : tr("all steps"));
  // The value before the first step stands for all of them.
  const auto bound = [](int64_t number) { return static_cast<int>(std::clamp<int64_t>(number, INT_MIN + 1, INT_MAX)); };
  if (!steps.empty()) m_stepBox->setRange(bound(steps.front().number) - 1, bound(steps.back().number));
  readFilters();
}

void AdvicePage::readFilters() {
  const QSignalBlocker blockers[] = {QSignalBlocker(m_rankBox), QSignalBlocker(m_stepBox)};
  const Filter& filter = m_state.filter();
  const int row = filter.rank ? m_rankBox->findData(QVariant::fromValue<qlonglong>(*filter.rank)) : 0;
  m_rankBox->setCurrentIndex(std::max(row, 0));
  m_stepBox->setValue(filter.step ? static_cast<int>(*filter.step) : m_stepBox->minimum());
}

Filter AdvicePage::filter() const {
  Filter filter = m_state.filter();
  if (m_onlySpan) {
    filter.from = TimePoint(static_cast<int64_t>(m_onlySpan->startNs));
    filter.to = TimePoint(static_cast<int64_t>(m_onlySpan->endNs) + 1);
  }
  return filter;
}

void AdvicePage::nameSpan() {
  m_onlyVisible->setText(m_onlySpan ? tr("Only %1 … %2")
                                          .arg(formatTime(m_onlySpan->startNs, m_onlySpan->length() / 100),
                                               formatTime(m_onlySpan->endNs, m_onlySpan->length() / 100))
                                    : tr("Only the time that the timeline shows"));
}

// What is shown is no longer what is asked for.
void AdvicePage::invalidate() {
  m_jobs.cancel();
  m_rows.clear();
  m_advice.reset();
  m_scope->clear();
  m_othersButton->hide();
  m_others->clear();
  m_table->setRows({}, !m_data           ? QString()
                       : m_data->isWhole ? tr("Applying the rules …")
                                         : tr("Still being computed …"));
  showDetails();
  // The other pages come first: they are needed by everybody.
  m_isWanted = m_data && m_data->isWhole;
  if (isVisible()) compute();
}

void AdvicePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  compute();
}

void AdvicePage::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  giveFocusToTable();
}

// While the rules are applied there is no table yet; the page keeps the focus until then.
void AdvicePage::giveFocusToTable() {
  if (m_table->view().isVisible()) m_table->view().setFocus();
}

void AdvicePage::compute() {
  if (!m_isWanted) return;
  m_isWanted = false;
  m_jobs.start(
      [path = m_data->path, filter = filter()](const JobControl& control) {
        return loadAdvice(path, filter, [&control] { return !control.cancelled(); });
      },
      [this](Result<Advice> result) { present(std::move(result)); });
}

void AdvicePage::present(Result<Advice> result) {
  if (!result.ok()) {
    m_table->setRows({}, tr("Cannot say what to change: %1").arg(toQString(result.error().message)));
    emit ready();
    return;
  }
  m_advice = std::move(result.value());
  for (const auto* findings : {&m_advice->findings, &m_advice->small}) {
    for (const Finding& finding : *findings) m_rows.push_back(&finding);
  }
  m_scope->setText(scopeText(*m_advice));
  m_scope->setVisible(!m_scope->text().isEmpty());
  m_othersButton->setText(otherRulesTitle(*m_advice));
  m_othersButton->show();
  m_others->setHtml(otherRulesAsHtml(*m_advice));
  fillTable();
  if (!m_rows.empty()) choose(0);
  if (hasFocus()) giveFocusToTable();
  emit ready();
}

void AdvicePage::fillTable() {
  std::vector<std::vector<Cell>> rows;
  for (size_t i = 0; i < m_rows.size(); ++i) {
    const Finding& finding = *m_rows[i];
    const bool isSmall = i >= m_advice->findings.size();
    const auto gain = finding.gain ? std::optional(cells::nsOf(*finding.gain)) : std::nullopt;
    QString part = finding.isOutsideSteps ? tr("outside the steps") : m_advice->steps ? tr("steps") : QString();
    if (isSmall) part += part.isEmpty() ? tr("small") : tr(", small");
    std::vector<Cell> row{{gainText(finding), gain.value_or(-1)},
                          {shareText(finding), finding.share().value_or(-1)},
                          cells::text(toQString(finding.title)),
                          cells::text(toQString(finding.whom)),
                          cells::text(part),
                          cells::text(toQString(finding.finding))};
    rows.push_back(std::move(row));
  }
  m_table->setRows(std::move(rows), whyNoAdvice(*m_advice));
}

const Finding* AdvicePage::chosen() const {
  const std::optional<size_t> row = m_table->currentRow();
  return row && *row < m_rows.size() ? m_rows[*row] : nullptr;
}

void AdvicePage::choose(size_t row) { m_table->setCurrentRow(row); }

void AdvicePage::showDetails() {
  const Finding* finding = chosen();
  m_events = finding ? findEvidence(*m_data->timeline, finding->evidence) : decltype(m_events)();
  m_chosenPart->setVisible(finding != nullptr);
  if (!finding) {
    m_details->clear();
    return;
  }
  m_details->setHtml(findingAsHtml(*finding, m_events));
  const bool isOnTimeline =
      finding->where || std::ranges::any_of(m_events, [](const auto& e) { return e.has_value(); });
  m_show->setEnabled(isOnTimeline);
  m_show->setToolTip(isOnTimeline ? keysOf(Command::kShowFinding)
                                  : tr("The rule names neither a time nor an event of the timeline"));
}

void AdvicePage::showInTimeline() { showEvents(std::nullopt); }

// All events of the finding with its time, or one of them alone.
void AdvicePage::showEvents(std::optional<size_t> only) {
  const Finding* finding = chosen();
  if (!finding) return;
  std::vector<timeline::SliceRef> events;
  for (size_t i = 0; i < m_events.size(); ++i) {
    if (m_events[i] && (!only || *only == i)) events.push_back(*m_events[i]);
  }
  if (events.empty() && (only || !finding->where)) return;
  std::optional<TimeSpan> span;
  if (finding->where && !only)
    span = TimeSpan{static_cast<double>(finding->where->start.ns()), static_cast<double>(finding->where->end.ns())};
  if (!events.empty()) {
    const timeline::Slice& first = m_data->timeline->slice(events.front());
    const TimeSpan own{static_cast<double>(first.startNs), static_cast<double>(first.endNs())};
    span = span ? TimeSpan{std::min(span->startNs, own.startNs), std::max(span->endNs, own.endNs)} : own;
  }
  m_state.show(span, std::move(events));
}

void AdvicePage::copyAsText() {
  if (const Finding* finding = chosen()) QGuiApplication::clipboard()->setText(findingAsText(*finding));
}

void AdvicePage::copyAsMarkdown() {
  if (const Finding* finding = chosen()) QGuiApplication::clipboard()->setText(findingAsMarkdown(*finding));
}

}  // namespace plumb::gui
