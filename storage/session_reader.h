// Reads the steps of one recorded session: any step at once, many in a row without searching.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/state_write.h"
#include "sessions/live/write_log.h"
#include "sessions/record/step_source.h"
#include "storage/label_history.h"
#include "storage/session_file.h"

namespace hybridscope {

// Not thread-safe. Sees the file as it was when the session was opened: steps that a writer adds
// meanwhile are there for who opens it again.
class SessionReader {
 public:
  // Opens the file for reading. Errors: those of SessionFile, a name that is not there, a plan that
  // this version cannot read.
  static Result<std::unique_ptr<SessionReader>> open(const SessionPlace& place);
  ~SessionReader();
  SessionReader(const SessionReader&) = delete;
  SessionReader& operator=(const SessionReader&) = delete;

  // With the config that its plan gives.
  const SessionInfo& info() const;
  // "runs.db:before"
  const std::string& title() const;
  // The steps that were recorded; numbers can have gaps (idle steps are left out).
  std::int64_t first_step() const;  // 0: there is none
  std::int64_t last_step() const;
  // The recorded step at or before / behind `step`; 0: none.
  Result<std::int64_t> step_at_or_before(std::int64_t step);
  Result<std::int64_t> step_after(std::int64_t step);
  // Valid until the next step is read. Error not_found: no such step; corrupt: rows that cannot be,
  // with table, column and step.
  Result<const StepRecord*> read(std::int64_t step);

  // Steps in their order: the first one behind the one of the last call; null behind the last.
  Result<const StepStamp*> next_stamp();

  // Empty for a number that no step has named.
  std::string request_name(RequestId request) const;
  std::int64_t request_first_step(RequestId request) const;  // that names it; 0: none
  std::int32_t num_requests() const;
  Result<std::vector<Bookmark>> bookmarks() const;  // by step

  // What the block held of this content when the step was over: the write that put it there; of
  // kind never when nothing was written since the block was given out. Level full only; otherwise
  // an error invalid_input.
  Result<StateWrite> last_write(std::int32_t block, ContentKind content, std::int64_t step);
  // That write, the write whose result it copied or went on from, and so on, latest first: where
  // the state came from; at most kMaxChainLinks. A link of a forward pass costs reading its step,
  // about a millisecond. Empty: nothing was written.
  Result<WriteChain> write_chain(std::int32_t block, ContentKind content, std::int64_t step);

  // What blocks are registered as has to be read once: reads on for at most so many changes. False:
  // all of it has been read. Below level blocks there is nothing to read.
  Result<bool> read_labels(std::int64_t max_rows);
  // When the step was over; empty: the block was not registered, or read_labels has not yet
  // answered false.
  std::optional<RegisteredLabel> label(std::int32_t block, std::int64_t step) const;

  // Findings of all steps, the first `max_per_rule` of each rule, in their order.
  Result<std::vector<Finding>> findings(std::int64_t max_per_rule);

  // For the other units of storage.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit SessionReader(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// The session's steps one after another, for diff and export. Owns the reader.
Result<std::unique_ptr<StepSource>> open_session_source(const SessionPlace& place);

}  // namespace hybridscope
