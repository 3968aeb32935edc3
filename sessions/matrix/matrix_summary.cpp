#include "sessions/matrix/matrix_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sessions/matrix/shrink_fault.h"

namespace hybridscope {
namespace {

void count(VerdictCounts& counts, CellVerdict verdict) {
  switch (verdict) {
    case CellVerdict::safe:
      ++counts.safe;
      break;
    case CellVerdict::has_findings:
      ++counts.with_findings;
      break;
    case CellVerdict::untested:
      ++counts.untested;
      break;
    case CellVerdict::refused:
      ++counts.refused;
      break;
    case CellVerdict::same:
      ++counts.same;
      break;
  }
}

bool was_run(const CellResult& cell) {
  return cell.verdict != CellVerdict::refused && cell.verdict != CellVerdict::same;
}

// Which values of each axis occur, as bits.
using ValueSets = std::array<std::uint32_t, kNumAxes>;

void add(ValueSets& sets, const MatrixCell& cell) {
  for (std::size_t i = 0; i < kNumAxes; ++i) sets[i] |= 1U << cell.values[i];
}

std::string where_text(const ValueSets& shown, const ValueSets& all) {
  std::string text;
  for (const AxisInfo& axis : axis_table()) {
    const auto i = static_cast<std::size_t>(axis.axis);
    if (shown[i] == all[i]) continue;
    std::string values;
    for (std::size_t v = 0; v < axis.values.size(); ++v)
      if (shown[i] >> v & 1U)
        values += fmt::format("{}{}", values.empty() ? "" : ", ", axis.values[v]);
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", axis.name, values);
  }
  return text;
}

struct FaultPlaces {
  FaultSummary summary;
  ValueSets values = {};
};

class Summarizer {
 public:
  explicit Summarizer(const MatrixContents& contents) : contents_(contents) {}

  void add(const MatrixCell& cell);
  MatrixSummary finish();

 private:
  void add_faults(const CellResult& cell);
  void add_fault(const MatrixFault& shown, const CellResult& cell);

  const MatrixContents& contents_;
  MatrixSummary summary_;
  std::map<std::pair<std::size_t, std::size_t>, VerdictCounts> values_;
  std::map<std::string, FaultPlaces> faults_;
  ValueSets run_ = {};
};

void Summarizer::add_fault(const MatrixFault& shown, const CellResult& cell) {
  const std::string key = fault_key(shown);
  const auto [place, fresh] = faults_.try_emplace(key);
  FaultPlaces& fault = place->second;
  if (fresh) fault.summary = {.key = key, .cause = shown.cause, .kind = shown.kind};
  ++fault.summary.cells;
  hybridscope::add(fault.values, cell.cell);
}

void Summarizer::add_faults(const CellResult& cell) {
  for (const CellFault& fault : cell.faults)
    add_fault({.cause = fault.cause, .kind = fault.kind}, cell);
  for (const CellFinding& finding : cell.unexplained) add_fault({.kind = finding.kind}, cell);
}

void Summarizer::add(const MatrixCell& cell) {
  const auto found = contents_.cells.find(cell_name(cell));
  if (found == contents_.cells.end()) {
    ++summary_.cells.not_run;
    return;
  }
  const CellResult& result = found->second;
  count(summary_.cells, result.verdict);
  if (!was_run(result)) return;
  hybridscope::add(run_, cell);
  for (std::size_t i = 0; i < kNumAxes; ++i) count(values_[{i, cell.values[i]}], result.verdict);
  summary_.num_scenarios += result.num_scenarios;
  summary_.num_failing += result.num_failing;
  summary_.num_in_bytes += result.num_in_bytes;
  summary_.num_steps += result.num_steps;
  summary_.num_request_steps += result.num_request_steps;
  for (std::size_t i = 0; i < kNumMatrixEvents; ++i) {
    summary_.events[i].times += result.events[i].times;
    summary_.events[i].scenarios += result.events[i].scenarios;
  }
  add_faults(result);
}

MatrixSummary Summarizer::finish() {
  for (const auto& [place, cells] : values_)
    summary_.values.push_back(
        {.axis = static_cast<Axis>(place.first), .value = place.second, .cells = cells});
  for (auto& [key, fault] : faults_) {
    fault.summary.where = where_text(fault.values, run_);
    fault.summary.accident =
        is_accident(key, [&](const std::string& id) { return faults_.contains(id); });
    if (const auto small = contents_.faults.find(key); small != contents_.faults.end()) {
      fault.summary.kind = small->second.kind;
      fault.summary.file = small->second.file;
      fault.summary.no_file = small->second.no_file;
      fault.summary.num_requests = small->second.num_requests;
      fault.summary.num_steps = small->second.num_steps;
    }
    summary_.faults.push_back(std::move(fault.summary));
  }
  std::ranges::stable_sort(summary_.faults, {}, [](const FaultSummary& fault) {
    return std::pair(fault.accident, -fault.cells);
  });
  return std::move(summary_);
}

}  // namespace

std::string safe_words(const MatrixHeader& header) {
  if (header.scenarios_per_cell >= kScenariosPerCell) return "safe";
  return fmt::format("with no finding in {}", header.scenarios_per_cell);
}

MatrixSummary summarize_matrix(const MatrixContents& contents,
                               const std::vector<MatrixCell>& cells) {
  Summarizer summarizer(contents);
  for (const MatrixCell& cell : cells) summarizer.add(cell);
  return summarizer.finish();
}

}  // namespace hybridscope
