// What the steps before one left, read from a session's rows: which writes made the content of a
// block, and what the last row of each request left. With the reader's members, which ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/check/state_write.h"
#include "sessions/explain/explain_decision.h"
#include "storage/keyframe.h"
#include "storage/session_reader.h"
#include "storage/step_loader.h"
#include "storage/table_cursor.h"

namespace hybridscope {

// Which writes made the content of a session's blocks, from the log of writes that level full
// keeps.

class WriteHistory {
 public:
  explicit WriteHistory(ReadContext& context);

  // The write whose result the block held at the end of the step, the write of the block it was
  // made from (`source` returns the block, empty for none), and so on, latest first; at most
  // `limit` + 1 writes. Empty: nothing was written since the block was allocated. Errors go to the
  // context.
  using Source = std::function<std::optional<std::int32_t>(const StateWrite&)>;
  std::vector<StateWrite> chain(std::int32_t block, ContentKind content, std::int64_t step,
                                const Source& source, std::size_t limit);

 private:
  struct PlacedWrite {
    StateWrite write;
    std::int64_t place = 0;
  };
  // Limits a search to writes before `place` of `step`, without those of kind `except` in that
  // step: the copies of one launch, and the rows of one forward pass, all read before any of them
  // writes.
  struct Moment {
    std::int64_t step = 0;
    std::int64_t place = 0;
    WriteKind except = WriteKind::never;
  };
  std::optional<PlacedWrite> before(std::int32_t block, ContentKind content, const Moment& moment);

  ReadContext& context_;
  ReadStatement places_;
  ReadStatement given_out_;
  TableCursor writes_;
};

// What the last row of each request before a step left (own_count_left). A step asks for all of its
// requests: the rows of the step before are read at once. Of requests that the step admits, the
// first time or again, only steps near their last row are read.

class LastRows {
 public:
  // `context` must outlive this; errors go to it.
  LastRows(ReadContext& context, const SessionHeader& header);

  // What the request's last row before the step left; empty: it has had none.
  std::optional<OwnCount> before(RequestId request, std::int64_t step);

 private:
  std::int64_t find_last_row(RequestId request);
  // The counts that the rows of a step left: of all requests, or of one.
  void take(std::int64_t step, std::optional<RequestId> only = std::nullopt);

  ReadContext& context_;
  StepLoader loader_;
  StepRecord record_;
  ReadStatement step_before_;
  ReadStatement admission_;
  ReadStatement preempted_;
  ReadStatement last_row_;
  std::int64_t step_ = 0;  // counts_ are those before this step; 0: none were read
  std::unordered_map<std::int32_t, std::optional<OwnCount>> counts_;  // by request
};

// The members of a SessionReader, for the source files that extend it.

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
