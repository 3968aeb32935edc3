// Fills step records from a session's tables, the writer's counterpart (step_rows.h).
#pragma once

#include <cstdint>
#include <memory>

#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"
#include "sessions/record/step_source.h"
#include "storage/block_rows.h"
#include "storage/table_cursor.h"

namespace hybridscope {

class StepLoader {
 public:
  // What the level does not keep is not looked for. `context` outlives the loader; errors go there.
  StepLoader(ReadContext& context, RecordLevel level, const EngineConfig& config);
  ~StepLoader();

  // False: there is no such step, and `record` is as it was; or an error.
  bool load(std::int64_t step, StepRecord& record);

 private:
  struct Cursors;

  void load_schedule(StepTrace& trace);
  void load_lookups(StepTrace& trace);
  void load_rows(StepTrace& trace);
  void load_groups(StepTrace& trace);
  void load_events(StepRecord& record);
  void load_copies(StepTrace& trace);
  void load_findings(StepRecord& record);
  void load_arrays(StepRecord& record);
  void load_writes(StepRecord& record);

  ReadContext& context_;
  RecordLevel level_;
  std::vector<GroupTrace> groups_;  // [num_groups], what does not change from step to step
  BlockLimits limits_;
  std::unique_ptr<Cursors> cursors_;
};

// The step, its counts and its digests; one row a step.
TableCursor make_stamp_cursor(ReadContext& context);
// Requires: at_row().
void read_stamp(const TableCursor& cursor, StepStamp& stamp);

}  // namespace hybridscope
