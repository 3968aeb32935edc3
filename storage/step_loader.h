// Fills step records from a session's tables; the counterpart of the writer (step_rows.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/engine/engine_config.h"
#include "sessions/record/speech_json.h"
#include "sessions/record/step_record.h"
#include "storage/held_blocks.h"
#include "storage/table_cursor.h"

namespace hybridscope {

class StepLoader {
 public:
  // Reads only what the level keeps. `context` must outlive the loader; errors go to it.
  StepLoader(ReadContext& context, const SessionHeader& header);
  ~StepLoader();

  // False: there is no such step, and `record` is unchanged; or an error occurred.
  bool load(std::int64_t step, StepRecord& record);
  // Only the step's own fields and its schedule: requests preempted, skipped and returned, lookups
  // and rows.
  bool load_schedule(std::int64_t step, StepRecord& record);
  // Only the step's own fields, its rows, and the decisions about state copies.
  bool load_rows_and_copies(std::int64_t step, StepRecord& record);

 private:
  struct Cursors;

  bool load_step(std::int64_t step, StepRecord& record);
  void load_schedule(StepTrace& trace);
  void load_lookups(StepTrace& trace);
  void load_rows(StepTrace& trace);
  void load_groups(StepTrace& trace);
  void load_events(StepRecord& record);
  void load_copies(StepTrace& trace);
  void load_findings(StepRecord& record);
  void load_arrays(StepRecord& record);
  void load_writes(StepRecord& record);
  void load_speech(StepRecord& record);

  ReadContext& context_;
  RecordLevel level_;
  std::optional<SpeechLimits> speech_;  // empty: no language model runs
  std::vector<GroupTrace> groups_;      // [num_groups] the parts that are the same in every step
  BlockLimits limits_;
  std::unique_ptr<Cursors> cursors_;
};

// What a language model's numbers are below; the requests are those of the context. Requires: one
// runs.
SpeechLimits speech_limits(const ReadContext& context, const SessionHeader& header);
// The cursor's row of the table speech. Errors go to the context.
StepSpeech read_speech_row(const TableCursor& cursor, const SpeechLimits& limits);

// From a row of make_steps_cursor(). Requires: at_row().
void read_stamp(const TableCursor& cursor, StepStamp& stamp);

// steps and digests: [step fields, counts, digests]; one row per step.
TableCursor make_steps_cursor(ReadContext& context);

// findings: [ordinal, fields]
TableCursor make_finding_cursor(ReadContext& context);

// speech: [words]
TableCursor make_speech_cursor(ReadContext& context);

// A row of metadata_arrays, with its elements.
void read_array(const TableCursor& cursor, ArrayRecord& array);

}  // namespace hybridscope
