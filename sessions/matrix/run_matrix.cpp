#include "sessions/matrix/run_matrix.h"

#include <optional>
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

}  // namespace hybridscope
