#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "integrations/python/src/job_books.h"
#include "integrations/python/src/python_values.h"
#include "sessions/job/matrix_job.h"
#include "sessions/job/plan_job.h"
#include "sessions/matrix/matrix_file.h"
#include "sessions/matrix/run_matrix.h"
#include "sessions/plan/plan_story.h"
#include "sessions/text/input_file.h"
#include "sessions/text/json_reader.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

Result<std::string> run_plan_job(PlanJob& job, const std::string& name, PlanRunOptions run) {
  std::string combination = name;
  for (const OtherStepTime& other : kOtherStepTimes) {
    if (!run.step_time || !name.ends_with(other.suffix)) continue;
    combination.resize(name.size() - other.suffix.size());
    run.step_time = run.step_time->times(other.factor);
    run.name_suffix = other.suffix;
    break;
  }
  const auto of = job.sweep.called(combination);
  if (!of) return invalid_input("the plan has no combination " + quoted_text(name));
  const auto result = run_plan_case(job.sweep, *of, *job.traffic, run);
  if (!result.ok()) return result.error();
  if (!result.value()) return Error{ErrorKind::not_available, "the plan was interrupted"};
  return result_to_json(*result.value()).dump();
}

Result<PlanBook> PlanBook::create(const PlanJobOptions& options) {
  if (Status apart = check_given_files(files_of(options)); !apart.ok()) return apart.error();
  auto job = make_plan_job(options);
  if (!job.ok()) return job.error();
  if (options.out.empty()) return PlanBook(std::move(job).value(), std::nullopt);
  auto file = PlanFile::open(options.out, job.value().header);
  if (!file.ok()) return file.error();
  return PlanBook(std::move(job).value(), std::move(file).value());
}

PlanBook::PlanBook(PlanJob job, std::optional<PlanFile> file)
    : job_(std::move(job)),
      file_(std::move(file)),
      contents_{.header = job_.header, .results = {}} {}

std::vector<std::string> PlanBook::missing() const {
  std::vector<std::string> suffixes = {""};
  if (job_.options.run.step_time)
    for (const OtherStepTime& other : kOtherStepTimes) suffixes.emplace_back(other.suffix);
  std::vector<std::string> names;
  for (const std::string& suffix : suffixes)
    for (std::int64_t index = 0; index < job_.sweep.size(); ++index)
      if (std::string name = job_.sweep.at(index).name + suffix; !contents().results.contains(name))
        names.push_back(std::move(name));
  return names;
}

Status PlanBook::add(const std::string& line) {
  const auto json = parse_json({.text = line, .file = "plan", .line = 1});
  if (!json.ok()) return json.error();
  auto result = read_json("plan", [&] { return plan_result_of_json(JsonValue(json.value())); });
  if (!result.ok()) return result.error();
  if (file_) return file_->add(result.value());
  std::string name = result.value().name;
  contents_.results[std::move(name)] = std::move(result).value();
  return Ok{};
}

nlohmann::ordered_json PlanBook::report() const {
  return plan_to_json(PlanStory(contents(), job_.sweep, job_.options.goals).view());
}

std::string PlanBook::text() const {
  const PlanStory story(contents(), job_.sweep, job_.options.goals,
                        std::ssize(job_.traffic->traffic().requests));
  return format_plan(story.view(), kDefaultRows);
}

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
