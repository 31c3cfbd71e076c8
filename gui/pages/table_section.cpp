// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/table_section.h"

#include <QHeaderView>
#include <QLabel>
#include <QStackedLayout>
#include <QTableView>
#include <QVBoxLayout>

namespace plumb::gui {

TableSection::TableSection(const QString& title, const QString& definition, QStringList columns, QWidget* parent)
    : QWidget(parent),
      m_model(std::move(columns)),
      m_view(new QTableView(this)),
      m_empty(new QLabel(this)),
      m_stack(new QStackedLayout) {
  auto* heading = new QLabel(title, this);
  QFont bold = heading->font();
  bold.setBold(true);
  heading->setFont(bold);
  auto* explanation = new QLabel(definition, this);
  explanation->setWordWrap(true);
  m_sorted.setSourceModel(&m_model);
  m_sorted.setSortRole(Qt::UserRole);
  m_view->setModel(&m_sorted);
  m_view->setSortingEnabled(true);
  m_view->sortByColumn(-1, Qt::AscendingOrder);  // as computed, until the user sorts
  m_view->setWordWrap(false);
  m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_view->setEditTriggers(QAbstractItemView::NoEditTriggers);
  m_view->verticalHeader()->hide();
  m_view->verticalHeader()->setDefaultSectionSize(m_view->fontMetrics().height() + 6);
  m_view->setAccessibleName(title);
  m_empty->setTextFormat(Qt::PlainText);
  m_empty->setWordWrap(true);
  m_empty->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  m_empty->setMargin(8);
  m_empty->setFrameShape(QFrame::StyledPanel);
  m_stack->addWidget(m_view);
  m_stack->addWidget(m_empty);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(heading);
  layout->addWidget(explanation);
  layout->addLayout(m_stack, 1);
  setFocusProxy(m_view);
  connect(m_view, &QTableView::activated, this, [this](const QModelIndex& index) {
    emit rowActivated(static_cast<size_t>(m_sorted.mapToSource(index).row()));
  });
}

void TableSection::setRows(std::vector<std::vector<Cell>> rows, const QString& whyEmpty) {
  m_empty->setText(whyEmpty);
  m_stack->setCurrentIndex(rows.empty() ? 1 : 0);
  m_model.setRows(std::move(rows));
  m_view->resizeColumnsToContents();
}

std::optional<size_t> TableSection::currentRow() const {
  const QModelIndex index = m_sorted.mapToSource(m_view->currentIndex());
  return index.isValid() ? std::optional(static_cast<size_t>(index.row())) : std::nullopt;
}

void TableSection::setCurrentRow(size_t row) {
  m_view->setCurrentIndex(m_sorted.mapFromSource(m_model.index(static_cast<int>(row), 0)));
}

QString TableSection::emptyText() const { return m_stack->currentIndex() == 1 ? m_empty->text() : QString(); }

}  // namespace plumb::gui
