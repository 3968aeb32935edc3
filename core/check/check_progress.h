// Counts of computed tokens from step to step, and whether anything moves at all.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check/check_context.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Does a run still make progress? The rule behind finding no_progress; it reads only counts, so
// that it also works without a checker.

enum class RunProgress : std::uint8_t {
  moving,
  nothing_scheduled,  // unfinished requests, no scheduled token, and nothing that could change that
  in_circles,         // requests preempt each other and compute the same tokens again and again
};

class ProgressWatch {
 public:
  // Takes each step, in order.
  RunProgress take(const StepTrace& trace);

  // Tokens computed since a request last got further than ever before.
  std::int64_t tokens_without_progress() const { return tokens_without_progress_; }
  // Restarts that count, to go on after `in_circles`.
  void restart() { tokens_without_progress_ = 0; }

 private:
  void note_commits(const StepTrace& trace);

  std::vector<std::int32_t> most_computed_;  // [requests] over all their runs
  std::int64_t unfinished_tokens_ = 0;       // the most known tokens of a step's requests
  std::int64_t tokens_without_progress_ = 0;
};

class ProgressCheck {
 public:
  // The first thing in a step, because much follows from a wrong count: reports counts of computed
  // tokens that contradict the accepted tokens (semantics: I12), rows in another request's slot,
  // and accepted counts that are another request's or that the pre-copies do not account for
  // (semantics: I7).
  void begin_step(CheckContext& context);
  // Behind what the step did: reports samples that do not fit the drafts, prefill chunks that end
  // off the grid, lost and cut drafts, unusable scripted values, wrong counts of frames that
  // return, and a run that makes no progress (semantics: I11).
  void end_step(CheckContext& context);

 private:
  struct Known {
    std::int32_t num_computed_tokens = -1;    // as the scheduler counts them; -1: not running
    std::int32_t exact_computed_tokens = -1;  // of its last row, rejected drafts taken off
    std::int32_t num_output_placeholders = 0;
    std::int32_t num_tokens = 0;
    std::int32_t run = 0;
    std::int32_t num_accepted_tokens = 1;  // its own, as its last row left it
  };
  // Was a row's state copied before the forward pass, or had it to be?
  struct PreCopied {
    bool done = false;
    bool by_rule = false;
  };
  // A request's part of a frame, for the check when the frame returns.
  struct FrameRow {
    RequestId request;
    std::int32_t run = 0;
    std::int32_t num_draft_tokens = 0;
    std::int32_t num_sampled_tokens = 0;
  };
  using FrameRows = std::vector<FrameRow>;  // [scheduled]

  Known& known(RequestId request);
  void check_counts(CheckContext& context);
  void check_slots(CheckContext& context);
  void check_row_counts(CheckContext& context);
  void check_foreign_counts(CheckContext& context);
  void check_pre_copied_counts(CheckContext& context);
  std::int32_t own_accepted_tokens(const StepTrace& trace, const RowTrace& row);
  void keep_accepted_counts(const StepTrace& trace);
  bool is_in_frame(const RowTrace& row) const;
  void check_drafts(CheckContext& context);
  void check_samples(CheckContext& context);
  void check_chunks(CheckContext& context);
  void check_commits(CheckContext& context);
  void check_commit(CheckContext& context, const FrameRow& row, const CommitTrace& commit);
  void watch(CheckContext& context);

  std::vector<Known> known_;           // by request id
  Known nobody_;                       // returned for an invalid id
  std::vector<PreCopied> pre_copied_;  // [rows] of the current step
  FrameRows frame_;                    // of the current step
  FrameRows in_flight_;                // asynchronous: of the frame before it
  bool asynchronous_ = false;
  ProgressWatch watch_;
};

}  // namespace hybridscope
