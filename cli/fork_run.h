// A fork on its way: held against its parent, checked, and recorded when asked to.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/record_option.h"
#include "core/base/result.h"
#include "sessions/explain/explain_names.h"
#include "sessions/live/fork.h"
#include "sessions/record/step_digests.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/finding_list.h"

namespace hybridscope {

class ForkRun {
 public:
  explicit ForkRun(CheckedRun run);
  ForkRun(const ForkRun&) = delete;
  ForkRun& operator=(const ForkRun&) = delete;

  // From the first step on. Error: what the file or the name does not allow.
  Status record(const RecordOption& option, SessionHeader header);

  // To the run's end or to Ctrl-C. Error: a step that is not the parent's, what the engine refuses,
  // what keeps the file from being written.
  Status run(ForkGuard& guard);

  std::int64_t num_steps() const { return run_.num_steps(); }
  const FindingList& findings() const { return findings_; }

 private:
  Status step(ForkGuard& guard);
  Status finish_recording(const Status& ended);

  CheckedRun run_;
  Names names_;
  StepDigester digester_;
  std::unique_ptr<RecordedSession> recorded_;
  FindingList findings_;
};

}  // namespace hybridscope
