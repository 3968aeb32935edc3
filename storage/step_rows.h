// Writes a step record as rows of the session file's tables (docs/session-format.md).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sessions/record/step_record.h"
#include "storage/keyframe.h"

namespace SQLite {
class Database;
}

namespace hybridscope {

class StepRows {
 public:
  // Prepares one INSERT per table. All functions throw SQLite::Exception.
  StepRows(SQLite::Database& database, std::int64_t session);
  ~StepRows();
  StepRows(const StepRows&) = delete;
  StepRows& operator=(const StepRows&) = delete;

  // `step`: the first step that names the request.
  void write_request(std::int64_t step, RequestId request, const std::string& name);
  // The rows are in the tables after the next flush(). Requires: the step is not in any table yet.
  // `finding_texts`: [findings]
  void write(const StepRecord& record, std::span<const std::string> finding_texts);
  // Writes the keyframes that are due, of what was before the step.
  void write_keyframes(std::int64_t step, const Keyframes& due);

  // Inserts all waiting rows, for the end of a transaction.
  void flush();

 private:
  struct Inserts;
  void write_schedule(const StepTrace& trace);
  void write_rows(const StepTrace& trace);
  void write_blocks(const StepRecord& record);
  void write_copies(const StepTrace& trace);
  void write_groups(const StepRecord& record);
  void write_findings(const StepRecord& record, std::span<const std::string> texts);

  std::unique_ptr<Inserts> inserts_;
  std::vector<const RowTrace*> row_of_;  // [scheduled] of the step being written
};

}  // namespace hybridscope
