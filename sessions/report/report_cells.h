// The block tables of each step of a report: their changes, and the roles of the scheduler's cells
// and what the forward pass does in them, by cell_role.h. The page draws them and decides nothing.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <utility>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/engine/engine_config.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/cell_role.h"
#include "sessions/record/record_views.h"
#include "sessions/record/step_record.h"

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

// A step's changes of block tables and labels as short lists of numbers, and the state that such
// lists lead to. A report that begins in the middle of a run starts with that state.

// A list is a sequence of operations without separators (report_state.js reads them):
//   0 request group column n block...   columns from `column` on hold these blocks
//   1 request group column n block      the same, block, block + 1, ...: n of them
//   2 request group                     the request's table of the group is dropped
//   3 block request group num_tokens    the block is labelled as the state after num_tokens tokens
//   4 block                             it loses its label
nlohmann::json block_ops(std::span<const CacheEvent> events);
// The changes of the worker's tables in the same form.
nlohmann::json block_ops(std::span<const WorkerTableChange> changes);

// Tables and labels after any number of steps.
class BlockState {
 public:
  void apply(std::span<const CacheEvent> events);
  void apply(std::span<const WorkerTableChange> changes);

  // The requests in tables and labels; may contain duplicates.
  std::vector<RequestId> requests() const;

  nlohmann::json scheduler_ops() const;
  nlohmann::json worker_ops() const;

 private:
  struct Key {
    std::int32_t request = -1;
    std::int32_t group = -1;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Label {
    Key key;
    std::int32_t num_tokens = 0;
  };
  using Tables = std::map<Key, std::vector<std::int32_t>>;

  static nlohmann::json table_ops(const Tables& tables);

  Tables scheduler_;
  Tables worker_;
  std::map<std::int32_t, Label> labels_;  // by block
};

}  // namespace hybridscope
