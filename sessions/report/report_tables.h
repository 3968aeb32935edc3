// The block tables of each step of a report, cell by cell: what a cell is follows from cell_role.h,
// and what stands in it and is said of it is text. The page only places the texts.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/cell_role.h"
#include "sessions/explain/explain_names.h"
#include "sessions/record/record_views.h"
#include "sessions/report/value_changes.h"

namespace hybridscope {

struct ReportCell {
  std::int32_t block = 0;
  std::int32_t worker_block = -1;  // in the worker's table, if it is another one; else -1
  std::int32_t num_holders = 0;    // columns of all tables with the block
  RequestId labelled{};            // whose prefix the block is registered for
  std::int32_t label_tokens = 0;   // of that prefix; 0: the block is not registered
  CellRole role = CellRole::null_block;
  CellUse use{};
  bool is_changed = false;  // in this step
  bool has_notes = false;   // a copy or a finding of this step is about it
  friend bool operator==(const ReportCell&, const ReportCell&) = default;
};

class ReportTables {
 public:
  // Both must outlive this.
  ReportTables(const EngineConfig& config, const Names& names);

  // Every step, in order.
  void take(const StepRecord& record);

  // The last step that was taken, as the views have it; `record` must still live.
  const StepTrace& trace() const { return *trace_; }
  // After the step's cache_events and before its commit_events.
  const BlockTableMirror& scheduler_tables() const { return tables_; }

  // [columns] of the request's table in that step.
  using Cells = std::vector<ReportCell>;
  using Tables = std::map<std::pair<std::int32_t, std::int32_t>, Cells>;  // by group and request
  Tables cells() const;

  // {group: {request: {column: cell}}}, in the form of changes(): what is not as it was told last.
  // A cell is one text of lines: its classes, what stands below its block, what stands below that
  // where the worker has another block, its block, and what a tooltip says.
  nlohmann::json changed_cells(SharedTexts& texts);
  // Groups whose reads and writes are assumed in that step: it replays arrays of an earlier one.
  nlohmann::json assumed_groups() const;

 private:
  struct Label {
    RequestId request{};
    std::int32_t num_tokens = 0;
    std::int32_t count = 0;  // registrations of the block
  };
  struct Place {
    std::int32_t group = -1;
    std::int32_t request = -1;
    std::int32_t column = -1;
    auto operator<=>(const Place&) const = default;
  };
  struct Note {
    std::string_view sign;
    std::string words;
  };

  void apply_to_tables(const CacheEvent& event);
  void apply_to_labels(const CacheEvent& event);
  void note_launch(const CopyLaunch& launch, std::string_view when);
  ReportCell cell_of(std::int32_t block) const;
  std::string text_of(const ReportCell& cell, const Place& place) const;

  const EngineConfig& config_;
  const Names& names_;
  BlockTableMirror tables_;
  WorkerTables worker_;
  RecordViews views_;
  std::vector<Label> labels_;                 // [num_blocks] at the end of the step
  const StepTrace* trace_ = nullptr;          // the last step
  std::vector<CacheEvent> pending_;           // its commit_events
  std::map<Place, std::vector<Note>> notes_;  // its copies and findings
  Tables told_;                               // as cells()
};

}  // namespace hybridscope
