// SPDX-License-Identifier: Apache-2.0
#include "analyzer/export/parquet/dataset.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb::exports {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kRank = "rank";
constexpr int64_t kRowGroup = 1 << 17;  // rows in memory per rank

struct ColumnPlan {
  int source;  // in the query
  std::shared_ptr<arrow::Field> field;
};

Status toStatus(const arrow::Status& status, const std::string& path) {
  if (status.ok()) return Unit{};
  return Error{fmt::format("Cannot write {}: {}.", path, status.message())};
}

std::string unitOf(std::string_view column) {
  for (const auto& [suffix, unit] :
       {std::pair("_bytes_per_s", "bytes/s"), {"_ns", "ns"}, {"_bytes", "bytes"}, {"_hz", "Hz"}}) {
    if (column.ends_with(suffix)) return unit;
  }
  return column == "bytes" ? "bytes" : "";
}

struct ValueTypes {
  std::vector<std::shared_ptr<arrow::DataType>> columns;
  bool allHaveRank = false;
};

// SQLite's columns have no fixed type: the values say which it is. Text if any value is one.
Result<ValueTypes> typesOf(Trace& trace, const std::string& from, const std::vector<std::string>& names) {
  std::string sql =
      std::ranges::count(names, kRank) > 0 ? fmt::format("SELECT count(*) = count({})", kRank) : "SELECT 0";
  for (const std::string& name : names) {
    sql += fmt::format(
        ", max(CASE typeof(\"{}\") WHEN 'text' THEN 4 WHEN 'blob' THEN 3 WHEN 'real' THEN 2 WHEN 'integer' "
        "THEN 1 ELSE 0 END)",
        name);
  }
  auto row = trace.query(sql + " FROM " + from);
  if (!row.ok()) return row.error();
  ValueTypes result;
  std::vector<std::shared_ptr<arrow::DataType>>& types = result.columns;
  if (row.value().next()) {
    result.allHaveRank = row.value().integer(0) != 0;
    for (size_t i = 0; i < names.size(); ++i) {
      switch (row.value().integer(static_cast<int>(i) + 1)) {
        case 4:
          types.push_back(arrow::utf8());
          break;
        case 3:
          types.push_back(arrow::binary());
          break;
        case 2:
          types.push_back(arrow::float64());
          break;
        default:
          types.push_back(arrow::int64());
          break;
      }
    }
  }
  if (const Status status = row.value().status(); !status.ok()) return status.error();
  return result;
}

// The file of one rank.
class Part {
 public:
  static Result<std::unique_ptr<Part>> create(std::string path, const std::vector<ColumnPlan>& columns) {
    auto part = std::unique_ptr<Part>(new Part(std::move(path), columns));
    arrow::FieldVector fields;
    for (const ColumnPlan& column : columns) fields.push_back(column.field);
    part->m_schema = arrow::schema(std::move(fields));
    auto out = arrow::io::FileOutputStream::Open(part->m_path);
    if (!out.ok()) return toStatus(out.status(), part->m_path).error();
    part->m_out = *out;
    const auto properties = parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
    auto writer =
        parquet::arrow::FileWriter::Open(*part->m_schema, arrow::default_memory_pool(), part->m_out, properties);
    if (!writer.ok()) return toStatus(writer.status(), part->m_path).error();
    part->m_writer = std::move(*writer);
    for (const ColumnPlan& column : columns) {
      std::unique_ptr<arrow::ArrayBuilder> builder;
      if (const auto made = arrow::MakeBuilder(arrow::default_memory_pool(), column.field->type(), &builder);
          !made.ok()) {
        return toStatus(made, part->m_path).error();
      }
      part->m_builders.push_back(std::move(builder));
    }
    return part;
  }

