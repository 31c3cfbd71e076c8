// SPDX-License-Identifier: Apache-2.0
#include "gui/models/point_model.h"

#include "gui/timeline/time_scale.h"

namespace plumb::gui {
namespace {

QString toText(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

}  // namespace

void PointModel::setRoofline(const DeviceRoofline& roofline) {
  beginResetModel();
  m_points = roofline.points;
  m_totalNs = static_cast<double>((roofline.knownDuration + roofline.unknownDuration).ns());
  endResetModel();
}

void PointModel::clear() {
  beginResetModel();
  m_points.clear();
  endResetModel();
}

int PointModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_points.size());
}
int PointModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumnCount; }

QVariant PointModel::number(const RooflinePoint& point, int row, int column) const {
  switch (column) {
    case kNumber:
      return row + 1;
    case kTime:
      return static_cast<double>(point.duration.ns());
    case kShare:
      return m_totalNs > 0 ? static_cast<double>(point.duration.ns()) / m_totalNs : 0.0;
    case kIntensity:
      return point.intensity.value_or(-1);
    case kRate:
      return point.flopsPerSecond.value_or(-1);
    case kRoofShare:
      return std::max(point.computeShare.value_or(-1), point.memoryShare.value_or(-1));
    default:
      return text(point, row, column);
  }
}

QString PointModel::text(const RooflinePoint& point, int row, int column) const {
  switch (column) {
    case kNumber:
      return QString::number(row + 1);
    case kOperation:
      return toText(point.operation);
    case kKernel:
      return toText(point.name);
    case kPrecision:
      return toText(point.precision) + (point.precisionAssumed ? tr(" (assumed)") : QString());
    case kTime:
      return formatDuration(static_cast<double>(point.duration.ns()));
    case kShare:
      return m_totalNs > 0 ? QString::number(static_cast<double>(point.duration.ns()) / m_totalNs * 100, 'f', 1) +
                                 QStringLiteral(" %")
                           : QString();
    case kIntensity:
      return point.intensity ? QString::number(*point.intensity, 'g', 3) : tr("bytes unknown");
    case kRate:
      return point.flopsPerSecond ? formatSi(*point.flopsPerSecond) + QStringLiteral("FLOP/s") : QString();
    case kRoofShare:
      if (!point.computeShare && !point.memoryShare) return {};
      return QStringLiteral("%1 % / %2 %")
          .arg(point.computeShare ? QString::number(*point.computeShare * 100, 'f', 0) : QStringLiteral("?"),
               point.memoryShare ? QString::number(*point.memoryShare * 100, 'f', 0) : QStringLiteral("?"));
    case kVerdict:
      return toText(nameOf(point.verdict));
    case kSource:
      return toText(nameOf(point.source));
    default:
      return {};
  }
}

QVariant PointModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const RooflinePoint& point = m_points[static_cast<size_t>(index.row())];
  if (role == Qt::DisplayRole) return text(point, index.row(), index.column());
  if (role == Qt::UserRole) return number(point, index.row(), index.column());
  if (role == Qt::TextAlignmentRole && index.column() >= kTime && index.column() <= kRoofShare)
    return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
  return {};
}

QVariant PointModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kNumber:
      return tr("#");
    case kOperation:
      return tr("operation");
    case kKernel:
      return tr("kernel");
    case kPrecision:
      return tr("precision");
    case kTime:
      return tr("time");
    case kShare:
      return tr("of kernel time");
    case kIntensity:
      return tr("FLOP/byte");
    case kRate:
      return tr("attained");
    case kRoofShare:
      return tr("of compute / memory roof");
    case kVerdict:
      return tr("verdict");
    case kSource:
      return tr("FLOPs from");
    default:
      return {};
  }
}

}  // namespace plumb::gui
