// Reads the steps of one recorded session: single steps directly, many in a row without searching.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/check/state_write.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/live/write_log.h"
#include "sessions/record/step_record.h"
#include "storage/held_blocks.h"
#include "storage/session_file.h"

namespace hybridscope {

// A step in which a request comes, is admitted, preempted, or leaves.
struct RequestChange {
  enum class Kind : std::uint8_t { arrives, is_aborted, is_admitted, is_preempted, finishes };
  Kind kind = Kind::arrives;
  RequestId request{};
  std::int64_t step = 0;
  // Tokens, as the admission had them.
  std::int32_t num_hit_tokens = 0;
  std::int32_t num_prompt_tokens = 0;
  std::int32_t longest_hit_length = 0;  // LookupExplanation's
};

// Not thread-safe. Sees the file as it was when the session was opened, or by see_new_steps().
class SessionReader {
 public:
  // Opens the file for reading. Errors: those of SessionFile; an unknown name; a plan that this
  // version cannot read.
  static Result<std::unique_ptr<SessionReader>> open(const SessionPlace& place);
  ~SessionReader();
  SessionReader(const SessionReader&) = delete;
  SessionReader& operator=(const SessionReader&) = delete;

  // The config is made from the session's plan.
  const SessionInfo& info() const;
  // "runs.db:before"
  const std::string& title() const;
  // Sees the file as it is now, with the steps that a writer has added. Records and stamps that
  // were returned stay valid. Errors: those of open().
  Status see_new_steps();
  // The recorded steps; their numbers can have gaps, because idle steps are left out.
  std::int64_t first_step() const;  // 0: no steps
  std::int64_t last_step() const;
  // The recorded step at or before `step`, and the one after it; 0: none.
  Result<std::int64_t> step_at_or_before(std::int64_t step);
  Result<std::int64_t> step_after(std::int64_t step);
  // Valid until the next step is read. Error not_found: no such step. Error corrupt: an impossible
  // row; with table, column and step.
  Result<const StepRecord*> read(std::int64_t step);
  // read() of the step's own fields and its schedule only: requests preempted, skipped and
  // returned, lookups and rows (none at level counts). At level full it takes a fifth of the time.
  Result<const StepRecord*> read_schedule(std::int64_t step);

  // Reads the steps in order: the step after the last call's; null after the last step.
  Result<const StepStamp*> next_stamp();

  // Empty for a number that no step has named.
  std::string request_name(RequestId request) const;
  std::int64_t request_first_step(RequestId request) const;  // first step that names it; 0: none
  // Calls `take` for the changes in steps after `after`: for each request in the order of its
  // steps. Level counts keeps only arrivals and aborts.
  Status each_request_change(std::int64_t after,
                             const std::function<void(const RequestChange&)>& take);
  // Steps after `after` that copied whole blocks (CacheEventKind::copied_from), ascending; empty at
  // level counts. Reads the events of all these steps.
  Result<std::vector<std::int64_t>> steps_with_block_copies(std::int64_t after = 0);
  std::int32_t num_requests() const;
  Result<std::vector<Bookmark>> bookmarks() const;  // ordered by step

  // The write that put this kind of content into the block, as of the end of the step, the write
  // whose result it copied or continued, and so on, latest first; at most kMaxChainLinks. Each link
  // through a forward pass has to read its step, about a millisecond. Empty: nothing was written
  // since the block was allocated. Error invalid_input: the session's level is not full.
  Result<WriteChain> write_chain(std::int32_t block, ContentKind content, std::int64_t step);

  // What the blocks hold and are registered as at the end of the step: contents from level full on,
  // labels from level blocks on. Valid until the next call. Reads the rows since the keyframe
  // before (storage/keyframe.h), or since the last call's step.
  Result<const HeldBlocks*> held_blocks(std::int64_t step);
  // What the request's last row before the step left (count_left); empty: there is none, it cannot
  // be read, or the session does not tell it (SessionHeader::knows_own_counts).
  std::optional<OwnCount> own_count(RequestId request, std::int64_t step);

  // The findings of all steps after `after`, in order; at most `max_per_rule` of each rule.
  Result<std::vector<Finding>> findings(std::int64_t max_per_rule, std::int64_t after = 0);

  // What a language model said and held after step `after`, in order, in at most `most` steps;
  // steps in which it did nothing are left out. Empty: none ran.
  Result<std::vector<StepSpeech>> speech(
      std::int64_t after = 0, std::size_t most = std::numeric_limits<std::size_t>::max());

  // For the other source files of storage.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit SessionReader(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// The session's steps in order, for diff and export. Owns the reader.
Result<std::unique_ptr<StepSource>> open_session_source(const SessionPlace& place);

}  // namespace hybridscope
