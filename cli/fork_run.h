// A fork on its way: held against its parent, checked, and recorded when asked to.
#pragma once

#include <cstdint>
#include <memory>

#include "cli/record_option.h"
#include "core/base/result.h"
#include "core/check/step_checker.h"
#include "sessions/explain/explain_names.h"
#include "sessions/live/fork.h"
#include "sessions/record/step_digests.h"
#include "sessions/run/finding_list.h"
#include "sessions/run/runner.h"

namespace hybridscope {

class ForkRun {
 public:
  ForkRun(Runner runner, StepChecker checker, CheckScope scope);
  ForkRun(const ForkRun&) = delete;
  ForkRun& operator=(const ForkRun&) = delete;

  // From the first step on. Error: what the file or the name does not allow.
  Status record(const RecordOption& option, SessionHeader header);

  // To the end, to a step that cannot progress or to Ctrl-C. Error: a step that is not the
  // parent's, what the engine refuses, what keeps the file from being written.
  Status run(ForkGuard& guard);

  std::int64_t num_steps() const { return num_steps_; }
  const FindingList& findings() const { return findings_; }

 private:
  bool over() const;
  Status step(ForkGuard& guard);
  Status finish_recording(const Status& ended);

  Runner runner_;
  StepChecker checker_;
  CheckScope scope_;
  Names names_;
  StepDigester digester_;
  std::unique_ptr<RecordedSession> recorded_;
  FindingList findings_;
  std::int64_t num_steps_ = 0;
  bool stuck_ = false;
};

}  // namespace hybridscope
