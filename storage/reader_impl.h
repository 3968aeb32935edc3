// What a SessionReader is made of, for the units that add to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/label_history.h"
#include "storage/session_reader.h"
#include "storage/step_loader.h"
#include "storage/table_cursor.h"
#include "storage/write_history.h"

namespace hybridscope {

struct SessionReader::Impl {
  Impl(SessionFile opened, SessionInfo about);

  // `value`, or the error that has come up, which is forgotten then.
  template <class T>
  Result<T> answer(T value) {
    if (!context.error) return value;
    Error error = *context.error;
    context.error.reset();
    return error;
  }
  Status status() { return answer(Ok{}); }
  // The one number that the query gives with the session's number and `parameters`; 0: NULL.
  std::int64_t number(ReadStatement& query, std::initializer_list<std::int64_t> parameters);

  SessionFile file;
  SessionInfo info;
  std::string title;
  ReadContext context;
  ReadStatement before;  // the last step up to a step
  ReadStatement after;   // the first step behind a step
  ReadStatement name;
  ReadStatement request_step;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  StepLoader loader;
  StepRecord record;
  TableCursor stamps;
  StepStamp stamp;
  std::optional<WriteHistory> history;            // made when it is first asked
  std::optional<LabelHistory> labels;             // likewise
  std::vector<std::optional<std::string>> names;  // by request, as far as they were asked for
};

}  // namespace hybridscope
