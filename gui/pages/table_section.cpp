// SPDX-License-Identifier: Apache-2.0
#include "gui/pages/table_section.h"

#include <QHeaderView>
#include <QLabel>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

namespace plumb::gui {

TableSection::TableSection(const QString& title, const QString& definition, QStringList columns, QWidget* parent)
    : QWidget(parent), m_model(std::move(columns)), m_view(new QTableView(this)), m_empty(new QLabel(this)) {
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
  m_view->horizontalHeader()->setHighlightSections(false);
  // So many rows tell how wide a column must be; measuring all of a long table would hold up the window.
  m_view->horizontalHeader()->setResizeContentsPrecision(100);
  m_view->verticalHeader()->setDefaultSectionSize(m_view->fontMetrics().height() + 6);
  m_view->setAccessibleName(title);
  m_empty->setTextFormat(Qt::PlainText);
  m_empty->setWordWrap(true);
  m_empty->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  m_empty->setMargin(8);
  m_empty->setFrameShape(QFrame::StyledPanel);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(heading);
  layout->addWidget(explanation);
  layout->addWidget(m_view, 1);
  layout->addWidget(m_empty, 1);
  m_view->hide();
  setFocusProxy(m_view);
  connect(m_view, &QTableView::activated, this, [this](const QModelIndex& index) {
    emit rowActivated(static_cast<size_t>(m_sorted.mapToSource(index).row()));
  });
}

void TableSection::setRows(std::vector<std::vector<Cell>> rows, const QString& whyEmpty) {
  m_empty->setText(whyEmpty);
  m_view->setVisible(!rows.empty());
  m_empty->setVisible(rows.empty());
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

QString TableSection::emptyText() const { return m_empty->isVisibleTo(this) ? m_empty->text() : QString(); }

void TableSection::fitHeight() {
  const bool isEmpty = m_empty->isVisibleTo(this);
  const int height = heightOfRows(*m_view);
  m_view->setMaximumHeight(height);
  // A table asks for so much by itself; what is longer may grow.
  const bool isShort = isEmpty || height <= m_view->sizeHint().height();
  m_empty->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
  setSizePolicy(QSizePolicy::Preferred, isShort ? QSizePolicy::Maximum : QSizePolicy::Preferred);
}

int heightOfRows(const QTableView& table) {
  const int rows = table.verticalHeader()->length();
  return table.horizontalHeader()->sizeHint().height() + rows + table.horizontalScrollBar()->sizeHint().height() + 6;
}

}  // namespace plumb::gui
