// Runs a plan step by step under the checker. Combines engine, checker and the guard against runs
// that never end, for all callers that run a plan; they decide what to do with each step.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/check/check_progress.h"
#include "sessions/run/drive.h"
#include "sessions/run/runner.h"
#include "sessions/run/step_judge.h"

namespace hybridscope {

// Why a run has no next step.
enum class EndReason : std::uint8_t {
  none,         // there is a next step
  finished,     // everything in the plan has happened
  no_progress,  // the requests will never finish (rule no_progress)
  step_limit,   // CheckedRunOptions::max_steps steps were run
};

struct CheckedRunOptions {
  // What is checked after each step. Absent: only progress, for callers that read decisions but no
  // states (the cache report of real traffic, writing a trace).
  std::optional<CheckScope> check = CheckScope::step;
  std::int64_t max_steps = std::numeric_limits<std::int64_t>::max();
  // State and language model are those of StepJudge; either requires that the run is checked.
  std::unique_ptr<StateBackend> state = nullptr;
  LanguageModel language = {};
  bool keeps_speech = false;
  FoldedPrompts folded_prompts = nullptr;  // for Runner::create
};

class CheckedRun final : public JudgedSteps {
 public:
  // Starts before the first step. Error: what Runner or StepJudge refuses.
  static Result<CheckedRun> create(RunPlan plan, CheckedRunOptions options = {});

  // An independent copy in the current state; both continue identically. Requires: no state in
  // bytes, no language model.
  CheckedRun clone() const;
  // Continues with another plan. Requires: it is equal for the steps that were run.
  void follow(std::shared_ptr<const RunPlan> plan) { runner_.follow(std::move(plan)); }

  EndReason end() const;
  bool has_ended() const override { return end() != EndReason::none; }

  // Runs and checks the next step. Requires: !has_ended(). Errors: those of Runner::step, and those
  // of StepJudge::judge behind the step's number. After an error there is no next step.
  Result<CheckedStep> step();
  Result<std::optional<CheckedStep>> next() override;
  void log_writes() override;

  const Engine& engine() const { return runner_.engine(); }
  const RunPlan& plan() const { return runner_.plan(); }
  std::int64_t num_steps() const { return num_steps_; }  // steps that were run
  // The content of blocks after the last step. Requires: the run is checked.
  const CheckState& state() const;

  bool has_language() const { return judge_ && judge_->has_language(); }
  // What the language model said so far, and its vocabulary. Requires: there is one.
  std::vector<SpokenText> texts() const;
  std::int32_t vocab_size() const;

  // Null without state in bytes.
  StateBackend* state_backend() const { return judge_ ? judge_->state_backend() : nullptr; }
  std::int64_t num_elements_verified() const {
    return judge_ ? judge_->num_elements_verified() : 0;
  }

 private:
  CheckedRun(Runner runner, std::optional<StepJudge> judge, const CheckedRunOptions& options);

  std::optional<CheckScope> check_;
  std::int64_t max_steps_;
  std::shared_ptr<const HybridModel> model_;
  Runner runner_;
  std::optional<StepJudge> judge_;  // of a checked run
  ProgressWatch progress_;          // of an unchecked one; the checker has its own
  bool no_progress_ = false;
  std::int64_t num_steps_ = 0;
};

}  // namespace hybridscope
