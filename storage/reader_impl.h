// The members of a SessionReader, for the source files that extend it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/held_blocks_reader.h"
#include "storage/last_rows.h"
#include "storage/session_reader.h"
#include "storage/step_loader.h"
#include "storage/table_cursor.h"
#include "storage/write_history.h"

namespace hybridscope {

struct SessionReader::Impl {
  Impl(SessionFile opened, SessionInfo about);

  // `value`, or the pending error, which is cleared.
  template <class T>
  Result<T> answer(T value) {
    if (!context.error) return value;
    Error error = *context.error;
    context.error.reset();
    return error;
  }
  Status status() { return answer(Ok{}); }
  // The record, if the step was found.
  Result<const StepRecord*> loaded(std::int64_t step, bool found);
  // Which requests and steps the file has.
  void find_extent();
  // The single number that the query returns for the session and `parameters`; 0 for NULL.
  std::int64_t number(ReadStatement& query, std::initializer_list<std::int64_t> parameters);

  SessionFile file;
  SessionInfo info;
  std::string title;
  ReadContext context;
  ReadStatement before;  // the last step at or before a step
  ReadStatement after;   // the first step after a step
  ReadStatement name;
  ReadStatement request_step;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  StepLoader loader;
  StepRecord record;
  TableCursor stamps;
  StepStamp stamp;
  std::optional<WriteHistory> history;            // created on first use
  std::optional<HeldBlocksReader> held;           // created on first use
  std::optional<LastRows> last_rows;              // created on first use
  std::vector<std::optional<std::string>> names;  // by request, filled on first use
};

}  // namespace hybridscope
