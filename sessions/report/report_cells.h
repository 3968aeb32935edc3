// The cells of the scheduler's block tables in each step of a report: their roles and what the
// forward pass does in them, by cell_role.h. The page draws them and decides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <utility>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/cell_role.h"
#include "sessions/record/record_views.h"
#include "sessions/record/step_record.h"
#include "sessions/record/worker_tables.h"

namespace hybridscope {

// A cell as a number: the role, 16 if something is read here, 32 if something is written, and 64
// times the ForwardUse.
std::int32_t cell_code(CellRole role, const CellUse& use);

// What the page shows for the codes: {"roles": [[word, letter, meaning]...] by CellRole,
// "uses": {"code without the role": words}}.
nlohmann::json cell_code_words();

class ReportCells {
 public:
  // `config` must outlive this.
  explicit ReportCells(const EngineConfig& config);

  // Every step, in order.
  void take(const StepRecord& record);

  // The tables whose codes after the last step that was taken are not those that were told last: a
  // flat list of `request group n`, then n pairs `code count` for its columns. A table that was
  // dropped since is told again.
  nlohmann::json changed_codes();
  // Groups whose reads and writes are assumed in that step: it replays arrays of an earlier one.
  nlohmann::json assumed_groups() const;

 private:
  using Codes = std::vector<std::int32_t>;  // pairs code, count

  void apply_to_tables(const CacheEvent& event);
  void apply_to_labels(const CacheEvent& event);
  Codes codes_of(const ShownTable& table, const std::map<std::int32_t, CellUse>& uses) const;

  const EngineConfig& config_;
  BlockTableMirror tables_;
  WorkerTables worker_;
  RecordViews views_;
  std::vector<std::int32_t> num_labels_;  // [num_blocks] at the end of the step
  const StepTrace* trace_ = nullptr;      // the last step, as the views have it
  std::vector<CacheEvent> pending_;       // its commit_events
  std::map<std::pair<std::int32_t, std::int32_t>, Codes> told_;  // by request and group
};

}  // namespace hybridscope
