#include "integrations/python/src/matrix_book.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sessions/job/matrix_report.h"
#include "sessions/matrix/matrix_json.h"
#include "sessions/matrix/shrink_fault.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

// Reads a line of matrix.jsonl with one of the readers of matrix_json.h.
template <class Value>
Result<Value> read_line(const std::string& line, Value (*read)(const JsonValue&)) {
  const auto json = parse_json({.text = line, .file = "matrix", .line = 1});
  if (!json.ok()) return json.error();
  return read_json("matrix", [&] { return read(JsonValue(json.value())); });
}

Error given_up() { return {ErrorKind::not_available, "the matrix was interrupted"}; }

}  // namespace

Result<std::string> run_matrix_cell(const std::string& name, const CellRunOptions& run) {
  const auto cell = parse_cell(name);
  if (!cell.ok()) return cell.error();
  const auto result = run_cell(cell.value(), run);
  if (!result.ok()) return result.error();
  if (!result.value()) return given_up();
  return cell_to_json(*result.value()).dump();
}

Result<FaultLines> shrink_matrix_fault(const MissingFault& fault, const CellRunOptions& run) {
  MatrixContents contents;
  for (const std::string& line : fault.cells) {
    auto cell = read_line(line, &cell_of_json);
    if (!cell.ok()) return cell.error();
    const std::string name = cell_name(cell.value().cell);
    contents.cells[name] = std::move(cell).value();
  }
  // The places are the same as among all cells: these are the cells of the smallest ones.
  const auto all = collect_faults(contents);
  const auto found = std::ranges::find(all, fault.key, &FaultCandidates::key);
  if (found == all.end())
    return invalid_input("these cells have no fault " + quoted_text(fault.key));
  const auto shrunk = shrink_fault(*found, run);
  if (!shrunk.ok()) return shrunk.error();
  if (!shrunk.value()) return given_up();
  return FaultLines{fault_to_json(shrunk.value()->fault).dump(), shrunk.value()->scenario};
}

Result<MatrixBook> MatrixBook::create(const MatrixJobOptions& options, const Backends& backends) {
  auto job = make_matrix_job(options, backends);
  if (!job.ok()) return job.error();
  if (options.folder.empty()) return MatrixBook(std::move(job).value(), std::nullopt);
  auto file = MatrixFile::open(options.folder, job.value().header);
  if (!file.ok()) return file.error();
  return MatrixBook(std::move(job).value(), std::move(file).value());
}

MatrixBook::MatrixBook(MatrixJob job, std::optional<MatrixFile> file)
    : cells_(std::move(job.options.cells)), file_(std::move(file)) {
  contents_.header = std::move(job.header);
}

std::vector<std::string> MatrixBook::missing_cells() const {
  std::vector<std::string> names;
  for (const MatrixCell& cell : cells_)
    if (std::string name = cell_name(cell); !contents().cells.contains(name))
      names.push_back(std::move(name));
  return names;
}

Result<bool> MatrixBook::add_cell(const std::string& line) {
  auto cell = read_line(line, &cell_of_json);
  if (!cell.ok()) return cell.error();
  const bool has_findings = cell.value().verdict == CellVerdict::has_findings;
  if (file_) {
    if (Status added = file_->add(cell.value()); !added.ok()) return added.error();
    return has_findings;
  }
  const std::string name = cell_name(cell.value().cell);
  contents_.cells[name] = std::move(cell).value();
  return has_findings;
}

std::vector<MissingFault> MatrixBook::missing_faults() const {
  std::vector<MissingFault> missing;
  for (const FaultCandidates& fault : collect_faults(contents())) {
    if (contents().faults.contains(fault.key)) continue;
    MissingFault& one = missing.emplace_back(MissingFault{.key = fault.key, .cells = {}});
    for (const FaultCandidates::Place& place : fault.places)
      one.cells.push_back(cell_to_json(contents().cells.at(cell_name(place.cell))).dump());
  }
  return missing;
}

Status MatrixBook::add_fault(const FaultLines& lines) {
  auto fault = read_line(lines.fault, &fault_of_json);
  if (!fault.ok()) return fault.error();
  if (file_) return file_->add(fault.value(), lines.scenario);
  if (!fault.value().file.empty()) scenarios_[fault.value().file] = lines.scenario;
  const std::string key = fault_key(fault.value());
  contents_.faults[key] = std::move(fault).value();
  return Ok{};
}

nlohmann::ordered_json MatrixBook::report() const {
  return matrix_to_json(contents(), summary(), cells_);
}

std::string MatrixBook::text() const {
  return format_matrix(contents(), summary(), file_ ? file_->folder() : "",
                       "call matrix() with the same folder to resume");
}

Result<std::map<std::string, std::string>> MatrixBook::scenarios() const {
  if (!file_) return scenarios_;
  std::map<std::string, std::string> all;
  for (const auto& [key, fault] : contents().faults) {
    if (fault.file.empty()) continue;
    auto text = read_text_file((std::filesystem::path(file_->folder()) / fault.file).string());
    if (!text.ok()) return text.error();
    all[fault.file] = std::move(text).value();
  }
  return all;
}

}  // namespace hybridscope
