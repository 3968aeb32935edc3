#include "sessions/matrix/run_matrix.h"

#include <fmt/core.h>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "sessions/matrix/shrink_fault.h"
#include "sessions/run/work_in_threads.h"

namespace hybridscope {
namespace {

class MatrixRun {
 public:
  MatrixRun(const MatrixOptions& options, MatrixFile& file) : options_(options), file_(file) {}

  Result<bool> run();
  Result<bool> shrink();

 private:
  void tell() {
    if (options_.progress) options_.progress(progress_);
  }
  void begin(std::size_t all, bool shrinking);
  Status take(const CellResult& cell);
  Result<bool> run_cells();

  const MatrixOptions& options_;
  MatrixFile& file_;
  MatrixProgress progress_;
};

void MatrixRun::begin(std::size_t all, bool shrinking) {
  progress_.shrinking = shrinking;
  progress_.done = 0;
  progress_.all = static_cast<std::int64_t>(all);
  tell();
}

Status MatrixRun::take(const CellResult& cell) {
  ++progress_.done;
  progress_.num_scenarios += cell.num_scenarios;
  progress_.num_with_findings += cell.verdict == CellVerdict::has_findings;
  tell();
  return file_.add(cell);
}

Result<bool> MatrixRun::run_cells() {
  std::vector<MatrixCell> cells;
  for (const MatrixCell& cell : options_.cells)
    if (!file_.contents().cells.contains(cell_name(cell))) cells.push_back(cell);
  begin(cells.size(), false);
  return work_in_threads<CellResult>(
      options_.num_threads, cells.size(),
      [&](std::size_t i) { return run_cell(cells[i], options_.run); },
      [&](const CellResult& cell) { return take(cell); });
}

Result<bool> MatrixRun::shrink() {
  std::vector<FaultCandidates> faults;
  for (FaultCandidates& one : collect_faults(file_.contents()))
    if (!file_.contents().faults.contains(one.key)) faults.push_back(std::move(one));
  begin(faults.size(), true);
  return work_in_threads<ShrunkFault>(
      options_.num_threads, faults.size(),
      [&](std::size_t i) { return shrink_fault(faults[i], options_.run); },
      [&](const ShrunkFault& shrunk) {
        ++progress_.done;
        tell();
        return file_.add(shrunk.fault, shrunk.scenario);
      });
}

Result<bool> MatrixRun::run() {
  const auto cells = run_cells();
  if (!cells.ok() || !cells.value() || !options_.shrink) return cells;
  return shrink();
}

}  // namespace

Result<bool> run_matrix(const MatrixOptions& options, MatrixFile& file) {
  return MatrixRun(options, file).run();
}

Result<bool> shrink_faults(const MatrixOptions& options, MatrixFile& file) {
  return MatrixRun(options, file).shrink();
}

namespace {

// One without a file is larger than any other.
bool is_smaller(const MatrixFault& a, const MatrixFault& b) {
  return std::tuple(a.file.empty(), a.num_requests, a.num_steps) <
         std::tuple(b.file.empty(), b.num_requests, b.num_steps);
}

Status add_cells(const MatrixSource& source, MatrixContents& merged) {
  for (const auto& [name, cell] : source.contents.cells)
    if (!(merged.cells.try_emplace(name, cell).first->second == cell))
      return invalid_input(fmt::format(
          "{}: cell {} has another result than in the folders before it", source.folder, name));
  return Ok{};
}

void add_faults(const MatrixSource& source, MatrixContents& merged) {
  for (const auto& [key, fault] : source.contents.faults) {
    const auto [known, fresh] = merged.faults.try_emplace(key);
    if (!fresh && !is_smaller(fault, known->second)) continue;
    known->second = fault;
    if (!fault.file.empty())
      known->second.file = (std::filesystem::path(source.folder) / fault.file).string();
  }
}

void drop_accidents(MatrixContents& merged) {
  std::set<std::string> keys;
  for (const FaultCandidates& fault : collect_faults(merged)) keys.insert(fault.key);
  std::erase_if(merged.faults, [&](const auto& fault) { return !keys.contains(fault.first); });
}

}  // namespace

Result<MatrixContents> merge_matrices(const std::vector<MatrixSource>& sources) {
  MatrixContents merged;
  merged.header = sources.front().contents.header;
  merged.header.shard = "1/1";
  for (const MatrixSource& source : sources) {
    const MatrixHeader& header = source.contents.header;
    if (const auto difference = header_difference(merged.header, header))
      return invalid_input(fmt::format("{} and {} do not belong together: {} is {} and {}",
                                       sources.front().folder, source.folder, difference->what,
                                       difference->a, difference->b));
    if (merged.header.filter != header.filter) merged.header.filter.clear();
    if (Status added = add_cells(source, merged); !added.ok()) return added.error();
    add_faults(source, merged);
  }
  drop_accidents(merged);
  return merged;
}

}  // namespace hybridscope
