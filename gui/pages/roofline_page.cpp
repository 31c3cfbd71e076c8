// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/roofline_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/pages/absence.h"
#include "gui/pages/scenes.h"
#include "gui/timeline/timeline_painter.h"

namespace plumb::gui {

RooflinePage::RooflinePage(ViewState& state, QWidget* parent)
    : QWidget(parent),
      m_state(state),
      m_devices(new QComboBox(this)),
      m_note(new QLabel(this)),
      m_view(new RooflineView(this)),
      m_table(new QTableView(this)),
      m_splitter(new QSplitter(Qt::Vertical, this)) {
  m_note->setTextFormat(Qt::PlainText);
  m_note->setWordWrap(true);
  m_devices->setAccessibleName(tr("Rank"));
  m_devices->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  m_sorted.setSourceModel(&m_points);
  m_sorted.setSortRole(Qt::UserRole);
  m_table->setModel(&m_sorted);
  m_table->setSortingEnabled(true);
  m_table->sortByColumn(PointModel::kNumber, Qt::AscendingOrder);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setSelectionMode(QAbstractItemView::SingleSelection);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(m_table->fontMetrics().height() + 6);
  m_table->setAccessibleName(tr("Points of the roofline"));
  auto* bar = new QHBoxLayout;
  bar->addWidget(m_devices);
  bar->addWidget(m_note, 1);
  m_splitter->addWidget(m_view);
  m_splitter->addWidget(m_table);
  m_splitter->setStretchFactor(0, 3);
  m_splitter->setStretchFactor(1, 1);
  m_splitter->setSizes({560, 200});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 0);
  layout->addLayout(bar);
  layout->addWidget(m_splitter, 1);
  layout->addStretch();  // below a note alone

  connect(m_devices, &QComboBox::currentIndexChanged, this, [this](int index) {
    showDevice(index);
    if (index >= 0) m_state.setProcess(index);
  });
  connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& current) {
    m_view->setSelected(current.isValid() ? std::optional<int>(m_sorted.mapToSource(current).row()) : std::nullopt);
  });
  connect(m_view, &RooflineView::selected, this, [this](int point) {
    if (point < 0) {
      m_table->clearSelection();
      return;
    }
    const QModelIndex row = m_sorted.mapFromSource(m_points.index(point, 0));
    m_table->setCurrentIndex(row);
    m_table->scrollTo(row);
  });
}

QString RooflinePage::note() const { return m_note->text(); }

void RooflinePage::setData(std::shared_ptr<const TraceData> trace) {
  m_view->setRoofline(nullptr, false);
  m_points.clear();
  m_data = std::move(trace);
  const QSignalBlocker blocker(m_devices);
  m_devices->clear();
  if (m_data) {
    for (const DeviceRoofline& roofline : m_data->rooflines) {
      const Device* device = m_data->device(roofline.device);
      m_devices->addItem(processText(*m_data, roofline.process) +
                         (device ? QStringLiteral(" · device %1").arg(device->ordinal) : QString()));
    }
  }
  showDevice(m_devices->count() > 0 ? 0 : -1);
}

void RooflinePage::showDevice(int index) {
  const bool valid = m_data && index >= 0 && static_cast<size_t>(index) < m_data->rooflines.size();
  m_devices->setVisible(valid);
  m_splitter->setVisible(valid);
  if (!valid) {
    m_view->setRoofline(nullptr, false);
    m_points.clear();
    if (!m_data)
      m_note->clear();
    else if (!m_data->rooflineProblem.empty())
      m_note->setText(toQString(m_data->rooflineProblem));
    else
      m_note->setText(m_data->isWhole ? whyNoRoofline(*m_data) : tr("Still being computed …"));
    return;
  }
  const DeviceRoofline& roofline = m_data->rooflines[static_cast<size_t>(index)];
  const Device* device = m_data->device(roofline.device);
  const std::string_view rule = verdictRule();
  m_note->setText(QString::fromUtf8(rule.data(), static_cast<qsizetype>(rule.size())));
  m_points.setRoofline(roofline);
  m_view->setRoofline(&roofline, device && device->isSoftware);
  m_table->setVisible(!roofline.points.empty());  // the chart says why there are none
  m_table->resizeColumnsToContents();
}

}  // namespace plumb::gui