  [[nodiscard]] Status add(const Statement& row) {
    arrow::Status status;
    for (size_t i = 0; i < m_columns.size() && status.ok(); ++i) status = append(*m_builders[i], row, m_columns[i]);
    if (status.ok() && ++m_rows % kRowGroup == 0) status = flush();
    return toStatus(status, m_path);
  }
  [[nodiscard]] Status finish() {
    arrow::Status status = flush();
    if (status.ok()) status = m_writer->Close();
    if (status.ok()) status = m_out->Close();
    return toStatus(status, m_path);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  Part(std::string path, const std::vector<ColumnPlan>& columns) : m_path(std::move(path)), m_columns(columns) {}

  static arrow::Status append(arrow::ArrayBuilder& builder, const Statement& row, const ColumnPlan& column) {
    if (row.isNull(column.source)) return builder.AppendNull();
    switch (column.field->type()->id()) {
      case arrow::Type::INT64:
        return static_cast<arrow::Int64Builder&>(builder).Append(row.integer(column.source));
      case arrow::Type::DOUBLE:
        return static_cast<arrow::DoubleBuilder&>(builder).Append(row.real(column.source));
      case arrow::Type::BINARY:
        return static_cast<arrow::BinaryBuilder&>(builder).Append(row.blob(column.source));
      default:
        return static_cast<arrow::StringBuilder&>(builder).Append(row.text(column.source));
    }
  }
  arrow::Status flush() {
    arrow::ArrayVector arrays;
    for (const auto& builder : m_builders) {
      std::shared_ptr<arrow::Array> array;
      ARROW_RETURN_NOT_OK(builder->Finish(&array));
      arrays.push_back(std::move(array));
    }
    const auto table = arrow::Table::Make(m_schema, arrays);
    if (table->num_rows() == 0) return arrow::Status::OK();
    return m_writer->WriteTable(*table, table->num_rows());
  }

  std::string m_path;
  const std::vector<ColumnPlan>& m_columns;
  std::shared_ptr<arrow::Schema> m_schema;
  std::shared_ptr<arrow::io::FileOutputStream> m_out;
  std::unique_ptr<parquet::arrow::FileWriter> m_writer;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> m_builders;
  int64_t m_rows = 0;
};

Result<std::string> makePlace(const fs::path& folder, const std::string& file) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return Error{fmt::format("Cannot create the folder {}: {}.", folder.string(), failed.message())};
  return (folder / file).string();
}

}  // namespace

Result<DatasetResult> writeDataset(Trace& trace, const std::string& from, const std::string& folder) {
  auto rows = trace.query("SELECT * FROM " + from);
  if (!rows.ok()) return rows.error();
  Statement& row = rows.value();
  std::vector<std::string> names;
  for (int i = 0; i < row.columnCount(); ++i) names.emplace_back(row.columnName(i));
  auto types = typesOf(trace, from, names);
  if (!types.ok()) return types.error();

  // pandas, Dask and pyarrow's own inference refuse Hive's folder for nulls, rank=__HIVE_DEFAULT_PARTITION__, alone as
  // well as beside others.
  const bool isPartitioned = types.value().allHaveRank;
  std::vector<ColumnPlan> columns;
  int rankColumn = -1;
  for (int i = 0; i < row.columnCount(); ++i) {
    const std::string& name = names[static_cast<size_t>(i)];
    if (name == kRank) {
      rankColumn = i;
      if (isPartitioned) continue;  // the folder's name says it
    }
    const std::string unit = unitOf(name);
    auto metadata = unit.empty() ? nullptr : arrow::key_value_metadata({"unit"}, {unit});
    columns.push_back({i, arrow::field(name, types.value().columns[static_cast<size_t>(i)], true, metadata)});
  }

  DatasetResult result;
  std::map<std::optional<int64_t>, std::unique_ptr<Part>> parts;
  while (row.next()) {
    const std::optional<int64_t> rank = rankColumn < 0 ? std::nullopt : row.optionalInteger(rankColumn);
    std::unique_ptr<Part>& part = parts[rank];
    if (!part) {
      auto place = isPartitioned ? makePlace(fs::path(folder) / fmt::format("rank={}", *rank), "part-0.parquet")
                                 : makePlace(folder, fmt::format("part-{}.parquet", parts.size() - 1));
      if (!place.ok()) return place.error();
      auto created = Part::create(std::move(place).value(), columns);
      if (!created.ok()) return created.error();
      part = std::move(created).value();
    }
    if (const Status added = part->add(row); !added.ok()) return added.error();
    ++result.rows;
  }
  if (const Status status = row.status(); !status.ok()) return status.error();
  for (auto& [rank, part] : parts) {
    if (const Status done = part->finish(); !done.ok()) return done.error();
  }
  result.files = parts.size();
  return result;
}

}  // namespace plumb::exports
